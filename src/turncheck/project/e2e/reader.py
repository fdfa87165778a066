"""One file of end-to-end cases → cases, stubs and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Name, Severity
from turncheck.messages.phrasing import suggestion
from turncheck.project.e2e import model
from turncheck.project.e2e.shapes import ASSERTION, CASE, EXPECTATION, FILE, NAMED, SHARED, STUBS, USER
from turncheck.yaml_tree.shapes import Anything, Fault, Key, ListOf, Record, Shape, is_nothing, read, text_of
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_KEYS: Final = Record(
    FILE.what, {name: Key(Anything(), key.description, required=key.required) for name, key in FILE.keys.items()}
)
"""A file by only its keys: the value of each is compared with a shape of its own."""
_CASES: Final = ListOf(Anything(), nullable=True)


class Values(Struct, frozen=True):
    """The content of a fixture or of metadata, by name, and where each value is written."""

    content: Mapping[str, Any]
    places: Mapping[str, Location]


REPEATED: Final = "repeated test case"
"""What the finding on two cases of one name is about: only results by name need different ones."""
_OF_UNDERSTANDING: Final = "`rasa test du` runs dialogue understanding tests, and `report import` reads its results"
UNKNOWN: Final = "unknown key"
"""What the finding on a key is about that no version known here has, and that is like none."""
Named = dict[str, Values]
"""The content of fixtures or metadata, by name."""


class FileReader(Struct):
    """Reads one file and collects its faults. ``shared``: the fixtures of ``conftest.yml`` files."""

    shared: Named
    findings: list[Finding] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def read(self, root: YamlMapping) -> model.E2ECases:
        """Read the file. If it has a fault, none of it is run, and its warnings are not reported."""
        self._held(root, _KEYS, "the file")
        if "test_cases" in root.items:
            self._held(root.items["test_cases"], _CASES, "'test_cases'")
        own = self.named(root, "fixtures")
        fixtures = {**self.shared, **own}
        metadata = self.named(root, "metadata")
        stubs = self._stubs(root)
        nodes = _items(root.at("test_cases"))
        cases = [case for node in nodes if (case := self._case(node, fixtures, metadata, stubs)) is not None]
        self._check_names(cases)
        self._check_stubs(stubs, cases)
        self._check_unused(root, own)
        if any(finding.severity == "error" for finding in self.findings):
            self.findings = [finding for finding in self.findings if finding.severity == "error"]
        return model.E2ECases(tuple(cases), tuple(stubs or ()), tuple(self.findings), (root.source.path,))

    def read_shared(self, root: YamlNode) -> Named:
        """Read the fixtures of a ``conftest.yml``."""
        self._held(root, SHARED, "the file")
        return self.named(root, "fixtures") if isinstance(root, YamlMapping) else {}

    # --- faults -------------------------------------------------------------------------------------------------------

    def _fault(self, message: str, location: Location, hint: str = "", severity: Severity = "error") -> None:
        code = "e2e-syntax" if severity == "error" else "e2e-doubtful"
        self.findings.append(Finding(code, severity, message, location, hint))

    def _held(self, node: YamlNode, shape: Shape, label: str) -> tuple[Any, bool]:
        """Return the node's data, and whether it has the shape."""
        faults: list[Fault] = []
        data = read(node, shape, faults, label)
        for fault in faults:
            names = (Name(UNKNOWN, fault.unknown),) if fault.unknown else ()
            self.findings.append(Finding("e2e-syntax", "error", fault.message, fault.location, fault.hint, names=names))
        return data, not faults

    def _check_names(self, cases: Sequence[model.E2ECase]) -> None:
        seen: dict[str, model.E2ECase] = {}
        for case in cases:
            if case.name in seen:
                first = seen[case.name].location
                message = f"There are two test cases '{case.name}'; the first is in line {first.line}."
                names = (Name(REPEATED, case.name),)
                self.findings.append(Finding("e2e-syntax", "error", message, case.location, names=names))
            seen.setdefault(case.name, case)

    def _check_stubs(self, stubs: Sequence[model.Stub] | None, cases: Sequence[model.E2ECase]) -> None:
        names = [case.name for case in cases]
        for stub in stubs or ():
            if stub.case is not None and stub.case not in names:
                message = f"There is no test case '{stub.case}', which a stub is for."
                self._fault(message, stub.location, suggestion(stub.case, names))

    def _check_unused(self, root: YamlMapping, own: Named) -> None:
        for node in _items(root.at("fixtures")):
            name = _only_key(node)
            if name in own and name not in self.used:
                self._fault(f"No test case uses the fixture '{name}'.", node.location, severity="warning")

    # --- fixtures, metadata, stubs ------------------------------------------------------------------------------------

    def named(self, root: YamlMapping, key: str) -> Named:
        """Read a list of maps with one key: a name, and its content as a map or as a list of maps."""
        node = root.items.get(key)
        if node is None or not self._held(node, NAMED, f"'{key}'")[1]:
            return {}
        found: Named = {}
        for entry in _items(node):
            name = _only_key(entry)
            if name in found:
                self._fault(f"'{name}' appears twice under '{key}'.", entry.location)
            elif name is not None and isinstance(entry, YamlMapping):
                found[name] = _merged(next(iter(entry.items.values())))
        return found

    def _stubs(self, root: YamlMapping) -> list[model.Stub] | None:
        """Return the stubs; ``None`` if the file does not stub anything."""
        node = root.items.get("stub_custom_actions")
        if node is None or is_nothing(node):
            return None
        data, is_right = self._held(node, STUBS, "'stub_custom_actions'")
        if not is_right or not isinstance(node, YamlMapping):
            return None
        stubs = []
        for key in node.items:
            case, colons, action = str(key).rpartition("::")
            returned = {name: _returned(content, node.items[key].at(name)) for name, content in data[str(key)].items()}
            stubs.append(model.Stub(action, node.key_location(key), case=case if colons else None, **returned))
        return stubs

    # --- cases --------------------------------------------------------------------------------------------------------

    def _case(
        self, node: YamlNode, fixtures: Named, metadata: Named, stubs: Sequence[model.Stub] | None
    ) -> model.E2ECase | None:
        _, is_right = self._held(node, CASE, "An entry of 'test_cases'")
        name = text_of(node.at("test_case"))
        if not isinstance(node, YamlMapping) or not name:
            return None
        # The correct parts of a case with a fault, which is never run, are read too: all faults are reported together.
        steps = [step for step in _items(node.at("steps")) if is_right or _is_readable(step)]
        used = self._names(node, "fixtures", fixtures)
        self.used.update(used)
        case_metadata = self._metadata(node, metadata)
        turns = self._turns(steps, metadata, case_metadata)
        commands = [command.location for turn in turns for command in turn.commands]
        case = model.E2ECase(
            name=name,
            location=node.location,
            turns=turns,
            fixtures=tuple(used),
            slots={slot: value for fixture in used for slot, value in fixtures[fixture].content.items()},
            filled=tuple(
                model.FilledSlot(fixture, slot, location)
                for fixture in used
                for slot, location in fixtures[fixture].places.items()
            ),
            stubs=None if stubs is None else _stubs_of(name, stubs),
            source=[step.data for step in steps],
            not_judged=model.NotJudged(_OF_UNDERSTANDING, commands[0]) if commands else None,
        )
        if case.expects_nothing:
            self._fault(f"The test case '{case.name}' expects nothing.", case.location, severity="warning")
        return case

    def _names(self, node: YamlMapping, key: str, known: Named) -> list[str]:
        """Read one name or a list of names, each of which must be known."""
        below = node.items.get(key)
        if below is None or is_nothing(below):
            return []
        names = []
        for item in below.items if isinstance(below, YamlSequence) else [below]:
            name = text_of(item)
            if name in known:
                names.append(name)
            if name in known or not name:  # a value that is not a name is a fault of another kind
                continue
            hint = suggestion(name, known) or f"There are: {', '.join(known) or 'none'}."
            self._fault(f"There is no entry '{name}' under '{key}'.", item.location, hint)
        return names

    def _metadata(self, node: YamlMapping, known: Named) -> dict[str, Any]:
        return {
            key: value for name in self._names(node, "metadata", known) for key, value in known[name].content.items()
        }

    def _turns(
        self, steps: Sequence[YamlNode], metadata: Named, case_metadata: Mapping[str, Any]
    ) -> tuple[model.CaseTurn, ...]:
        begun: list[tuple[model.CaseTurn, list[model.Expectation]]] = []
        for step in steps:
            if not isinstance(step, YamlMapping):  # its shape ensures that it is one
                continue
            if "user" in step.items:
                if begun and begun[-1][0].user is not None and not (begun[-1][1] or _expects(begun[-1][0])):
                    self._fault(
                        "Nothing is expected of the user step before this one.", step.location, severity="warning"
                    )
                begun.append((self._user(step, metadata, case_metadata), []))
            else:
                if not begun:
                    begun.append((model.CaseTurn(None, step.location), []))
                begun[-1][1].extend(_expectations(step))
        return tuple(self._finished(turn, expectations) for turn, expectations in begun)

    def _finished(self, turn: model.CaseTurn, expectations: Sequence[model.Expectation]) -> model.CaseTurn:
        if turn.assertions and expectations:
            self._fault(
                "A user step with assertions ignores the other steps.", expectations[0].location, severity="warning"
            )
            expectations = ()
        return model.CaseTurn(
            turn.user,
            turn.location,
            tuple(expectations),
            turn.assertions,
            turn.ordered,
            turn.metadata,
            commands=turn.commands,
        )

    def _user(self, step: YamlMapping, metadata: Named, case_metadata: Mapping[str, Any]) -> model.CaseTurn:
        nodes = [node for node in _items(step.items.get("assertions")) if _fits(node, ASSERTION)]
        return model.CaseTurn(
            user=text_of(step.items["user"]),
            location=step.location,
            assertions=tuple(
                model.Assertion.of(kind, value, node.location, dict(_places(node)))
                for node in nodes
                for kind, value in read(node, ASSERTION, []).items()
            ),
            ordered=_is_true(step.items.get("assertion_order_enabled")),
            metadata={**case_metadata, **self._metadata(step, metadata)},
            commands=tuple(
                model.ExpectedCommand(text_of(node), node.location)
                for node in _items(step.items.get("commands"))
                if text_of(node)
            ),
        )


