# Sourced by launch/demo, tests/run and .ci/run: makes the virtual environment and checks the system packages.
# Idempotent: work is done once for each content of pyproject.toml.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}

# Libraries that Qt and MuJoCo's software rendering load, and a font; the second list is for a window on an X display.
gl_packages="libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri libxkbcommon0 libfontconfig1 libfreetype6 libglib2.0-0 libdbus-1-3 fonts-dejavu-core"
x_packages="libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-image0 libxcb-render-util0 libxcb-randr0 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libx11-xcb1"

fail() { echo "$*" >&2; exit 2; }

find_python() {
  local candidate
  for candidate in ${TELEOP_PYTHON:-} python3.12 python3.11 python3.13 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      command -v "$candidate"; return
    fi
  done
  fail "Python 3.11, 3.12 or 3.13 is needed and was not found; set TELEOP_PYTHON to one."
}

# ensure_system PACKAGE...: install what is missing when root on Debian or Ubuntu, otherwise name it in one line.
ensure_system() {
  local missing=() package
  command -v dpkg-query >/dev/null || return 0
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
      || dpkg-query -W -f '${Status}' "${package}t64" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then fail "Missing system packages; run: sudo apt-get install ${missing[*]}"; fi
  echo "installing system packages: ${missing[*]}" >&2
  local log; log=$(mktemp)
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 \
    || { tail -n 20 "$log" >&2; fail "System packages could not be installed: ${missing[*]}"; }
  rm -f "$log"
}

# ensure_venv EXTRAS: the virtual environment with this project and those extras in it.
ensure_venv() {
  local extras=$1 want mark log
  want=$(cat "$root/pyproject.toml" | sha256sum | cut -c1-16)
  mark="$venv/.installed-$extras"
  [ -e "$mark" ] && [ "$(cat "$mark")" = "$want" ] && return 0
  [ -x "$venv/bin/python" ] || "$(find_python)" -m venv "$venv" || fail "The virtual environment $venv could not be made."
  echo "installing Python packages into .venv (about a minute)" >&2
  log="$venv/install.log"
  (cd "$root" && "$venv/bin/python" -m pip install --disable-pip-version-check -e ".[$extras]") >"$log" 2>&1 \
    || { tail -n 20 "$log" >&2; fail "Python packages could not be installed; all of the output is in $log"; }
  echo "$want" >"$mark"
}
