"""Botium's conversations → end-to-end cases."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import nearest
from turncheck.project.botium import vocabulary
from turncheck.project.botium.expansion import Expanded, expanded
from turncheck.project.botium.folder import FaultyConvoError, Suite, is_skipped
from turncheck.project.botium.lines import as_data
from turncheck.project.botium.model import Check, Part, Reply, Script
from turncheck.project.botium.patterns import as_pattern, why_not_read
from turncheck.project.e2e.model import CaseTurn, E2ECase, E2ECases, NotJudged
from turncheck.web.json_path import PathError, compiled
from turncheck.yaml_tree.shapes import pattern_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Severity
    from turncheck.project.botium.model import Called, Convo, Section

_WORD: Final = re.compile(r"(?:[Uu][Tt][Tt]_\w+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)")
"""A word that is hardly meant as text but as the name of an utterance list."""
_PARAMETERS: Final = frozenset({"matchingMode", "matchingModeWer", "stepTimeout"})


def read_file(path: str, shared: Callable[[], Suite] | None) -> E2ECases:
    """Read one of Botium's files: a conversation has cases, the others are used by conversations."""
    if is_skipped(path.rpartition("/")[2]):
        message = f"'{path}' is left out, as its name begins with 'skip'."
        return E2ECases(findings=(_finding(message, Location(path, 1, 1), hint="Rename it."),), files=(path,))
    suite = Suite() if shared is None else shared()
    read = [_read_convo(suite, convo, path) for convo in suite.convos.get(path, ())]  # others are among its findings
    cases = tuple(case for one in read for case in one.cases)
    return E2ECases(cases, findings=tuple(finding for one in read for finding in one.findings), files=(path,))


def _read_convo(suite: Suite, convo: Convo, path: str) -> E2ECases:
    """Return the cases of a conversation in this file, and what is wrong with it."""
    try:
        return _cases_of(suite, convo, path)
    except FaultyConvoError as error:
        return E2ECases(findings=(error.finding,), files=(path,))


def _cases_of(suite: Suite, convo: Convo, path: str) -> E2ECases:
    name = convo.name or path.rpartition("/")[2]
    if is_skipped(name):
        left_out = NotJudged(f"it is left out, as its name begins with '{name[:5]}'", convo.location)
        return E2ECases((E2ECase(name, convo.location, (), not_judged=left_out, source=as_data(convo)),), files=(path,))
    found = expanded(suite, convo)
    sections = found[0].sections
    reason = _why_not_judged(suite, sections)
    findings = [*_doubts(suite, convo, sections), *_faulty_patterns(suite, sections)]
    if reason is not None:
        message = f"'{name}' is not judged: {reason.why}."
        findings.append(Finding("botium-not-judged", "warning", message, reason.location))
    source = as_data(convo)
    cases = (_Case(suite, convo, one).case(source, reason) for one in found)
    return E2ECases(tuple(cases), findings=tuple(findings), files=(path,))


def _finding(message: str, location: Location, severity: Severity = "warning", hint: str = "") -> Finding:
    return Finding("botium-syntax" if severity == "error" else "botium-doubtful", severity, message, location, hint)


# What cannot be judged, and why.


def _why_not_judged(suite: Suite, sections: Sequence[Section]) -> NotJudged | None:
    variables = _variables(suite, sections)
    removed = suite.settings.removed_pattern
    if removed and suite.settings.location and (why := why_not_read(removed, by_code_point=True)):
        return NotJudged(why, suite.settings.location)
    found = (reason for section in sections for reason in _reasons(suite, section, variables))
    return next(found, None)


def _variables(suite: Suite, sections: Sequence[Section]) -> frozenset[str]:
    """Return the names that are set, by tables and logic hooks or from messages, rather than computed."""
    hooks = (
        hook for section in sections for hook in section.hooks if hook.name in vocabulary.MEMORY_HOOKS and hook.args
    )
    expected = (text for one in sections if one.sender == "bot" and one.text for text in _texts(suite, one.text))
    taken = {name for text in expected for name in vocabulary.VARIABLE.findall(text)} - vocabulary.FUNCTIONS
    return frozenset(
        {*(f"${hook.args[0]}" for hook in hooks), *(name for row in suite.rows for name in row.values)} | taken
    )


def _texts(suite: Suite, written: str) -> tuple[str, ...]:
    return suite.texts(written) or (written,)


def _reasons(suite: Suite, section: Section, variables: frozenset[str]) -> Iterator[NotJudged]:
    plugins = suite.settings.plugins.names
    for kinds, called in (
        (vocabulary.ASSERTERS_NOT_JUDGED, section.asserters),
        (vocabulary.HOOKS_NOT_RUN, section.hooks),
        (vocabulary.INPUTS_NOT_SENT, section.inputs),
    ):
        for one in called:
            why = f"it is a plug-in of Botium's ({_config(suite)})" if one.name in plugins else kinds.get(one.name)
            if why:
                yield NotJudged(f"{one.name}: {why}", one.location)
    for one in section.hooks:
        if one.name == "CONVO_STEP_PARAMETERS":
            yield from _odd_parameters(one)
    yield from _unsearchable(section)
    for pattern, location in _patterns(suite, section):
        if why := why_not_read(pattern):
            yield NotJudged(why, location)
    if section.json is not None:
        yield NotJudged(f"the message of #{section.sender} is JSON for one of Botium's connectors", section.location)
    if section.sender == "bot" and section.channel:
        yield NotJudged(f"'#bot {section.channel}': channels of messages are not compared", section.location)
    if section.sender == "me":
        yield from _unsayable(suite, section)
    yield from _refused(suite, section, variables)