def _places(node: YamlNode) -> Iterator[tuple[str, Location]]:
    """Yield each value below a node with its place, the first one last: it counts."""
    if isinstance(node, YamlScalar):
        yield str(node.value), node.location
    elif isinstance(node, YamlSequence):
        for below in reversed(node.items):
            yield from _places(below)
    elif isinstance(node, YamlMapping):
        for below in reversed(node.items.values()):
            yield from _places(below)


def _expects(turn: model.CaseTurn) -> bool:
    return bool(turn.assertions or turn.commands)


def _is_true(node: YamlNode | None) -> bool:
    return isinstance(node, YamlScalar) and node.value is True


def _is_readable(step: YamlNode) -> bool:
    """Whether something of a step with a fault can be read: what a user says, or something that is expected."""
    if not isinstance(step, YamlMapping):
        return False
    user = step.items.get("user")
    if user is not None:
        return _fits(user, USER.keys["user"].shape)
    return any(kind in step.items for kind in model.STEP_KINDS)


def _fits(node: YamlNode, shape: Shape) -> bool:
    """Whether a node has a shape, but for keys that are of none of the versions known here."""
    faults: list[Fault] = []
    read(node, shape, faults)
    return all(fault.unknown for fault in faults)


def _expectations(step: YamlMapping) -> list[model.Expectation]:
    expectations: list[model.Expectation] = []
    for kind in model.STEP_KINDS:
        node = step.items.get(kind)
        if node is None or not _fits(node, EXPECTATION.keys[kind].shape):
            continue
        if kind in {"bot", "utter"}:
            expectations.append(model.Expectation(kind, text_of(node), step.location))
            continue
        for item in node.items if isinstance(node, YamlSequence) else [node]:
            expectations += _slots(item, kind, step.location)
    return expectations


