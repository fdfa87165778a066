"""``turncheck data convert nlu|core|domain|config``: rewrites files of an older Rasa for Rasa 3."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from turncheck.commands.flags.shared import add_project, add_verbosity, output_path, screen_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import log_line
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import read_regular
from turncheck.render.sinks.terminal import place, text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.conversation import NluEngine, Parse
    from turncheck.messages.finding import Location
    from turncheck.process.screen import Console
    from turncheck.project.conversion.core import Converted
    from turncheck.project.files import DataFile
    from turncheck.project.model import Domain, Project, Response, Step, Story
    from turncheck.project.nlu_data import Example, NluData
    from turncheck.project.project_file import Role
    from turncheck.report.model import StoryResult

_KINDS: Final = {
    "nlu": "NLU data and responses in Markdown or JSON, or in the YAML of Rasa 2",
    "core": "stories in Markdown, or in the YAML of Rasa 2",
    "domain": "a domain of Rasa 0.x, 1.x or 2.x",
    "config": "a configuration of Rasa 0.x, 1.x or 2.x",
}


def add_older(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add the kinds of files of an older Rasa below ``convert``."""
    for kind, what in _KINDS.items():
        parser = kinds.add_parser(
            kind,
            help=f"{what}: to the YAML of Rasa 3",
            description=f"Convert {what} to the YAML of Rasa 3, and list what could not be converted.",
        )
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="files or folders (default: those of the project)"
        )
        add_project(parser)
        words = "output folder (default: converted)"
        parser.add_argument("--out", type=output_path, default=Path("converted"), metavar="DIR", help=words)
        words = "train on both forms, and end with exit code 1 if they behave differently"
        parser.add_argument("--check", action="store_true", help=words)
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would change")
        add_verbosity(parser)
        parser.set_defaults(handler=_convert_older, kind=kind)


def _convert_older(namespace: argparse.Namespace) -> int:
    conversion = Conversion(
        namespace.kind, namespace.files, namespace.project, namespace.out, namespace.check, namespace.dry_run
    )
    return run_data_convert(conversion, screen_of(namespace))


# Checks that converted files are read as the same data as the original files.


def nlu_differences(
    before: Sequence[DataFile], after: NluData, responses: Mapping[str, Response], converted: Converted
) -> list[str]:
    """Return differences in sentences, synonyms, patterns, lookup tables and responses, except what was left out."""
    left = {note.location for note in converted.left}
    data = [data_file.parts.nlu for data_file in before]
    examples = [example for nlu in data for example in nlu.examples if example.location not in left]
    written = {
        name: response for file in before if file.parts.domain for name, response in file.parts.domain.responses.items()
    }
    pairs: list[tuple[str, set[Any], set[Any]]] = [
        ("sentence", set(map(_example, examples)), set(map(_example, after.examples))),
        ("synonym", _synonyms(data, examples), _synonyms([after], after.examples)),
        ("pattern", _patterns(data), _patterns([after])),
        ("lookup entry", _entries(data), _entries([after])),
        ("response", _texts(written), _texts(responses)),
    ]
    return [f"the {what} {one!r}" for what, old, new in pairs for one in sorted(old ^ new, key=repr)]


def _example(example: Example) -> tuple[Any, ...]:
    marked = tuple((entity.entity, str(entity.value), entity.role, entity.group) for entity in example.entities)
    return example.text.strip(), example.intent, marked


def _synonyms(data: Sequence[NluData], examples: Iterable[Example]) -> set[tuple[str, str]]:
    """The value that each text is mapped to after training: annotations come last."""
    last = {synonym.synonym: synonym.value for nlu in data for synonym in nlu.synonyms}
    for example in examples:
        for entity in example.entities:
            text = example.text[entity.start : entity.end]
            if text != str(entity.value):
                last[text] = str(entity.value)
    return set(last.items())


def _patterns(data: Iterable[NluData]) -> set[tuple[str, str]]:
    return {(regex.name, regex.pattern) for nlu in data for regex in nlu.regexes}


def _entries(data: Iterable[NluData]) -> set[tuple[str, str]]:
    return {(table.name, element) for nlu in data for table in nlu.lookups for element in table.elements}


