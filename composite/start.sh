# What the composite action runs, in the workspace: finds a Python for start.py. Nothing of the workspace is a program here,
# whatever an earlier step has put on the path.

is_usable() {
  case $1 in
    "$PWD"/*) return 1 ;;
    /* | [A-Za-z]:/*) "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 ;;
    *) return 1 ;; # an entry of the path that counts from the workspace
  esac
}

# The path first, which is setup-python's if it ran; then what the runner keeps for setup-python.
kept=${RUNNER_TOOL_CACHE:-/opt/hostedtoolcache}
kept=${kept//\\//}/Python
while IFS= read -r python; do
  if is_usable "$python"; then
    exec "$python" -I "${GITHUB_ACTION_PATH//\\//}/start.py"
  fi
done < <(
  type -aP python3 python python3.13 python3.12 python3.11 || true
  printf '%s\n' "$kept"/3.13.*/*/{bin/python3,python.exe} "$kept"/3.1[12].*/*/{bin/python3,python.exe}
)

echo "::error title=turncheck::No Python 3.11 or newer was found: add actions/setup-python before this step, or use turncheck/turncheck, which brings its own in a container."
exit 2
