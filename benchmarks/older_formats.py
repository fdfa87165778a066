"""What the formats of older Rasas cost a project of Rasa 3, in start and reading.

    python benchmarks/older_formats.py [--examples 20000] [--rounds 7]

The same project is read side by side, in turns: as turncheck does, and with all that asks for older Rasas taken out
(the format Markdown, the signs of a version). Each round is a process of its own; the best of each counts. Prints a
Markdown table; ends with 1 if a module that only older projects need was loaded, or if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from reading import write_project

LIMIT_RATIO = 1.1
LIMIT_SECONDS = 0.02
"""By how much the ratio may be exceeded: the noise of a measurement."""
OLDER = frozenset(
    {
        *(
            "older_domain",
            "markdown_writer",
            "markdown_nlu",
            "markdown_stories",
            "markdown_responses",
            "markdown_text",
            "older_config",
            "older_rules",
        ),
        *("older_files", "older_stories", "older_reports", "yaml_data", "convert", "convert_behaviour"),
    }
)
"""Modules that only projects of older Rasas need."""
_TAKEN_OUT = """
from turncheck.project.formats import registry
from turncheck.project.rasa_version import RasaVersion
for name in [name for name, one in registry.FORMATS.items() if one.last is not None]:
    del registry.FORMATS.built_in[name]
reader.recognise = lambda *_: RasaVersion(3)
"""
_READ = """
import json, sys, time
begin = time.process_time()
from pathlib import Path
from turncheck.project import reader
started = time.process_time()
{taken_out}
ready = time.process_time()
number = len(reader.read_project(Path(sys.argv[1])).nlu.examples)
done = time.process_time()
print(json.dumps([started - begin, done - ready, [name for name in sys.modules if "turncheck" in name], number]))
"""


def measure(root: Path, taken_out: str = "") -> tuple[float, float, list[str]]:
    """Start, read the project; return the CPU seconds of both and the modules loaded."""
    command = [sys.executable, "-c", _READ.format(taken_out=taken_out), str(root)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    start, reading, modules, _ = json.loads(process.stdout)
    return start, reading, modules


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_project(root, options.examples, 40)
        rounds = [(measure(root), measure(root, _TAKEN_OUT)) for _ in range(options.rounds)]
    loaded = sorted({one for pair in rounds for one in pair[0][2] if one.rpartition(".")[2] in OLDER})
    start, other_start = (min(pair[which][0] for pair in rounds) for which in (0, 1))
    reading, other_reading = (min(pair[which][1] for pair in rounds) for which in (0, 1))
    print("| a project of Rasa 3 | start, CPU s | reading, CPU s |")
    print("|---|---|---|")
    print(f"| as turncheck reads it | {start:.3f} | {reading:.3f} |")
    print(f"| without what asks for older Rasas | {other_start:.3f} | {other_reading:.3f} |")
    print(f"\nModules of older formats loaded: {', '.join(loaded) or 'none'}")
    return 1 if loaded or reading > other_reading * LIMIT_RATIO + LIMIT_SECONDS else 0


if __name__ == "__main__":
    raise SystemExit(main())
