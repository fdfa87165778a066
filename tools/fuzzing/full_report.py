"""Reports in which every field of every part is filled, by the types: a new field is fuzzed at once."""

from __future__ import annotations

import dataclasses
import types
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from turncheck.report.batch import numbers_of
from turncheck.report.codec import json_of
from turncheck.report.model import COVERAGE_KINDS, BatchCase, Report

if TYPE_CHECKING:
    import random

_WORDS: Final = ("greet", "inform", "faq/hours", "utter_greet", "city", "hello there", "to Oslo", "bye")
_NAMED: Final[dict[str, tuple[Any, ...]]] = {
    "rasa_version": ("0.x", "1.x", "2.x", "3.x", None),
    "tokens": ("0-5 6-11", "0-2 3-7", ""),
    "commit": ("1" * 40, "2" * 40),
    "path": ("data/nlu.yml", "tests/test_stories.yml", "domain.yml"),
    "file": ("turncheck.yml",),
    "root": ("bots/pizzeria",),
    "extractor": ("DIETClassifier", "CRFEntityExtractor"),
    "expected": _WORDS,
    "predicted": _WORDS,
    "thresholds": ("nlu.intents.f1 >= 0.5",),
    "max_regression": ("nlu.intents.f1: 0.05", "nlu.intents.f1: significant"),
    "require": ("nlu",),
    "fail_on": ("errors", "new-failures", "gone-tests"),
    "family": ("typo", "casing"),
    "operator": ("drop-step",),
    "date": ("2026-11-12",),
    "until": ("2026-12-31",),
    "today": ("2026-11-12",),
    "first": (2,),
    "most": (30,),
    "trace": ("0123456789abcdef" * 2, ""),
    "measured": ("2026-11-12T17:43:05Z",),
    "code": ("unused-intent", "legacy-project", "action-not-in-domain"),
    "start": (0, 3),
    "end": (5, 7),
    "line": (1, 2, 3, 7),
    "message": ("the intent 'greet' is not used", 0, 1),
    "stopped": (None,),
    "entity": ("city", "topping"),
    "name": _WORDS,
    "runs": ("PFpf", "FPp"),
    "in_turn": ("PPFP", ""),
    "base": ("PPPF", "P"),
    "false_alarms": (0.01,),
}
_RUNS_SAY: Final = {"passed": "flaky", "failed": "regressed", "unclear": "unclear"}
"""What the runs of a case say, by what became of it."""
_ROW: Final = {"precision": 0.5, "recall": 1.0, "f1-score": 0.67, "support": 3, "confused_with": {"inform": 1}}
_ROWS: Final = {"greet": _ROW, "inform": _ROW, "city": _ROW, "accuracy": 0.5, "micro avg": _ROW, "weighted avg": _ROW}
_STEPS: Final[tuple[dict[str, Any], ...]] = (
    {"action": "utter_greet"},
    {"slot_was_set": [{"city": "Oslo"}]},
    {"user": "to Oslo", "intent": "inform", "entities": [{"city": "Oslo"}, {"city": "Rome", "role": "to"}]},
    {"checkpoint": "c"},
)
_FEW: Final = 2


_SPOILED: Final = (TypeError, KeyError, AttributeError, ValueError, IndexError, OverflowError)
"""What goes wrong with parts that are spoiled: the codec has to notice, not the forger."""


def full_report(chance: random.Random) -> dict[str, Any]:
    """Return a report as JSON's own types, all of its parts filled; its totals agree with its cases."""
    document: dict[str, Any] = _struct(Report, chance)
    return with_right_totals(document)


def with_right_totals(document: dict[str, Any]) -> dict[str, Any]:
    """Return the report with the totals that its cases have, as far as it has any."""
    with suppress(*_SPOILED):
        _set_plugin_figures(document)
    for name, set_totals in _TOTALS.items():
        with suppress(*_SPOILED):
            set_totals(document[name])
    return document


def _of_quarantine(part: dict[str, Any]) -> None:
    part["tests"] = list({test["case"]: test for test in part["tests"]}.values())


def _of_findings(part: dict[str, Any]) -> None:
    severities = [finding["severity"] for finding in part["findings"]]
    part["counts"] = {name: severities.count(name) for name in ("error", "warning", "info")}


def _of_sentences(part: dict[str, Any]) -> None:
    part |= {"examples": len(part["predictions"]), "unlisted": 0}
    for sentence in part["predictions"]:
        _set_outcome(sentence, passed=sentence["correct"])


def _set_outcome(test: dict[str, Any], *, passed: bool) -> None:
    if "repeats" in test:
        test["repeats"]["outcome"] = _RUNS_SAY["passed" if passed else "failed"]