def _texts(responses: Mapping[str, Response]) -> set[tuple[str, str]]:
    from turncheck.project.conversion.core import new_response

    return {
        (new_response(name), json.dumps(variation.content, sort_keys=True, default=str))
        for name, response in responses.items()
        for variation in response.variations
    }


def story_differences(before: Sequence[DataFile], after: Sequence[Story]) -> list[str]:
    """Return the stories that are read differently."""
    old = [_story(story) for data_file in before for story in data_file.parts.stories]
    new = [_story(story) for story in after]
    return [f"the story {name!r}" for name, _ in [*(o for o in old if o not in new), *(n for n in new if n not in old)]]


def _story(story: Story) -> tuple[str, str]:
    from turncheck.project.conversion.core import Converted, written_steps

    return story.name, json.dumps(written_steps(story.steps, Converted()), sort_keys=True, default=str)


def project_differences(kind: str, before: Project, after: Project) -> list[str]:
    """Return the differences of a domain or a configuration."""
    from turncheck.project.conversion.core import Converted, written_steps

    if kind == "domain":
        old, new = _domain(before.domain, data_files(before)), _domain(after.domain)
        rules = {(rule.name, str(written_steps(rule.steps, Converted()))) for rule in after.rules}
        triggers = {intent.name for intent in before.domain.intents.values() if intent.triggers}
        missing = triggers - {name.partition(" triggers ")[0] for name, _ in rules}
        return [f"the {what} {one!r}" for what, one in sorted(old ^ new)] + [
            f"the trigger of {one!r}" for one in missing
        ]
    pipelines = [
        [(component.name, component.parameters) for component in project.config.pipeline or ()]
        for project in (before, after)
    ]
    kept = pipelines[1][: len(pipelines[0])]
    return [] if pipelines[0] == kept else ["the pipeline"]


def data_files(project: Project) -> frozenset[str]:
    """Return the names of the data files, whose responses are converted along with them."""
    return frozenset(file.path for file in project.files if file.role == "data")


def _domain(domain: Domain, beside: Collection[str] = frozenset()) -> set[tuple[str, str]]:
    """The parts of a domain that matter to a dialogue, by name; ``beside``: files whose responses do not count."""
    from turncheck.project.conversion.core import new_action

    reported = {
        ("intent", f"{intent.name} {intent.use_entities} {intent.ignore_entities}")
        for intent in domain.intents.values()
    }
    reported |= {("entity", name) for name in domain.entities}
    reported |= {("response", f"{name} {text}") for name, text in _texts(_of_domain(domain, beside))}
    reported |= {("action", new_action(name)) for name in domain.actions if name not in domain.forms}
    reported |= {
        ("form", f"{form.name} {form.required_slots} {form.ignored_intents}") for form in domain.forms.values()
    }
    for slot in domain.slots.values():
        sees = slot.type != "any" and slot.influence_conversation is not False
        fills = {
            mapping.entity
            for mapping in slot.mappings
            if mapping.type == "from_entity" and mapping.entity in domain.entities
        }
        reported.add(
            ("slot", f"{slot.name} {slot.type} {sees} {slot.values} {slot.initial_value} {sorted(map(str, fills))}")
        )
    reported.add(("session", f"{float(domain.session.session_expiration_time)}"))
    return reported


def _of_domain(domain: Domain, beside: Collection[str]) -> dict[str, Response]:
    return {name: response for name, response in domain.responses.items() if response.location.path not in beside}


Kind = Literal["nlu", "core", "domain", "config"]
KINDS: tuple[Kind, ...] = ("nlu", "core", "domain", "config")
_DEFAULTS: dict[Kind, str] = {"nlu": "data", "core": "data", "domain": "domain.yml", "config": "config.yml"}


class Conversion(NamedTuple):
    """What is converted, and where to. ``files``: none for where a project keeps them."""

    kind: Kind
    files: Sequence[Path] = ()
    project: Path = Path()
    out: Path = Path("converted")
    check: bool = False
    dry_run: bool = False


