"""One conversation → test cases: with what it includes, for each row of values, for each text that a user may say."""

from __future__ import annotations

import hashlib
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.phrasing import suggestion
from turncheck.project.botium.folder import MOST_SECTIONS, FaultyConvoError, is_skipped
from turncheck.project.botium.model import Called
from turncheck.project.botium.vocabulary import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.messages.finding import Location
    from turncheck.project.botium.folder import Suite
    from turncheck.project.botium.model import Convo, MemoryRow, Section

MOST_CASES: Final = 10_000
"""This many test cases may come from one conversation."""
MOST_INCLUDED: Final = 10_000
"""A conversation may have this many sections, with those that it includes."""
MOST_NESTED: Final = 200
"""Partial conversations may include others so deep."""


class Expanded(Struct, frozen=True):
    """A test case that a conversation stands for. ``hooks``: those at its beginning, values of a table included."""

    name: str
    sections: tuple[Section, ...]
    hooks: tuple[Called, ...]


def expanded(suite: Suite, convo: Convo) -> tuple[Expanded, ...]:
    """Return the test cases of a conversation, none if its author leaves it out.

    Raises:
        FaultyConvoError: what is included does not exist or includes itself, or there are too many cases or sections.
    """
    name = convo.name or convo.location.path.rpartition("/")[2]
    if is_skipped(name):
        return ()
    sections = tuple(_Including(suite, convo).included(convo.sections, ()))
    begin = tuple(hook for section in convo.sections if section.sender == "begin" for hook in section.hooks)
    named = _with_rows(suite, Expanded(name, sections, begin))
    said = _said(suite, sections)
    number = len(named) * (prod(map(len, said.values())) if suite.settings.expansion == "all" else 1)
    if number > MOST_CASES:
        message = f"'{name}' would be {number:,} test cases; at most {MOST_CASES:,} are made of one conversation."
        raise FaultyConvoError(message, convo.location, "Set SCRIPTING_UTTEXPANSION_MODE to first, index or random.")
    cases = []
    for case in named:
        for one in _with_utterances(suite, case, said):
            if not suite.room.takes(len(one.sections) + 1):
                message = f"The test cases of these files would have more than {MOST_SECTIONS:,} sections."
                hint = "Set SCRIPTING_UTTEXPANSION_MODE to first, index or random, or make the tables smaller."
                raise FaultyConvoError(message, convo.location, hint)
            cases.append(one)
    return tuple(cases)


# Partial conversations.


class _Including:
    """Puts what a conversation includes in its place; each may include the next one several times."""

    def __init__(self, suite: Suite, convo: Convo) -> None:
        self._suite = suite
        self._convo = convo
        self._number = 0

    def included(self, sections: Sequence[Section], inside: tuple[str, ...]) -> Iterator[Section]:
        """Yield the sections with what they include; only a whole conversation has a beginning and an end."""
        for section in sections:
            self._count()
            names = section.includes
            for hook in section.hooks:
                if section.sender != "include" and hook.name == "INCLUDE" and len(hook.args) != 1:
                    raise FaultyConvoError("INCLUDE needs the name of one partial conversation.", hook.location)
            is_own = section.sender != "include" and (not names or section.does_something)
            if is_own and not (inside and section.sender in {"begin", "end"}):
                yield section
            for name in names:
                yield from self._of_partial(name, section.location, inside)

    def _of_partial(self, name: str, location: Location, inside: tuple[str, ...]) -> Iterator[Section]:
        self._count()
        if name in inside:
            way = " → ".join((*inside[inside.index(name) :], name))
            raise FaultyConvoError(f"The partial conversation '{name}' includes itself: {way}.", location)
        if len(inside) >= MOST_NESTED:
            message = f"'{self._name}' includes partial conversations that are nested deeper than {MOST_NESTED}."
            raise FaultyConvoError(message, self._convo.location, "Include less.")
        partial = self._suite.partials.get(name)
        if partial is None:
            hint = suggestion(name, self._suite.partials)
            hint = hint or "It needs a file *.pconvo.txt whose first line is this name."
            raise FaultyConvoError(f"There is no partial conversation '{name}'.", location, hint)
        yield from self.included(partial.sections, (*inside, name))

    @property
    def _name(self) -> str:
        return self._convo.name or self._convo.location.path.rpartition("/")[2]

    def _count(self) -> None:
        self._number += 1
        if self._number > MOST_INCLUDED:
            message = f"'{self._name}' would have more than {MOST_INCLUDED:,} sections with those that it includes."
            raise FaultyConvoError(message, self._convo.location, "Include less.")


# Tables of values.


