"""Forged reports: every string, number and list of a report replaced, then read, compared and shown in every way.

A fork's run leaves its report for a run whose token may write. What is in it must be refused in words, or be shown as
mere text: no markup, command or mention of the forger's.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import cmarkgfm
from cmarkgfm.cmark import Options
from tools.fuzzing.full_report import full_report, with_right_totals
from tools.fuzzing.trial import Trial

from turncheck.ci.github.host import GitHub
from turncheck.comparison.model import Missing, Present
from turncheck.conclude import NamedOutcome, Outcomes, conclude, page_of
from turncheck.messages.errors import UserError
from turncheck.messages.plain_text import lines, log_line
from turncheck.publishing.files import terminal_overview, terminal_summary
from turncheck.publishing.publish import result_of_any
from turncheck.render.assistants import key_of
from turncheck.render.links import Links
from turncheck.render.markdown import Fork
from turncheck.render.plots import nlu_plots, story_plots
from turncheck.render.rasa_files import major_of_files
from turncheck.report.codec import decode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from turncheck.conclude import Outcome
    from turncheck.render.rendered import Rendered
    from turncheck.settings.options import JunitFlavour

STRINGS: Final = (
    "@forged", "<forged-tag onload=x>", "::error::forged", "\x1b[31mforged", "[x](http://forged.example)",
    "http://forged.example/", "`<forged-tag>`", "forged\n::error::forged", "##[error]forged", "-->\n<forged-tag>",
    "]]><forged-tag>", "</script><forged-tag>", "| forged | @forged |", "{{ 7*7 }}", "%s%n{0}", "\x00forged",
    "\u202eforged", "", " ", "0", "-1", "1e999", "nan", "\u0663", "9" * 30, "9" * 5000, "1-", "-", "0-5 6", "5-0",
    "1-2-3",
    "3.", ".x", "x.x", "\u0663-\u0664", "9999999999-99999999999", "9" * 5000 + "-" + "9" * 5001, "0-1 " * 20_000,
    "../../../forged", "/etc/forged", "a//b", ".", "accuracy", "weighted avg", "no_entity", "greet", "None",
    "nlu.intents[", "nlu.intents.f1 >= 1e999", "nlu.intents.f1: -1", "gone-tests", "core[99]", "x" * 70_000,
    "2026-13-99", "2026-\u0661\u0661-\u00b9", "deadbeef", "a\u2028b", "\ud800",
)  # fmt: skip
NUMBERS: Final = (0, -1, 1, 7, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e308, -1e308, 5e-324)
OTHERS: Final[tuple[Any, ...]] = (None, True, "3", 3, [], {}, [None], {"": None}, [[[[]]]], "nested")
_FORMATS: Final = ("sarif", "codequality", "metrics", "annotations")
_SECTIONS: Final = ("validation", "nlu", "core", "e2e", "batch", "strength", "robustness", "trust")
_TOGETHER: Final = (1,) * 12 + (2, 2, 3, 8)
"""How many of them one report has: with few, more reports can be tried."""
_ROUNDS: Final = 40
"""Forged reports of one pair of sound ones."""
_SELDOM: Final = 0.998
_DOCUMENTS: Final = 4 + len(_FORMATS)
"""What there is beside the page."""
_DEEP: Final = (300, 900, 5000)


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield a forged report beside another one, again and again."""
    while True:
        head, base = full_report(chance), full_report(chance)
        for name in chance.sample(_SECTIONS, len(_SECTIONS) - chance.choice(_TOGETHER)):
            head[name] = base[name] = None
        base["source"]["commit"], head["source"]["commit"] = "1" * 40, "2" * 40
        base["project"]["root"] = head["project"]["root"]
        if chance.random() < 0.5:
            base = similar(head, chance)
        sound, ways = (json.dumps(head), json.dumps(base)), (ways_into(head), ways_into(base))
        for _ in range(_ROUNDS):
            sides = list(sound)
            forged = chance.choice((0, 0, 1))
            sides[forged] = forge(sound[forged], ways[forged], chance)
            both = sides[0].encode(), sides[1].encode()
            yield Trial(partial(show, *both, place, some_ways(chance)), partial(_keep, *both))


