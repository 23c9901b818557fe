#!/usr/bin/env bash
# The newcomer's way, for real: an empty container of a distribution, in which the README's own commands are
# typed and nothing else. Needs root, debootstrap and the network; takes minutes and some 4 GB, removed at the end.
#   newcomer_trial.sh [SUITE [MIRROR [PACKAGES]]]     default: bookworm, Debian's mirror, git python3-venv
# What this machine needs to reach the indexes goes along: proxies, PIP_* and UV_* variables, TORCH_INDEX_URL,
# the certificates of SSL_CERT_FILE, the folder of PIP_FIND_LINKS. TRIAL_FOLDER says where the container lies,
# TRIAL_SOURCE which repository is cloned, TRIAL_COMPONENTS which parts of the distribution are asked (main).
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:-bookworm} mirror=${2:-http://deb.debian.org/debian} packages=${3:-git python3-venv ca-certificates}
components=${TRIAL_COMPONENTS:-main}
root=$(mktemp -d "${TRIAL_FOLDER:-/var/tmp}/newcomer-$suite.XXXXXX")
chmod 755 "$root" # apt fetches as a user of its own
mounts=()

leave() {
  local index
  for ((index = ${#mounts[@]} - 1; index >= 0; index--)); do umount -l "${mounts[index]}" || true; done
  # Nothing of this machine may still be mounted below what is removed.
  if ! grep -q " $root/" /proc/mounts; then rm -rf --one-file-system "$root"; fi
}
trap leave EXIT

# The options of mount, then a folder of the container.
mounted() {
  local at=$root/${*: -1}
  mkdir -p "$at"
  mount "${@:1:$#-1}" "$at"
  mounts+=("$at")
}

inside() { env -i "${carried[@]}" chroot "$root" /bin/bash -euc "$1"; }

timed() {
  local began=$SECONDS
  printf '\n$ %s\n' "$1"
  inside "cd; [ ! -d lora-doctor ] || cd lora-doctor; $1" || printf '(exit code %s)\n' "$?"
  printf '[%s s]\n' "$((SECONDS - began))"
}

debootstrap --variant=minbase --components="$components" "$suite" "$root" "$mirror" >/dev/null
mounted -t proc proc proc
mounted -t tmpfs tmpfs dev/shm
mounted -t tmpfs tmpfs run
mounted --bind -o ro "${TRIAL_SOURCE:-$PWD}" srv/lora-doctor
cp /etc/resolv.conf /etc/hosts "$root/etc/"
# Every installed system has its updates as well.
for pocket in "$suite" "$suite-updates"; do echo "deb $mirror $pocket ${components//,/ }"; done >"$root/etc/apt/sources.list"

carried=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8)
carried+=(DEBIAN_FRONTEND=noninteractive)
while IFS= read -r line; do carried+=("$line"); done < <(env | grep -E '^(PIP|UV)_|_(proxy|PROXY)=|^TORCH_INDEX_URL=' || true)
if [ -n "${SSL_CERT_FILE:-}" ]; then
  cp "$SSL_CERT_FILE" "$root/etc/trial.pem"
  carried+=(SSL_CERT_FILE=/etc/trial.pem PIP_CERT=/etc/trial.pem)
fi
if [ -d "${PIP_FIND_LINKS:-}" ]; then mounted --bind -o ro "$PIP_FIND_LINKS" "${PIP_FIND_LINKS#/}"; fi

timed "apt-get update -qq && apt-get install -qq -y --no-install-recommends $packages >/dev/null"
timed "git -c safe.directory='*' clone -q /srv/lora-doctor"
timed ./scripts/first_run.sh
timed ./scripts/first_run.sh
timed 'du -sh .venv .venv-doctor'