def run_data_convert(conversion: Conversion, screen: Console) -> int:
    """Convert files, say what could not be converted, and, if requested, compare the result with the original.

    Raises:
        UserError: a file is missing, or there is nothing of an older Rasa to convert.
    """
    from turncheck.publishing.files import write_file

    paths = list(conversion.files) or _usual(conversion.project, conversion.kind)
    for path in paths:
        if not path.exists():
            raise UserError(f"there is no '{path}'", hint="Name the files to convert.")
    converted, originals = _converted(conversion, paths)
    if not converted.files:
        raise UserError(
            f"there is nothing to convert: no {conversion.kind} of an older Rasa in {', '.join(map(str, paths))}",
            hint="Name training data, a domain or a configuration of Rasa 0.x, 1.x or 2.x.",
        )
    if conversion.kind in {"nlu", "core"}:
        _ensure_apart(conversion, paths, converted)
    if conversion.dry_run:
        for name, content in converted.files.items():
            sys.stdout.writelines(_diff(conversion, name, content))
    else:
        for name, content in converted.files.items():
            write_file(conversion.out / name, content.encode())
    _print(conversion, converted)
    if not conversion.check:
        return EXIT_OK
    behaviour = _behaviour(conversion, screen)
    differences = [*_differences(conversion, converted, originals), *behaviour.differences]
    for difference in differences:
        sys.stdout.write(f"Differs: {text(difference, 400)}\n")
    for change in behaviour.changed:
        sys.stdout.write(f"Different in Rasa 3: {text(change, 600)}.\n")
    for reason in behaviour.not_run:
        sys.stdout.write(f"Not compared: {text(reason, 400)}.\n")
    if not differences:
        sys.stdout.write("Checked: the converted files say the same as the original ones.\n")
        if behaviour.compared:
            sys.stdout.write(f"Checked: both projects treat {' and '.join(behaviour.compared)} the same.\n")
    screen.detail(f"{len(converted.files)} files converted")
    return EXIT_FAILED if differences else EXIT_OK


def _ensure_apart(conversion: Conversion, paths: Sequence[Path], converted: Converted) -> None:
    """Refuse to write converted data beside the original, which the next run would read, too.

    A file that is replaced by its conversion is in no one's way.
    """
    from turncheck.project.files import DEFAULT_DATA
    from turncheck.run.folders import ensure_file_apart

    originals = {os.path.realpath(path) for path in paths}
    data = conversion.project / DEFAULT_DATA
    is_data = any(Path(original).is_relative_to(os.path.realpath(data)) for original in originals)
    read = (*paths, *([data] if is_data else ()))
    for name in converted.files:
        if not (conversion.out / name).exists():
            ensure_file_apart(conversion.out / name, read)


def _usual(root: Path, kind: Kind) -> list[Path]:
    """Return where a project has what is to be converted; in Rasa 0 the configuration may have any name."""
    from turncheck.project.config import files_apart

    path = root / _DEFAULTS[kind]
    return [path] if kind != "config" or path.exists() else files_apart(root)[:1] or [path]


class _Originals(NamedTuple):
    """What was read from the files that are converted."""

    data: Sequence[DataFile] = ()
    project: Project | None = None


_SAME_SECTIONS: Final = 2
"""The version of Rasa whose domains have most sections as Rasa 3 does."""


def _converted(conversion: Conversion, paths: Sequence[Path], *, keep: bool = False) -> tuple[Converted, _Originals]:
    """Convert the files; ``keep``: also include those that Rasa 3 reads as they are."""
    from turncheck.project.conversion.config import convert_config, convert_domain
    from turncheck.project.conversion.core import Converted
    from turncheck.project.reader import read_project

    converted = Converted()
    if conversion.kind in {"nlu", "core"}:
        return converted, _data(conversion, paths, converted, keep=keep)
    path = paths[0]
    domain, config = (path, None) if conversion.kind == "domain" else (None, path)
    project = read_project(conversion.project, domain=domain, config=config)
    if project.older is None:  # others of its files may have been converted before
        role: Role = "config" if domain is None else "domain"
        project = read_project(conversion.project, domain=domain, config=config, version_by=role)
    if project.older is None:
        raise UserError(
            f"'{path}' is not of an older Rasa", hint="Nothing needs to be converted: Rasa 3 reads it as it is."
        )
    if conversion.kind == "domain":
        file, *others = (file for file in project.files if file.role == "domain")
        keeps = not others and project.older.major == _SAME_SECTIONS
        convert_domain(file, project.domain, converted, beside=data_files(project), keeps_sections=keeps)
    else:
        file = next(file for file in project.files if file.role == "config")
        convert_config(file, project.config, converted, major=project.older.major, assistant=project.name)
    return converted, _Originals(project=project)


