"""The argument parser of all commands: argparse, with messages of our own."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from turncheck.messages.errors import EXIT_NOT_DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Recognise = Callable[[str], bool]


# A command's own words (its project, its kind) that are after a flag which takes several values.
#
# Rasa's flags take several values in one go (``--config a b``), so argparse gives such a flag every word up to the
# next flag: of ``run --fail-on errors bots/x`` the project, too. Here the last of these words are distinguished by
# what they can be. If a word can be both, nothing is guessed.

PROJECT: Final = "PROJECT"
"""The help's name of a project without a flag."""
_HOST: Final = r"[A-Za-z0-9*][A-Za-z0-9.:*-]*"
_RULE_SIGNS: Final = ("<", ">", "=", ":")
_PROJECT_FILES: Final = (
    "config.yml",
    "domain.yml",
    "domain",
    "data",
    "turncheck.yml",
    "botDefinition.json",
    "appDefinition.json",
)
_MOST_READ: Final = 1_000_000


class AmbiguousWordError(Exception):
    """A word that may belong to a flag, and may be the command's own; the text says how to say it."""


class _Run(NamedTuple):
    """A flag that takes several words, or perhaps one, and the words behind it."""

    flag: argparse.Action
    name: str
    begin: int
    words: list[str]

    @property
    def spare(self) -> int:
        """How many words it does not need."""
        return len(self.words) if self.flag.nargs == "?" else len(self.words) - 1


class _Walked(NamedTuple):
    """Arguments by their kind: the indices of words that belong to no flag, runs of words after a flag, named flags."""

    loose: list[int]
    runs: list[_Run]
    named: set[str]


def own_words_first(
    parser: argparse.ArgumentParser, arguments: Sequence[str], recognise: Mapping[str, Recognise]
) -> list[str]:
    """Return the arguments with the command's own words before its flags, where a flag would have taken them.

    The kind of a command (``nlu`` of ``test nlu``) goes before all flags, which then belong to it.

    Args:
        parser: the command's parser.
        arguments: what is behind the command.
        recognise: by the name of a positional argument, whether a word can be one.

    Raises:
        AmbiguousWordError: a word can be both.
    """
    given = list(arguments)
    positionals = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - argparse lists them nowhere else
    walked = _walk(parser, given)
    if not positionals:
        return given
    kinds = positionals[0]
    if isinstance(kinds, argparse._SubParsersAction):  # noqa: SLF001 - as above
        known = (place for place in walked.loose if given[place] in (kinds.choices or ()))
        place = next(known, None)
        if place is None:
            place = _place_of_kind(kinds, walked.runs)
        return given if place is None else [given[place], *given[:place], *given[place + 1 :]]
    moved = _own_words(positionals, walked, recognise)
    if not moved:
        return given
    first = [given[place] for place in sorted({*walked.loose, *moved})]
    return [*first, *(word for place, word in enumerate(given) if place not in {*walked.loose, *moved})]


def looks_like_project(word: str) -> bool:
    """Return whether a word names a folder with an assistant's files."""
    folder = Path(word)
    return folder.is_dir() and any((folder / name).exists() for name in _PROJECT_FILES)


def holds_test_cases(word: str) -> bool:
    """Return whether a word names a file of end-to-end test cases, or one case of it."""
    from turncheck.process.regular_file import file_and_case

    path, case = file_and_case(word)
    if case is not None or not path.is_file():
        return case is not None
    from turncheck.process.regular_file import open_regular

    try:
        with open_regular(path, most=sys.maxsize) as opened:
            return re.search(rb"^test_cases\s*:", opened.read(_MOST_READ), re.MULTILINE) is not None
    except OSError:  # whoever reads it says why it cannot
        return False


def _walk(parser: argparse.ArgumentParser, arguments: list[str]) -> _Walked:
    known = parser._option_string_actions  # noqa: SLF001 - as above
    walked = _Walked([], [], set())
    place = 0
    while place < len(arguments) and arguments[place] != "--":
        word = arguments[place]
        place += 1
        if not word.startswith("-") or word == "-":
            walked.loose.append(place - 1)
            continue
        flag = known.get(word.partition("=")[0])
        if flag is None:
            continue
        walked.named.add(flag.dest)
        if "=" in word or flag.nargs == 0:
            continue
        begin = place
        most = {None: 1, "?": 1}.get(flag.nargs if isinstance(flag.nargs, str) else None, len(arguments))
        while place < len(arguments) and place - begin < most and not arguments[place].startswith("-"):
            place += 1
        if flag.nargs in {"+", "*", "?"}:
            walked.runs.append(_Run(flag, word, begin, arguments[begin:place]))
    return walked


