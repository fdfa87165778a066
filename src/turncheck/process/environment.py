"""Environment variables and secrets: which are passed on, and how a secret is kept from every output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from turncheck.messages.finding import Location


_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_PRIVATE_PREFIXES = ("INPUT_", "ACTIONS_", "CI_JOB_JWT", "TURNCHECK_KORE_", "TURNCHECK_RASA_", "TURNCHECK_CACHE_")
_PRIVATE = frozenset({"CI_REPOSITORY_URL", "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD"})
"""GitLab's, which hold its tokens under other names."""


def is_private(name: str) -> bool:
    """Whether the variable is only for the job: inputs of the action, the runner's own, tokens."""
    upper = name.upper()
    return upper.startswith(_PRIVATE_PREFIXES) or "TOKEN" in upper or upper in _PRIVATE


def for_child(environment: Mapping[str, str], added: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Return the environment of a child process: ours without what is private, and what was requested by name."""
    return {**{name: value for name, value in environment.items() if not is_private(name)}, **dict(added)}


@dataclass(frozen=True, slots=True)
class FileVariables:
    """What ``${NAME}`` in a project's file stands for.

    ``given`` is what was handed over for that by name (``env``). ``environment`` is that of the process, of which files
    get what is not private; ``None`` in the action, where whoever opens a pull request writes them: they get no more
    than was handed over.
    """

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def is_limited(self) -> bool:
        """Whether files get only what was handed over."""
        return self.environment is None

    def find(self, name: str) -> str | None:
        """Return the value of a variable; ``None`` if it is not set, is private, or was not handed over."""
        if name in self.given or self.environment is None or is_private(name):
            return self.given.get(name)
        return self.environment.get(name)

    def value_of(self, name: str, location: Location | None) -> str:
        """Return the value of a variable.

        Raises:
            UserError: it is not set, is private, or was not handed over.
        """
        if name in self.given:
            return self.given[name]
        if self.environment is None:
            raise UserError(
                f"'${{{name}}}' is not expanded: the action's input `env` hands over no variable '{name}'",
                location=location,
                hint=f"Add a line {name}=VALUE to it in the workflow; other variables of the job are not read.",
            )
        if is_private(name):
            raise UserError(
                f"'${{{name}}}' is not expanded: variables of this kind stay with the job",
                location=location,
                hint=f"Hand the value over by name: --env {name}=VALUE.",
            )
        if name not in self.environment:
            raise UserError(f"the environment variable '{name}' is not set", location=location, hint="Set it.")
        return self.environment[name]


def expand(text: str, variables: FileVariables | Mapping[str, str], location: Location | None = None) -> str:
    """Replace each ``${NAME}`` by the variable's value. A plain mapping is the environment of the process.

    Raises:
        UserError: the variable is not set, is private, or was not handed over.
    """
    of = FileVariables(environment=variables) if isinstance(variables, Mapping) else variables
    return _VARIABLE.sub(lambda match: of.value_of(match[1], location), text)


_NUMBERS_OF_LIBRARIES = (
    *("LOKY_MAX_CPU_COUNT", "JOBLIB_MULTIPROCESSING", "SKLEARN_WORKING_MEMORY", "SKLEARN_PAIRWISE_DIST_CHUNK_SIZE"),
)
"""joblib and scikit-learn read them as whole numbers when they are imported, and fail if they are not."""


def ensure_numbers(environment: Mapping[str, str]) -> None:
    """Make sure that the libraries can read what the environment sets for them.

    Raises:
        UserError: a value is not a number.
    """
    for name in _NUMBERS_OF_LIBRARIES:
        if name in environment and not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", environment[name]):
            shown = environment[name][:40]
            raise UserError(f"the environment variable {name} is not a whole number: {shown!r}", hint="Unset it.")


def whole_number(text: str) -> int | None:
    """Return the number that a variable holds, ``None`` if it holds something else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


# Secrets: strings that are sent and never shown.
#
# Every secret that is read is remembered here, so that it can be removed from whatever is printed after an error (a
# message, a crash report), in whichever form a library quoted it.

HIDDEN: Final = "***"
_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
"""What a header can carry wherever it goes (RFC 9110, 5.5: visible ASCII and blanks)."""
_LEAST: Final = 4
_LEAST_GUESSED: Final = 8
"""Minimum length in characters: shorter strings (``true``, ``5``) are not hidden, or the output would be unreadable."""
_TELLING_NAMES: Final = re.compile(
    r"TOKEN|SECRET|PASSW|JWT|CREDENTIAL|(?:^|_)(?:API_?|ACCESS_?|PRIVATE_?|CACHE_?)KEY", re.IGNORECASE
)
_KNOWN: Final[set[str]] = set()


class Secret:
    """A string that is never shown: its ``repr`` and ``str`` are ``***``."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text
        remember(text)

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.reveal()

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the string itself, for the place that sends it."""
        return self._text


def read_secret(text: str) -> Secret:
    """Return a secret as it was entered, without the blanks and line ends that pasting leaves around it.

    Raises:
        ValueError: it is empty, or holds what no header can carry; the message does not show it.
    """
    remember(text)
    stripped = text.strip()
    if not stripped:
        raise ValueError("expected a secret, got an empty string")
    if not _SENDABLE.fullmatch(stripped):
        raise ValueError(
            "it contains a line break, a control character or a character outside ASCII, which cannot be sent"
        )
    return Secret(stripped)


def secret_of(environment: Mapping[str, str], *names: str) -> Secret | None:
    """Return the first of these variables that is set.

    Raises:
        UserError: it holds what cannot be sent.
    """
    for name in names:
        if environment.get(name, "").strip():
            try:
                return read_secret(environment[name])
            except ValueError as error:
                raise UserError(f"{name} cannot be used: {error}", hint="Set it again, without a line break.") from None
    return None


def remember(text: str, least: int = _LEAST) -> None:
    """Have :func:`redact` hide this string, and each line of it that has ``least`` characters, from now on."""
    for part in (text, *text.splitlines()):
        if len(kept := part.strip()) >= least:
            _KNOWN.update(_forms(kept))


def remember_guessed(text: str) -> None:
    """As :func:`remember`, for a string that may or may not be a secret."""
    remember(text, _LEAST_GUESSED)


def remember_variables(variables: Mapping[str, str]) -> None:
    """Have :func:`redact` hide the variables whose names suggest secrets."""
    for name, value in variables.items():
        if _TELLING_NAMES.search(name):
            remember_guessed(value)


def known_secrets() -> frozenset[str]:
    """Return all that :func:`redact` hides, for another process of ours."""
    return frozenset(_KNOWN)


def remember_forms(forms: Iterable[str]) -> None:
    """Have :func:`redact` hide what :func:`known_secrets` returned in another process."""
    _KNOWN.update(forms)


def redact(text: str) -> str:
    """Return the text with every secret that was read replaced by ``***``."""
    for known in sorted(_KNOWN, key=len, reverse=True):
        text = text.replace(known, HIDDEN)
    return text


_PATTERNS: Final = (
    (r"(?i)\b(bearer)\s+(?![{%])[^\s'\"]+", rf"\1 {HIDDEN}"),
    (r"(?i)\b(basic)\s+[\w+/=-]{8,}", rf"\1 {HIDDEN}"),
    (r"(?i)(authorization['\"]?\s*[:=]\s*).*", rf"\1{HIDDEN}"),
    (r"\b(?:gh[a-z]_|github_pat_)\w+|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?", HIDDEN),
    (r"(?<=://)[^/\s@'\"]+@", f"{HIDDEN}@"),
    (r"(?i)([?&](?:\w*token|sig|signature|\w*key|password|secret|jwt)=)[^&\s'\"]+", rf"\1{HIDDEN}"),
)
"""What looks like a secret: headers, the tokens of GitHub and JWTs, logins and keys in addresses.

Compiled where something is shown that went wrong."""


def redact_all(text: str) -> str:
    """Return the text without secrets that were read, and without anything that looks like one."""
    text = redact(text)
    for pattern, shown in _PATTERNS:
        text = re.sub(pattern, shown, text)
    return text


def _forms(text: str) -> set[str]:
    """The string itself, and as Python, JSON, an address or a login would write it."""
    import base64  # only where there is a secret

    content = text.encode("utf-8", "backslashreplace")
    return {
        text,
        repr(text)[1:-1],
        ascii(text)[1:-1],
        repr(content)[2:-1],
        json.dumps(text)[1:-1],
        quote(text, safe="", errors="replace"),
        quote(text, errors="replace"),
        quote_plus(text, errors="replace"),
        base64.b64encode(content).decode(),
    }