def _config(suite: Suite) -> str:
    return suite.settings.location.path if suite.settings.location is not None else "botium.json"


def _unsearchable(section: Section) -> Iterator[NotJudged]:
    """Paths of a dialect that is not searched for here, without variables that may change them."""
    named = [(one, one.args[0]) for one in section.asserters if one.name in vocabulary.PATHS and one.args]
    named += [(one, one.args[1]) for one in section.hooks if one.name == vocabulary.ASSIGN and len(one.args) == 2]
    named += [(one, path) for one in section.hooks if (path := _path_of_condition(one))]
    for one, path in named:
        try:
            compiled(path)
        except PathError as error:
            if not vocabulary.VARIABLE.search(path):
                yield NotJudged(f"{one.name}: '{path}' is not a JSONPath by RFC 9535: {error}", one.location)


def _path_of_condition(hook: Called) -> str:
    """Return the path in the parameters of a condition, which are JSON."""
    try:
        parameters = json.loads(hook.args[0]) if hook.name in vocabulary.CONDITIONS and hook.args else None
    except (ValueError, RecursionError):
        return ""  # its section says so when it is judged
    path = parameters.get("jsonPath") if isinstance(parameters, dict) else None
    return path if isinstance(path, str) else ""


def _odd_parameters(hook: Called) -> Iterator[NotJudged]:
    parameters = _parameters(hook)
    if odd := sorted(set(parameters) - _PARAMETERS):
        yield NotJudged(f"{hook.name}: '{odd[0]}' has no effect here", hook.location)
    mode = parameters.get("matchingMode")
    if mode is not None and mode not in vocabulary.MODES:
        yield NotJudged(f"{hook.name}: '{mode}' is no matching mode", hook.location)


def _unsayable(suite: Suite, section: Section) -> Iterator[NotJudged]:
    least, most = vocabulary.ARGUMENTS["BUTTON"]
    for one in section.inputs:
        if one.name == "BUTTON" and not least <= len(one.args) <= (most or least):
            yield NotJudged("BUTTON needs the button's payload, and may have its text", one.location)
    if section.text is None and not section.inputs and section.json is None:
        yield NotJudged("the user says nothing in this section", section.location)
    if section.text and (utterance_list := suite.utterance_list(section.text)) is not None and not utterance_list.texts:
        yield NotJudged(f"the utterance list '{utterance_list.name}' is empty", section.location)


def _refused(suite: Suite, section: Section, variables: frozenset[str]) -> Iterator[NotJudged]:
    """Calls of functions that are not answered here, such as ``$env(HOME)``."""
    texts = _texts(suite, section.text) if section.text and suite.uses_memory else ()
    args = [arg for one in (*section.asserters, *section.hooks, *section.inputs) for arg in one.args]
    for text in (*texts, *args):
        for name, why in vocabulary.refused_calls(
            text, variables, suite.settings.given, of_bot=section.sender == "bot"
        ):
            yield NotJudged(f"{name}: {why}", section.location)


def _parameters(hook: Called) -> Mapping[str, str]:
    """Read ``matchingMode:regexp|stepTimeout:2000``, or the same as JSON."""
    if hook.args and hook.args[0].startswith("{"):
        try:
            data = json.loads(hook.args[0])
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and data:
            return {str(name): str(value) for name, value in data.items()}
    pairs = (arg.partition(":") for arg in hook.args)
    return {name: value for name, _, value in pairs}


# What is probably not meant.


def _doubts(suite: Suite, convo: Convo, sections: Sequence[Section]) -> Iterator[Finding]:
    if not any(section.sender in {"me", "bot"} for section in sections):
        message = "The conversation is empty: it has neither #me nor #bot."
        yield _finding(message, convo.location, hint="Write what the user says below #me, and the answer below #bot.")
    for section in sections:
        word = (section.text or "").strip()
        if section.sender in {"me", "bot"} and _WORD.fullmatch(word) and word not in suite.utterances:
            near = nearest(word, suite.utterances)
            hint = (
                f"Did you mean '{near[0]}'?"
                if near
                else f"It needs a file *.utterances.txt with '{word}' as its first line."
            )
            verb = "said" if section.sender == "me" else "compared"
            yield _finding(f"There is no utterance list '{word}': it is {verb} as it is.", section.location, hint=hint)
        for one in section.hooks:
            if one.name in vocabulary.CONDITIONS and section.sender != "bot":
                yield _finding(f"{one.name} has no effect in #{section.sender}.", one.location)
        for one in section.asserters:
            if section.sender == "begin" or (section.sender == "end" and one.name not in vocabulary.QUEUE):
                yield _finding(f"{one.name} has no effect in #{section.sender}.", one.location)