def _data(conversion: Conversion, paths: Sequence[Path], converted: Converted, *, keep: bool) -> _Originals:
    from turncheck.project.conversion.core import YAML_SUFFIXES, convert_core, convert_nlu, convert_yaml_data
    from turncheck.project.files import read_data
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.project_file import DATA_KEYS

    folder = ProjectFolder(conversion.project)
    is_nlu = conversion.kind == "nlu"
    wanted = {"nlu", "responses"} if is_nlu else {"stories", "rules"}
    read = read_data(folder, paths, DATA_KEYS)
    chosen = []
    for data_file in (one for one in read if not one.file.kinds.isdisjoint(wanted)):
        before = len(converted.files)
        if Path(data_file.file.path).suffix in YAML_SUFFIXES:
            convert_yaml_data(data_file, converted, is_nlu=is_nlu, keep=keep)
        elif is_nlu:
            convert_nlu(data_file, converted)
        else:
            convert_core(data_file, converted)
        if len(converted.files) > before:
            chosen.append(data_file)
        for finding in data_file.parts.findings:
            if finding.severity == "error":
                converted.note(finding.message, finding.location, finding.hint)
    return _Originals(data=chosen)


def _diff(conversion: Conversion, name: str, content: str) -> Iterator[str]:
    """Yield the difference to the existing file of the name, or to an empty one."""
    from difflib import unified_diff

    from turncheck.project.folder import MAX_FILE_BYTES

    path = conversion.out / name
    before = read_regular(path, most=MAX_FILE_BYTES).decode("utf-8", "replace") if path.is_file() else ""
    old, new = before.splitlines(keepends=True), content.splitlines(keepends=True)
    source = str(path) if before else "/dev/null"
    for line in unified_diff(old, new, source, str(path)):
        yield f"{text(line.rstrip(), 2000)}\n" if not line.startswith((" ", "+", "-")) else _shown(line)


def _shown(line: str) -> str:
    shown = line[0] + "".join(one if one.isprintable() else "�" for one in line[1:].rstrip("\n")) + "\n"
    is_of_a_host = shown.lstrip().startswith("::") or "##" in shown  # else as it is: a difference may be applied
    return log_line(shown) if is_of_a_host else shown


def _print(conversion: Conversion, converted: Converted) -> None:
    verb = "Would write" if conversion.dry_run else "Written"
    names = ", ".join(str(conversion.out / name) for name in converted.files)
    sys.stdout.write(f"{verb}: {text(names, 2000)}\n")
    if converted.left:
        sys.stdout.write(f"Not converted ({len(converted.left)}):\n")
    for left in converted.left:
        where = place(left.location, str(conversion.project))
        sys.stdout.write(f"  {where}: {text(left.what, 400)} {text(left.hint, 400)}\n")


# --- is it the same? -------------------------------------------------------------------------------------------------


def _differences(conversion: Conversion, converted: Converted, originals: _Originals) -> list[str]:
    """Read the converted files, and say what is read differently than before."""
    from turncheck.project.reader import read_nlu, read_nlu_responses, read_project, read_stories

    with temporary_folder("converted") as name:
        folder = Path(name)
        for file, content in converted.files.items():
            (folder / file).write_text(content, encoding="utf-8")
        if conversion.kind == "nlu":
            after, _ = read_nlu([folder], folder)
            return nlu_differences(originals.data, after, read_nlu_responses([folder], folder), converted)
        if conversion.kind == "core":
            return story_differences(originals.data, read_stories([folder], folder)[0])
        if originals.project is None:
            return []
        return project_differences(conversion.kind, originals.project, read_project(folder, data=[folder]))


