"""YAML files as a tree in which every key and value knows where it is.

``parse_yaml(source)`` gives a :class:`YamlDocument`: ``root`` (a node, ``None`` if the file could not be parsed) and
``findings``. Nodes:

- :class:`YamlScalar`: ``value`` (text, int, float, bool, ``None``), ``style`` (``""``: plain, else its sign) and
  ``is_tagged``;
- :class:`YamlSequence`: ``items``, a list of nodes;
- :class:`YamlMapping`: ``items``, a dictionary from key (a Python value) to node; ``key_nodes``, the keys' own nodes.

Every node has ``location`` (computed when asked), ``data`` (plain Python data, as ruamel.yaml's safe loader would give
it) and ``at(*path)``, which descends by keys and indices and returns the node or ``None``. A mapping's
``key_location(key)`` is where the key is. Merge keys (``<<``) are resolved; aliases share one node.

PyYAML's C parser makes the events; what they mean is decided here (YAML 1.2 scalars, duplicate keys, limits), because
PyYAML's own loaders read YAML 1.1, let a second key win silently and recurse without a limit.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import yaml

from turncheck.messages.finding import Finding, Location
from turncheck.yaml_tree.faults import YamlFaultError, describe_syntax_error, fault_at, no_space, offset_of

if TYPE_CHECKING:
    from turncheck.yaml_tree.source import Source, YamlSource


# What an unquoted YAML scalar means: the core schema of YAML 1.2, as Rasa reads it.
#
# PyYAML knows YAML 1.1 only, where ``yes``, ``off`` or ``12:30`` are not strings. Rasa reads with ruamel.yaml set to
# version 1.2; so the words and number formats here are those that ruamel.yaml accepts, with two exceptions in which it
# keeps habits of YAML 1.1: dates and numbers with underscores (``1_000``) are strings here, as the YAML 1.2
# specification (chapter 10.3) has them.

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT: Final = re.compile(r"[-+]?(?:0b[01]+|0o?[0-7]+|[0-9]+|0x[0-9a-fA-F]+)")
# Without a digit before the point an exponent must carry its sign: `.5e3` is a string, `.5e+3` is 500.0.
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+][0-9]+)?)"
)
_SPECIAL_FLOAT: Final = re.compile(r"(?P<infinite>[-+]?\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)")
_BASES: Final = {"0b": 2, "0o": 8, "0x": 16}
_NUMBER_START: Final = frozenset("-+.0123456789")

MAX_DIGITS: Final = 4000
"""A longer run of digits stays a string: Python refuses to convert more than 4300, and nobody means a number by it."""


def resolve_plain(text: str) -> Scalar:
    """Return the value of a plain (unquoted, untagged) scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    return _number(text)


def _number(text: str) -> Scalar:
    if len(text) > MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    special = _SPECIAL_FLOAT.fullmatch(text)
    if special is None:
        return text
    if special["infinite"] is None:
        return float("nan")
    return float("-inf") if text[0] == "-" else float("inf")


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    base = _BASES.get(digits[:2], 10)
    value = int(digits[2:], base) if base != 10 else int(digits)
    return -value if text[0] == "-" else value


MAX_DEPTH: Final = 600
"""How deep collections may nest, aliases followed: Rasa reads as much. Real projects stay below twenty."""
_SHALLOW: Final = 100
"""What nests deeper is followed only with more recursion than Python allows by default: some calls for each level."""
MAX_NODES: Final = 2_000_000
"""How many nodes a file may have, aliases followed; stops alias bombs ("billion laughs")."""
MAX_DUPLICATES: Final = 200
_SHORT: Final = 64
"""Strings up to this length are likely to occur again: then all their nodes share one."""
_FEW: Final = 8
"""A mapping with more keys keeps its dictionary once it was computed."""

_DASHED: Final = re.compile(r"-[^\W\d]\w*")
"""A key that has a dash without a space before it: any name, since slots and entities are keys of items, too."""

_TAG_PREFIX: Final = "tag:yaml.org,2002:"


def let_nest(depth: int) -> None:
    """Let collections that nest so deep be followed to their end."""
    if depth > _SHALLOW:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10 * MAX_DEPTH))


