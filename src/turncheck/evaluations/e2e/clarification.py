"""What a clarification offered, by the updates of the dialogue stack in a turn.

By Rasa's documentation the frame of a clarification has the ``names`` of the flows that users may choose from, and an
event ``stack`` has its update as a JSON patch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.project.e2e.model import Assertion

_PATTERN: Final = "pattern_clarif"
NOT_IN_TRACKER: Final = "what a clarification offers is not in the server's tracker"


class Offered(Struct, frozen=True):
    """How an assertion about a clarification ended. ``met``: ``None`` if that cannot be said; ``why`` not."""

    met: bool | None
    why: str = ""


def judge_offered(assertion: Assertion, events: Sequence[Mapping[str, Any]]) -> Offered:
    """Judge whether a turn offered the flows that an assertion lists, by their names."""
    updates = [event.get("update") for event in events if event["event"] == "stack"]
    if not updates:
        return Offered(None, NOT_IN_TRACKER)
    frames = [frame for update in updates for frame in _frames(update)]
    if not frames:
        return Offered(met=False, why="the user was not asked to choose")
    names = [str(name) for frame in frames for name in frame.get("names") or ()]
    value = assertion.value
    by_id = isinstance(value, dict)
    wanted = [str(one) for one in (value["flow_ids"] if by_id else value)]
    found = [flow for flow in wanted if _plain(flow) in map(_plain, names)]
    is_any = by_id and value.get("operator") == "any"
    if found if is_any else len(found) == len(wanted):
        return Offered(met=True)
    why = f"offered: {', '.join(names) or 'no flow'}"
    return Offered(None if by_id else False, f"{why}, by names, not ids" if by_id else why)


def _plain(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").casefold()


def _frames(update: Any) -> Iterator[Mapping[str, Any]]:
    """The frames of clarifications in an update; what cannot be read has none."""
    try:
        patch = json.loads(update) if isinstance(update, str) else update
    except (ValueError, RecursionError):
        return
    for change in patch if isinstance(patch, list) else ():
        value = change.get("value") if isinstance(change, dict) else None
        for frame in value if isinstance(value, list) else (value,):
            if isinstance(frame, dict) and str(frame.get("flow_id")).startswith(_PATTERN):
                names = frame.get("names")
                yield frame if isinstance(names, list) else {**frame, "names": []}
