"""Writes what something new begins with: its module, its line in the registry, and a test that fails until it is done.

    python tools/new.py check intent-shouts
    python tools/new.py command stats
    python tools/new.py engine keyword
    python tools/new.py evaluation tone
    python tools/new.py format tabs
    python tools/new.py gate new-warnings
    python tools/new.py metric nlu.longest_sentence
    python tools/new.py output csv
    python tools/new.py platform mybots

Nothing is overwritten. What is left to do is printed, and marked with TODO in the files.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # it is started as a script

from tools.skeletons import evaluation, platform, program  # noqa: E402

if TYPE_CHECKING:
    from tools.skeletons.skeleton import Skeleton


KINDS: Final = {
    "check": program.check,
    "command": program.command,
    "engine": program.engine,
    "evaluation": evaluation.evaluation,
    "format": program.file_format,
    "gate": evaluation.gate,
    "metric": evaluation.metric,
    "output": program.output,
    "platform": platform.platform,
}


def write(skeleton: Skeleton, root: Path = ROOT) -> None:
    """Write the files and insert the lines.

    Raises:
        SystemExit: a file exists, or a place is not found; then nothing was written.
    """
    for path in skeleton.files:
        if (root / path).exists():
            raise SystemExit(f"{path} exists: choose another name")
    changed: dict[Path, str] = {}
    for one in skeleton.insertions:
        text = changed.get(one.path) or (root / one.path).read_text(encoding="utf-8")
        line = re.search(rf"^{one.pattern}.*\n", text, re.MULTILINE)
        if line is None:
            raise SystemExit(f"{one.path} has no line {one.pattern}")
        at = line.end() if one.after else line.start()
        changed[one.path] = text[:at] + one.lines + text[at:]
    for path, text in {**skeleton.files, **changed}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
    written = [str(path) for path in (*skeleton.files, *changed) if path.suffix == ".py"]
    sort = (
        "ruff",
        "check",
        "--quiet",
        "--no-cache",
        "--select",
        "I",
        "--fix-only",
    )  # several lines may share a place
    subprocess.run([sys.executable, "-m", *sort, *written], cwd=root, check=True)
    for rest in skeleton.left:
        sys.stdout.write(f"left: {rest}\n")


def main() -> None:
    """Read the arguments, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", help="in lower case; words are joined by hyphens")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", arguments.name):
        parser.error(f"'{arguments.name}' is not a name in lower case, its words joined by hyphens")
    write(KINDS[arguments.kind](arguments.name))


if __name__ == "__main__":
    main()