def variables(suite: Suite, sections: Sequence[Section]) -> frozenset[str]:
    """Return the variables in the texts and arguments of sections; those in utterance lists that they name, too."""
    texts = [text for section in sections if section.text for text in suite.texts(section.text) or (section.text,)]
    for section in sections:
        for called in (*section.asserters, *section.hooks, *section.inputs):
            texts += [text for arg in called.args for text in suite.texts(arg) or (arg,)]
    return frozenset(found for text in texts for found in VARIABLE.findall(text))


def _with_rows(suite: Suite, case: Expanded) -> list[Expanded]:
    """Return a case for each row of each table that has variables of the case; values not used are not set."""
    if not suite.uses_memory:
        return [case]
    tables: dict[frozenset[str], list[MemoryRow]] = {}
    for row in suite.rows:
        tables.setdefault(frozenset(row.values), []).append(row)
    used = variables(suite, case.sections)
    cases = [case]
    for names, rows in tables.items():
        if not names.isdisjoint(used):
            if len(cases) * len(rows) > MOST_CASES:
                message = f"'{case.name}' would be more than {MOST_CASES:,} test cases."
                raise FaultyConvoError(message, rows[0].location, "Make the tables smaller.")
            values = [(row, _hooks_of(row)) for row in rows]
            cases = [
                replace(one, name=f"{one.name}.{row.name}", hooks=(*one.hooks, *hooks))
                for row, hooks in values
                for one in cases
            ]
    return [case, *cases] if suite.settings.keeps_originals and cases[0] is not case else cases


def _hooks_of(row: MemoryRow) -> tuple[Called, ...]:
    return tuple(
        Called("SET_SCRIPTING_MEMORY", (name[1:], value), row.location)
        if value
        else Called("CLEAR_SCRIPTING_MEMORY", (name[1:],), row.location)
        for name, value in row.values.items()
    )


# Utterance lists: a case for each text that the user may say.


class _Choice(Struct, frozen=True):
    text: str
    ending: str
    """What the name of the case gets for it."""


def _said(suite: Suite, sections: Sequence[Section]) -> dict[int, list[_Choice]]:
    """Return what a user says by the number of the section, where that is an utterance list."""
    choices = {}
    for number, section in enumerate(sections):
        if section.sender != "me" or not section.text:
            continue
        texts, utterance_list = suite.texts(section.text), suite.utterance_list(section.text)
        if texts and utterance_list is not None:
            choices[number] = [
                _choice(suite, utterance_list.name, text, index, len(texts)) for index, text in enumerate(texts)
            ]
    return choices


def _choice(suite: Suite, name: str, text: str, index: int, number: int) -> _Choice:
    if number == 1:
        return _Choice(text, "")
    tag = f"L{str(index + 1).zfill(len(str(number)))}"
    longest = suite.settings.longest_name
    if suite.settings.names_texts:
        tag += f"-{text[: longest - 3]}..." if 3 < longest < len(text) else f"-{text}"
    return _Choice(text, f"/{name}-{tag}")


def _with_utterances(suite: Suite, case: Expanded, said: dict[int, list[_Choice]]) -> Iterator[Expanded]:
    for chosen in islice(_chosen(suite, case, list(said.values())), MOST_CASES):
        texts = dict(zip(said, chosen, strict=True))
        sections = tuple(
            replace(section, text=texts[number].text) if number in texts else section
            for number, section in enumerate(case.sections)
        )
        yield replace(case, name=case.name + "".join(one.ending for one in chosen), sections=sections)


def _chosen(suite: Suite, case: Expanded, said: list[list[_Choice]]) -> Iterator[tuple[_Choice, ...]]:
    """Yield the texts of each case, by the way that the settings name."""
    match suite.settings.expansion:
        case "first":
            yield tuple(_Choice(choices[0].text, "") for choices in said)
        case "index":
            for index in range(max(map(len, said), default=1)):
                yield tuple(one[min(index, len(one) - 1)] for one in said)
        case "random":
            yield from product(*(_drawn(suite, f"{case.name}/{place}", one) for place, one in enumerate(said)))
        case _:
            yield from product(*said)


def _drawn(suite: Suite, seed: str, choices: list[_Choice]) -> list[_Choice]:
    """Draw some texts: the same ones in each run, or what a change makes worse could not be seen."""
    by_chance = sorted(choices, key=lambda one: hashlib.sha256(f"{seed}/{one.text}".encode()).digest())
    drawn = by_chance[: max(suite.settings.random_count, 1)]
    return [_Choice(drawn[0].text, "")] if len(drawn) == 1 else drawn
