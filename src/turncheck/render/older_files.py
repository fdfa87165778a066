"""The pictures and story files of ``rasa test`` of Rasa 1.x and of ``rasa_nlu.evaluate`` of 0.x.

Of 1.x the names of 1.10, of 0.x those of 0.13 to 0.15; 0.11 only printed.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from turncheck.report.model import Core, StoryResult, StoryStep, WrittenStep


# Failed stories in Markdown, as ``rasa test core`` of Rasa 1 wrote them to ``failed_stories.md``.

_NONE_FAILED: Final = "<!-- All stories passed -->"
_IN_FORM: Final = "form: "
_LISTEN: Final = "action_listen"
_NOT_WRITTEN: Final = frozenset({_LISTEN, "action_session_start", "action_unlikely_intent"})
_MAPPING: Final = "MappingPolicy"


def story_markdown(stories: Iterable[StoryResult]) -> str:
    """Write stories with what was predicted instead as comments, or the remark that all passed."""
    blocks = [f"## {_line(f'{story.name} ({story.location.path})')}\n{_body(story)}\n\n" for story in stories]
    return "".join(blocks) or _NONE_FAILED


def _body(story: StoryResult) -> str:
    """Write the steps in order, each with the prediction that it was compared with."""
    actions = deque(step for step in story.steps if step.kind == "action" and _is_written(step))
    heard = _heard(story.steps)
    writer = _Writer()
    for written in story.written:
        step = written.step
        if "slot_was_set" in step:
            for slot in step["slot_was_set"]:
                writer.event(f"slot{_json(slot)}")
        elif "active_loop" in step:
            writer.form(step["active_loop"])
        elif "action" in step or "bot" in step:
            name = str(step.get("action") or step.get("bot"))
            judged = actions.popleft() if actions and actions[0].expected == name else None
            writer.action(name, _comment(written.comment), rejects=_rejects(judged))
        else:
            writer.message(next(heard, None) or _message(written))
    return "".join(writer.ended())


def _is_written(step: StoryStep) -> bool:
    return not step.passed or step.expected not in _NOT_WRITTEN


def _rejects(step: StoryStep | None) -> bool:
    """Whether an active form counted as rejected at this step: its policy predicted it and was overruled."""
    return step is not None and step.policy != _MAPPING


# --- messages --------------------------------------------------------------------------------------------------------


def _heard(steps: Iterable[StoryStep]) -> Iterator[str]:
    """Yield the messages of an end-to-end story, with what was understood instead if that differs."""
    listed = [step for step in steps if step.kind != "action"]
    for number, step in enumerate(listed):
        if step.kind != "intent":
            continue
        follower = listed[number + 1] if number + 1 < len(listed) else None
        entities = follower if follower is not None and follower.kind == "entities" else None
        text = step.text or ""
        said = text if text.startswith("/") or entities is None else entities.expected or text
        line = f"{step.expected}: {said}"
        if not step.passed or (entities is not None and not entities.passed):
            found = text if entities is None else entities.predicted or text
            line += f"   <!-- predicted: {step.predicted}: {found} -->"
        yield _line(line)


def _message(written: WrittenStep) -> str:
    """Write a message of a story without text: the intent, then its entities; without an intent the text."""
    step = written.step
    if "intent" not in step:
        return _line(str(step.get("user", "")))
    entities: dict[str, Any] = {}
    for entity in step.get("entities", ()):
        entities |= entity if isinstance(entity, dict) else {str(entity): None}
    return _line(f"{step['intent']}{_json(entities) if entities else ''}{_comment(written.comment)}")


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, default=str)


def _comment(comment: str | None) -> str:
    return f"   <!-- {_line(comment).replace('-->', '-- >')} -->" if comment else ""


def _line(text: str) -> str:
    """Project text must not begin another line, nor hide the rest of one."""
    return " ".join(text.splitlines())


# --- what is done while a form is active -----------------------------------------------------------------------------


class _Writer(Struct):
    """Writes lines. While a form is active it waits for the next action, which says whether the form went on."""

    lines: list[str] = field(default_factory=list)
    active: str | None = None
    rejected: bool = False
    waiting: list[tuple[str, str]] = field(default_factory=list)
    """Lines that come with the form's mark, or without it: each in both forms."""

    def message(self, said: str) -> None:
        """Write what the user says."""
        self._write(f"* {said}\n", f"* {_IN_FORM}{said}\n")

    def event(self, text: str) -> None:
        """Write an event, which never has the form's mark."""
        self._write(f"    - {text}\n", f"    - {text}\n")

    def form(self, name: str | None) -> None:
        """Write that a form begins or ends."""
        self.active = name
        if name is None:
            self._flush(marked=True)
        self.lines.append(f"    - form{_json({'name': name})}\n")

    def action(self, name: str, comment: str, *, rejects: bool) -> None:
        """Write an action: while the form goes on with its mark, after it was rejected without."""
        if self.active is None:
            self.lines.append(f"    - {name}{comment}\n")
            return
        is_form = name == self.active
        self.rejected = self.rejected or (rejects and not is_form and f"predicted: {self.active} " not in comment)
        if not self.rejected:
            self._flush(marked=True)
            self.lines.append(f"    - {_IN_FORM}{name}{comment}\n")
        else:
            if is_form and any(plain.startswith("* ") for plain, _ in self.waiting):
                self.lines.append(f"    - {_LISTEN}\n")
                self._flush(marked=True)
            else:
                self._flush(marked=False)
            self.lines.append(f"    - {name}{comment}\n")
        self.rejected = self.rejected and not is_form

    def ended(self) -> list[str]:
        """Return all lines."""
        self._flush(marked=True)
        return self.lines

    def _write(self, plain: str, marked: str) -> None:
        if self.active is None:
            self.lines.append(plain)
        else:
            self.waiting.append((plain, marked))

    def _flush(self, *, marked: bool) -> None:
        self.lines += [line[marked] for line in self.waiting]
        self.waiting.clear()


FAILED: Final = "failed_stories.md"
SUCCESSFUL: Final = "successful_stories.md"
"""Rasa 1 had none; it is written on request."""


class NluNames(Struct, frozen=True):
    """The pictures that could be named by a flag."""

    histogram: str = "hist.png"
    matrix: str = "confmat.png"

    @classmethod
    def of(cls, histogram: Path | None, matrix: Path | None) -> Self:
        """Take the names from the flags, else Rasa's defaults."""
        return cls(str(histogram or cls().histogram), str(matrix or cls().matrix))


def nlu_plots_of_rasa_0_and_1(
    plots: Iterable[Rendered], names: NluNames | None = None, *, responses: bool
) -> Iterator[Rendered]:
    """Yield the pictures of that version: of intents and, if ``responses``, of the selected responses."""
    names = names or NluNames()
    drawn = {"intent_histogram.png": names.histogram, "intent_confusion_matrix.png": names.matrix}
    if responses:
        drawn["response_selection_confusion_matrix.png"] = "response_selection_confmat.png"
    for plot in plots:
        if plot.name in drawn:
            yield replace(plot, name=drawn[plot.name])


def story_files_of_rasa_1(core: Core, *, errors: bool = True, successes: bool = False) -> list[Rendered]:
    """Return ``failed_stories.md``, and the passed stories if requested."""
    judged = [story for story in core.stories if not story.duplicate]
    wanted = {FAILED: (errors, False), SUCCESSFUL: (successes, True)}
    return [
        Rendered(name, "text/markdown", story_markdown([story for story in judged if story.passed is passed]))
        for name, (is_wanted, passed) in wanted.items()
        if is_wanted
    ]
