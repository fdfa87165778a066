"""All checks by code and the manual made from them; creates the findings of checks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from turncheck.messages.errors import UserError
from turncheck.messages.finding import MANUAL_AT, Finding, Location, Name
from turncheck.messages.phrasing import nearest, suggestion
from turncheck.platforms.registry import PLATFORMS, parts
from turncheck.project.formats.annotations import AnnotationError, WrittenSentence, parse_annotations
from turncheck.registry import Registry
from turncheck.validation.catalogue_names import NAME_CHECKS
from turncheck.validation.catalogue_rasa import OLDER_CHECKS, RASA_CHECKS
from turncheck.validation.catalogue_suites import CASE_CHECKS, QUARANTINE_CHECKS, SUITE_CHECKS
from turncheck.validation.catalogue_training import TRAINING_CHECKS
from turncheck.validation.checks import Check, Fault, declared
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from turncheck.project.model import Project, Story
    from turncheck.project.nlu_data import Example
    from turncheck.render.sarif import RuleText
    from turncheck.validation.facts import Part

OWN_CHECKS: Final = (*NAME_CHECKS, *TRAINING_CHECKS, *OLDER_CHECKS)

_OF_PLATFORMS: Final[tuple[Check, ...]] = tuple(check for part in parts("catalogue").values() for check in part.CHECKS)

CHECKS: Final = Registry(
    "turncheck.checks",
    {
        check.code: declared(check)
        for check in (*RASA_CHECKS, *OWN_CHECKS, *CASE_CHECKS, *SUITE_CHECKS, *QUARANTINE_CHECKS, *_OF_PLATFORMS)
    },
    Check,
)

_PREFACE: Final = """\
# Findings

A finding is a fault, or something suspicious, in an assistant's files. This page explains every code, with wrong and
right examples; `turncheck data validate --explain CODE` prints a section of it. The page is made from
`turncheck.validation.findings`.

