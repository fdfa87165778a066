"""Everything that determines what a run measures, and the answers that are known before it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import ASKED_HERE, Answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turncheck.engines.base import Engine, Part
    from turncheck.messages.errors import UserError
    from turncheck.messages.finding import Location
    from turncheck.process.cache import Cache
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo, Source
    from turncheck.report.part import Evaluation
    from turncheck.run.changed_lines import ChangedLines
    from turncheck.run.reading import Tests
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that determines what is measured.

    ``root`` is the project's path in its repository, links followed, ``named`` the same as the settings name it;
    ``name`` is its name if its folder's name means nothing; ``ignored`` the codes to leave out and where they are;
    ``rules`` where each gate is set; ``hosts`` the hosts that addresses in the project's files may name besides
    loopback (``None``: any); ``environment`` what child processes get; ``file_variables`` what ``endpoints.yml`` may
    refer to, if not to that; ``settings_file`` the ``turncheck.yml`` that was read,
    ``settings_folder`` where it is looked for, as is the quarantine; ``chooser`` the folder whose file
    may name several assistants, and ``projects`` those that it names; ``changed`` returns which lines a change
    touches; ``cache`` is where trained models are kept, if at all.
    """

    settings: Settings
    source: Source
    root: str = ""
    named: str | None = None
    name: str | None = None
    ignored: tuple[tuple[str, Location], ...] = ()
    rules: Mapping[str, Location] = field(default_factory=dict)
    hosts: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    file_variables: FileVariables | None = field(default=None, repr=False)
    settings_file: Path | None = None
    settings_folder: Path | None = None
    chooser: Path | None = None
    projects: tuple[str, ...] = ()
    changed: Callable[[], ChangedLines] | None = None
    cache: Cache | None = None


# What is known before a run begins: answers from elsewhere, and descriptions of the engines that gave them.


@dataclass(frozen=True, slots=True)
class PrecomputedAnswers:
    """The head start of a run; an ordinary one has none.

    ``parts``: the substitutions in the parts of the engine that were trained elsewhere. ``refused``: why an
    evaluation could not be trained there. ``engines``: creates those of a project if what the settings name is not
    available here. ``ensure``: called with what was read, raises a ``UserError`` if the answers are about other data.
    ``too_many``: whether there were too many sentences and utterances to ask all of them again; ``None``: see here.
    """

    answers: Answers = ASKED_HERE
    parts: Mapping[Part, EngineInfo] = field(default_factory=dict)
    refused: Mapping[Evaluation, UserError] = field(default_factory=dict)
    engines: Callable[[Project], Engine] | None = None
    ensure: Callable[[Inputs, Project, Tests], None] | None = None
    too_many: bool | None = None


NONE_PRECOMPUTED = PrecomputedAnswers()
