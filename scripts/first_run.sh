#!/usr/bin/env bash
# From a bare machine to a verdict and a stack that is proven to run: the doctor goes into .venv-doctor, and
# `lora-doctor install` sets up .venv beside it. Run again, it takes up what is there. Never asks for root.
# Arguments go to `lora-doctor install`: --dry-run, "peft==0.18.0".
#   PYTHON            the Python to build on (default: the first that is 3.10 or newer)
#   TORCH_INDEX_URL   in place of torch's own index, for example a mirror of https://download.pytorch.org/whl/cpu
#   OS_RELEASE        the file that names the distribution (default: /etc/os-release)
set -euo pipefail
case $0 in */*) cd "${0%/*}/.." ;; *) cd .. ;; esac
own=.venv-doctor
get_uv='curl -LsSf https://astral.sh/uv/install.sh | sh'

say() { printf '%s\n' "$*" >&2; }
# What is wrong; what was seen, "" for nothing; the one command, or what to do where no command does it.
die() {
  say "first_run: $1"
  [ -z "$2" ] || say "    seen  $2"
  say "    next  $3"
  exit 3
}
has() { command -v "$1" >/dev/null 2>&1; }
# A pre-release does not count: Ubuntu 22.04's python3.11 is one, and torch cannot be imported in it.
is_new_enough() {
  "$1" -c 'import sys; v = sys.version_info; sys.exit(v < (3, 10) or v.releaselevel != "final")' >/dev/null 2>&1
}

# What installs a package here, for a person to type; $1 on Debian and Ubuntu, $2 on RHEL and its like, $3 on SUSE.
system_install() {
  local family='' root=''
  # shellcheck source=/dev/null
  [ ! -r "${OS_RELEASE:=/etc/os-release}" ] || family=$(. "$OS_RELEASE" && printf '%s' " ${ID:-} ${ID_LIKE:-} ")
  [ "$(id -u 2>/dev/null || printf 0)" = 0 ] || root='sudo '
  case $family in
    *' debian '* | *' ubuntu '*) printf '%s' "${root}apt-get update && ${root}apt-get install -y $1" ;;
    *' rhel '* | *' fedora '* | *' centos '* | *' amzn '*) printf '%s' "${root}dnf install -y $2" ;;
    *suse*) printf '%s' "${root}zypper install -y $3" ;;
    *' arch '*) printf '%s' "${root}pacman -S --needed python" ;;
    *) printf '%s' "$get_uv" ;;
  esac
}

# The first that is new enough and can make environments; one that cannot where there is no better.
find_python() {
  local name seen='' without_venv=''
  for name in ${PYTHON:+"$PYTHON"} ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10 python}; do
    has "$name" || continue
    if ! is_new_enough "$name"; then
      seen+="${seen:+, }$name: $("$name" --version 2>&1 || printf 'does not run')"
    elif has uv || "$name" -c 'import venv, ensurepip' >/dev/null 2>&1; then
      python=$name
      return
    else
      without_venv=${without_venv:-$name}
    fi
  done
  python=$without_venv
  [ -z "$python" ] || return 0
  if has uv && [ -z "${PYTHON:-}" ]; then
    python=3.11 # uv fetches it
    return
  fi
  # Of a distribution whose python3 is older, uv has a newer one.
  [ -z "$seen" ] || die "no released Python 3.10 or newer is on PATH" "$seen" "$get_uv   (then run this again; or set PYTHON)"
  die "no ${PYTHON:-Python} is on PATH" "" "$(system_install 'python3 python3-venv' python3.11 python311)"
}

make_environment() {
  local words minor
  [ -w . ] || die "$PWD cannot be written by this user" "" 'cp -r . ~/lora-doctor && ~/lora-doctor/scripts/first_run.sh'
  if has uv; then
    words=$(uv venv --quiet --allow-existing --python "$python" "$own" 2>&1) || die "uv cannot make $own" "$words" "set PYTHON"
    return
  fi
  words=$("$python" -m venv "$own" 2>&1) && return
  minor=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  case $words in
    *ensurepip* | *'No module named venv'*)
      die "$python cannot make a virtual environment: it lacks venv or ensurepip" "" \
        "$(system_install "python$minor-venv" "python$minor" "python${minor/./}-base")   (without root: $get_uv)"
      ;;
    *'No space left'*) die "the disk is full" "$words" "make room: the CPU stack takes 2.4 GB with pip, the CUDA stack 12.7 GB" ;;
  esac
  die "no virtual environment can be made" "${words##*$'\n'}" "set PYTHON to another Python, or: $get_uv"
}

install_doctor() {
  local words proxy=${HTTPS_PROXY:-${https_proxy:-}} index=${PIP_INDEX_URL:-${UV_DEFAULT_INDEX:-https://pypi.org/simple}}
  say "first_run: installing the doctor into $own"
  if has uv; then
    words=$(uv pip install --quiet --python "$own" . 2>&1) && return
  else
    words=$("$own/bin/python" -m pip install --quiet --disable-pip-version-check . 2>&1) && return
  fi
  case $words in
    *'No space left'*) die "the disk is full" "" "make room: the CPU stack takes 2.4 GB with pip, the CUDA stack 12.7 GB" ;;
    *CERTIFICATE_VERIFY_FAILED* | *certificate*) die "$index shows a certificate that is not trusted" "" "set PIP_CERT and SSL_CERT_FILE to your company's certificates" ;;
    *onnection* | *'name resolution'* | *'dns error'* | *roxy* | *'timed out'* | *'Failed to fetch'*)
      if [ -n "$proxy" ]; then
        die "$index cannot be reached through the proxy that HTTPS_PROXY names" "" "set HTTPS_PROXY rightly, or PIP_INDEX_URL to a mirror"
      fi
      die "$index cannot be reached" "" "set HTTPS_PROXY where a proxy leads out, or PIP_INDEX_URL to a mirror"
      ;;
  esac
  die "the doctor cannot be installed" "${words##*$'\n'}" "$own/bin/python -m pip install ."
}

# Is the doctor there, and as new as its sources?
stands() {
  [ -e "$own/installed" ] && "$own/bin/python" -c '' 2>/dev/null && has find &&
    [ -z "$(find doctor compat_matrix pyproject.toml -newer "$own/installed" ! -path '*/__pycache__*' -print -quit)" ]
}

if ! stands; then
  find_python
  make_environment
  install_doctor
  words=$("$own/bin/lora-doctor" --version 2>&1) || case $words in
    *'failed to map segment'* | *'Permission denied'*) die "$PWD is mounted noexec" "" 'cp -r . ~/lora-doctor && ~/lora-doctor/scripts/first_run.sh' ;;
    *) die "the doctor does not start" "${words##*$'\n'}" "rm -r $own, then run this again" ;;
  esac
  : >"$own/installed"
fi
doctor=$own/bin/lora-doctor
say "first_run: the doctor is $PWD/$doctor"
if [ -x .venv/bin/python ] && [ ! -e .venv/lora-doctor.json ]; then
  say "first_run: .venv was made by something else, and is left as it is"
  exec "$doctor" check --python .venv
fi
# The release that this project is tested with, unless another is asked for or none of its builds runs here.
pin=$(while read -r line; do case $line in torch==*) printf '%s' "$line" ;; esac done <scripts/constraints.txt)
case " $* " in *' torch'[\<\>=~!]*) pin='' ;; esac
[ -z "$pin" ] || "$doctor" resolve --python "$own" "$pin" >/dev/null 2>&1 || pin=''
exec "$doctor" install .venv ${pin:+"$pin"} "$@"