def _slots(node: YamlNode, kind: Any, step: Location) -> list[model.Expectation]:
    """Read ``name``, or ``name: value`` (several in one map are one expectation each)."""
    if not isinstance(node, YamlMapping):
        return [model.Expectation(kind, text_of(node), node.location, step=step)]
    return [
        model.Expectation(kind, str(name), node.key_location(name), below.data, has_value=True, step=step)
        for name, below in node.items.items()
    ]


def _returned(contents: Sequence[Mapping[str, Any]] | None, node: YamlNode | None) -> tuple[model.Returned, ...]:
    """Combine what a stub returns with the places where it is written."""
    return tuple(
        model.Returned(content, below.location, {str(key): below.key_location(key) for key in below.items})
        for content, below in zip(contents or (), _items(node), strict=True)
        if isinstance(below, YamlMapping)
    )


def _stubs_of(case: str, stubs: Sequence[model.Stub]) -> dict[str, Any]:
    """Return the stubs that apply to this case: those for only this case win."""
    return {
        stub.action: {
            "events": [dict(event.content) for event in stub.events],
            "responses": [dict(message.content) for message in stub.responses],
        }
        for owner in (None, case)
        for stub in stubs
        if stub.case == owner
    }


def _merged(node: YamlNode) -> Values:
    """Read a map, or a list of maps, of which the last one wins."""
    content: dict[str, Any] = {}
    places: dict[str, Location] = {}
    for item in _items(node) or (node,):
        if isinstance(item, YamlMapping):
            content |= {str(key): below.data for key, below in item.items.items()}
            places |= {str(key): item.key_location(key) for key in item.items}
    return Values(content, places)


def _items(node: YamlNode | None) -> Sequence[YamlNode]:
    return node.items if isinstance(node, YamlSequence) else ()


def _only_key(node: YamlNode) -> str | None:
    return str(next(iter(node.items))) if isinstance(node, YamlMapping) and len(node.items) == 1 else None