@dataclass(slots=True, eq=False)
class YamlNode:
    """What all nodes have: where they begin (an offset into ``source.text``)."""

    source: Source = field(repr=False)
    start: int

    @property
    def location(self) -> Location:
        """Where the value begins; of a block scalar that is its ``|`` or ``>``."""
        return self.source.location(self.start)

    @property
    def data(self) -> Any:
        """The value as plain Python data."""
        raise NotImplementedError

    def at(self, *path: Any) -> YamlNode | None:
        """Return the node at this path of keys and indices, ``None`` if there is none."""
        node: YamlNode | None = self
        for step in path:
            if isinstance(node, YamlMapping):
                node = node.items.get(step)
            elif isinstance(node, YamlSequence) and isinstance(step, int) and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node


@dataclass(slots=True, eq=False)
class YamlScalar(YamlNode):
    """A string, number, truth value or null; ``length`` is that of its source, including quotes."""

    length: int
    value: str | int | float | bool | None
    style: str = ""
    is_tagged: bool = False

    @property
    def end(self) -> int:
        """Where it ends (an offset into ``source.text``)."""
        return self.start + self.length

    @property
    def data(self) -> Any:
        """The value."""
        return self.value


@dataclass(slots=True, eq=False)
class YamlSequence(YamlNode):
    """A list."""

    items: list[YamlNode] = field(default_factory=list)

    @property
    def data(self) -> list[Any]:
        """A list of plain Python data."""
        return [item.data for item in self.items]


@dataclass(slots=True, eq=False)
class YamlMapping(YamlNode):
    """A dictionary; if a key appears twice, the first one counts (and a finding reports it)."""

    items: dict[Any, YamlNode] = field(default_factory=dict)
    key_nodes: tuple[YamlNode, ...] = ()
    """In the order of ``items``. No second dictionary: a file of stories has a mapping for each step."""
    _keys: dict[Any, YamlNode] | None = None

    @property
    def data(self) -> dict[Any, Any]:
        """A dictionary of plain Python data."""
        return {key: item.data for key, item in self.items.items()}

    @property
    def keys(self) -> dict[Any, YamlNode]:
        """The keys' own nodes by key."""
        if self._keys is not None:
            return self._keys
        keys = dict(zip(self.items, self.key_nodes, strict=True))
        if len(keys) > _FEW:
            self._keys = keys
        return keys

    def replace(self, items: dict[Any, YamlNode], key_nodes: tuple[YamlNode, ...]) -> None:
        """Take other entries."""
        self.items, self.key_nodes, self._keys = items, key_nodes, None

    def key_location(self, key: Any) -> Location:
        """Where this key is; raises ``KeyError`` if it is missing."""
        return self.keys[key].location


class YamlDocument(NamedTuple):
    """A parsed file. Without ``root`` it could not be parsed; an empty file's root is an empty mapping."""

    source: YamlSource
    root: YamlNode | None
    findings: tuple[Finding, ...] = ()


