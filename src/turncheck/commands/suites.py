"""``turncheck data convert batch`` and ``turncheck suite``: suites made, converted, added to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.batch import named_as, refuse_faulty
from turncheck.commands.convert import add_older
from turncheck.commands.flags.shared import add_paths, add_project, add_verbosity, at_least_one, output_path, screen_of
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count, suggestion
from turncheck.render.sinks.terminal import place, text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Sequence

    from turncheck.process.screen import Console
    from turncheck.project.batch.model import SuiteCase
    from turncheck.project.batch.suggestions import Suggestions
    from turncheck.project.model import Project


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``suite`` and what is below it."""
    suite = subparsers.add_parser(
        "suite",
        help=words,
        description="Make batch suites: labelled utterances, as Kore.ai's platform tests them.",
    )
    kinds = suite.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add_from_data(kinds)
    _add_from_conversations(kinds)
    _add_suggest(kinds)
    _add_add(kinds)
    _add_sample(kinds)


def add_convert(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add ``convert batch`` below ``data``."""
    words = "convert data from one format into another"
    convert = kinds.add_parser("convert", help=words, description=f"{words[0].upper()}{words[1:]}.")
    what = convert.add_subparsers(title="commands", metavar="KIND", required=True, prog=convert.prog)
    parser = what.add_parser(
        "batch",
        help="convert batch suites between JSON, CSV and NLU data",
        description="Convert batch suites between JSON and CSV, and to and from NLU data in YAML.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="suites (.json, .csv), or NLU data (.yml)")
    parser.add_argument(
        "--out", type=output_path, required=True, metavar="PATH", help="a folder; for one FILE, a file also works"
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_convert)
    add_older(what)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=output_path, required=True, metavar="FILE", help="the suite to write: .json or .csv"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_project(parser)
    add_paths(parser, "--data", words="training data (default: data)")


def _add_from_data(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "from-data",
        help="make a suite of all training utterances",
        description="Make a suite of all training utterances, with their intents and annotated entities. It shows which"
        " of them the assistant confuses; held-out utterances show how well it understands users.",
    )
    _add_reading(parser)
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_from_data)


def _add_from_conversations(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "from-conversations",
        help="make a suite of the utterances whose task was completed",
        description="Make a suite from a log that has, for each utterance, what was matched and whether the"
        " task was completed.",
    )
    parser.add_argument("log", type=Path, metavar="FILE", help="the log: JSON, one object per line, or CSV")
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_from_conversations)


def _add_suggest(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "suggest",
        help="generate cases, for review",
        description="Generate cases for review: the project's sentences with other values of their entities, and those"
        " without entities (dialogs, FAQs, small talk) as real users write them.",
    )
    _add_reading(parser)
    parser.add_argument("--intent", metavar="NAME", help="only for this intent")
    parser.add_argument(
        "--number", type=at_least_one, default=50, metavar="N", help="maximum number of cases (default: 50)"
    )
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_suggest)


def _add_add(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "add",
        help="add utterances of one intent to a suite",
        description="Add utterances to a suite, all with the same expected intent and entities. Those that it already"
        " has are not added again.",
    )
    parser.add_argument(
        "suite", type=Path, metavar="SUITE", help="the suite (.json or .csv); created if it does not exist"
    )
    parser.add_argument(
        "--from",
        dest="utterances",
        metavar="FILE",
        default="-",
        help="file with one utterance per line (default: standard input)",
    )
    words = "the intent of the utterances; alternatives with |, traits after trait:"
    parser.add_argument("--intent", required=True, metavar="NAME", help=words)
    words = "the intents in whose context they are said, topmost first, separated by || or >>"
    parser.add_argument("--parent", default="", metavar="NAME", help=words)
    parser.add_argument(
        "--entity",
        dest="entities",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="an entity to be found in them; a repeated name gives an alternative value",
    )
    words = "the order in which the entities are to be extracted"
    parser.add_argument("--entity-order", default="", metavar="NAME>NAME", help=words)
    words = "for a universal bot, the bot of each intent, separated by |"
    parser.add_argument("--bot", default="", metavar="NAME", help=words)
    add_verbosity(parser)
    parser.set_defaults(handler=_add)


def _add_sample(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "sample",
        help="write a sample suite in JSON or CSV",
        description="Write a small suite that shows what a suite can hold: entities, alternatives, traits, parent"
        " intents.",
    )
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_sample)


def _convert(namespace: argparse.Namespace) -> int:
    return run_convert(namespace.files, namespace.out, screen_of(namespace))


def _from_data(namespace: argparse.Namespace) -> int:
    given = namespace.project, namespace.data, namespace.language
    return run_from_data(*given, namespace.out, screen_of(namespace))


def _from_conversations(namespace: argparse.Namespace) -> int:
    return run_from_conversations(namespace.log, namespace.out, screen_of(namespace))


def _suggest(namespace: argparse.Namespace) -> int:
    given = namespace.project, namespace.data, namespace.language, namespace.out
    return run_suggest(*given, namespace.intent, namespace.number, screen_of(namespace))


def _add(namespace: argparse.Namespace) -> int:
    from turncheck.messages.errors import UserError
    from turncheck.process.regular_file import read_regular
    from turncheck.process.streams import lines_of_input
    from turncheck.project.folder import MAX_FILE_BYTES

    try:
        if namespace.utterances == "-":
            lines = "".join(lines_of_input(sys.stdin))
        else:
            lines = read_regular(Path(namespace.utterances), most=MAX_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"'{namespace.utterances}' is not UTF-8", hint="Save it in UTF-8.") from None
    entities, order = tuple(namespace.entities), namespace.entity_order
    expected = Expectation(namespace.intent, namespace.parent, entities, order, namespace.bot)
    return run_add(namespace.suite, expected, lines, screen_of(namespace))


def _sample(namespace: argparse.Namespace) -> int:
    return run_sample(namespace.out, screen_of(namespace))


# A sample suite: each case shows something else that a suite can hold.


def sample_cases() -> tuple[SuiteCase, ...]:
    """Return a dialog, entities with alternatives and their order, several items, a pattern, a composite entity, a
    sub-intent, alternative intents, an FAQ, small talk and its follow-up, traits, and an utterance that may match
    nothing."""
    from turncheck.project.batch.model import ExpectedEntity, SuiteCase

    return (
        SuiteCase("I want to order tea", ("Order Tea",)),
        SuiteCase(
            "send 3 boxes of mint tea to Lyon",
            ("Order Tea",),
            entities=(
                ExpectedEntity("Quantity", ("3",)),
                ExpectedEntity("Kind", ("mint", "mint tea")),
                ExpectedEntity("City", ("Lyon",)),
            ),
            order=("Quantity", "Kind", "City"),
        ),
        SuiteCase(
            "one bag of green and one of black tea",
            ("Order Tea",),
            entities=(ExpectedEntity("Kind", ("green||black",)),),
        ),
        SuiteCase("deliver it on 31 January", ("Order Tea",), entities=(ExpectedEntity("Day", (r"2\d{3}-01-31",)),)),
        SuiteCase(
            "bring it to Lyon on 31 January",
            ("Order Tea",),
            entities=(ExpectedEntity("Delivery", ("City:Lyon|Day:2026-01-31",)),),
        ),
        SuiteCase("make it two instead", ("Change Quantity",), parent=("Order Tea",)),
        SuiteCase("I need help with my parcel", ("Track Parcel", "Where is my parcel?")),
        SuiteCase("do you ship abroad", ("Do you deliver to other countries?",)),
        SuiteCase("thanks a lot", ("thank you",)),
        SuiteCase("which ones", ("Which do you like?",), parent=("Do you drink tea?", "Me too")),
        SuiteCase("this is the third time that it is late", ("Complaint", "Urgent"), is_trait=True),
        SuiteCase("how is the weather", ()),
    )


_HERE: Final = Path()
_MOST_LISTED: Final = 20
_FORMULA_SIGNS: Final = ("=", "+", "-", "@")


def run_convert(files: Sequence[Path], out: Path, screen: Console) -> int:
    """Convert suites between JSON and CSV, and to and from NLU data in YAML.

    ``out``: a file, whose ending says the format, or a folder: into it JSON becomes CSV and all else JSON.

    Raises:
        UserError: a file cannot be read or written, or the format cannot hold something.
    """
    from turncheck.project.batch.writer import SUFFIXES
    from turncheck.project.folder import YAML_SUFFIXES

    is_file = out.suffix.lower() in {*SUFFIXES, *YAML_SUFFIXES}
    if is_file and len(files) > 1:
        raise UserError("several files cannot be written to one", hint="Name a folder with --out.")
    if out.suffix and not is_file and not out.is_dir():
        raise UserError(f"'{out}' is neither a folder nor .json, .csv or .yml", hint="Name one of them with --out.")
    targets = [out if is_file else out / f"{path.stem}{_other(path)}" for path in files]
    if len(set(targets)) < len(targets):
        raise UserError("two of the files would be written to one", hint="Convert them one after the other.")
    for path, target in zip(files, targets, strict=True):
        if target.resolve() == path.resolve():
            raise UserError(f"'{path}' would be overwritten", hint="Name another file with --out.")
        write_cases(_cases_of(path, screen), target, screen)
    return EXIT_OK


def _other(path: Path) -> str:
    return ".csv" if path.suffix.lower() == ".json" else ".json"


def _cases_of(path: Path, screen: Console) -> list[SuiteCase]:
    from turncheck.project.batch.model import Suites
    from turncheck.project.batch.reader import read_suites
    from turncheck.project.batch.suggestions import case_of
    from turncheck.project.folder import YAML_SUFFIXES
    from turncheck.project.reader import read_nlu

    if not path.is_file():
        raise UserError(f"there is no file '{path}'")
    if path.suffix.lower() in YAML_SUFFIXES:
        nlu, findings = read_nlu([path], _HERE)
        refuse_faulty(Suites(findings=findings), (), {}, "", screen, empty_is_fine=True)
        return [case_of(example) for example in (*nlu.examples,)]
    read = read_suites(_HERE, [path])
    refuse_faulty(read, (), named_as(_HERE, [str(path)]), "", screen)
    return [case for suite in read.suites for case in suite.cases]


def write_cases(cases: Sequence[SuiteCase], target: Path, screen: Console) -> None:
    """Write cases in the format of the target's suffix, and say what was left out.

    Raises:
        UserError: there are none, or one cannot be written.
    """
    from turncheck.project.batch.suggestions import examples_of
    from turncheck.project.batch.writer import without_repetitions, write_suite
    from turncheck.project.folder import YAML_SUFFIXES
    from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml
    from turncheck.project.nlu_data import NluData
    from turncheck.publishing.files import write_file

    if not cases:
        raise UserError("there are no utterances to write")
    suffix = target.suffix.lower()
    if suffix in YAML_SUFFIXES:
        examples, left_out = examples_of(cases)
        for case, why in left_out[:_MOST_LISTED]:
            where = f"{place(case.location)}: " if case.location.path else ""
            screen.note(f"{where}'{text(case.text)}' is left out: {text(why)}.")
        if len(left_out) > _MOST_LISTED:
            screen.note(f"… and {len(left_out) - _MOST_LISTED:,} more are left out.")
        if not examples:
            raise UserError("none of the cases can be written as NLU data")
        content, number = write_nlu_yaml(NluData(tuple(examples))), len(examples)
    else:
        content = write_suite(cases, suffix)
        number = len(without_repetitions(cases)) if suffix == ".csv" else len(cases)
        if suffix == ".csv" and any(case.text.startswith(_FORMULA_SIGNS) for case in cases):
            screen.note("Some utterances begin like a formula; a spreadsheet would run them.")
        if number < len(cases):
            screen.note(f"{count(len(cases) - number, 'repetition')} left out: CSV joins equal cases in a row.")
    write_file(target, content.encode("utf-8"))
    screen.note(f"{count(number, 'case')} written to {target}")


def _suite_target(out: Path) -> Path:
    from turncheck.project.batch.writer import SUFFIXES

    if out.suffix.lower() not in SUFFIXES:
        raise UserError(f"'{out}' is neither .json nor .csv", hint="Name a file with one of these endings.")
    return out


def _read(folder: Path, data: Sequence[Path] | None, language: str | None) -> Project:
    from turncheck.project.reader import read_project
    from turncheck.run.reading import ensure_assistant, ensure_readable

    project = read_project(folder, data=data, language=language)
    ensure_assistant(project)
    ensure_readable(project, {"nlu"})
    return project


def run_from_data(folder: Path, data: Sequence[Path] | None, language: str | None, out: Path, screen: Console) -> int:
    """Write the suite of all training utterances, in their order, with their annotations.

    Raises:
        UserError: there are none, or they cannot be read or written.
    """
    from turncheck.project.batch.suggestions import case_of
    from turncheck.project.batch.writer import is_writable

    target = _suite_target(out)
    project = _read(folder, data, language)
    suffix = target.suffix.lower()
    made = [_writable(case_of(example), suffix) for example in project.utterances if example.intent]
    cases = [case for case in made if is_writable(case, suffix)]
    if len(cases) < len(made):
        screen.note(f"{count(len(made) - len(cases), 'utterance')} left out: a suite cannot hold the intent's name.")
    kept = _distinct(cases) if suffix == ".csv" else cases
    if len(kept) < len(cases):
        less = count(len(cases) - len(kept), "repetition")
        screen.note(f"{less} with other annotations left out: CSV would join them with the one before.")
    write_cases(kept, target, screen)
    screen.note("These are training sentences: the figures of a run on them are optimistic.")
    return EXIT_OK


def _writable(case: SuiteCase, suffix: str) -> SuiteCase:
    """Return a case, without its entities if a name or value cannot be written."""
    from turncheck.project.batch.writer import is_writable

    return case if not case.entities or is_writable(case, suffix) else replace(case, entities=())


def _distinct(cases: Sequence[SuiteCase]) -> list[SuiteCase]:
    """Leave out an utterance that repeats the previous one with other annotations: CSV would merge the two cases."""
    return [
        case
        for place, case in enumerate(cases)
        if place == 0
        or case == cases[place - 1]
        or (case.text, case.intents) != (cases[place - 1].text, cases[place - 1].intents)
    ]


def run_from_conversations(log: Path, out: Path, screen: Console) -> int:
    """Write the suite of the utterances whose task was completed.

    Raises:
        UserError: the log cannot be read, lacks the completion, or has no such utterance.
    """
    from turncheck.messages.finding import Location
    from turncheck.project.batch.reader import decode
    from turncheck.project.batch.suggestions import successful_utterances
    from turncheck.project.folder import ProjectFolder

    target = _suite_target(out)
    folder = ProjectFolder(_HERE)
    content = folder.read_bytes(log) if log.is_file() else None
    source = None if content is None else decode(str(log), content)[0]
    if source is None:
        why = folder.findings[0].message.rstrip(".") if folder.findings else "the file does not exist or is not text"
        raise UserError(why, location=Location(str(log)))
    found = successful_utterances(source)
    if not found.cases:
        raise UserError(f"none of {count(found.records, 'record')} of the log is an utterance whose task was completed")
    write_cases(found.cases, target, screen)
    screen.note(f"{found.left_out:,} of {count(found.records, 'record')} left out: no intent, or not completed.")
    return EXIT_OK


def run_suggest(  # noqa: PLR0917 - what a command is given
    folder: Path,
    data: Sequence[Path] | None,
    language: str | None,
    out: Path,
    intent: str | None,
    most: int,
    screen: Console,
) -> int:
    """Write generated cases for review; no suite is changed.

    Raises:
        UserError: nothing can be generated from the project's sentences.
    """
    target = _suite_target(out)
    suggestions = suggested_cases(_read(folder, data, language), intent, most)
    write_cases(suggestions.cases, target, screen)
    if len(suggestions.cases) < most:
        screen.note(f"The sentences give no more, of {most:,} at most: no language model words them anew.")
    if suggestions.near:
        screen.note(f"{count(suggestions.near, 'other')} dropped: too close to a training sentence.")
    for names, why in (
        (suggestions.without, "they have no sentence that can be varied"),
        (suggestions.unwritable, "a suite cannot hold their names"),
    ):
        if names:
            more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
            screen.note(f"Without a case, since {why}: {', '.join(map(text, names[:_MOST_LISTED]))}{more}.")
    screen.note("They are marked as generated. Review them before they join a suite.")
    return EXIT_OK


def suggested_cases(
    project: Project, intent: str | None, most: int, known: Collection[str] = frozenset()
) -> Suggestions:
    """Return generated cases of a project, without those whose utterances are ``known`` (in comparable form).

    Raises:
        UserError: there are none, or no such intent.
    """
    from turncheck.evaluations.batch.suggested import suggest_cases  # imports NumPy

    if intent is not None:
        intent = _known_intent(project, intent)
    suggestions = suggest_cases(project, intent=intent, most=most, known=known)
    if not suggestions.cases and suggestions.unwritable and not known:
        raise UserError(
            f"nothing can be suggested: a suite cannot hold the name '{suggestions.unwritable[0]}'",
            hint="Rename what holds `|`, or begins with `trait:`.",
        )
    if not suggestions.cases and not known:
        raise UserError(
            f"nothing can be suggested{f' for {intent!r}' if intent else ''}: no sentence can be varied",
            hint="Name an intent that has sentences of several words, or annotate entities and list their values.",
        )
    return suggestions


def _known_intent(project: Project, name: str) -> str:
    """Return the name that an intent's sentences have; it may be given by an older one, or one in another language."""
    from turncheck.project.batch.known import known_names
    from turncheck.project.batch.model import comparable

    known = known_names(project)
    if (known_intent := known.intents.get(comparable(name))) is not None:
        return known_intent.name
    if comparable(name) in known.traits:
        raise UserError(f"'{name}' is a trait", hint="Cases are suggested for dialogs, FAQs and small talk.")
    names = [intent.name for intent in known.intents.values()]
    raise UserError(f"the project has no intent '{name}'", hint=suggestion(name, names) or "Correct the name.")


class Expectation(NamedTuple):
    """What is expected of the utterances that are added, in the notation of suites.

    ``entities``: ``NAME=VALUE``; a repeated name gives an alternative value. ``order``: ``NAME>NAME``. ``bot``: for a
    universal bot, one for each intent.
    """

    intent: str
    parent: str = ""
    entities: tuple[str, ...] = ()
    order: str = ""
    bot: str = ""


def run_sample(out: Path, screen: Console) -> int:
    """Write a sample suite, which shows what a suite can hold.

    Raises:
        UserError: the file is neither JSON nor CSV, or cannot be written.
    """

    write_cases(sample_cases(), _suite_target(out), screen)
    screen.note("Replace its utterances and names by those of your assistant.")
    return EXIT_OK


def run_add(suite: Path, expected: Expectation, utterances: str, screen: Console) -> int:
    """Add utterances of one intent to a suite, one per line; a suite that does not exist is created.

    Raises:
        UserError: the suite cannot be read or written, there is no utterance, or what is expected of them is not clear.
    """
    target = _suite_target(suite)
    made = _expected_case(expected)
    if without := set(made.order).difference(entity.name for entity in made.entities):
        names = ", ".join(f"'{name}'" for name in made.order if name in without)
        screen.note(f"Without a value: {names}. The order decides nothing; --entity NAME=VALUE expects an entity.")
    there = _cases_of(suite, screen) if suite.exists() else []
    lines = dict.fromkeys(line.strip() for line in utterances.splitlines() if line.strip())
    new = [case for line in lines if (case := replace(made, text=line)) not in there]
    if not new:
        raise UserError(
            "there is no utterance to add", hint="Write one per line; those that the suite already has do not count."
        )
    write_cases([*there, *new], target, screen)
    screen.note(f"{count(len(new), 'case')} added; {len(lines) - len(new):,} were there already.")
    return EXIT_OK


def _expected_case(expected: Expectation) -> SuiteCase:
    """Return a case without words that expects this.

    Raises:
        UserError: a part of it cannot be read, or there is an order for several intents, or with an entity twice.
    """
    from turncheck.project.batch.model import ExpectedEntity, SuiteCase
    from turncheck.project.batch.rules import read_bots, read_intent, read_order, read_parent

    read, order = read_intent(expected.intent), read_order(expected.order)
    if read.has_double_pipe:
        raise UserError("`||` in --intent separates traits", hint="Write `trait:` in front, or one `|`.")
    values: dict[str, list[str]] = {}
    for written in expected.entities:
        name, is_there, value = (part.strip() for part in written.partition("="))
        if not (name and is_there and value):
            raise UserError(f"--entity: expected NAME=VALUE, got '{written}'", hint="Write --entity City=Oslo.")
        values.setdefault(name, []).append(value)
    if order and len(read.names) > 1:
        raise UserError("an order of entities is for one intent", hint="Omit --entity-order, or name one intent.")
    if twice := [name for place, name in enumerate(order) if name in order[:place]]:
        raise UserError(f"--entity-order names '{twice[0]}' twice", hint="Name each entity once.")
    entities = tuple(ExpectedEntity(name, tuple(dict.fromkeys(found))) for name, found in values.items())
    parent, bots = read_parent(expected.parent), read_bots(expected.bot)
    return SuiteCase("", read.names, read.is_trait, parent, entities, order, bots)
