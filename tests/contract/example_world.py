"""What the examples of the pages take for granted: an assistant, servers to ask, a shell that runs turncheck in here.

The shell knows as much of a shell as the pages use. Programs that are not ours are never started.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from documentation import ROOT
from engines_example import example_platform
from fake_kore import BOT, CLIENT, SECRET, FakeKore, Suite
from in_process import turncheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLES: Final = ROOT / "examples"
FAKE_RASA: Final = Path(__file__).with_name("rasa_program.py")

# --- The assistant ----------------------------------------------------------------------------------------------------

CONFIG: Final = """\
recipe: default.v1
assistant_id: shop
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
KEYWORDS: Final = CONFIG.replace("DIETClassifier", "KeywordIntentClassifier")
"""Nothing is learnt, so that comparing two such files takes no time."""
DOMAIN: Final = """\
version: "3.1"
intents:
- greet
- order
entities:
- size
responses:
  utter_greet:
  - text: (utter_greet)
  utter_order:
  - text: (utter_order)
"""
NLU: Final = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet you
    - greet all of you
    - greet the cook
    - greet everybody here
    - greet the waiter
- intent: order
  examples: |
    - order a [large](size) pizza
    - order one [small](size) margherita
    - order two with ham
    - order something to drink
    - order a [large](size) salad
"""
RULES: Final = """\
version: "3.1"
rules:
- rule: greet
  steps:
  - intent: greet
  - action: utter_greet
- rule: take the order
  steps:
  - intent: order
  - action: utter_order
"""
STORIES: Final = """\
version: "3.1"
stories:
- story: a guest greets and orders
  steps:
  - user: greet the kitchen
    intent: greet
  - action: utter_greet
  - user: order a pizza with ham
    intent: order
  - action: utter_order
"""
TRAINED_STORIES: Final = """\
version: "3.1"
stories:
- story: order at once
  steps:
  - intent: order
    entities:
    - size: large
  - action: utter_order
  - intent: greet
  - action: utter_greet
"""
TEST_NLU: Final = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet the guests
    - greet my friend
- intent: order
  examples: |
    - order one [large](size) pizza
    - order a [small](size) salad
"""


def _cases(name: str) -> str:
    return f"test_cases:\n- test_case: {name}\n  steps:\n  - user: greet the cook\n  - utter: utter_greet\n"


SUITE: Final = json.dumps({"testCases": [{"input": "greet the boss", "intent": "greet"}]}, indent=1)
CONVERSATION: Final = "a guest greets\n\n#me\ngreet the cook\n\n#bot\n(utter_greet)\n"
BOT_FILES: Final[Mapping[str, str]] = {
    "config.yml": CONFIG,
    "domain.yml": DOMAIN,
    "data/nlu.yml": NLU,
    "data/rules.yml": RULES,
    "data/stories.yml": TRAINED_STORIES,
    "tests/test_nlu.yml": TEST_NLU,
    "tests/test_stories.yml": STORIES,
    "tests/e2e_test_cases.yml": _cases("books a trip") + _cases("order a pizza").partition("\n")[2],
    "tests/smoke.json": SUITE,
}
AROUND: Final[Mapping[str, str]] = {
    "a.yml": KEYWORDS,
    "b.yml": f"{KEYWORDS}- name: AugmentedMemoizationPolicy\n",
    "tests/e2e/more.yml": _cases("greet again"),
    "tests/other.yml": _cases("greet once more"),
    "spec/convo/greet.convo.txt": CONVERSATION,
    "suite.json": SUITE,
    "everyday.csv": "input,intent\ngreet the boss,greet\n",
    "new.csv": "input,intent\norder a pizza,order\n",
    "lines.txt": "three boxes to Lyon\n",
    "talk.txt": "greet the cook\n",
    "log.json": '{"utterance": "greet the boss", "intent": "greet", "completed": true}\n',
}
MADE: Final[Mapping[str, str]] = {
    "report.csv": "turncheck test batch tests/everyday.csv --csv report.csv",
    "old/report.json": "turncheck report import --kore-csv report.csv --out old",
    "base/report.json": "turncheck report import results --out base",
    "theirs": "turncheck test nlu --nlu tests/test_nlu.yml --successes --out theirs",
    "a.tar.gz": "turncheck train core --config a.yml --fixed-model-name a --out .",
    "b.tar.gz": "turncheck train core --config b.yml --fixed-model-name b --out .",
    "models/mine.tar.gz": "turncheck train --fixed-model-name mine",
    "results/bots/*": "turncheck run --project 'bots/*'",
    "shard-*": " && ".join(f"turncheck run --shard {part}/8 --out shard-{part}" for part in (1, 3, 4, 5, 6, 7, 8)),
}
"""What an example reads and nobody has made before it: the command that makes it."""


