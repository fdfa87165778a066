"""Forged reports: every string, number and list of a report replaced, then read, compared and shown in every way.

A fork's run leaves its report for a run whose token may write. What is in it must be refused in words, or be shown as
mere text: no markup, command or mention of the forger's.
"""

from __future__ import annotations

import copy
import json
import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import cmarkgfm
import msgspec
from cmarkgfm.cmark import Options
from tools.fuzzing.full_report import full_report, with_right_totals
from tools.fuzzing.trial import Trial

from turncheck.ci.github.host import GitHub
from turncheck.comparison.baseline import Missing, Present
from turncheck.conclude import Member, Several, conclude
from turncheck.messages.errors import UserError
from turncheck.publishing.files import terminal_overview, terminal_summary
from turncheck.publishing.result import result_of_any
from turncheck.render.assistants import key_of
from turncheck.render.links import Links
from turncheck.render.sinks.plain import lines
from turncheck.render.sinks.workflow_command import log_line
from turncheck.report.codec import decode

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from turncheck.conclude import Outcome
    from turncheck.settings.options import JunitFlavour

STRINGS: Final = (
    "@forged", "<forged-tag onload=x>", "::error::forged", "\x1b[31mforged", "[x](http://forged.example)",
    "http://forged.example/", "`<forged-tag>`", "forged\n::error::forged", "##[error]forged", "-->\n<forged-tag>",
    "]]><forged-tag>", "</script><forged-tag>", "| forged | @forged |", "{{ 7*7 }}", "%s%n{0}", "\x00forged", "\u202eforged",
    "", " ", "0", "-1", "1e999", "nan", "\u0663", "9" * 30, "9" * 5000, "1-", "-", "0-5 6", "5-0", "1-2-3", "3.", ".x", "x.x",
    "../../../forged", "/etc/forged", "a//b", ".", "accuracy", "weighted avg", "no_entity", "greet", "None",
    "nlu.intents[", "nlu.intents.f1 >= 1e999", "nlu.intents.f1: -1", "gone-tests", "core[99]", "x" * 70_000, "2026-13-99",
    "2026-\u0661\u0661-\u00b9", "deadbeef", "a\u2028b", "\ud800",
)  # fmt: skip
NUMBERS: Final = (0, -1, 1, 7, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e308, -1e308, 5e-324)
OTHERS: Final[tuple[Any, ...]] = (None, True, "3", 3, [], {}, [None], {"": None}, [[[[]]]], "nested")
_FORMATS: Final = ("sarif", "codequality", "metrics", "annotations")
_SECTIONS: Final = ("validation", "nlu", "core", "e2e", "batch", "strength", "robustness", "trust")
_ROUNDS: Final = 40
"""Forged reports of one pair of sound ones."""
_DEEP: Final = (300, 900, 5000)


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield a forged report beside another one, again and again."""
    while True:
        head, base = full_report(chance), full_report(chance)
        for name in chance.sample(_SECTIONS, chance.randint(0, len(_SECTIONS) - 2)):
            head[name] = base[name] = None
        base["source"]["commit"], head["source"]["commit"] = "1" * 40, "2" * 40
        base["project"]["root"] = head["project"]["root"]
        if chance.random() < 0.5:
            base = similar(head, chance)
        for _ in range(_ROUNDS):
            sides = [json.dumps(head), json.dumps(base)]
            forged = chance.choice((0, 0, 1))
            sides[forged] = forge(head if forged == 0 else base, chance)
            both = sides[0].encode(), sides[1].encode()
            yield Trial(partial(show, *both, place, chance.randrange(1, 420)), partial(_keep, *both))


def similar(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the report of a state before: the same, with a few leaves that differ."""
    base = copy.deepcopy(document)
    for _ in range(10):
        holder, key = chance.choice(leaves(base))
        if isinstance(holder[key], bool):
            holder[key] = not holder[key]
        elif isinstance(holder[key], float):
            holder[key] = round(chance.random(), 3)
    base["source"]["commit"] = "1" * 40
    return with_right_totals(base)