| section | found by |
|---|---|
| [Found by Rasa too](#found-by-rasa-too) | `data validate` and `run`, with levels and exit code of Rasa 3.6 |
| [turncheck's own](#turnchecks-own) | the same commands |
| [In end-to-end test cases](#in-end-to-end-test-cases) | `test e2e` and `run` |
| [In batch suites](#in-batch-suites) | `test batch` and `run` |
| [In the export of a Kore.ai assistant](#in-the-export-of-a-koreai-assistant) | `data validate` and `run` |

**Severity.** `data validate` shows turncheck's own findings as `info` (a few as warnings), and with `--strict` at the
severity given here. `run` and the action show those marked "always" at that severity, and all with `strict: true`.

**To suppress a finding**, write the comment `# turncheck: ignore CODE` on its line or on the line above (in Markdown
files `<!-- turncheck: ignore CODE -->`, anywhere); if it is about several places, at any of them. Several codes are
separated by commas. `ignore:` in `turncheck.yml`, a list of codes, counts for all files. What cannot be read at all
cannot be suppressed.

**Against a base**, `run`, the action and `report compare` know more. A name (of an intent, entity, slot, response,
action or form) that this change renamed or removed and that is still used is one error with all its places:
"'utter_hours' was renamed to 'utter_opening_hours' in this change; 5 uses keep the old name". Otherwise each finding
keeps the level given here, as it always does in `report.json`. A finding is new if the base has none of its code about
the same: other words, counts, suggestions or places make no new finding, and one old finding is the partner of one now.
"""


_ENDS_CASES: Final = "As an error it makes `test e2e` end with 2, and keeps `run` from running the cases, which fails."
_ENDS_SUITES: Final = "It makes `test batch` end with 2, and keeps `run` from running the suites, which fails."


def manual_section(check: Check) -> str:
    """Return the section of the manual for one check, in Markdown."""
    when = " Shown at this severity always." if check.matters_always else ""
    if check.eased != "info":
        when = f" Shown at this severity always but in `data validate`, which makes it a {check.eased}."
    exit_code = {
        "always": "It makes `data validate` end with 1.",
        "on-warnings": "It makes `data validate --fail-on-warnings` end with 1.",
        "never": "It never changes the exit code.",
    }[check.fails]
    if check.own and check.fails != "never":
        exit_code = exit_code.replace("data validate", "data validate --strict")
    if check.stage in {"cases", "suites"}:
        ends = _ENDS_CASES if check.stage == "cases" else _ENDS_SUITES
        exit_code = ends if check.severity == "error" else "Both commands go on."
    parts = [f"### {check.code}", f"{check.title}. {check.text}", *([check.details] if check.details else ())]
    parts += [f"Severity: {check.severity}.{when} {exit_code}"]
    if check.stage == "quarantine":
        exit_code = "`run` counts it as an error in the data."
    if check.wrong:
        language = "text" if check.stage == "suites" else "yaml"
        parts += ["Wrong:", _block(check.wrong, language), "Right:", _block(check.right, language)]
    return "\n\n".join(parts) + "\n"


def manual() -> str:
    """Return the whole page ``docs/findings.md``."""
    sections = [_PREFACE, "## Found by Rasa too\n", *map(manual_section, RASA_CHECKS)]
    sections += ["## turncheck's own\n", *map(manual_section, OWN_CHECKS)]
    sections += ["## In end-to-end test cases\n", *map(manual_section, CASE_CHECKS)]
    sections += ["## In batch suites\n", *map(manual_section, SUITE_CHECKS)]
    sections += ["## In turncheck.quarantine.yml\n", *map(manual_section, QUARANTINE_CHECKS)]
    for name, part in parts("catalogue").items():
        sections += [f"## In the export of {PLATFORMS[name].one}\n", *map(manual_section, part.CHECKS)]
    return "\n".join(sections)


def explain(code: str) -> str:
    """Return the section of the manual for ``code``.

    Raises:
        UserError: there is no such code.
    """
    check = CHECKS.get(code)
    if check is None:
        near = nearest(code, CHECKS, most=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"All codes are listed in {MANUAL_AT}"
        raise UserError(f"There is no finding with the code {code!r}.", hint=hint)
    return manual_section(check)


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


# What the manual says about each code, as SARIF needs it.


def rule_texts() -> Mapping[str, RuleText]:
    """Return the text of each code of a finding."""
    from turncheck.render.sarif import RuleText  # few outputs have it

    return {
        code: RuleText(check.title, f"{check.title}. {check.text} {check.details}".strip(), check.severity)
        for code, check in CHECKS.items()
    }


class Placed(Protocol):
    """Anything with a place."""

    @property
    def location(self) -> Location:
        """Its place."""


Key = TypeVar("Key", bound=Hashable)
Use = TypeVar("Use")


def gathered(uses: Iterable[tuple[Key, Use]]) -> dict[Key, list[Use]]:
    """Group uses by what they use, in the order of the first uses: each group makes one finding."""
    by_key: dict[Key, list[Use]] = {}
    for key, use in uses:
        by_key.setdefault(key, []).append(use)
    return by_key


def of_blocks(
    code: str, kind: str, uses: Iterable[tuple[Key, tuple[Story, Placed]]], words: str, known: Collection[str]
) -> Iterator[Finding]:
    """Yield one finding for all uses of a name in stories and rules: at the first, with the places of the others.

    Args:
        code: the finding's code.
        kind: what is named.
        uses: each with its group: the name, or the name and more.
        words: the message, with ``{name}`` and ``{where}`` for the story or rule.
        known: names that may have been meant.
    """
    for key, ((block, step), *others) in gathered(uses).items():
        name = str(key[0] if isinstance(key, tuple) else key)
        message = words.format(name=name, where=f"{block.kind} '{block.name}'")
        subject = " ".join(filter(None, map(str, key))) if isinstance(key, tuple) else name
        locations = places_of(other for _, other in others)
        names = (Name(kind, name), Name(block.kind, block.name))
        yield found(code, message, step.location, suggestion(name, known), locations, subject=subject, names=names)


def places_of(steps: Iterable[Placed]) -> tuple[Location, ...]:
    """Return the places of steps, each once."""
    return tuple(dict.fromkeys(step.location for step in steps))


def found(
    code: str,
    message: str,
    location: Location,
    suggestion: str = "",
    others: Iterable[Location] = (),
    *,
    subject: str = "",
    names: tuple[Name, ...] = (),
    about: tuple[Name, ...] = (),
) -> Finding:
    """Return a finding at the true severity of its check, with the manual's advice as the hint.

    ``suggestion`` ("Did you mean 'utter_greet'?") is put after the message, so that every output shows it.

    A comment at one of ``others`` suppresses it just as one at ``location``. ``subject``, ``names`` and
    ``about`` as :class:`Fault` has them.
    """
    return found_by(CHECKS[code], Fault(message, location, suggestion, tuple(others), subject, names, about))


def found_by(check: Check, fault: Fault) -> Finding:
    """Return the finding of a check, as :func:`found` does."""
    words = f"{fault.message} {fault.suggestion}" if fault.suggestion else fault.message
    return Finding(
        check.code,
        check.severity,
        words,
        fault.location,
        hint=check.text,
        others=fault.others,
        subject=fault.subject,
        names=fault.names,
        suggestion=fault.suggestion,
        about=fault.about,
    )


# Which findings hold for a project if a part of it could not be read.
#
# A fault between two things that could be read is kept. What assumes that something is absent ("used nowhere",
# "defined nowhere") may be wrong: it may be in the missing part.


def reliable_findings(findings: Iterable[Finding], missing: frozenset[Part]) -> Iterator[Finding]:
    """Leave out what might be wrong because of the missing parts."""
    return (finding for finding in findings if missing.isdisjoint(CHECKS[finding.code].needs))


# The exact place of a finding's subject, if the typed project only knows what is around it.


class Places:
    """Looks places up in the files of a project."""

    def __init__(self, project: Project) -> None:
        self._documents = {file.path: file.document for file in project.files if file.document is not None}
        self._sources = {file.path: file.source for file in project.files if file.source is not None}
        self._entity_lists: dict[str, dict[Location, YamlNode]] = {}
        self._intents: dict[str, dict[str, Location]] = {}
        self._example: Location | None = None
        self._written: WrittenSentence | None = None

    def of_entry(self, entry: Any, around: Location, *path: str | int) -> Location:
        """Where ``entry`` is in the file of ``around``, below ``path``: as a value, in a list, or as a key.

        A name in ``path`` leads into a mapping, or into the item of a list that has it as a key. What is not found
        (it is from another file, or in an older format) is at ``around``.
        """
        node = self.written(around.path, *path)
        if isinstance(node, YamlMapping) and entry in node.items:
            return node.key_location(entry)
        candidates = node.items if isinstance(node, YamlSequence) else [node]
        for candidate in candidates:
            if isinstance(candidate, YamlScalar) and candidate.value == entry:
                return candidate.location
        return around

    def written(self, file: str, *path: str | int) -> YamlNode | None:
        """Return what is in a file below ``path``."""
        document = self._documents.get(file)
        node = document.root if document is not None else None
        for step in path:
            node = _below(node, step)
        return node

    def of_story_entity(self, name: str, step: Location) -> Location:
        """Where a user step lists an entity, else where the step is (it is annotated in the step's text)."""
        if step.path not in self._entity_lists:
            document = self._documents.get(step.path)
            root = document.root if document is not None else None
            self._entity_lists[step.path] = dict(_entity_lists(root))
        listed = self._entity_lists[step.path].get(step)
        return _named_in(listed, name) or step

    def of_intent(self, name: str, example: Location) -> Location:
        """Where the file of an example first names its intent (without a response key), else the place of the example.

        A sentence in a story, or in NLU data in JSON, has no such place.
        """
        if example.path not in self._intents:
            listed = self.written(example.path, "nlu")
            named: dict[str, Location] = {}
            for item in listed.items if isinstance(listed, YamlSequence) else ():
                node = item.at("intent")
                if isinstance(node, YamlScalar):
                    named.setdefault(str(node.value).strip().partition("/")[0], node.location)
            self._intents[example.path] = named
        return self._intents[example.path].get(name, example)

    def in_example(self, example: Example, offset: int) -> Location:
        """The place in the file of a character of the plain text; the sentence's place if it is quoted or folded."""
        location = example.location
        if self._example != location:
            self._example, self._written = location, self._as_written(example)
        if self._written is None or location.column is None:
            return location
        return Location(location.path, location.line, location.column + self._written.offset(offset))

    def _as_written(self, example: Example) -> WrittenSentence | None:
        location = example.location
        source = self._sources.get(location.path)
        if source is None or location.line is None or location.column is None:
            return None
        written = source.line(location.line)[location.column - 1 :]
        try:
            plain, _ = parse_annotations(written)
        except AnnotationError:
            return None
        # In quotes, with escapes, or folded over several lines, it is written differently.
        return WrittenSentence(written) if plain.startswith(example.text) else None


def _entity_lists(root: YamlNode | None) -> Iterator[tuple[Location, YamlNode]]:
    """Each list of entities in a file of stories, with the place of its step."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, YamlMapping):
            if "entities" in node.items:
                yield node.location, node.items["entities"]
            waiting.extend(node.items.values())
        elif isinstance(node, YamlSequence):
            waiting.extend(node.items)


def _named_in(entities: YamlNode | None, name: str) -> Location | None:
    for item in entities.items if isinstance(entities, YamlSequence) else ():
        if isinstance(item, YamlMapping) and name in item.items:
            return item.key_location(name)
        if isinstance(item, YamlScalar) and item.value == name:
            return item.location
    return None


def _below(node: YamlNode | None, step: str | int) -> YamlNode | None:
    if isinstance(node, YamlSequence) and isinstance(step, str):
        return next(
            (item.items[step] for item in node.items if isinstance(item, YamlMapping) and step in item.items), None
        )
    return node.at(step) if node is not None else None