def write_world(folder: Path) -> None:
    """Write the assistant of the examples, at the top of a checkout and again below it, and the example of a plugin."""
    for place in (".", "bot", "bots/pizzeria", "bots/pizza"):
        _write(folder / place, BOT_FILES)
    _write(folder, AROUND)
    _link_examples(folder)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "The shop")


def write_workshop(folder: Path) -> None:
    """Write the export of a Kore.ai assistant in its place."""
    for place in (".", "bot", "my_bot"):
        shutil.copytree(EXAMPLES / "bike_workshop", folder / place, dirs_exist_ok=True)
    shutil.make_archive(str(folder / "export"), "zip", EXAMPLES / "bike_workshop", ".")
    smoke = '{"testCases": [{"input": "rent a bike", "intent": "Rent Bike"}]}'
    _write(folder, {**AROUND, "tests/smoke.json": smoke, "new.csv": "input,intent\nrent a bike,Rent Bike\n"})
    shutil.copy(EXAMPLES / "bike_workshop" / "tests" / "everyday.csv", folder / "everyday.csv")


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def install_plugin(site: Path) -> None:
    """Put the example of a plugin on a path as pip does."""
    project = tomllib.loads((EXAMPLES / "plugin" / "pyproject.toml").read_text("utf-8"))["project"]
    information = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    _write(site / information, {"METADATA": metadata, "entry_points.txt": "\n".join(groups)})


def _link_examples(folder: Path) -> None:
    (folder / "examples").mkdir()
    for example in EXAMPLES.iterdir():
        if example.name == "migration":  # whose commands write into it
            shutil.copytree(example, folder / "examples" / example.name)
        else:
            (folder / "examples" / example.name).symlink_to(example)


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


# --- The shell --------------------------------------------------------------------------------------------------------

OURS: Final = frozenset({"turncheck", "cd", "export", "echo"})
NOT_STARTED: Final[Mapping[str, str]] = {
    "pip": "fetches from PyPI",
    "uvx": "fetches from PyPI",
    "gh": "asks GitHub",
    "git": "fetches from a host",
    "dask": "starts servers; test_cluster.py runs on a cluster of this machine",
    "make": "runs the tests themselves, for minutes",
    "python": "benchmarks measure for minutes to hours; test_concierge.py runs the concierge",
    "pytest": "test_pytest_plugin.py runs it in a pytest of its own",
    "rasa": "the real Rasa; turncheck has the same commands and takes its place",
}
"""Programs that an example names and that are not started, and why. What they are asked for must exist."""
PROGRAMS: Final = OURS | NOT_STARTED.keys()
_BETWEEN: Final = frozenset({"&&", "|", "<", ">"})