def leaves(value: Any) -> list[tuple[Any, Any]]:
    """Return where every string, number, list and dictionary of a document is."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def forge(document: dict[str, Any], chance: random.Random) -> str:
    """Replace one value, or a few."""
    forged = copy.deepcopy(document)
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        holder, key = chance.choice(leaves(forged))
        _replace(holder, key, chance)
    if chance.random() < 0.7:
        forged = with_right_totals(forged)
    text = json.dumps(forged)
    deep = chance.choice(_DEEP)
    return text.replace('"nested"', "[" * deep + "]" * deep)


def _replace(holder: Any, key: Any, chance: random.Random) -> None:
    old = holder[key]
    if chance.random() < 0.1:
        holder[key] = chance.choice(OTHERS)
    elif isinstance(old, bool) or old is None:
        holder[key] = chance.choice((not old, chance.choice(STRINGS), chance.choice(NUMBERS)))
    elif isinstance(old, str):
        holder[key] = chance.choice(STRINGS)
    elif isinstance(old, int | float):
        number = chance.choice(NUMBERS)
        holder[key] = int(number) if isinstance(old, int) else number
    elif isinstance(old, list):
        holder[key] = chance.choice(([], old[:1], old[::-1], old * 2, old * 30))
    elif old:
        name = chance.choice(list(old))
        old[chance.choice(STRINGS)] = old.pop(name) if chance.random() < 0.7 else old[name]


def show(head: bytes, base: bytes, place: Path, chance: int = 0) -> str:
    """Read, compare, judge and render in every way; raise what no forged report may cause.

    ``chance`` chooses among the ways that take long; 0 takes all of them.
    """
    try:
        report, other = decode(head, name="report"), decode(base, name="baseline")
    except UserError as error:
        return _message(error)
    baseline = Missing("none") if chance % 5 == 1 else Present(other, "artifact", other.source.commit, "7")
    links = Links(pages=_GITHUB.pages, commit="2" * 40, run_url="https://github.com/acme/bots/actions/runs/7")
    flavour: JunitFlavour = "xunit" if chance % 4 == 1 else "common"
    try:
        outcome = conclude(report, baseline, links, flavour=flavour, formats=_FORMATS)
        shown = check(outcome, place, chance)
    except UserError as error:
        return _message(error)
    if chance % 3 == 0:
        _only_text("terminal", terminal_summary(outcome, links))
    if chance % 7 == 0:
        several = Several((Member("1", outcome), Member("2", outcome)), (), key_of(["a", "b"]), links, formats=_FORMATS)
        _only_text("terminal", terminal_overview(several.assistants))
        for text in several.texts():
            _no_markup(text.name, text.encoded.decode())
    return shown


def check(outcome: Outcome, place: Path, chance: int) -> str:
    """Render one outcome, and look for what should not be in it."""
    shown = []
    ways = (outcome.documents, outcome.texts, outcome.beside)
    for rendered in chain.from_iterable(way() for number, way in enumerate(ways) if (chance + number) % 2 == 0):
        content = rendered.encoded
        if rendered.name.startswith(("/", "../")) or "/../" in rendered.name:
            raise AssertionError(f"the forger's name: {rendered.name!r}")
        text = content.decode()
        if rendered.name.endswith(".json"):
            json.loads(text, parse_constant=_no_constant)
        elif rendered.name.endswith(".xml"):
            ET.fromstring(content)
        elif rendered.name.endswith(".html") and "<forged" in text:
            raise AssertionError(f"markup in {rendered.name}: {_around(text, '<forged')}")
        elif rendered.name.endswith(".md"):
            _no_markup(rendered.name, text)
        if rendered.name in {"report.json", "verdict.json", "comparison.json"}:
            shown.append(text[:100])
        if rendered.name == "report.json":
            decode(content)
    result = result_of_any(outcome, place, [])
    json.dumps(result.outputs)
    for line in _GITHUB.annotations(result.annotations, {}):
        _only_text("annotations", line, commands=True)
    return "".join(shown)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def _around(text: str, what: str) -> str:
    at = text.find(what)
    return ascii(text[max(0, at - 100) : at + 100])


_CODE: Final = re.compile(r"(?s)<(code|pre|a)\b.*?</\1>")
_MENTION: Final = re.compile(r"(?<!\w)@forged|<forged|href=\"https?://forged|(?<![\w/.])http://forged")


def _no_markup(name: str, text: str) -> None:
    """Render Markdown as GitHub does, and look outside of code."""
    html = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    outside = _CODE.sub("", html)
    if found := _MENTION.search(outside) or re.search(r"href=\"https?://forged", html):
        raise AssertionError(f"markup in {name}: {_around(outside, found[0])}")
    if text.count("<!-- turncheck:run") or "<!-- turncheck:" in text.partition("\n")[2]:
        raise AssertionError(f"a stamp of the forger's in {name}")


def _message(error: UserError) -> str:
    return _only_text("message", log_line("\n".join(lines(str(error), 20_000))))


def _only_text(name: str, text: str, *, commands: bool = False) -> str:
    for line in text.split("\n"):
        if not commands and re.match(r"\s*(::|##\[|##vso)", line):
            raise AssertionError(f"a command in {name}: {line[:100]!a}")
        if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line.replace("\x1b[0m", "")):
            raise AssertionError(f"a control character in {name}: {line[:200]!a}")
    return text


def _keep(head: bytes, base: bytes, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_bytes(head)
    (folder / "baseline.json").write_bytes(base)


def _host() -> GitHub:
    from turncheck.ci.github.context import read_context

    context = read_context({"GITHUB_REPOSITORY": "acme/bots"})
    if context is None:
        raise AssertionError("there is no GitHub")
    return GitHub(context)


_GITHUB: Final = _host()