def _place_of_kind(kinds: argparse.Action, runs: list[_Run]) -> int | None:
    for run in runs:
        word = run.words[-1] if run.spare else ""
        if word in (kinds.choices or ()):
            if Path(word).exists():
                raise AmbiguousWordError(
                    f"'{word}' could belong to {run.name} or say what is done: put it before the flags, or write"
                    f" '.{os.sep}{word}' for the path"
                )
            return run.begin + len(run.words) - 1
    return None


def _own_words(positionals: list[argparse.Action], walked: _Walked, recognise: Mapping[str, Recognise]) -> set[int]:
    """The places of the words after flags that are the command's own."""
    wanted = positionals[len(walked.loose) :]
    if positionals[-1].nargs == "*":
        wanted = [positionals[-1]] * sum(run.spare for run in walked.runs)
    if "project" in walked.named and wanted and wanted[0].metavar == PROJECT:
        wanted = []
    # If a project is named already, words after a flag are not one, unless the flag cannot take them.
    settled = bool(walked.loose) and positionals[-1].metavar == PROJECT
    moved: set[int] = set()
    for run in walked.runs:
        for place in range(len(run.words) - 1, len(run.words) - 1 - run.spare, -1):
            if not wanted or (settled and _can_be_value(run.flag, run.words[place])):
                break
            if not _is_own(run, wanted[-1], run.words[place], recognise):
                break
            wanted.pop()
            moved.add(run.begin + place)
    return moved


def _is_own(run: _Run, positional: argparse.Action, word: str, recognise: Mapping[str, Recognise]) -> bool:
    is_path = os.sep in word or Path(word).exists()
    own = word in positional.choices if positional.choices else recognise.get(positional.dest, os.path.exists)(word)
    if not _can_be_value(run.flag, word):
        return own or (is_path and not positional.choices)
    if own:
        raise AmbiguousWordError(_both(run.name, positional, word))
    return False


def _both(flag: str, positional: argparse.Action, word: str) -> str:
    if positional.metavar == PROJECT:
        return (
            f"'{word}' could belong to {flag} or be the project: write `--project {word}` if it is the project,"
            f" `--project .` if it belongs to {flag}"
        )
    what = f"say what is done ('{word}')" if positional.choices else f"be {positional.metavar}"
    return f"'{word}' could belong to {flag} or {what}: put what is not a value of {flag} before it"


def _can_be_value(flag: argparse.Action, word: str) -> bool:
    """Return whether a flag could take this word."""
    if flag.dest == "vectors":  # a folder that is read
        return Path(word).is_dir() or (Path(word).exists() and not Path(word).is_file())  # nor is a pipe a sentence
    if flag.nargs == "?":  # the name of a file to write, which does not exist yet
        return flag.dest != "json" or word.lower().endswith(".json")
    if flag.type is Path or flag.metavar == "PATH":
        return any(Path(word[: colons.start()]).exists() for colons in re.finditer("::|$", word))
    if flag.metavar == "RULE":
        return any(sign in word for sign in _RULE_SIGNS)
    if flag.metavar == "HOST":
        return re.fullmatch(_HOST, word) is not None
    from turncheck.settings.declared import options  # only for a word in doubt

    read: Any = flag.type or options()[flag.dest.replace("_", "-")].parse
    try:
        read(word)
    except (ValueError, argparse.ArgumentTypeError):
        return False
    return True


_MISSING: Final = "the following arguments are required: "
_SENTENCES: Final = (
    (re.compile(r"^argument (?=\S+: )"), ""),
    (re.compile(r"expected one argument$"), "expected a value"),
    (re.compile(r"expected at least one argument$"), "expected a value, or several"),
    (re.compile(r"ignored explicit argument (.*)$"), r"takes no value, not \1"),
)
"""argparse's messages, and ours."""