def _faulty_patterns(suite: Suite, sections: Sequence[Section]) -> Iterator[Finding]:
    for section in sections:
        for pattern, location in _patterns(suite, section):
            problem = None if why_not_read(pattern) else pattern_problem(as_pattern(pattern), for_re=False)
            if problem is not None:
                yield _finding(f"'{pattern}' is not a regular expression: {problem}.", location, "error")


def _patterns(suite: Suite, section: Section) -> list[tuple[str, Location]]:
    """Return the regular expressions of a section of the bot."""
    if section.sender != "bot":
        return []
    lists = [(hook.args[0], hook.location) for hook in section.hooks if hook.name == vocabulary.LIST_HOOK and hook.args]
    patterns = lists + [
        (text, one.location)
        for one in section.asserters
        if one.name.startswith("TEXT_REGEXP")
        for arg in one.args
        for text in suite.texts(arg) or (arg,)
    ]
    if suite.settings.matching.startswith("regexp") and section.text:
        patterns += [(text, section.location) for text in suite.texts(section.text) or (section.text,)]
    return patterns


# Cases.


class _Case(Struct, frozen=True):
    suite: Suite
    convo: Convo
    expanded: Expanded

    def case(self, source: list[dict[str, str]], not_judged: NotJudged | None) -> E2ECase:
        """Return the case, with a turn for what is said before the user's first message."""
        settings = replace(self.suite.settings, memory=self.suite.uses_memory)
        return E2ECase(
            self.expanded.name,
            self.convo.location,
            tuple(self._turns()),
            script=Script(self.expanded.name, settings, self.expanded.hooks, self.suite.memory_from),
            not_judged=not_judged,
            source=source,
            parts=self._parts(),
        )

    def _parts(self) -> Mapping[str, Sequence[Any]]:
        """Return what each file adds to the case, by their paths: sections, values of tables, utterance lists."""
        found = defaultdict[str, list[Any]](list)
        for section in self.expanded.sections:
            called = (*section.asserters, *section.hooks, *section.inputs)
            for written in (section.text or "", *(arg for one in called for arg in one.args)):
                utterance_list = self.suite.utterance_list(written.strip()) if written else None
                for path, texts in utterance_list.by_file.items() if utterance_list is not None else ():
                    found[path].append(texts)
            found[section.location.path].append(section)
        for hook in self.expanded.hooks:
            found[hook.location.path].append(hook)
        return found

    def _turns(self) -> Iterator[CaseTurn]:
        user, location, part = None, self.convo.location, Part()
        general: Mapping[str, str] = {}
        must = self.suite.settings.all_consumed
        for section in self.expanded.sections:
            own = [_parameters(hook) for hook in section.hooks if hook.name == "CONVO_STEP_PARAMETERS"]
            parameters = {**general, **(own[0] if own else {})}
            match section.sender:
                case "begin":
                    general = parameters
                case "me":
                    drops = any(hook.name == "SKIP_BOT_UNCONSUMED" for hook in section.hooks)
                    yield CaseTurn(user, location, part=dataclasses.replace(part, must_be_read=must and not drops))
                    user, location, part = self._said(section), section.location, Part(section.hooks)
                case "bot":
                    part = dataclasses.replace(part, replies=(*part.replies, self._reply(section, parameters)))
                case _:
                    checks = (*part.last_checks, *(one for one in section.asserters if one.name in vocabulary.QUEUE))
                    part = dataclasses.replace(part, last_hooks=(*part.last_hooks, *section.hooks), last_checks=checks)
        yield CaseTurn(user, location, part=dataclasses.replace(part, must_be_read=must))

    def _said(self, section: Section) -> str:
        button = next((one.args[0] for one in section.inputs if one.name == "BUTTON" and one.args), None)
        return button if button is not None else section.text or ""

    def _reply(self, section: Section, parameters: Mapping[str, str]) -> Reply:
        texts = () if not section.text else self.suite.texts(section.text.strip()) or (section.text,)
        checks = tuple(Check(one, self._texts(one)) for one in section.asserters if not _is_nothing(one))
        settings = self.suite.settings
        matching = parameters.get("matchingMode", settings.matching)
        errors = f"{parameters['matchingModeWer']}%" if "matchingModeWer" in parameters else settings.word_errors
        return Reply(section, texts, checks, matching, errors)

    def _texts(self, asserter: Called) -> tuple[str, ...]:
        if asserter.name not in vocabulary.TEXTS:
            return asserter.args
        return tuple(text for arg in asserter.args for text in self.suite.texts(arg) or (arg,))


def _is_nothing(asserter: Called) -> bool:
    return vocabulary.ASSERTERS_NOT_JUDGED.get(asserter.name) == ""