def similar(document: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the report of a state before: the same, with a few leaves that differ."""
    base: dict[str, Any] = json.loads(json.dumps(document))
    ways = ways_into(base)
    for _ in range(10):
        holder, key = _reached(base, _any_of(ways, chance))
        if isinstance(holder[key], bool):
            holder[key] = not holder[key]
        elif isinstance(holder[key], float):
            holder[key] = round(chance.random(), 3)
    base["source"]["commit"] = "1" * 40
    return with_right_totals(base)


Way = tuple[str | int, ...]


def ways_into(document: dict[str, Any]) -> list[list[Way]]:
    """Return where every string, number, list and dictionary of a document is, field by field."""
    found: dict[tuple[str, ...], list[Way]] = defaultdict(list)
    waiting: list[tuple[tuple[str, ...], Way, Any]] = [((), (), document)]
    while waiting:
        above, way, holder = waiting.pop()
        within = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in within:
            names = (*above, key if isinstance(key, str) else "[]")
            found[names].append((*way, key))
            if isinstance(value, dict | list):
                waiting.append((names, (*way, key), value))
    return list(found.values())


def _any_of(ways: list[list[Way]], chance: random.Random) -> Way:
    """Choose a field, then one of its values: a field of each case is no likelier than one of the whole report."""
    return chance.choice(chance.choice(ways))


def _reached(document: Any, way: Way) -> tuple[Any, Any]:
    """Return what holds the value at the end of a way, and by which key."""
    for key in way[:-1]:
        document = document[key]
    return document, way[-1]


def forge(sound: str, ways: list[list[Way]], chance: random.Random) -> str:
    """Replace one value, or a few; ``ways`` are those into the sound report."""
    forged = json.loads(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        way = _any_of(ways, chance)
        with suppress(KeyError, IndexError, TypeError):  # it led through what has been replaced
            _replace(*_reached(forged, way), chance)
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


def show(head: bytes, base: bytes, place: Path, ways: Sequence[str] = ()) -> str:
    """Read, compare, judge and render in some ways, by default in all; raise what no forged report may cause."""
    links = Links(pages=_GITHUB.pages, commit="2" * 40, run_url="https://github.com/acme/bots/actions/runs/7")
    flavour: JunitFlavour = "xunit" if "xunit" in ways else "common"
    try:
        report, other = decode(head, name="report"), decode(base, name="baseline")
        baseline = Missing("none") if "alone" in ways else Present(other, "artifact", other.source.commit, "7")
        outcome = conclude(report, baseline, links, flavour=flavour, formats=_FORMATS)
        return "".join(_WAYS[way](outcome, place) for way in ways or _WAYS if way in _WAYS)
    except UserError as error:
        return _only_text("message", log_line("\n".join(lines(str(error), 20_000))))


def _documents(outcome: Outcome, place: Path) -> str:
    result = result_of_any(outcome, place, [])
    json.dumps(result.outputs)
    for line in _GITHUB.annotations(result.annotations, {}):
        if not line.startswith(("::error ", "::warning ", "::notice ")):
            raise AssertionError(f"not an annotation: {line[:200]!a}")
        _only_text("annotations", line.removeprefix("::"))
    return _checked(islice(outcome.documents(), _DOCUMENTS))


def _page(outcome: Outcome, _: Path) -> str:
    return _checked([page_of([outcome.run])])


def _texts(outcome: Outcome, _: Path) -> str:
    return _checked(outcome.texts())


def _beside(outcome: Outcome, _: Path) -> str:
    return _checked(outcome.beside())


def _terminal(outcome: Outcome, _: Path) -> str:
    return _only_text("terminal", terminal_summary(outcome, outcome.links))


def _several(outcome: Outcome, place: Path) -> str:
    members = NamedOutcome("1", outcome), NamedOutcome("2", outcome)
    several = Outcomes(members, (), key_of(["a", "b"]), outcome.links, formats=_FORMATS, fork=Fork("mallory/bots", "x"))
    json.dumps(result_of_any(several, place, []).outputs)
    _only_text("terminal", terminal_overview(several.assistants))
    return _checked(several.texts())


def _plots(outcome: Outcome, _: Path) -> str:
    for drawn in chain(nlu_plots(outcome.report), story_plots(outcome.report, major_of_files(outcome.report.project))):
        _ensure_below(drawn.name)
    return ""


_WAYS: Final[dict[str, Callable[[Outcome, Path], str]]] = {
    "documents": _documents,
    "page": _page,
    "texts": _texts,
    "beside": _beside,
    "terminal": _terminal,
    "several": _several,
    "plots": _plots,
}
_OFTEN: Final = ("documents", "texts", "beside", "documents", "texts", "beside", "page", "terminal", "several")
"""All but the plots, which take long; the ways that take little more often."""


def some_ways(chance: random.Random) -> tuple[str, ...]:
    """Choose a way to show a report, in a while each."""
    often = chance.choice(_OFTEN) if chance.random() < _SELDOM else "plots"
    return (often, *(name for name in ("alone", "xunit") if chance.random() < 0.2))


def _checked(renderings: Iterable[Rendered]) -> str:
    """Return the beginning of the documents, after looking for what should not be in them."""
    shown = []
    for rendered in renderings:
        _ensure_below(rendered.name)
        content = rendered.encoded
        text = content.decode()
        if rendered.name.endswith(".json"):
            json.loads(text, parse_constant=_no_constant)
            shown.append(text[:100])
        elif rendered.name.endswith(".xml"):
            ET.fromstring(content)  # noqa: S314 - what we have just written
        elif rendered.name.endswith(".html") and "<forged" in text:
            raise AssertionError(f"markup in {rendered.name}: {_around(text, '<forged')}")
        elif rendered.name.endswith(".md"):
            _no_markup(rendered.name, text)
        if rendered.name == "report.json":
            decode(content)
    return "".join(shown)


def _ensure_below(name: str) -> None:
    if name.startswith("/") or ".." in name.split("/"):
        raise AssertionError(f"a name of the forger's: {name!r}")


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


def _only_text(name: str, text: str) -> str:
    for line in text.split("\n"):
        if re.match(r"\s*(::|##\[|##vso)", line):
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