def _of_any_width(prog: str) -> argparse.HelpFormatter:
    """Return what argparse checks each new argument with; asking for the terminal's width takes it longer than that."""
    return argparse.HelpFormatter(prog, width=80)


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations that suggests what was meant, and shows coloured help on a terminal.

    A command's own words may be after a flag that takes several values (see
    :mod:`turncheck.commands.flags.parser`).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _of_any_width)
        super().__init__(*args, **options)
        self._recognise: dict[str, Recognise] = {}
        self._given: list[str] = []

    def recognise(self, positional: str, is_one: Recognise) -> None:
        """Set how to recognise a word as this positional argument; otherwise any existing path may be."""
        self._recognise[positional] = is_one

    def format_help(self) -> str:
        """Colour the help on a terminal; Rich is imported only for that."""
        self.formatter_class = argparse.HelpFormatter
        if sys.stdout.isatty():
            from rich_argparse import RawDescriptionRichHelpFormatter  # only for the help

            self.formatter_class = RawDescriptionRichHelpFormatter
        return super().format_help()

    def parse_known_args(  # type: ignore[override]  # argparse's overloads differ in the namespace alone
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse as argparse does; unknown arguments are an error here, with the command's own name."""
        try:
            ordered = own_words_first(self, sys.argv[1:] if args is None else args, self._recognise)
        except AmbiguousWordError as error:
            self.error(str(error))
        self._given = ordered
        parsed, unknown = super().parse_known_args(ordered, namespace)
        if unknown:
            self.error(self._unknown(unknown))
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and how to get help, without the full usage."""
        for pattern, sentence in _SENTENCES:
            message = pattern.sub(sentence, message)
        if message.startswith(_MISSING):
            message = self._missing(message.removeprefix(_MISSING))
        self.exit(EXIT_NOT_DONE, f"{self.prog}: error: {message}\nSee `{self.prog} --help`.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        name = "/".join(action.option_strings)
        if not name and (flag := self._unknown_flag_before(str(value))):
            self.error(self._unknown([flag]))
        from turncheck.messages.phrasing import not_one_of  # only for a word that is wrong

        refused = not_one_of(str(value), map(str, action.choices), _kinds_of_commands(action))
        self.error(f"{name}: {refused}" if name else refused)

    def _unknown_flag_before(self, word: str) -> str | None:
        """The flag that a refused word was probably meant for, if there is no such flag."""
        before = self._given[max(0, self._given.index(word) - 1)] if word in self._given else ""
        is_flag = before.startswith("-") and "=" not in before
        return before if is_flag and before not in self._option_string_actions else None

    def _missing(self, names: str) -> str:
        kinds = next((a for a in self._actions if a.choices and a.metavar == names), None)
        one_of = f"; it is one of: {', '.join(map(str, kinds.choices or ()))}" if kinds else ""
        return f"{names} is missing{one_of}" if "," not in names else f"{names} are missing"

    def _unknown(self, arguments: list[str]) -> str:
        flags = [argument for argument in arguments if argument.startswith("-")]
        if not flags:
            return f"unexpected argument: {' '.join(arguments)}"
        from turncheck.messages.phrasing import nearest  # only for a flag that is wrong

        flag = flags[0].partition("=")[0]
        if flag in _flags(self):
            return f"the command is missing that {flag} belongs to"
        near = nearest(flag.lstrip("-"), frozenset(name[2:] for name in _flags(self) if name[:2] == "--"))
        return f"unknown flag {flag}" + (f". Did you mean --{near[0]}?" if near else "")


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Its flags; of one that cannot do without a command also the flags of all its commands."""
    yield from parser._option_string_actions  # noqa: SLF001 - argparse lists them nowhere else
    for action in parser._actions:  # noqa: SLF001 - as above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for command in action.choices.values():
                yield from _flags(command)


def _kinds_of_commands(action: argparse.Action) -> dict[str, str]:
    """What the commands can do, by its name alone: ``validate`` is ``data validate``."""
    kinds: dict[str, str] = {}
    if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
        for command, parser in action.choices.items():
            for inner in parser._actions:  # noqa: SLF001 - as above
                if isinstance(inner, argparse._SubParsersAction):  # noqa: SLF001 - as above
                    kinds |= {kind: f"{command} {kind}" for kind in inner.choices if kind not in kinds}
    return kinds
