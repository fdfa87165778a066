"""Edits bots, harmlessly and harmfully, and shows what turncheck says about each edit.

    python -m tools.edits BOT... [--out FOLDER] [--most N] [--only WORDS] [--workers N]

A bot is a folder with a Rasa project. Its files are committed to a repository below ``--out``, and every edit is a
branch of it, measured with ``run --base main`` and the gates that fit a pull request. A harmless edit should pass
without ⚠️, ❌ and lists of newly wrong items outside a fold; a harmful one should fail, or be named above the fold. The
table has a row for each edit, and the exit code is 1 if any was judged otherwise. The comments stay below ``--out``.

Of each bot at most ``--most`` edits of either sort are made, a different mixture of kinds for every bot; edits of what
a bot does not have are left out. Files are edited as text: YAML in the layout that Rasa's own bots have.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.editing.harmful import harmful
from tools.editing.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.editing.blocks import Edit

_GATES: Final = ("new-errors", "new-failures")
_FOLD: Final = re.compile(r"<details>(?:(?!<details>).)*?</details>", re.DOTALL)
_LISTS: Final = re.compile(r"^#+ .*(?:[Nn]ewly|collide).*$", re.MULTILINE)
"""Titles of lists that a harmless edit must not have in plain sight."""
_MARKS: Final = ("✅", "⚠️", "❌")
_TOO_LONG: Final = 300
_MOST: Final = 8
_HEAD: Final = (
    "| as expected | bot | kind | edit | exit | headline | above the fold | bytes |\n|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What turncheck said about an edit: the comment's title and headline, and all that is not folded."""

    exit_code: int
    mark: str
    headline: str
    above: str
    size: int


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot, as a repository of its own with everything committed on ``main``."""

    name: str
    repository: Path
    out: Path

    def edited(self, edit: Edit) -> None:
        """Commit an edit on a branch that begins at ``main``."""
        git(self.repository, "checkout", "-q", "-f", "-B", "change", "main")
        git(self.repository, "clean", "-fdqx")
        edit.make(self.repository)
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", edit.what)

    def measured(self, number: int) -> Shown:
        """Run turncheck on the branch, and read its comment."""
        out = self.out / f"{number:03}"
        command = [sys.executable, "-m", "turncheck", "run", ".", "--base", "main", "--out", str(out), "--quiet"]
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.run(
            [*command, "--cache-folder", str(self.out / "cache"), "--fail-on", *_GATES],
            cwd=self.repository,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        comment = out / "comment.md"
        if done.returncode not in {0, 1} or not comment.is_file():
            return Shown(done.returncode, "?", (done.stderr or done.stdout)[-_TOO_LONG:], "", 0)
        return read_comment(comment.read_text(encoding="utf-8"), done.returncode)


def git(folder: Path, *arguments: str) -> None:
    """Run git, as an author of its own.

    Raises:
        CalledProcessError: git failed.
    """
    who = ("-c", "user.name=edits", "-c", "user.email=edits@localhost", "-c", "core.autocrlf=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def prepared(source: Path, out: Path) -> Bot:
    """Commit a copy of the bot's files to a repository of its own."""
    name = source.resolve().name
    repository = out / "checkouts" / name
    shutil.rmtree(repository, ignore_errors=True)
    shutil.copytree(source, repository, ignore=shutil.ignore_patterns(".git", "results"))
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A", "-f")
    git(repository, "commit", "-q", "-m", "The bot")
    return Bot(name, repository, out / name)


def read_comment(text: str, exit_code: int) -> Shown:
    """Separate what is in plain sight from what is folded; folds may contain others."""
    above = text
    while (rest := _FOLD.sub("", above)) != above:
        above = rest
    title = next(line for line in above.splitlines() if line.startswith("#"))
    headline = next((line for line in above.splitlines() if line.startswith("**")), "")
    mark = next((mark for mark in _MARKS if mark in title), "?")
    return Shown(exit_code, mark, f"{title.lstrip('# ')} {headline}", above, len(text.encode()))


