"""What no test reaches, in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.report.model import KindCoverage

_NAMES_AT_MOST = 20
_KINDS = ("intents", "actions", "responses", "forms", "flows", "rules", "stories")


def not_reached(coverage: Mapping[str, KindCoverage], test: str, kinds: Sequence[str] = _KINDS) -> Iterator[str]:
    """Yield the names that no ``test`` (say, ``test story``) reaches, by kind; nothing if all are reached."""
    first = True
    for kind in kinds:
        found = coverage.get(kind)
        if found is None or found.share is None or found.share == 1:
            continue
        if first:
            yield ""
            yield f"No {test} reaches"
            first = False
        yield f"  {kind}: {_names([item.name for item in found.items if not item.covered])}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(text(name, 60) for name in names[:_NAMES_AT_MOST])
    more = len(names) - _NAMES_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
