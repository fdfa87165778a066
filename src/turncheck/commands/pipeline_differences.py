"""In what pipelines that are compared differ, and which of that the embedded engine can judge."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from turncheck.comparison.unseen_changes import differences
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.comparison.changes import UnseenChange
    from turncheck.project.model import Component, Config
    from turncheck.report.model import ConfiguredComponent

Configured = tuple["ConfiguredComponent", ...]
_Pair = tuple["Component", "ConfiguredComponent"]
_MOST_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class PipelineDifference:
    """In what two pipelines differ: what the engine runs differently, and what makes no difference to it."""

    one: str
    other: str
    judged: tuple[str, ...]
    not_judged: tuple[str, ...]

    @property
    def as_data(self) -> dict[str, Any]:
        """As it is written to ``nlu_comparison.json``."""
        return {
            "between": [self.one, self.other],
            "judged": list(self.judged),
            "not_judged": list(self.not_judged),
        }

    @property
    def in_words(self) -> str:
        """As one sentence; of pipelines that are the same, or of which nothing is judged, others speak."""
        between = f"{text(self.one)} and {text(self.other)}"
        if not self.not_judged:
            return f"Between {between} all differences are judged: {_listed(self.judged)}."
        return (
            f"Between {between} the embedded engine judges {_listed(self.judged)}; "
            f"it cannot judge {_listed(self.not_judged)}."
        )


def pipeline_differences(
    pipelines: Mapping[str, Config], configured: Mapping[str, Configured]
) -> list[PipelineDifference]:
    """Return the differences of each two pipelines that can be run; ``configured``: what the engine runs for each."""
    return [
        PipelineDifference(
            one,
            other,
            tuple(dict.fromkeys(_judged(pipelines[one], pipelines[other], configured[one], configured[other]))),
            tuple(dict.fromkeys(map(_name, differences(configured[one], configured[other])))),
        )
        for one, other in combinations(configured, 2)
    ]


def _judged(one: Config, other: Config, of_one: Configured, of_other: Configured) -> Iterator[str]:
    """Yield the names of what the engine runs differently."""
    if one.language != other.language:
        yield "language"
    before, after = _pairs(one, of_one), _pairs(other, of_other)
    matcher = SequenceMatcher(None, [_class(pair) for pair in before], [_class(pair) for pair in after], autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for left, right in zip(before[first:end], after[start:stop], strict=True):
                yield from _of_component(left, right)
            continue
        same = [
            (left, right)
            for left, right in zip(before[first:end], after[start:stop], strict=False)
            if left[1].runs == right[1].runs
        ]
        known = {id(pair) for both in same for pair in both}
        yield from (
            pair[0].name
            for pair in (*before[first:end], *after[start:stop])
            if pair[1].runs is not None and id(pair) not in known
        )


def _of_component(left: _Pair, right: _Pair) -> Iterator[str]:
    if left[1].runs == right[1].runs:
        return
    name = left[0].name
    if left[1].runs is None or right[1].runs is None:
        yield name
        return
    parameters = dict.fromkeys((*left[0].parameters, *right[0].parameters))
    ignored = left[1].ignored.keys() | right[1].ignored.keys()
    changed = [
        f"{key} of {name}"
        for key in parameters
        if key not in ignored and left[0].parameters.get(key) != right[0].parameters.get(key)
    ]
    yield from changed or [name]


def _pairs(config: Config, configured: Configured) -> list[_Pair]:
    from turncheck.engines.embedded.nlu.plan import pipeline_of  # imports NumPy

    own = [one for one in configured if one.section == "pipeline"]
    return list(zip(pipeline_of(config), own, strict=True))


def _class(pair: _Pair) -> str:
    return pair[0].name.rpartition(".")[2] if pair[0].name.startswith("rasa.") else pair[0].name


def _name(change: UnseenChange) -> str:
    return f"{change.parameter} of {change.component}" if change.parameter else change.component


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(text(name) for name in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown or "nothing"