def mixed(edits: Iterable[Edit], most: int, first: int) -> list[Edit]:
    """Choose edits of as many kinds as possible, beginning with the kind of this number."""
    by_kind: dict[str, list[Edit]] = {}
    for edit in edits:
        by_kind.setdefault(edit.kind, []).append(edit)
    kinds = list(by_kind)
    kinds = kinds[first % len(kinds) :] + kinds[: first % len(kinds)] if kinds else []
    ranked = [(place, kinds.index(kind), edit) for kind, found in by_kind.items() for place, edit in enumerate(found)]
    return [edit for _, _, edit in sorted(ranked, key=lambda one: one[:2])][:most]


def is_as_expected(edit: Edit, shown: Shown) -> bool:
    """Whether a harmless edit raises nothing, and a harmful one fails or is named in plain sight."""
    if not edit.harmful:
        return shown.exit_code == 0 and shown.mark == "✅" and not lists_in_sight(shown)
    return shown.exit_code == 1 or any(name in shown.above for name in edit.names)


def lists_in_sight(shown: Shown) -> list[str]:
    """The titles of lists of newly wrong items that are not folded."""
    return [found[0].strip("# ") for found in _LISTS.finditer(shown.above)]


def row(bot: Bot, edit: Edit, shown: Shown) -> str:
    """The row of an edit: whether it is as expected, its exit code, headline and size, and what is above the fold."""
    named = [name for name in edit.names if name in shown.above]
    above = "; ".join([*lists_in_sight(shown), *(["names " + ", ".join(named)] if named else [])])
    good = "yes" if is_as_expected(edit, shown) else "**no**"
    kind = "harmful" if edit.harmful else "harmless"
    cells = (good, bot.name, kind, edit.what, str(shown.exit_code), shown.headline, above, f"{shown.size:,}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ')[:_TOO_LONG] for cell in cells)} |"


def tried(bot: Bot, edits: list[Edit]) -> Counter[tuple[str, bool]]:
    """Make the edits of a bot one by one, print their rows, and count them by sort and by whether all was well."""
    outcomes: Counter[tuple[str, bool]] = Counter()
    for number, edit in enumerate(edits):
        bot.edited(edit)
        shown = bot.measured(number)
        outcomes["harmful" if edit.harmful else "harmless", is_as_expected(edit, shown)] += 1
        print(row(bot, edit, shown), flush=True)
    return outcomes


def main() -> int:
    """Try the edits of every bot, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bots", type=Path, nargs="+", help="folders of bots, which are not touched")
    parser.add_argument("--out", type=Path, default=Path("edits"), help="folder for repositories and reports")
    parser.add_argument("--only", default="", help="regular expression: only the edits whose description it occurs in")
    parser.add_argument("--most", type=int, default=_MOST, help=f"edits of each sort per bot (default: {_MOST})")
    parser.add_argument("--workers", type=int, default=1, help="bots that are tried at the same time (default: 1)")
    asked = parser.parse_args()
    bots = [prepared(source, asked.out.resolve()) for source in asked.bots]
    chosen = [
        [
            edit
            for sort in (harmless, harmful)
            for edit in mixed(
                (one for one in sort(bot.repository) if re.search(asked.only, one.what)), asked.most, asked.most * place
            )
        ]
        for place, bot in enumerate(bots)
    ]
    print(_HEAD, flush=True)
    with ThreadPoolExecutor(asked.workers) as workers:
        outcomes = sum(workers.map(tried, bots, chosen), Counter())
    for sort in ("harmless", "harmful"):
        good, bad = outcomes[sort, True], outcomes[sort, False]
        print(f"\n{good} of {good + bad} {sort} edits are judged as expected.")
    return int(any(not good for (_, good), number in outcomes.items() if number))


if __name__ == "__main__":
    sys.exit(main())
