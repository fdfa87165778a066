"""From `uses:` to the first line without a container: what the composite action fetches and installs, and its start.

    python benchmarks/composite.py

The step of composite/action.yml runs three times with nothing there (cold), then three times with what the runner's
tools have kept (warm). Prints the least seconds of each, and the megabytes that are kept; the network is this
machine's. Ends with 1 beyond a limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 3
LIMIT_COLD, LIMIT_WARM = 30, 5


def first_line(folder: Path, tools: Path) -> float:
    """Return the seconds from the start of the step to the first line of turncheck."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "INPUT_", "RUNNER_"))}
    variables = {
        "GITHUB_ACTION_PATH": str(ROOT / "composite"),
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(folder),
        "RUNNER_TOOL_CACHE": str(tools),
        "PIP_NO_CACHE_DIR": "1",
        "TURNCHECK_INPUTS": json.dumps({"evaluations": "validate"}),
    }
    run = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", f"source {ROOT}/composite/start.sh"]
    start = time.perf_counter()
    with subprocess.Popen(run, cwd=workspace, env=own | variables, stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout or ()
        line = next((line for line in printed if line.startswith("turncheck ")), "")
        seconds = time.perf_counter() - start
        process.communicate()
    if not line:
        raise SystemExit("the step did not start turncheck")
    return seconds


def main() -> int:
    """Print the figures; 1 if a limit is exceeded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = [Path(tempfile.mkdtemp(dir=folder)) for _ in range(ROUNDS)]
        cold = [first_line(folder, one) for one in tools]
        warm = [first_line(folder, one) for one in tools]
        kept = sum(path.stat().st_size for path in tools[0].rglob("*") if path.is_file() and not path.is_symlink())
    print("| kept MB | first line after s, cold | warm |\n|---|---|---|")
    print(f"| {kept / 1e6:.0f} | {min(cold):.1f} | {min(warm):.1f} |")
    return 0 if min(cold) <= LIMIT_COLD and min(warm) <= LIMIT_WARM else 1


if __name__ == "__main__":
    sys.exit(main())
