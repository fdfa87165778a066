"""The argument parser of all commands: argparse, with messages of our own."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from turncheck.commands.flags.word_order import AmbiguousWordError, own_words_first
from turncheck.messages.errors import EXIT_NOT_DONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.commands.flags.word_order import Recognise

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
    :mod:`turncheck.commands.flags.word_order`).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _of_any_width)
        super().__init__(*args, **options)
        self._recognise: dict[str, Recognise] = {}

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
        from turncheck.messages.suggestions import not_one_of  # only for a word that is wrong

        refused = not_one_of(str(value), map(str, action.choices))
        name = "/".join(action.option_strings)
        self.error(f"{name}: {refused}" if name else refused)

    def _missing(self, names: str) -> str:
        kinds = next((a for a in self._actions if a.choices and a.metavar == names), None)
        one_of = f"; it is one of: {', '.join(map(str, kinds.choices or ()))}" if kinds else ""
        return f"{names} is missing{one_of}" if "," not in names else f"{names} are missing"

    def _unknown(self, arguments: list[str]) -> str:
        flags = [argument for argument in arguments if argument.startswith("-")]
        if not flags:
            return f"unexpected argument: {' '.join(arguments)}"
        from turncheck.messages.suggestions import nearest  # only for a flag that is wrong

        flag = flags[0].partition("=")[0]
        near = nearest(flag.lstrip("-"), (name.lstrip("-") for name in self._option_string_actions if name[:2] == "--"))
        return f"unknown flag {flag}" + (f". Did you mean --{near[0]}?" if near else "")