def _behaviour(conversion: Conversion, screen: Console) -> Behaviour:
    """Train the project as it is and fully converted, and compare what the kind of file affects."""
    from turncheck.project.reader import read_project
    from turncheck.project.testfiles import find_test_stories

    before = read_project(conversion.project)
    if before.older is None or not before.config.keys:
        return Behaviour(not_run=("both projects: there is no older configuration beside the files",))
    with temporary_folder("converted") as name, screen.step("check", "Training both"):
        folder = Path(name)
        tests = find_test_stories(conversion.project)
        left_out = _write_whole(conversion, tests, folder)
        after = read_project(folder)
        behaviour = Behaviour()
        if conversion.kind in {"nlu", "config"}:
            behaviour = behaviour.joined_with(compare_understanding(before, after, left_out))
        if conversion.kind != "nlu":
            behaviour = behaviour.joined_with(compare_stories(before, after, tests, find_test_stories(folder)))
    return behaviour


def _write_whole(conversion: Conversion, tests: Sequence[Path], folder: Path) -> frozenset[Location]:
    """Convert the whole project, each kind of file from where the project has it; return what was left out."""
    from turncheck.project.conversion.config import RULES_OF_FALLBACK, RULES_OF_INTENTS
    from turncheck.publishing.files import write_file

    root = conversion.project
    left_out: set[Location] = set()
    wanted: list[tuple[Kind, list[Path], str]] = [
        ("domain", [root / _DEFAULTS["domain"]], "."),
        ("config", _usual(root, "config"), "."),
        ("nlu", [root / _DEFAULTS["nlu"]], "data"),
        ("core", [root / _DEFAULTS["core"]], "data"),
        ("core", list(tests), "tests"),
    ]
    for kind, paths, below in wanted:
        given = list(conversion.files) if kind == conversion.kind and below != "tests" else []
        there = [path for path in given or paths if path.exists()]
        if not there:
            continue
        whole, _ = _converted(conversion._replace(kind=kind), there, keep=True)
        left_out.update(note.location for note in whole.left)
        for file, content in whole.files.items():
            rules = file in {RULES_OF_INTENTS, RULES_OF_FALLBACK}
            write_file(folder / ("data" if rules else below) / file, content.encode())
    return frozenset(left_out)


# ``data convert --check``: the project as it is and as converted are trained, and compared with each other.
#
# Sentences must be understood the same, stories pass or fail the same. Policies that learn are stand-ins in both.

_FALLBACK: Final = "FallbackClassifier"
_RESTART: Final = "restart"
_CAPITALS: Final = "EntitySynonymMapper writes a value with the capitals that it has elsewhere in the data"


class Behaviour(NamedTuple):
    """The result: the differences, what was compared, what could not be, and what Rasa 3 changes by itself."""

    differences: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def joined_with(self, other: Behaviour) -> Behaviour:
        """Combine two results."""
        return Behaviour(
            self.differences + other.differences,
            self.compared + other.compared,
            self.not_run + other.not_run,
            self.changed + other.changed,
        )


def compare_understanding(before: Project, after: Project, left_out: Collection[Location]) -> Behaviour:
    """Train both pipelines and parse with both all sentences of both, except those that the conversion ``left_out``.

    It lists these itself; nothing teaches them any more. The threshold of a fallback policy is left out: parsing does
    not depend on it.
    """
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer

    kept = [example.text for example in before.nlu.examples if example.location not in left_out]
    gone = {example.text for example in before.nlu.examples} - set(kept)
    texts = [
        text
        for text in dict.fromkeys([*kept, *(example.text for example in after.nlu.examples)])
        if text.strip() and text not in gone
    ]
    if not texts or before.config.pipeline is None:
        return Behaviour(not_run=("understanding: the project has no NLU data, or no pipeline",))
    try:
        old, new = EmbeddedNluTrainer().fit(before), EmbeddedNluTrainer().fit(_without_new_fallback(before, after))
    except UserError as error:
        return Behaviour(not_run=(f"understanding: {error.message}",))
    lines: list[str] = []
    capitals: list[str] = []
    for sentence, parse, other in zip(texts, old.parse(texts), new.parse(texts), strict=True):
        was, becomes = _understood(parse), _understood(other)
        if was != becomes:
            said = f"“{sentence}” is understood as {was} before, as {becomes} after"
            (capitals if was.casefold() == becomes.casefold() else lines).append(said)
    changed = (f"{_CAPITALS}: {capitals[0]}; {count(len(capitals), 'sentence')}",) if capitals else ()
    return Behaviour(tuple(lines), (count(len(texts), "sentence"),), changed=changed)


