"""What real Rasa 3.6.21 said about each recorded project, and what we say: the same faults, the same exit codes.

Compared as the README of the recorded cases says: messages are classified by ``checks.json``, folded, and matched with
our findings by code; each subject of a message must be found in the message or the location of its finding.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from turncheck.commands.validate import Request, check_project
from turncheck.messages.finding import Finding

HERE = Path(__file__).parents[1] / "oracle" / "validate"
SHARED = Path(__file__).parents[2].parent / "shared" / "oracle" / "validate"

RETRIEVAL_DUPLICATES = "domain-merge-duplicate"
FOLLOWS_FROM_EMPTIED_DOMAIN = {
    "intent-not-in-domain",
    "story-intent-undefined",
    "action-not-in-domain",
    "form-not-in-domain",
    "response-undefined",
    "listed-response-undefined",
}
SAID_ONCE = {
    "story-name-empty",
    "story-without-steps",
    "step-without-intent",
    "step-without-action",
    "example-without-dash",
}
"""Messages that name a file and nothing in it."""


@dataclass(frozen=True)
class Row:
    """A row of checks.json."""

    code: str | None
    severity: str
    fails: str
    pattern: re.Pattern[str]
    subjects: tuple[str, ...]


@dataclass(frozen=True)
class Message:
    """A fault that Rasa named: code, level, and the names that a user needs."""

    code: str
    severity: str
    fails: str
    subjects: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def values(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """The subjects that are not empty."""
        return frozenset((name, value) for name, value in self.subjects if any(value))


@dataclass
class Tally:
    """What the comparison of many runs came to."""

    runs: int = 0
    exit_codes: int = 0
    messages: int = 0
    matched: int = 0
    extra: int = 0
    failures: list[str] = field(default_factory=list)


def folder() -> Path:
    """The recorded cases: all of them where they lie beside the checkout, else those that belong to the repository."""
    return SHARED if SHARED.is_dir() else HERE


def cases() -> list[Path]:
    """The folders of all cases."""
    return sorted(path.parent for path in folder().glob("*/expected.json"))


def rows() -> list[Row]:
    """The rows of checks.json."""
    return [
        Row(row["code"], row["severity"], row["fails"], re.compile(row["pattern"], re.DOTALL), tuple(row["subjects"]))
        for row in json.loads((HERE / "checks.json").read_text(encoding="utf-8"))
    ]


ROWS = rows()
RASA_CODES = {row.code for row in ROWS if row.code is not None}


def classify(text: str) -> Message | None:
    """Return the fault behind one of Rasa's messages, ``None`` for an announcement."""
    matches = [(row, match) for row in ROWS if (match := row.pattern.fullmatch(text))]
    assert len(matches) == 1, text
    row, match = matches[0]
    if row.code is None:
        return None
    subjects = tuple((name, split_subject(name, match[name] or "")) for name in row.subjects)
    return Message(row.code, row.severity, row.fails, subjects)


def split_subject(name: str, value: str) -> tuple[str, ...]:
    """Return the names in a subject: plural ones are lists, a conflict's predictions one action a line."""
    if name == "predictions":
        return tuple(
            sorted({line.strip().partition(" predicted in ")[0] for line in value.splitlines() if line.strip()})
        )
    if name.endswith("s") and name not in {"has", "class"}:
        return tuple(part.strip().strip("'") for part in value.split(", "))
    return (value,)


def fold(messages: list[Message]) -> list[Message]:
    """Drop messages whose subjects are those of another with the same code, or a part of them."""
    kept: list[Message] = []
    for number, message in enumerate(messages):
        others = [other for other in messages if other.code == message.code and other is not message]
        if any(message.values < other.values for other in others):
            continue
        if any(message.values == other.values for other in messages[:number] if other.code == message.code):
            continue
        kept.append(message)
    return kept


def without_false_alarms(messages: list[Message], project: Path) -> list[Message]:
    """Leave out what the README names as no fault: retrieval intents "found twice", STORY_START for each rule."""
    retrieval = retrieval_intents(project)
    kept = []
    for message in messages:
        if message.code == RETRIEVAL_DUPLICATES:
            subjects = tuple(
                (name, tuple(v for v in values if not (name == "intents" and v in retrieval)))
                for name, values in message.subjects
            )
            if any(any(values) for _, values in subjects):
                kept.append(Message(message.code, message.severity, message.fails, subjects))
        else:
            kept.append(message)
    return kept


