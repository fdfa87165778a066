"""Training data and test stories in the Markdown of Rasa 0.x to 2.x: what a file holds, and which reader reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.project.formats.format import Opened, Parts
from turncheck.project.formats.markdown_nlu import MARKERS, read_markdown_nlu
from turncheck.project.formats.markdown_responses import is_responses_file, read_markdown_responses
from turncheck.project.formats.markdown_stories import read_markdown_stories
from turncheck.project.formats.markdown_text import IGNORED
from turncheck.project.model import Domain
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS

if TYPE_CHECKING:
    from turncheck.messages.location import Location
    from turncheck.yaml_tree.source import Source

_HEADER: Final = re.compile(r"##[^\n]")
_NLU_HEADER: Final = re.compile(r"^[ \t]*##[ \t]*(?:intent|synonym|regex|lookup)[ \t]*:", re.MULTILINE)
_MESSAGE: Final = re.compile(r"^[ \t]*\*[ \t]*[\w/]", re.MULTILINE)
_ACTION: Final = re.compile(r"^[ \t]*-[ \t]*(?:utter_|action_|respond_|slot\{|form\{|\w+_form\b)", re.MULTILINE)


def kinds_of(source: Source) -> frozenset[str]:
    """Return what Rasa 1.10 reads a file as: NLU data, responses, stories, or nothing."""
    text = source.file_text
    if any(marker in text for marker in MARKERS):
        return frozenset({"nlu"})
    if is_responses_file(text.replace("\r", "\n") if "\r" in text else text):
        return frozenset({"responses"})
    return frozenset({"stories"}) if _HEADER.search(text) else frozenset()


def is_training_data(text: str) -> bool:
    """Whether a file is meant as training data rather than for people to read, such as a README with headings."""
    if any(marker in text for marker in MARKERS):
        return True
    if _HEADER.search(text) is None:
        return False
    return _NLU_HEADER.search(text) is not None or all(line.search(text) for line in (_MESSAGE, _ACTION))


def read_markdown(file: Opened) -> Parts:
    """Read a file of training data or test stories in Markdown."""
    source = file.source
    kinds = kinds_of(source)
    if "nlu" in kinds and not file.wanted.isdisjoint(NLU_KEYS):
        nlu, findings = read_markdown_nlu(file.folder, source)
        return Parts(nlu, findings=(*findings, *_lost_stories(source)), kinds=kinds)
    if "responses" in kinds and not file.wanted.isdisjoint(NLU_KEYS):
        responses, findings = read_markdown_responses(source)
        return Parts(domain=Domain(responses=responses), findings=tuple(findings), kinds=kinds)
    if "stories" in kinds and not file.wanted.isdisjoint(STORY_KEYS):
        if unseen := _unseen_nlu(source):
            return Parts(findings=(unseen,), kinds=kinds)
        stories, findings = read_markdown_stories(source)
        if not stories and not is_training_data(source.file_text):
            return Parts(kinds=kinds)  # a text for people to read, in which Rasa finds no stories either
        return Parts(stories=stories, findings=tuple(findings), kinds=kinds)
    return Parts(kinds=kinds, belongs=bool(kinds))


def _unseen_nlu(source: Source) -> Finding | None:
    """NLU data that Rasa reads as stories: only headers with exactly one space make a file NLU data."""
    header = _NLU_HEADER.search(source.text)
    if header is None:
        return None
    place = source.location(header.start() + len(header[0]) - len(header[0].lstrip()))
    written = header[0].strip()
    what = f"'{source.path}' is not NLU data for Rasa: '{written}' needs exactly one blank after '##'."
    return Finding("markdown-refused", "error", what, place, "Write `## intent:NAME`; in YAML `- intent: NAME`.")


def _lost_stories(source: Source) -> tuple[Finding, ...]:
    """Report stories in a file of NLU data, which are lost: their lines are read as items of a section, or ignored."""
    text = source.text
    for header in re.finditer(r"^[ \t]*##[^\n:]*\n[ \t]*\*[ \t]*\w", text, re.MULTILINE):
        place = source.location(header.start())
        what = f"The story in '{source.path}' is lost: the file holds NLU data, and a file holds one kind."
        return (Finding(IGNORED, "warning", what, place, "Put it into a file of its own; YAML may hold both."),)
    return ()


def first_header(source: Source) -> Location:
    """Return where the first header of a file is."""
    header = source.text.find("##")
    return source.location(max(header, 0))