def _of_stories(part: dict[str, Any]) -> None:
    written = [story["as_written"] for story in part["stories"]]
    part["as_written"] = {"passed": written.count(True), "failed": written.count(False)}


def _of_cases(part: dict[str, Any]) -> None:
    for case in part["cases"]:
        if case["outcome"] in _RUNS_SAY and "repeats" in case:
            case["repeats"]["outcome"] = _RUNS_SAY[case["outcome"]]
        else:
            case.pop("repeats", None)
    outcomes = [case["outcome"] for case in part["cases"]]
    part |= {name: outcomes.count(name) for name in ("passed", "failed", "skipped", "misunderstood")}
    part["failed"] += outcomes.count("error")


def _of_mutants(part: dict[str, Any]) -> None:
    outcomes = [mutant["outcome"] for mutant in part["mutants"]]
    part |= {name: outcomes.count(name) for name in ("killed", "survived", "equivalent")}


def _of_suites(part: dict[str, Any]) -> None:
    cases: list[BatchCase] = []
    for suite in part["suites"]:
        for case in suite["cases"]:
            _set_outcome(case, passed=case["passed"])
        own = msgspec.convert(suite["cases"], list[BatchCase])
        suite.update(msgspec.to_builtins(numbers_of(own)))
        cases += own
    part |= msgspec.to_builtins(numbers_of(cases))


_TOTALS: Final = {
    "quarantine": _of_quarantine,
    "validation": _of_findings,
    "nlu": _of_sentences,
    "core": _of_stories,
    "e2e": _of_cases,
    "strength": _of_mutants,
    "batch": _of_suites,
}


def _set_plugin_figures(document: dict[str, Any]) -> None:
    """A figure of a plugin is the share of its sentences."""
    number = len((document.get("nlu") or {}).get("predictions", ()))
    named = enumerate(document["metrics"].values())
    document["metrics"] = {f"plugin.{index}": figure for index, figure in named if isinstance(figure, dict)}
    for figure in document["metrics"].values():
        if figure.get("noise") == "sentences":
            sentences = [*figure.get("sentences", ()), *[None] * number][:number]
            judged = [one for one in sentences if one is not None]
            figure |= {"sentences": sentences, "value": sum(judged) / len(judged) if judged else None}


def _struct(kind: type, chance: random.Random) -> dict[str, Any]:
    return {name: _value(hint, name, chance) for name, hint in _fields(kind)}


@cache
def _fields(kind: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    names = (
        [field.name for field in dataclasses.fields(kind)]
        if dataclasses.is_dataclass(kind)
        else list(kind.__struct_fields__)  # type: ignore[attr-defined]
    )
    return [(name, hints[name]) for name in names]


def _value(hint: Any, name: str, chance: random.Random) -> Any:
    """Return a value of a type, which the field's name makes a likely one."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _value(arguments[0], name, chance)
    if origin is Literal:
        return chance.choice(arguments)
    if origin in {Union, types.UnionType}:
        wanted = [one for one in arguments if one not in {type(None), msgspec.UnsetType}]
        known = [one for one in _NAMED.get(name, ()) if type(one) in (*wanted, type(None))]
        return chance.choice(known) if known else _value(chance.choice(wanted), name, chance)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return [_value(arguments[0], name, chance) for _ in range(chance.randint(1, _FEW))]
        return [_value(one, name, chance) for one in arguments]
    if origin is dict:
        return _dictionary(arguments[1], name, chance)
    if hint is bool:
        return chance.random() < 0.5
    if hint in {int, float, str}:
        known = [one for one in _NAMED.get(name, ()) if type(one) is hint]
        otherwise = {int: chance.randint(0, 2), float: round(chance.random(), 3), str: chance.choice(_WORDS)}
        return chance.choice(known) if known else otherwise[hint]
    if hint is Any:
        return chance.choice(["Oslo", 3, True, None, ["a", "b"], {"a": {"b": 1}}, 0.5])
    return _struct(hint, chance)


def _dictionary(hint: Any, name: str, chance: random.Random) -> dict[str, Any]:
    if name == "coverage":
        return {kind: _value(hint, kind, chance) for kind in chance.sample(COVERAGE_KINDS, 3)}
    if name == "report":
        return dict(_ROWS)
    if name in {"step", "steps"}:
        return dict(chance.choice(_STEPS))
    if name == "entity_comments":
        return {}
    if name == "timings":
        return {"core[0]": 0.5, "e2e[1]": 1.5, "nlu": 2.0}
    keys = {"killed_by": ("sentence", "story", "case", "validation"), "entities": ("DIETClassifier",)}
    return {key: _value(hint, "", chance) for key in keys.get(name, ("greet", "city"))}


def as_bytes(document: dict[str, Any]) -> bytes:
    """Return the report as a file has it."""
    return json_of(document)