def parse_yaml(source: YamlSource) -> YamlDocument:
    """Parse a file. Faults become findings: ``yaml-syntax``, ``yaml-duplicate-key``, ``yaml-limit``."""
    builder = _TreeBuilder(source)
    try:
        for event in yaml.parse(source.text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except YamlFaultError as error:
        return YamlDocument(source, None, (*builder.findings, error.finding))
    except yaml.YAMLError as error:
        faults = dict.fromkeys((*builder.findings, describe_syntax_error(source, error)))
        return YamlDocument(source, None, tuple(faults))
    root = builder.root
    is_empty = (isinstance(root, YamlScalar) and not root.value) or (isinstance(root, YamlSequence) and not root.items)
    if root is None or is_empty:  # as Rasa, which takes any empty value for an empty mapping
        root = YamlMapping(source, 0)
    tab = _tab_between_tokens(source, root)
    if tab is not None:
        return YamlDocument(source, None, (*builder.findings, tab))
    return YamlDocument(source, root, tuple(builder.findings))


def _tab_between_tokens(source: YamlSource, root: YamlNode) -> Finding | None:
    """Return the finding about a tab where only spaces are allowed: LibYAML accepts it, Rasa's parser does not.

    PyYAML's own scanner is as strict as Rasa's (ruamel.yaml is descended from it). It is slow, so it is asked only
    about files that have a tab outside of block scalars, where tabs are text.
    """
    if "\t" not in source.text or not _has_tab_outside(source.text, sorted(_block_scalars(root))):
        return None
    try:
        for _ in yaml.scan(source.text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is not None and source.text[offset_of(mark) : offset_of(mark) + 1] == "\t":
            return describe_syntax_error(source, error)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None  # what LibYAML has read is taken as read
    return None


def _block_scalars(root: YamlNode) -> set[tuple[int, int]]:
    ranges: set[tuple[int, int]] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, YamlScalar) and node.style in {"|", ">"}:
            ranges.add((node.start, node.end))
        elif isinstance(node, YamlMapping):
            stack.extend(node.items.values())
        elif isinstance(node, YamlSequence):
            stack.extend(node.items)
    return ranges


def _has_tab_outside(text: str, ranges: list[tuple[int, int]]) -> bool:
    done = 0
    for start, end in ranges:
        if text.find("\t", done, start) >= 0:
            return True
        done = max(done, end)
    return text.find("\t", done) >= 0


class _Frame(msgspec.Struct):
    """A collection that is being read."""

    node: YamlSequence | YamlMapping
    anchor: str | None
    nodes_before: int
    height: int = 1
    key: YamlNode | None = None
    keys: list[YamlNode] = msgspec.field(default_factory=list)
    merged: list[YamlMapping] = msgspec.field(default_factory=list)
    merge_key: YamlNode | None = None


class _Anchored(NamedTuple):
    """A node that aliases may name: how many nodes it holds and how deep it goes, aliases followed."""

    node: YamlNode
    weight: int
    height: int


class _TreeBuilder:
    """Builds the tree from the parser's events, without recursion, so that no nesting can exhaust the stack."""

    def __init__(self, source: YamlSource) -> None:
        self.source = source
        self.root: YamlNode | None = None
        self.findings: list[Finding] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._texts: dict[str, str] = {}
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._fault(
                    offset_of(event.start_mark),
                    "a second YAML document begins here, but a file holds one",
                    "Remove the line '---', or move what follows it into a file of its own.",
                )

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        mark = offset_of(event.start_mark)
        style = event.style or ""
        if event.tag is None:
            value = event.value if style else resolve_plain(event.value)
        else:
            value = self._tagged_scalar(event)
        if isinstance(value, str) and len(value) <= _SHORT:
            value = self._texts.setdefault(value, value)
        length = offset_of(event.end_mark) - mark
        node = YamlScalar(self.source, mark, length, value, style, is_tagged=event.tag is not None)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(node, 1, 0)
        is_merge = event.value == "<<" and not style and event.tag is None
        self._attach(node, 1, 0, is_merge=is_merge)

    def _tagged_scalar(self, event: yaml.ScalarEvent) -> str | int | float | bool | None:
        tag = (event.tag or "").removeprefix(_TAG_PREFIX)
        if tag in ("!", "str"):
            return event.value
        kinds = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
        value = resolve_plain(event.value)
        if tag not in kinds or not isinstance(value, kinds[tag]) or (tag != "bool" and isinstance(value, bool)):
            raise self._fault(
                offset_of(event.start_mark),
                f"the tag {event.tag!r} does not fit this value",
                "Remove the tag; quotes make a string of a value.",
            )
        return float(value) if tag == "float" and isinstance(value, int) else value

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG_PREFIX + ("map" if is_mapping else "seq")):
            raise self._fault(offset_of(event.start_mark), f"the tag {event.tag!r} is not known", "Remove the tag.")
        if len(self._stack) >= MAX_DEPTH:
            raise self._limit(offset_of(event.start_mark), f"collections nest deeper than {MAX_DEPTH} levels")
        let_nest(len(self._stack))
        if event.anchor is not None:
            self._anchors[event.anchor] = None  # open: an alias to it would make the tree endless
        kind = YamlMapping if is_mapping else YamlSequence
        self._stack.append(_Frame(kind(self.source, offset_of(event.start_mark)), event.anchor, self._nodes))

    def _close(self) -> None:
        frame = self._stack.pop()
        node = frame.node
        if isinstance(node, YamlMapping):
            node.key_nodes = tuple(frame.keys)
            if frame.merged:
                _merge(node, frame.merged)
        weight = self._nodes - frame.nodes_before + 1
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchored(node, weight, frame.height)
        self._attach(node, 1, frame.height)

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark = offset_of(event.start_mark)
        name = event.anchor
        if name not in self._anchors:
            raise self._fault(mark, f"the alias *{name} names no anchor", f"Put &{name} at the value that is meant.")
        anchored = self._anchors[name]
        if anchored is None:
            raise self._fault(mark, f"the alias *{name} is inside of what it names", "Write the value out.")
        self._attach(anchored.node, anchored.weight, anchored.height)

    def _attach(self, node: YamlNode, weight: int, height: int, *, is_merge: bool = False) -> None:
        self._nodes += weight
        if self._nodes > MAX_NODES:
            what = f"the file holds more than {MAX_NODES:,} values, aliases followed"
            raise self._limit(node.start, what, "file-too-large")
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if height >= frame.height:
            frame.height = height + 1
            if len(self._stack) + height > MAX_DEPTH:
                raise self._limit(node.start, f"collections nest deeper than {MAX_DEPTH} levels, aliases followed")
            let_nest(len(self._stack) + height)
        if isinstance(frame.node, YamlSequence):
            frame.node.items.append(node)
        elif frame.key is None:
            frame.key = node
            frame.merge_key = node if is_merge else None
        else:
            self._add_pair(frame, frame.node, frame.key, node)
            frame.key = None

    def _add_pair(self, frame: _Frame, mapping: YamlMapping, key: YamlNode, value: YamlNode) -> None:
        if frame.merge_key is key:
            frame.merged += self._merged_mappings(value)
        elif not isinstance(key, YamlScalar):
            raise self._fault(
                key.start,
                "a key must be a string or a number, but here it is a list or a mapping",
                "A text that begins with '{' or '[' needs quotes.",
            )
        elif isinstance(key.value, str) and not key.style and _DASHED.fullmatch(key.value):
            if len(self.findings) < MAX_DUPLICATES:
                self.findings.append(no_space(self.source, key.start, key.value[1:]))
        elif key.value in mapping.items:
            if len(self.findings) >= MAX_DUPLICATES:
                raise self._limit(key.start, f"more than {MAX_DUPLICATES} keys appear twice")
            first = frame.keys[list(mapping.items).index(key.value)].location.line
            self.findings.append(
                Finding(
                    "yaml-duplicate-key",
                    "error",
                    f"The key {str(key.value)!r} appears a second time in this mapping; the first is in line {first}.",
                    key.location,
                    "Merge the two entries into one, or remove one of them.",
                )
            )
        else:
            mapping.items[key.value] = value
            frame.keys.append(key)

    def _merged_mappings(self, value: YamlNode) -> list[YamlMapping]:
        nodes = value.items if isinstance(value, YamlSequence) else [value]
        mappings = [node for node in nodes if isinstance(node, YamlMapping)]
        if len(mappings) < len(nodes):
            raise self._fault(value.start, "'<<' merges mappings, but here is something else", "Name a mapping.")
        return mappings

    def _fault(self, offset: int, what: str, hint: str) -> YamlFaultError:
        return YamlFaultError(
            fault_at("yaml-syntax", f"This is not YAML that can be read: {what}.", self.source, offset, hint)
        )

    def _limit(self, offset: int, what: str, code: str = "yaml-limit") -> YamlFaultError:
        hint = "Split the file, or write less of it by aliases."
        return YamlFaultError(fault_at(code, f"The file is not read: {what}.", self.source, offset, hint))


def _merge(node: YamlMapping, merged: list[YamlMapping]) -> None:
    """Put merged keys before the mapping's own, which win; of several merged mappings the first wins."""
    items: dict[Any, YamlNode] = {}
    keys: dict[Any, YamlNode] = {}
    for mapping in (*reversed(merged), node):
        items.update(mapping.items)
        keys.update(mapping.keys)
    node.items, node.key_nodes = items, tuple(keys.values())