def _without_new_fallback(before: Project, after: Project) -> Project:
    from msgspec.structs import replace

    if any(component.name == _FALLBACK for component in before.config.pipeline or ()):
        return after
    pipeline = tuple(component for component in after.config.pipeline or () if component.name != _FALLBACK)
    return dataclasses.replace(after, config=replace(after.config, pipeline=pipeline))


def _understood(parse: Parse) -> str:
    marks = []
    for predicted_entity in sorted(parse.entities, key=lambda entity: (entity.start, entity.end, entity.entity)):
        more = "".join(f", {name}" for name in (predicted_entity.role, predicted_entity.group) if name)
        marks.append(
            f"{predicted_entity.entity}={predicted_entity.value}"
            f" ({predicted_entity.start}-{predicted_entity.end}{more})"
        )
    return f"{parse.intent.name or 'nothing'}{' with ' if marks else ''}{', '.join(marks)}"


def compare_stories(before: Project, after: Project, old_tests: Sequence[Path], new_tests: Sequence[Path]) -> Behaviour:
    """Train the policies of both and test the stories and test stories with them."""
    if not before.config.policies:
        return Behaviour(not_run=("stories: the project has no policies",))
    try:
        old = _verdicts(before, old_tests)
    except UserError as error:
        return Behaviour(not_run=(f"stories: {error.message}",))
    try:
        new = _verdicts(after, new_tests)
    except UserError as error:
        return Behaviour((f"the converted project cannot be trained: {error.message}",))
    differences = [
        f"the story '{name}' {_said(story)} before, and {_said(other)} after{_first_fault(other)}"
        for name, results in old.items()
        for story, other in zip(results, new.get(name, ()), strict=False)
        if story.passed is not other.passed
    ]
    number = sum(map(len, old.values()))
    restarting = [
        f"the story '{story.name}': Rasa 3 begins a session after its `restart`" for story in _restarting(before)
    ]
    return Behaviour(tuple(differences), (count(number, "story", "stories"),) if number else (), tuple(restarting))


def _restarting(project: Project) -> list[Story]:
    """Return the stories that continue differently anyway: older Rasas listen after a restart."""
    return [story for story in project.stories if any(_is_restart(step) for step in story.steps)]


def _is_restart(step: Step) -> bool:
    return getattr(step, "event", None) == _RESTART or getattr(step, "action", None) == _RESTART


def _said(result: StoryResult) -> str:
    return "passes" if result.passed else "fails"


def _first_fault(result: StoryResult) -> str:
    from turncheck.render.wording.figures import expected_got

    wrong = next((step for step in result.steps if not step.passed), None)
    return "" if wrong is None else f": {expected_got(wrong.wanted, wrong.got)}"


def _verdicts(project: Project, tests: Sequence[Path]) -> dict[str, list[StoryResult]]:
    """Judge the training stories by their intents, and test stories with texts end to end."""
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.engines.embedded.policies.trainer import train_ensemble
    from turncheck.evaluations.core.judging import evaluate_stories
    from turncheck.project.reader import read_stories

    ensemble = train_ensemble(project)
    stories = [*project.stories, *(read_stories(tests, project.root)[0] if tests else ())]
    stories = [story for story in stories if story.kind != "rule" and not any(map(_is_restart, story.steps))]
    spoken = [story for story in stories if _has_texts(story)]
    silent = [story for story in stories if not _has_texts(story)]
    results = list(evaluate_stories(ensemble, silent).stories) if silent else []
    if spoken:
        nlu: NluEngine = EmbeddedNluTrainer().fit(project)
        results += evaluate_stories(ensemble, spoken, nlu=nlu, end_to_end=True).stories
    return _by_name(result for result in results if not result.duplicate)


def _has_texts(story: Story) -> bool:
    from turncheck.project.model import UserStep

    return any(isinstance(step, UserStep) and step.text for step in story.steps)


def _by_name(results: Iterable[StoryResult]) -> dict[str, list[StoryResult]]:
    named: dict[str, list[StoryResult]] = defaultdict(list)
    for result in results:
        named[result.name].append(result)
    return named
