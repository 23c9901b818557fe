#!/usr/bin/env bash
# Answers and labels the issue of a GitHub event: the second step of action.yml.
# The issue's text is read from the event's file and never becomes part of a command.
# Needs: GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GH_TOKEN, COMMENT (known|always|never), LABELS (true|false); gh, lora-doctor.
set -euo pipefail

number=$(python3 -c 'import json, os; print(int(json.load(open(os.environ["GITHUB_EVENT_PATH"]))["issue"]["number"]))')
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Exit 1 says that a fault was found, which is what we ask for.
triage() { lora-doctor triage "$GITHUB_EVENT_PATH" "$@" || [ $? -eq 1 ]; }

triage --reply --output "$folder/reply.md"
triage --labels --output "$folder/labels"

if [ "$COMMENT" = always ] || { [ "$COMMENT" = known ] && grep -q '^cause: ' "$folder/labels"; }; then
  gh issue comment "$number" --repo "$GITHUB_REPOSITORY" --body-file "$folder/reply.md"
fi
if [ "$LABELS" = true ]; then
  while IFS= read -r label; do
    [ -n "$label" ] || continue
    # A label that is there already is no fault.
    gh label create "$label" --repo "$GITHUB_REPOSITORY" >/dev/null 2>&1 || true
    gh issue edit "$number" --repo "$GITHUB_REPOSITORY" --add-label "$label"
  done <"$folder/labels"
fi
