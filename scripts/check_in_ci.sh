#!/usr/bin/env bash
# What the GitHub Action .github/actions/check runs: lint of files with annotations, the check of an environment
# where one is named, and both in the job's summary. Ends with the graver exit code of the two.
# Variables: FILES (one a line), AGAINST, ENVIRONMENT, QUICK, STRICT; GITHUB_STEP_SUMMARY is the runner's own.
set -euo pipefail

summary=${GITHUB_STEP_SUMMARY:-/dev/null}
lint=(lora-doctor lint)
check=(lora-doctor check --python "${ENVIRONMENT:-}")
[ -z "${AGAINST:-}" ] || lint+=(--against "$AGAINST")
[ "${QUICK:-false}" != true ] || check+=(--quick)
[ "${STRICT:-false}" != true ] || { lint+=(--strict) && check+=(--strict); }
files=(--)  # behind which no name is an option
while IFS= read -r line; do
  [ -z "$line" ] || files+=("$line")
done <<<"${FILES:-.}"

status=0
"${lint[@]}" --format github "${files[@]}" || status=$?
"${lint[@]}" --format markdown "${files[@]}" >>"$summary" || true

if [ -n "${ENVIRONMENT:-}" ]; then
  code=0
  "${check[@]}" --format markdown | tee -a "$summary" || code=$?
  [ "$code" -le "$status" ] || status=$code
fi
exit "$status"
