"""In what pipelines that are compared differ, and which of that the embedded engine can judge."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.comparison.changed_parts import differences, run_the_same
from turncheck.project.rasa_components import pipeline_of
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from turncheck.commands.compare_policies import Configured
    from turncheck.comparison.changes import UnseenChange
    from turncheck.project.model import Component, Config
    from turncheck.report.model import ConfiguredComponent


_Pair = tuple["Component", "ConfiguredComponent"]
_MOST_NAMED: Final = 8


class PipelineDifference(Struct, frozen=True):
    """In what two pipelines differ: what runs differently here, as in Rasa or as a stand-in, and what is ignored."""

    one: str
    other: str
    judged: tuple[str, ...]
    by_stand_ins: tuple[str, ...]
    not_judged: tuple[str, ...]

    @property
    def as_data(self) -> dict[str, Any]:
        """As it is written to ``nlu_comparison.json``."""
        return {
            "between": [self.one, self.other],
            "judged": list(self.judged),
            "by_stand_ins": list(self.by_stand_ins),
            "not_judged": list(self.not_judged),
        }

    @property
    def in_words(self) -> str:
        """As one sentence; of pipelines that are the same, or of which nothing is judged, others speak."""
        between = f"{text(self.one)} and {text(self.other)}"
        if self.is_all_judged:
            return f"Between {between} all differences are judged: {_listed(self.judged)}."
        parts = [f"judges {_listed(self.judged)}"] if self.judged else []
        parts += [f"has only stand-ins for {_listed(self.by_stand_ins)}"] if self.by_stand_ins else []
        parts += [f"cannot judge {_listed(self.not_judged)}"] if self.not_judged else []
        return f"Between {between} the embedded engine {'; it '.join(parts)}."

    @property
    def is_all_judged(self) -> bool:
        """Whether figures say which of the two is better: all that differs runs as in Rasa."""
        return not (self.by_stand_ins or self.not_judged)


def pipeline_differences(
    pipelines: Mapping[str, Config], configured: Mapping[str, Configured], replaced: Mapping[str, Collection[str]]
) -> list[PipelineDifference]:
    """Return the differences of each two pipelines that can be run.

    Args:
        pipelines: the configurations by name.
        configured: what the engine runs for each.
        replaced: the names of the components of each for which something else runs.
    """
    return [
        _difference(one, other, pipelines, configured, {*replaced[one], *replaced[other]})
        for one, other in combinations(configured, 2)
    ]


def _difference(
    one: str,
    other: str,
    pipelines: Mapping[str, Config],
    configured: Mapping[str, Configured],
    replaced: Collection[str],
) -> PipelineDifference:
    found = list(_run_differently(pipelines[one], pipelines[other], configured[one], configured[other]))
    return PipelineDifference(
        one,
        other,
        tuple(dict.fromkeys(words for words, component in found if component not in replaced)),
        tuple(dict.fromkeys(words for words, component in found if component in replaced)),
        tuple(dict.fromkeys(map(_name, differences(configured[one], configured[other])))),
    )


def _run_differently(
    config: Config, other: Config, of_one: Configured, of_other: Configured
) -> Iterator[tuple[str, str]]:
    """Yield what the engine runs differently, in words, and the name of its component, as it is written."""
    if config.language != other.language:
        yield "language", ""
    before, after = _pairs(config, of_one), _pairs(other, of_other)
    matcher = SequenceMatcher(None, [_class(pair) for pair in before], [_class(pair) for pair in after], autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for left, right in zip(before[first:end], after[start:stop], strict=True):
                yield from _of_component(left, right)
            continue
        same = run_the_same([pair[1] for pair in before[first:end]], [pair[1] for pair in after[start:stop]])
        known = {id(component) for both in same for component in both}
        yield from (
            (pair[0].written, pair[0].written)
            for pair in (*before[first:end], *after[start:stop])
            if pair[1].runs is not None and id(pair[1]) not in known
        )


def _of_component(left: _Pair, right: _Pair) -> Iterator[tuple[str, str]]:
    if left[1].runs == right[1].runs:
        return
    name = left[0].written
    if left[1].runs is None or right[1].runs is None:
        yield name, name
        return
    parameters = dict.fromkeys((*left[0].parameters, *right[0].parameters))
    ignored = left[1].ignored.keys() | right[1].ignored.keys()
    changed = [
        f"{key} of {name}"
        for key in parameters
        if key not in ignored and left[0].parameters.get(key) != right[0].parameters.get(key)
    ]
    yield from ((words, name) for words in changed or [name])


def _pairs(config: Config, configured: Configured) -> list[_Pair]:
    own = [component for component in configured if component.section == "pipeline"]
    return list(zip(pipeline_of(config), own, strict=True))


def _class(pair: _Pair) -> str:
    return pair[0].name.rpartition(".")[2] if pair[0].name.startswith("rasa.") else pair[0].name


def _name(change: UnseenChange) -> str:
    if change.parameter:
        return f"{change.parameter} of {change.component}"
    return f"{change.base} against {change.component}" if change.change == "replaced" else change.component


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(text(name) for name in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown or "nothing"
