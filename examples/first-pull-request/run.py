"""Make a repository with an assistant and four pull requests, and judge each as the action on GitHub does.

    python examples/first-pull-request/run.py OUT

writes for each pull request a folder in OUT: what it changes (change.diff), the comment (comment.md), the log with its
annotations (log.txt), the page (report.html) and all other files of a run. OUT/repository is the repository, in which
each pull request is a branch. Nothing is asked of GitHub: without a token, the action writes what it would post.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ASSISTANT = Path(__file__).parents[1] / "pizzeria"
REPOSITORY = "acme/pizzeria"
FOR_LATER = (
    "I'd like to order a pizza for tomorrow",
    "I want to order something for tonight",
    "can I order now for tomorrow",
    "could you make me a pizza for later",
    "place an order for tomorrow",
    "can I get a pizza at eight",
    "I need pizza, tomorrow",
    "one large pizza please, for tomorrow",
    "may I order something in advance",
    "I want to order ahead",
)
_IDENTITY = ("Ann", "ann@example.org", "2026-01-05T09:00:00Z")
_PRIVATE = ("GITHUB_", "INPUT_", "ACTIONS_", "RUNNER_", "TURNCHECK_")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A change of the assistant; ``edit`` writes it into the assistant's folder."""

    number: int
    branch: str
    title: str
    edit: Callable[[Path], None]


def harmless(bot: Path) -> None:
    """Say something more."""
    replace(bot / "domain.yml", "You're welcome!", "You're welcome! Enjoy your pizza.")


def broken_rule(bot: Path) -> None:
    """Ask for a review after each thank you."""
    rule = "      - intent: thank\n      - action: utter_welcome\n"
    replace(bot / "data/rules.yml", rule, f"{rule}      - action: utter_ask_review\n")
    review = '  utter_ask_review:\n    - text: "Would you tell others how you liked it?"\n'
    replace(bot / "domain.yml", "  utter_iamabot:\n", f"{review}  utter_iamabot:\n")


def colliding_intents(bot: Path) -> None:
    """Understand orders for later, by sentences that an order for now could have been."""
    replace(bot / "domain.yml", "  - order_pizza\n", "  - order_pizza\n  - order_for_later\n")
    answer = '  utter_for_later:\n    - text: "We only bake what is eaten today."\n'
    replace(bot / "domain.yml", "  utter_iamabot:\n", f"{answer}  utter_iamabot:\n")
    steps = "      - intent: order_for_later\n      - action: utter_for_later\n"
    replace(bot / "data/rules.yml", "rules:\n", f"rules:\n  - rule: Turn down what is for later\n    steps:\n{steps}\n")
    sentences = "".join(f"      - {sentence}\n" for sentence in FOR_LATER)
    intent = f"  - intent: order_for_later\n    examples: |\n{sentences}\n"
    replace(bot / "data/nlu.yml", "  - intent: inform\n", f"{intent}  - intent: inform\n")


def deleted_tests(bot: Path) -> None:
    """Break the greeting, and delete the tests that would have said so."""
    replace(bot / "data/stories.yml", "- action: utter_greet\n", "- action: utter_menu\n")
    for file, test in (
        ("test_stories.yml", "story: Hello, menu"),
        ("e2e_test_cases.yml", "test_case: a delivery, step"),
    ):
        path = bot / "tests" / file
        before, _, after = path.read_text("utf-8").partition(f"  - {test}")
        path.write_text(before + after.partition("\n\n")[2], "utf-8")


PULL_REQUESTS = (
    PullRequest(1, "enjoy-your-pizza", "Wish a good meal", harmless),
    PullRequest(2, "ask-for-a-review", "Ask for a review", broken_rule),
    PullRequest(3, "orders-for-later", "Understand orders for later", colliding_intents),
    PullRequest(4, "menu-first", "Show the menu first", deleted_tests),
)


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that is in a file."""
    text = path.read_text("utf-8")
    if old not in text:
        raise SystemExit(f"{path} has no {old!r} any more: the pull requests of this example have to follow")
    path.write_text(text.replace(old, new, 1), "utf-8")


def git(repository: Path, *words: str) -> str:
    """Run git as one person at one moment, so that commits have the same names whenever they are made."""
    name, address, moment = _IDENTITY
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", address), ("DATE", moment))
    }
    own = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", *words], cwd=repository, env=own, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_repository(repository: Path) -> dict[str, str]:
    """Make the repository, and return the commits of its branches by their names."""
    shutil.copytree(ASSISTANT, repository / "bot", ignore=shutil.ignore_patterns("results", "models", ".rasa"))
    git(repository, "init", "--quiet", "--initial-branch", "main")
    _commit(repository, "A pizzeria, and its tests")
    for one in PULL_REQUESTS:
        git(repository, "switch", "--quiet", "--create", one.branch, "main")
        one.edit(repository / "bot")
        _commit(repository, one.title)
    names = ("main", *(one.branch for one in PULL_REQUESTS))
    return {name: git(repository, "rev-parse", name) for name in names}


def _commit(repository: Path, message: str) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", message)


def judge(one: PullRequest, repository: Path, commits: dict[str, str], out: Path) -> int:
    """Check out GitHub's test merge of a pull request, run the action on it, and return its exit code."""
    git(repository, "switch", "--quiet", "--detach", "main")
    git(repository, "merge", "--quiet", "--no-ff", "--message", f"Merge #{one.number}", commits[one.branch])
    out.mkdir(parents=True)
    (out / "change.diff").write_text(git(repository, "diff", "--unified=1", "main", one.branch) + "\n", "utf-8")
    sides = {
        side: {"sha": commits[branch], "ref": branch, "repo": {"full_name": REPOSITORY}}
        for side, branch in (("head", one.branch), ("base", "main"))
    }
    event = {"number": one.number, "pull_request": {"number": one.number, "title": one.title, **sides}}
    (out / "event.json").write_text(json.dumps(event), "utf-8")
    own = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
    variables = {
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(out / "event.json"),
        "GITHUB_SHA": git(repository, "rev-parse", "HEAD"),
        "GITHUB_REF": f"refs/pull/{one.number}/merge",
        "GITHUB_RUN_ID": str(one.number),
        "GITHUB_WORKSPACE": str(repository),
        "INPUT_PROJECT": "bot",
        "INPUT_OUT": str(out),
        "INPUT_CACHE": "false",
    }
    command = [sys.executable, "-I", "-m", "turncheck", "action"]
    done = subprocess.run(command, cwd=repository, env=own | variables, check=False, capture_output=True, text=True)
    (out / "log.txt").write_text(done.stdout, "utf-8")
    if done.returncode > 1 or not (out / "comment.md").exists():
        raise SystemExit(f"#{one.number} could not be judged:\n{done.stdout}{done.stderr}")
    return done.returncode


def main(out: Path) -> dict[str, int]:
    """Judge all pull requests, and return their exit codes by their branches."""
    repository = out / "repository"
    commits = make_repository(repository)
    return {one.branch: judge(one, repository, commits, out / one.branch) for one in PULL_REQUESTS}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for name, code in main(Path(sys.argv[1]).resolve()).items():
        print(f"{'red' if code else 'green':6} {sys.argv[1]}/{name}")
