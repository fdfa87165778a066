"""What a check is. All rows are in :mod:`.catalogue`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple, Protocol, Required, TypedDict, Unpack

from turncheck.messages.finding import Location, Name, Severity  # noqa: TC001 - the types of rows are looked at
from turncheck.platforms import base as platforms
from turncheck.validation.facts import Facts, Part  # noqa: TC001 - likewise

Fails = Literal["always", "on-warnings", "never"]
"""Whether a finding makes ``data validate`` end with 1: always, with ``--fail-on-warnings``, or never."""

Stage = Literal[
    "arguments", "load", "domain", "nlu", "stories", "config", "own", "cases", "suites", "quarantine", "platform"
]
"""The part of the work that finds it, in Rasa's order; ``own`` is what Rasa does not check.

``cases``, ``suites``: not validation at all, but reading end-to-end test cases and batch suites to run them.
``quarantine``: reading which tests are known to fail. ``platform``: a check of another platform's assistants, which
Rasa does not know: it is always shown with its own severity.
"""

Then = Literal["goes on", "stops", "empties the domain"]
"""What Rasa does once it has found the fault: it goes on, stops, or goes on with an empty domain."""

Step = Literal["text", "syntax", "duplicates", "schema", "version", "content"]
"""The step of reading a file that finds it, in order. Nothing is read from a file that fails one of the first three."""


class Fault(NamedTuple):
    """One fault that a check finds: what is wrong, in a sentence, and where.

    ``suggestion`` follows the message ("Did you mean 'utter_greet'?"); a comment at one of ``others`` suppresses it,
    too; ``names`` are those in the message. ``about``: what it is about, if other names than those; of the kinds that
    its check declares. ``subject`` is the same for reports of earlier versions.
    """

    message: str
    location: Location
    suggestion: str = ""
    others: tuple[Location, ...] = ()
    subject: str = ""
    names: tuple[Name, ...] = ()
    about: tuple[Name, ...] = ()


FILE: Final = "file"
"""In :attr:`Check.about`: it is about a file as a whole."""
PLACE: Final = "place"
"""In :attr:`Check.about`: the keys, and the story, rule, intent or the like, that it is in tell it from others."""

Find = Callable[["Facts"], Iterable[Fault]]
"""Finds the faults of one check; skips what cannot be judged (a missing part, no dialogues)."""


class Columns(TypedDict, total=False):
    """The optional columns of a row; see :class:`Check`."""

    needs: tuple[Part, ...]
    then: Then
    step: Step
    position: int
    with_stories: bool
    about_domain: bool
    for_stories: bool
    about: Required[tuple[str, ...]]


class Check(NamedTuple):
    """One kind of fault: its stable code, its severity, and its section of the manual.

    ``severity`` is the true one. One of our own checks (``stage`` "own") is shown as ``info``, or as ``eased`` says, by
    ``data validate`` unless ``--strict`` is given; ``run`` shows it at its true severity with ``strict``, or always if
    it ``matters_always`` (training fails because of it, or means something else). ``fails_stories`` is what ``fails``
    is for ``data validate stories``, which loads everything but checks little. ``text`` is also the advice beside each
    finding, where space is limited; everything else is in ``details``, only for the manual.

    ``needs``: without these parts it might be wrong, since it says that something is absent. ``then``, ``step``: what
    Rasa does at it, and while doing what it finds it. ``position``: the order among the checks of a domain (file),
    which Rasa looks through part by part. ``with_stories``: found while stories are loaded. ``about_domain``: it
    follows from an emptied domain, and then says nothing about the project.

    ``find``: the function of a check that is written beside its row (:func:`check`); others are in ``stages``.
    ``for_stories``: such a check also runs in ``data validate stories``.

    ``about``: what a finding is recognised by in another report: the kinds of names that it is about (see
    :class:`~turncheck.messages.finding.Name`), :data:`PLACE`, or :data:`FILE`. Its words may change: a suggestion, a
    count, a quoted sentence, another place. No check is declared without it.
    """

    code: str
    severity: Severity
    fails: Fails
    stage: Stage
    title: str
    text: str
    wrong: str = ""
    right: str = ""
    matters_always: bool = False
    fails_stories: Fails | None = None
    eased: Severity = "info"
    details: str = ""
    needs: tuple[Part, ...] = ()
    then: Then = "goes on"
    step: Step = "content"
    position: int = 0
    with_stories: bool = False
    about_domain: bool = False
    for_stories: bool = False
    find: Find | None = None
    about: tuple[str, ...] = ()

    @property
    def unreadable(self) -> bool:
        """Whether nothing of the file is read. Rasa only names the first such file, but each is faulty by itself."""
        return self.step in {"text", "syntax", "duplicates"}

    @property
    def own(self) -> bool:
        """Whether Rasa has no such check."""
        return self.stage == "own"

    def fails_for(self, *, stories_only: bool) -> Fails:
        """Return ``fails`` for ``data validate`` or for ``data validate stories``."""
        if stories_only and self.fails_stories is not None:
            return self.fails_stories
        return self.fails


class CatalogueModule(Protocol):
    """The checks of a platform, in the module ``catalogue`` of its package."""

    @property
    def CHECKS(self) -> tuple[Check, ...]:  # noqa: N802 - a constant of a module
        """The rows."""

    @property
    def SECTION(self) -> str:  # noqa: N802 - as above
        """Their heading in the manual."""


CATALOGUE: Final = platforms.Part[CatalogueModule]("catalogue")


KNOWN: Final[dict[str, Check]] = {}
"""The checks there are by code, once the catalogue is read: importing this package does that."""

FAILS: dict[Severity, Fails] = {"error": "always", "warning": "on-warnings", "info": "never"}
"""What a finding of a severity does to the exit code, if that does not follow Rasa."""


def declared(row: Check) -> Check:
    """Return a row that says what its findings are recognised by.

    Raises:
        TypeError: it does not.
    """
    if not row.about or not all(row.about) or isinstance(row.about, str):
        raise TypeError(
            f"the check {row.code!r} does not say what a finding of it is about:"
            f" expected the kinds of names, as in about=('response',), or about=({PLACE!r},)"
        )
    return row


def own_check(  # noqa: PLR0917 - the rows of a table
    code: str,
    severity: Severity,
    title: str,
    text: str,
    wrong: str,
    right: str,
    *,
    matters_always: bool = False,
    eased: Severity = "info",
    details: str = "",
    **columns: Unpack[Columns],
) -> Check:
    """Create one of our own checks, which fails a run according to its severity."""
    fails = FAILS[severity]
    return Check(
        code,
        severity,
        fails,
        "own",
        title,
        text,
        wrong,
        right,
        matters_always=matters_always,
        eased=eased,
        details=details,
        **columns,
    )


def check(
    code: str,
    severity: Severity,
    *,
    title: str,
    text: str,
    wrong: str = "",
    right: str = "",
    matters_always: bool = False,
    eased: Severity = "info",
    details: str = "",
    **columns: Unpack[Columns],
) -> Callable[[Find], Check]:
    """Make a function one of our own checks; the arguments are the columns of its row, see :class:`Check`.

    ``about`` is required: the kinds of the names by which a finding is recognised in another report, or ``("place",)``.

    It gets the facts of a Rasa project and yields each :class:`Fault`. The result is listed in a catalogue, or is an
    entry point of a plugin.
    """
    row = own_check(
        code,
        severity,
        title,
        text,
        wrong,
        right,
        matters_always=matters_always,
        eased=eased,
        details=details,
        **columns,
    )
    declared(row)
    return lambda find: row._replace(find=find)


_EMPTIED = (
    " Rasa goes on with an empty domain after this, so that every intent, action and response of the data would be"
    " reported as unknown; those messages are left out here."
)


def error_check(
    code: str, stage: Stage, title: str, text: str, *, details: str = "", **columns: Unpack[Columns]
) -> Check:
    """Create a check of Rasa's that fails every run."""
    return Check(code, "error", "always", stage, title, text, details=details, **columns)


def emptying_check(code: str, title: str, text: str, *, about: tuple[str, ...], position: int = 0) -> Check:
    """Create a check of Rasa's after which it goes on with an empty domain."""
    return Check(
        code,
        "error",
        "always",
        "load",
        title,
        text + _EMPTIED,
        fails_stories="never",
        then="empties the domain",
        position=position,
        about=about,
    )


def warning_check(  # noqa: PLR0917 - the rows of a table
    code: str,
    stage: Stage,
    title: str,
    text: str,
    fails: Fails = "never",
    fails_stories: Fails | None = None,
    *,
    details: str = "",
    **columns: Unpack[Columns],
) -> Check:
    """Create a check of Rasa's that warns."""
    return Check(code, "warning", fails, stage, title, text, fails_stories=fails_stories, details=details, **columns)


def info_check(code: str, stage: Stage, title: str, text: str, **columns: Unpack[Columns]) -> Check:
    """Create a check of Rasa's that informs."""
    return Check(code, "info", "never", stage, title, text, **columns)
