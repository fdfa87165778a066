"""Files of end-to-end test cases, as Rasa Pro users write them → :class:`~turncheck.project.e2e_model.E2ECases`.

Every fault is a finding with its line: an error where a case cannot mean what is written, a warning where it probably
does not. Shapes and rules: ``docs/e2e.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from turncheck.finding import Finding, Severity
from turncheck.project.e2e_model import STEP_KINDS, Assertion, CaseTurn, E2ECase, E2ECases, Expectation
from turncheck.project.folder import ProjectFolder
from turncheck.project.yaml_positions import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from turncheck.location import Location

DEFAULT_PATH: Final = "tests/e2e_test_cases.yml"
SHARED_FILE: Final = "conftest.yml"
FILE_KEYS: Final = ("version", "fixtures", "metadata", "stub_custom_actions", "test_cases")
CASE_KEYS: Final = ("test_case", "fixtures", "metadata", "steps")
USER_KEYS: Final = ("user", "metadata", "assertions", "assertion_order_enabled")
STUB_KEYS: Final = ("events", "responses")
ASSERTIONS: Final = (
    "flow_started",
    "flow_completed",
    "flow_cancelled",
    "pattern_clarification_contains",
    "slot_was_set",
    "slot_was_not_set",
    "action_executed",
    "bot_uttered",
    "bot_did_not_utter",
    "generative_response_is_relevant",
    "generative_response_is_grounded",
)

Named = dict[str, dict[str, Any]]


def read_cases(root: Path, paths: Iterable[Path]) -> E2ECases:
    """Read the cases of these files and of the files below these folders.

    ``path::name`` names one case of a file. In a folder, files without ``test_cases`` are passed by (results of earlier
    runs, ``conftest.yml``); a file that is named must have them. A path that is missing is an error.
    """
    folder = ProjectFolder(root)
    wanted: dict[str, set[str]] = {}
    cases: list[E2ECase] = []
    findings: list[Finding] = []
    files: list[str] = []
    for path in paths:
        file, name = _split_name(path)
        if not file.exists():
            findings.append(_missing(folder, file))
            continue
        for found, _ in folder.yaml_files([file]):
            shown = folder.name(found)
            if name is not None:
                wanted.setdefault(shown, set()).add(name)
            if shown in files:
                continue
            read = _read_file(folder, found, must_have_cases=not file.is_dir())
            files.append(shown)
            cases += read.cases
            findings += read.findings
    findings += folder.findings
    for shown, names in wanted.items():
        there = [case.name for case in cases if case.location.path == shown]
        findings += [_no_such_case(shown, name, there) for name in sorted(names.difference(there))]
        cases = [case for case in cases if case.location.path != shown or case.name in names]
    return E2ECases(tuple(cases), tuple(findings), tuple(files))


def _split_name(path: Path) -> tuple[Path, str | None]:
    text, colons, name = str(path).partition("::")
    return (type(path)(text), name) if colons else (path, None)


def _missing(folder: ProjectFolder, path: Path) -> Finding:
    from turncheck.location import Location  # noqa: PLC0415 - for annotations elsewhere

    return Finding("e2e-not-found", "error", f"There are no test cases at '{folder.name(path)}'.", Location(str(path)))


def _no_such_case(path: str, name: str, there: Sequence[str]) -> Finding:
    from turncheck.location import Location  # noqa: PLC0415 - for annotations elsewhere

    close = get_close_matches(name, there, 1)
    hint = f"Did you mean '{close[0]}'?" if close else ""
    return Finding("e2e-not-found", "error", f"'{path}' has no test case '{name}'.", Location(path), hint)


def _read_file(folder: ProjectFolder, path: Path, *, must_have_cases: bool) -> E2ECases:
    source = folder.read(path)
    if source is None:
        return E2ECases()
    document = parse_yaml(source)
    folder.findings.extend(document.findings)
    root = document.root
    if root is None:
        return E2ECases()
    if not isinstance(root, YamlMapping) or "test_cases" not in root.items:
        message = f"'{source.path}' has no key 'test_cases'."
        hint = f"The keys are: {', '.join(FILE_KEYS)}."
        fault = Finding("e2e-syntax", "error", message, root.location, hint)
        return E2ECases(findings=(fault,) if must_have_cases else ())
    shared = _shared_fixtures(folder, path)
    return _FileReader(shared).read(root)


def _shared_fixtures(folder: ProjectFolder, path: Path) -> Named:
    """Return the fixtures of every ``conftest.yml`` from the project's root to the file's folder, the nearest last."""
    fixtures: Named = {}
    absolute = path.absolute().parent
    above = [absolute, *absolute.parents]
    root = folder.root.absolute()
    folders = above[: above.index(root) + 1] if root in above else [absolute]
    for place in reversed(folders):
        file = place / SHARED_FILE
        source = folder.read(file) if file.is_file() else None
        document = parse_yaml(source) if source else None
        if document is not None and isinstance(document.root, YamlMapping):
            reader = _FileReader({})
            fixtures |= reader.named(document.root, "fixtures")
            folder.findings.extend(reader.findings)
    return fixtures


@dataclass(slots=True)
class _FileReader:
    """Reads one file and collects what is wrong with it."""

    shared: Named
    findings: list[Finding] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def read(self, root: YamlMapping) -> E2ECases:
        self._check_keys(root, FILE_KEYS, "a file of test cases")
        own = self.named(root, "fixtures")
        fixtures = {**self.shared, **own}
        metadata = self.named(root, "metadata")
        stubs = self._stubs(root)
        cases = []
        for node in self._sequence(root, "test_cases"):
            case = self._case(node, fixtures, metadata, stubs)
            if case is not None:
                cases.append(case)
        self._check_names(cases)
        self._check_unused(root, own)
        path = root.source.path
        return E2ECases(tuple(cases), tuple(self.findings), (path,))

    # --- faults -------------------------------------------------------------------------------------------------------

    def _fault(self, message: str, location: Location, hint: str = "", severity: Severity = "error") -> None:
        code = "e2e-syntax" if severity == "error" else "e2e-doubtful"
        self.findings.append(Finding(code, severity, message, location, hint))

    def _check_keys(self, node: YamlMapping, allowed: Sequence[str], what: str) -> None:
        for key in node.items:
            if key not in allowed:
                close = get_close_matches(str(key), allowed, 1)
                guess = f" Did you mean '{close[0]}'?" if close else ""
                hint = f"Allowed: {', '.join(allowed)}.{guess}"
                self._fault(f"'{key}' is no key of {what}.", node.key_location(key), hint)

    def _check_names(self, cases: Sequence[E2ECase]) -> None:
        seen: dict[str, E2ECase] = {}
        for case in cases:
            if case.name in seen:
                first = seen[case.name].location
                self._fault(
                    f"There are two test cases '{case.name}'; the first stands in line {first.line}.", case.location
                )
            seen.setdefault(case.name, case)

    def _check_unused(self, root: YamlMapping, own: Named) -> None:
        for name in own:
            if name not in self.used:
                node = root.at("fixtures")
                location = next((i.location for i in _items(node) if _only_key(i) == name), root.location)
                self._fault(f"No test case uses the fixture '{name}'.", location, severity="warning")

    def _sequence(self, node: YamlMapping, key: str) -> Sequence[YamlNode]:
        below = node.items.get(key)
        if isinstance(below, YamlSequence):
            return below.items
        if below is not None and not _is_nothing(below):
            self._fault(f"'{key}' must be a list.", below.location)
        return ()

    # --- fixtures, metadata, stubs ------------------------------------------------------------------------------------

    def named(self, root: YamlMapping, key: str) -> Named:
        """Read a list of one-key maps: name, and its content as a map or as a list of one-key maps."""
        found: Named = {}
        for node in self._sequence(root, key):
            name = _only_key(node)
            if name is None or not isinstance(node, YamlMapping):
                self._fault(f"An entry of '{key}' must be a map with one key, its name.", node.location)
                continue
            if name in found:
                self._fault(f"'{name}' stands twice under '{key}'.", node.location)
                continue
            content = self._pairs(node.items[next(iter(node.items))])
            if content is None:
                self._fault(f"'{name}' must hold names with their values.", node.location)
            found.setdefault(name, content or {})
        return found

    def _pairs(self, node: YamlNode) -> dict[str, Any] | None:
        if _is_nothing(node):
            return {}
        maps = node.items if isinstance(node, YamlSequence) else [node]
        pairs: dict[str, Any] = {}
        for item in maps:
            if not isinstance(item, YamlMapping):
                return None
            pairs |= {str(key): below.data for key, below in item.items.items()}
        return pairs

    def _stubs(self, root: YamlMapping) -> dict[str, Any] | None:
        node = root.items.get("stub_custom_actions")
        if node is None or _is_nothing(node):
            return None
        if not isinstance(node, YamlMapping):
            self._fault("'stub_custom_actions' must be a map of actions.", node.location)
            return None
        stubs = {}
        for name, stub in node.items.items():
            if not isinstance(stub, YamlMapping):
                self._fault(f"The stub of '{name}' must be a map.", stub.location, "It has 'events' and 'responses'.")
                continue
            self._check_keys(stub, STUB_KEYS, "a stub")
            stubs[str(name)] = {key: [item.data for item in self._sequence(stub, key)] for key in STUB_KEYS}
        return stubs

    # --- cases --------------------------------------------------------------------------------------------------------

    def _case(
        self, node: YamlNode, fixtures: Named, metadata: Named, stubs: Mapping[str, Any] | None
    ) -> E2ECase | None:
        if not isinstance(node, YamlMapping):
            self._fault("A test case must be a map with 'test_case' and 'steps'.", node.location)
            return None
        self._check_keys(node, CASE_KEYS, "a test case")
        name = node.items.get("test_case")
        if not isinstance(name, YamlScalar) or name.value in {None, ""}:
            self._fault("A test case needs a name under 'test_case'.", node.location)
            return None
        steps = self._sequence(node, "steps")
        if not steps:
            self._fault(f"The test case '{name.value}' has no steps.", node.location)
            return None
        used = self._names(node, "fixtures", fixtures)
        self.used.update(used)
        case_metadata = self._metadata(node, metadata)
        case = E2ECase(
            name=str(name.value),
            location=node.location,
            turns=self._turns(steps, metadata, case_metadata),
            fixtures=tuple(used),
            slots={slot: value for fixture in used for slot, value in fixtures[fixture].items()},
            stubs=None if stubs is None else _stubs_of(str(name.value), stubs),
            source=[step.data for step in steps],
        )
        if case.expects_nothing:
            self._fault(f"The test case '{case.name}' expects nothing.", case.location, severity="warning")
        return case

    def _names(self, node: YamlMapping, key: str, known: Named) -> list[str]:
        """Read one name or a list of names, each of which must be known."""
        below = node.items.get(key)
        if below is None or _is_nothing(below):
            return []
        names = []
        for item in below.items if isinstance(below, YamlSequence) else [below]:
            name = item.data
            if name in known:
                names.append(name)
                continue
            close = get_close_matches(str(name), known, 1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(known) or 'none'}."
            self._fault(f"There is no entry '{name}' under '{key}'.", item.location, hint)
        return names

    def _metadata(self, node: YamlMapping, known: Named) -> dict[str, Any]:
        return {key: value for name in self._names(node, "metadata", known) for key, value in known[name].items()}

    def _turns(
        self, steps: Sequence[YamlNode], metadata: Named, case_metadata: Mapping[str, Any]
    ) -> tuple[CaseTurn, ...]:
        begun: list[tuple[CaseTurn, list[Expectation]]] = []
        for step in steps:
            if not isinstance(step, YamlMapping):
                self._fault("A step must be a map, such as 'user: …' or 'bot: …'.", step.location)
            elif "user" in step.items:
                turn = self._user(step, metadata, case_metadata)
                if begun and begun[-1][0].user is not None and not (begun[-1][1] or begun[-1][0].assertions):
                    self._fault(
                        "Nothing is expected of the user step before this one.", step.location, severity="warning"
                    )
                begun.append((turn, []))
            else:
                if not begun:
                    begun.append((CaseTurn(None, step.location), []))
                begun[-1][1].extend(self._expectations(step))
        return tuple(self._finished(turn, expectations) for turn, expectations in begun)

    def _finished(self, turn: CaseTurn, expectations: Sequence[Expectation]) -> CaseTurn:
        if turn.assertions and expectations:
            self._fault(
                "A user step with assertions ignores the other steps.", expectations[0].location, severity="warning"
            )
            expectations = ()
        return CaseTurn(turn.user, turn.location, tuple(expectations), turn.assertions, turn.ordered, turn.metadata)

    def _user(self, step: YamlMapping, metadata: Named, case_metadata: Mapping[str, Any]) -> CaseTurn:
        self._check_keys(step, USER_KEYS, "a user step")
        node = step.items["user"]
        if not isinstance(node, YamlScalar):
            self._fault("'user' must be a text.", node.location)
        return CaseTurn(
            user=_text_of(node),
            location=step.location,
            assertions=tuple(self._assertions(step)),
            ordered=_text_of(step.items.get("assertion_order_enabled")) == "true",
            metadata={**case_metadata, **self._metadata(step, metadata)},
        )

    def _expectations(self, step: YamlMapping) -> list[Expectation]:
        self._check_keys(step, ("user", *STEP_KINDS), "a step")
        found: list[Expectation] = []
        for kind in STEP_KINDS:
            node = step.items.get(kind)
            if node is None:
                continue
            if kind in {"slot_was_set", "slot_was_not_set"}:
                for item in node.items if isinstance(node, YamlSequence) else [node]:
                    found += self._slots(item, kind)
            elif isinstance(node, YamlScalar) and not _is_nothing(node):
                found.append(Expectation(kind, _text_of(node), step.location))
            else:
                self._fault(f"'{kind}' must be a text.", node.location)
        return found

    def _slots(self, node: YamlNode, kind: Any) -> list[Expectation]:
        """Read ``name``, or ``name: value`` (several in one map stand for one each)."""
        if isinstance(node, YamlScalar) and not _is_nothing(node):
            return [Expectation(kind, _text_of(node), node.location)]
        if isinstance(node, YamlMapping) and node.items:
            return [
                Expectation(kind, str(name), node.key_location(name), below.data, has_value=True)
                for name, below in node.items.items()
            ]
        self._fault(f"'{kind}' must list slots: a name, or a name and a value.", node.location)
        return []

    def _assertions(self, step: YamlMapping) -> list[Assertion]:
        assertions = []
        for node in self._sequence(step, "assertions"):
            kind = _only_key(node)
            if kind is None or not isinstance(node, YamlMapping):
                self._fault("An assertion must be a map with one key, its type.", node.location)
                continue
            self._check_keys(node, ASSERTIONS, "an assertion")
            if kind in ASSERTIONS:
                assertions.append(Assertion(kind, node.items[kind].data, node.location))
        return assertions


def _stubs_of(case: str, stubs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stubs that hold for this case: ``case::action`` is for that case alone and wins there."""
    general = {name: stub for name, stub in stubs.items() if "::" not in name}
    own = {name.partition("::")[2]: stub for name, stub in stubs.items() if name.partition("::")[0] == case}
    return {**general, **{name: stub for name, stub in own.items() if name}}


def _text_of(node: YamlNode | None) -> str:
    """Return a scalar's text as it stands in the file: ``yes``, ``12`` and ``1.50`` are texts here."""
    if not isinstance(node, YamlScalar) or node.value is None:
        return ""
    if isinstance(node.value, str):
        return node.value
    return node.source.text[node.start : node.end]


def _items(node: YamlNode | None) -> Sequence[YamlNode]:
    return node.items if isinstance(node, YamlSequence) else ()


def _only_key(node: YamlNode) -> str | None:
    return str(next(iter(node.items))) if isinstance(node, YamlMapping) and len(node.items) == 1 else None


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None
