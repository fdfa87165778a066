"""What a setting says about itself: how it is called and read, whom it is about, who may set it."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, get_args

from turncheck.settings.parsers import Parser, read_hidden, read_pairs

Group = Literal["", "input", "evaluation", "gates", "comparison and publishing", "engine and action server", "output"]
"""The part of a command's help that its flag is in; "": the flags of no command are declared here."""
Scope = Literal["measuring", "judging", "comparing", "publishing", "files", "one assistant", "job"]
"""What a setting is about. ``measuring``: what is measured, and how: the same in all jobs that share a run.
``judging``: what fails the run. ``comparing``: with what; ``publishing``: where; ``files``: what else is written: these
are of the job that merges the others. ``one assistant``: something of one among several, in one job. ``job``: with what
a job works."""
Function = Literal["", "run", "run and parse"]
"""The functions for Python programs that have a setting."""


class Option(NamedTuple):
    """What a setting is called and how its string becomes a value. ``engine``: the one it is for, if not for all."""

    help: str
    parse: Parser
    group: Group
    scope: Scope
    action_input: bool = True
    file_key: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    switch: bool = False
    flag: bool = True
    engine: str | None = None
    functions: Function = "run"
    reported: bool = False
    """Whether the report has it: another value gives another report, or another verdict."""
    beside_projects: bool = False
    """Whether the file that names several assistants may set it, too: it is about all of them."""
    publishes: bool = False
    """Whether `report publish` takes it: it is about what another job measured."""

    @property
    def is_private(self) -> bool:
        """Whether its value is never shown, not even if it is refused."""
        return self.parse in {read_hidden, read_pairs}

    @property
    def differs_by_job(self) -> bool:
        """Whether it may be another one in each job that shares a run. What answered, and in which way, the
        description of the engine says: it has to be the same."""
        return self.scope not in {"measuring", "judging"}


def setting(default: Any, parse: Parser, text: str, *, group: Group, scope: Scope, **more: Any) -> Any:
    """Return a field of :class:`turncheck.settings.options.Settings` that knows its option.

    Raises:
        ValueError: there is no such group or scope.
    """
    if group not in get_args(Group) or scope not in get_args(Scope):
        raise ValueError(f"a setting has one of the groups {get_args(Group)} and of the scopes {get_args(Scope)}")
    more = {"reported": scope in {"measuring", "judging"}, "beside_projects": scope in {"publishing", "files"}, **more}
    option = Option(help=text, parse=parse, group=group, scope=scope, **more)
    return field(default=default, repr=not option.is_private, metadata={"option": option})


# What several settings have in common.

OF_PROJECT: Final = partial(setting, group="", scope="measuring", functions="")
INPUT: Final = partial(setting, group="input", scope="measuring")
EVALUATION: Final = partial(setting, group="evaluation", scope="measuring")
WORK: Final = partial(setting, group="evaluation", scope="job")
GATE: Final = partial(setting, group="gates", scope="judging")
COMPARING: Final = partial(setting, group="comparison and publishing", scope="comparing")
PUBLISHING: Final = partial(setting, group="comparison and publishing", scope="publishing", functions="")
OUTPUT: Final = partial(setting, group="output", scope="files")
ENGINE: Final = partial(
    setting, group="engine and action server", scope="job", functions="run and parse", file_key=False
)
ANSWERS: Final = partial(setting, group="engine and action server", scope="measuring")
ACTIONS: Final = partial(setting, group="engine and action server", scope="job", file_key=False)