@dataclass
class Shell:
    """One who types the examples of a page, one after the other; ``output``: what the last example printed."""

    place: Path
    rasa: str
    kore: FakeKore
    environment: dict[str, str] = field(default_factory=lambda: {"TURNCHECK_KORE_CLIENT_SECRET": SECRET})
    output: str = ""
    making: list[str] = field(default_factory=list)

    def types(self, line: str) -> list[tuple[list[str], int]]:
        """Run a line; return the words of each command of ours with its exit code."""
        done = []
        piped = ""
        for given, sign in commands(line):
            self._make_what_is_missing(given)
            words = [word for raw in given for word in self._expanded(raw, line)]
            if sign == "<":
                piped = (self.place / words[-1]).read_text("utf-8")
                words.pop()
            if "--changed" in words:
                self._change_something()
            if words[0] == "turncheck":
                done.append((words, self._turncheck(words[1:], piped)))
            else:
                piped = self._other(words)
        return done

    def _expanded(self, word: str, line: str) -> list[str]:
        word = re.sub(r"\$(\w+)", lambda name: self.environment.get(name[1], "secret"), word)
        if "*" in word and f"'{word}'" not in line:
            return sorted(str(path.relative_to(self.place)) for path in self.place.glob(word)) or [word]
        return [word]

    def _make_what_is_missing(self, words: list[str]) -> None:
        for word in MADE.keys() & {*words}:
            if not (self.place / word).exists() and word not in self.making:
                self.making.append(word)
                kept = self.output
                assert all(code == 0 for _, code in self.types(MADE[word])), self.output
                self.output = kept

    def _change_something(self) -> None:
        git(self.place, "switch", "--quiet", "--create", "change")
        _write(self.place, {"data/nlu.yml": NLU.replace("greet everybody here", "greet everybody there")})
        git(self.place, "commit", "--quiet", "--all", "--message", "A sentence")

    def _turncheck(self, words: list[str], stdin: str) -> int:
        done = turncheck(*self._as_here(words), cwd=self.place, stdin=stdin)
        self.output += done.stdout + done.stderr
        return done.returncode

    def _as_here(self, words: list[str]) -> list[str]:
        """Return the words with the servers of this test in place of those that a page names."""
        runs = [run for name in words if name in self.kore.suites for run in self.kore.suites[name].runs]
        here = {"st-…": BOT, "cs-…": CLIENT, "tr-…": runs[-1] if runs else ""}
        here |= {"http://localhost:5005": self.rasa, "https://rasa.example": self.rasa}
        found = [here.get(word, word) for word in words]
        if "--rasa-command" in found:
            found[found.index("--rasa-command") + 1] = shlex.join([sys.executable, str(FAKE_RASA)])
        if words[0] == "kore" or ("--engine" in words and words[words.index("--engine") + 1] == "kore"):
            found += ["--kore-host", self.kore.url]
            found += [] if "--kore-bot-id" in words else ["--kore-bot-id", BOT, "--kore-client-id", CLIENT]
        return found

    def _other(self, words: list[str]) -> str:
        """Do what the shell itself does, or look for what another program is asked for; return what it prints."""
        match words:
            case ["cd", folder]:
                self.place = (self.place / folder).resolve()
                assert self.place.is_dir(), words
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                self.environment.setdefault(name, value)
            case ["echo", *rest]:
                return " ".join(rest) + "\n"
            case ["rasa", *rest]:
                assert self._turncheck(rest, "") == 0, self.output
            case _:
                look_for_what_is_named(words)
        return ""


def look_for_what_is_named(words: list[str]) -> None:
    """Look for the extras, targets and scripts that the command of another program names."""
    match words:
        case ["pip", "install", *names]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
            extras = project["optional-dependencies"]
            named = [re.fullmatch(r"turncheck(?:\[(\w+)\])?", name) for name in names]
            assert all(one[1] is None or one[1] in extras for one in named if one), words
            assert all((ROOT / name).is_dir() for name in names if name.startswith("./")), words
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), words
        case ["python", script, *flags]:
            source = (ROOT / script).read_text("utf-8")
            assert [flag for flag in flags if flag.startswith("--") and flag.removeprefix("--") not in source] == []
        case ["uvx", "turncheck", *rest]:
            assert rest, words
        case _:
            assert words[0] in NOT_STARTED, f"{words[0]} is neither run nor on the list of what cannot be"


def commands(line: str) -> Iterator[tuple[list[str], str]]:
    """Yield the commands of a line, each with the sign behind which its last word stands, if that is a file."""
    words: list[str] = []
    sign = ""
    for word in shlex.split(line, comments=True):
        if word in {"&&", "|"}:
            yield words, sign
            words, sign = [], ""
        elif word in _BETWEEN:
            sign = word
        else:
            words.append(word)
    if words:
        yield words, sign


def platform() -> FakeKore:
    """Return a platform with the workshop's assistant, which understands the sentences of its suites."""
    kore = example_platform(EXAMPLES / "bike_workshop")
    kore.published, kore.polls = {}, 3
    kore.intents["rent a bike"] = ("Rent Bike",)
    content = b'{"testCases": [{"input": "rent a bike", "intent": "Rent Bike"}]}'
    kore.suites["Developer defined utterances"] = Suite("ts-0", "", content, "json")
    return kore
