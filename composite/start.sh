# What the composite action runs, in the workspace: finds a Python for start.py. Nothing of the workspace is a program here,
# whatever an earlier step has put on the path.

workspace=$(pwd -P)

# Whether a path is in the workspace, whatever it is called there: names may differ by case, and links lead anywhere.
is_in_workspace() {
  local folder=$1
  while [ -n "$folder" ]; do
    [ "$folder" -ef "$workspace" ] && return 0
    [ "$folder" = "${folder%/*}" ] && return 1
    folder=${folder%/*}
  done
  return 1
}

is_usable() {
  local folder target
  case $1 in
    /* | [A-Za-z]:/*) ;;
    *) return 1 ;; # an entry of the path that counts from the workspace
  esac
  folder=$(cd -P -- "${1%/*}" 2>/dev/null && pwd -P) || return 1
  target=$(/usr/bin/readlink -f "$1" 2>/dev/null || /bin/readlink -f "$1" 2>/dev/null) || target=$folder
  if is_in_workspace "$folder" || is_in_workspace "$target"; then return 1; fi
  # Of newer ones, requirements/run.txt has no wheels.
  "$1" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1
}

# The path first, which is setup-python's if it ran; then what the runner keeps for setup-python.
kept=${RUNNER_TOOL_CACHE:-/opt/hostedtoolcache}
kept=${kept//\\//}/Python
while IFS= read -r python; do
  if is_usable "$python"; then
    exec "$python" -I "${GITHUB_ACTION_PATH//\\//}/start.py"
  fi
done < <(
  type -aP python3 python python3.14 python3.13 python3.12 python3.11 || true
  printf '%s\n' "$kept"/3.1[34].*/*/{bin/python3,python.exe} "$kept"/3.1[12].*/*/{bin/python3,python.exe}
)

echo "::error title=turncheck::No Python 3.11 to 3.14 was found: add actions/setup-python before this step, or use turncheck/turncheck, which brings its own in a container."
exit 2