def retrieval_intents(project: Path) -> set[str]:
    """The retrieval intents of a project's NLU data."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in project.rglob("*.yml"))
    return {name for text in texts for name in re.findall(r"^\s*-\s*intent:\s*([^\s/]+)/", text, re.MULTILINE)}


def parse(arguments: list[str], project: Path) -> Request:
    """Return our request for one of Rasa's command lines (``data validate …``)."""
    options: dict[str, Any] = {"project": project}
    rest = arguments[2:]
    while rest:
        word = rest.pop(0)
        if word == "stories":
            options["stories_only"] = True
        elif word == "--fail-on-warnings":
            options["fail_on_warnings"] = True
        elif word == "--max-history":
            options["max_history"] = rest.pop(0)
        elif word in {"--domain", "-d"}:
            options["domain"] = project / rest.pop(0)
        elif word in {"--config", "-c"}:
            options["config"] = project / rest.pop(0)
        elif word == "--data":
            data = options.setdefault("data", [])
            while rest and not rest[0].startswith("-"):
                data.append(project / rest.pop(0))
        else:
            raise AssertionError(arguments)
    return Request(**options)


def compare(case: Path, run: dict[str, Any], tally: Tally) -> None:
    """Compare one run of a case."""
    where = f"{case.name}: {' '.join(run['args'])}"
    project = case / "project"
    request = parse(list(run["args"]), project)
    result = check_project(request).validated
    messages = [m for m in (classify(message["text"]) for message in run["messages"]) if m is not None]
    texts = [message["text"] for message in run["messages"]]
    findings = [finding for finding in result.findings if finding.code in RASA_CODES]
    if any(text.startswith("Loading domain from") for text in texts) or any(
        m.code == "version-too-high" and "domain" in str(m.subjects) for m in messages
    ):
        messages = [m for m in messages if m.code not in FOLLOWS_FROM_EMPTIED_DOMAIN]
        findings = [f for f in findings if f.code not in FOLLOWS_FROM_EMPTIED_DOMAIN]
    messages = without_false_alarms(fold(messages), project)

    tally.runs += 1
    code = result.exit_code(fail_on_warnings=request.fail_on_warnings)
    if (code == 0) == (run["exit_code"] == 0):
        tally.exit_codes += 1
    else:
        tally.failures.append(f"{where}: exit code {code}, Rasa {run['exit_code']}")
    left = list(findings)
    answered: list[Message] = []
    # The longest names first: "handoff" would be found in the finding about "trigger_handoff", too.
    for message in sorted(messages, key=lambda m: -sum(len(value) for _, values in m.subjects for value in values)):
        tally.messages += 1
        answers = [finding for finding in left if answer(message, finding)]
        if answers or is_false_alarm(message, request, findings):
            tally.matched += 1
            answered.append(message)
            several = message.code in {"schema-violation", RETRIEVAL_DUPLICATES}
            same = [f for f in left if f.code == message.code] if several else answers[:1]
            # One text under a message for several names: each of them may be a finding of ours.
            if any(len(values) > 1 for _, values in message.subjects) and not several:
                same = [f for f in left if f.code == message.code and partly(message, f)]
            left = [finding for finding in left if finding not in same]
        else:
            tally.failures.append(f"{where}: nothing answers {message}")
    for finding in left:
        # Rasa prints one text once, however many places it is about: findings that answer one message count once.
        if finding.code in SAID_ONCE and any(answer(message, finding) for message in answered):
            continue
        tally.extra += 1
        tally.failures.append(f"{where}: extra {finding.severity} {finding.code} {finding.location} {finding.message}")


def answer(message: Message, finding: Finding) -> bool:
    """Whether a finding has the message's code and level and names all its subjects."""
    if (finding.code, finding.severity) != (message.code, message.severity):
        return False
    if message.code == RETRIEVAL_DUPLICATES or any(len(values) > 1 for _, values in message.subjects):
        return partly(message, finding)
    text = f"{finding.message}\n{finding.location}"
    return all(value in text for _, values in message.subjects for value in values)


def partly(message: Message, finding: Finding) -> bool:
    """Whether a finding names at least one name of each list, and all that stands alone."""
    text = f"{finding.message}\n{finding.location}"
    if message.code == "story-conflict":
        return all(value in text for _, values in message.subjects for value in values)
    lists = [values for _, values in message.subjects if any(values)]
    if message.code == RETRIEVAL_DUPLICATES:
        return any(value in text for values in lists for value in values)
    return all(any(value in text for value in values) for values in lists)


def is_false_alarm(message: Message, request: Request, findings: list[Finding]) -> bool:
    """Rasa's "unused" questions of forms, which the README says ours need not have."""
    subject = dict(message.subjects)
    if message.code == "response-unused":
        return subject["response"][0].startswith("utter_ask_")
    return message.code == "story-start-missing" and any(f.code == "story-start-missing" for f in findings)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
@pytest.mark.follows(
    page="rasa-3",
    sentence=(
        "`rasa data validate` verifies that domain, NLU data and stories contain no mistakes or inconsistencies."
    ),
)
def test_says_what_rasa_says(case: Path) -> None:
    tally = Tally()
    for run in json.loads((case / "expected.json").read_text(encoding="utf-8"))["runs"]:
        compare(case, run, tally)
    assert not tally.failures, "\n".join(tally.failures)
    assert (tally.exit_codes, tally.matched, tally.extra) == (tally.runs, tally.messages, 0)
