"""The names of an assistant that its Python code uses, with their places: the code is parsed, never run.

What is recognised are calls and lookups of rasa-sdk with a written name: ``tracker.get_slot("size")``,
``tracker.slots["size"]``, ``SlotSet("size", …)``, ``dispatcher.utter_message(response="utter_x")``,
``FollowupAction("action_x")``, ``tracker.get_latest_entity_values("city")``, ``ActiveLoop("pizza_form")``, the intent
of the latest message and the active form in comparisons, and the methods ``validate_size`` and ``extract_size`` of a
validation action, with what they return.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import Location
from turncheck.project.testfiles import texts_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TELLING: Final = re.compile(r"\b(?:tracker|dispatcher|rasa_sdk|SlotSet)\b")
"""Code without any of these words does not work with an assistant."""
_FIRST_ARGUMENT: Final = {
    "get_slot": ("slot", "key"),
    "SlotSet": ("slot", "key"),
    "get_latest_entity_values": ("entity", "entity_type"),
    "FollowupAction": ("action", "name"),
    "ActionExecuted": ("action", "action_name"),
    "ActiveLoop": ("form", "name"),
    "utter_template": ("response", "template"),
}
"""What the first argument of a call names, and its keyword."""
_RESPONSE_KEYWORDS: Final = frozenset({"response", "template"})
_SAYING: Final = frozenset({"utter_message", "utter_template"})
_OF_VALIDATION: Final = re.compile(r"(?:validate|extract)_(\w+)")
_VALIDATION_ACTION: Final = re.compile(r"\w*ValidationAction")


class CodeUse(NamedTuple):
    """A name that code uses: of a slot, an entity, an intent, a response, an action or a form.

    A ``method`` of a validation action is named after a slot, whose dashes are underscores there. A ``class`` is an
    action that it defines. A ``variable`` is what it passes to a response; its name is ``**`` if that
    is only known when it runs. ``action``: the action whose class it is in, by the name that the class returns; empty
    if it is in none.
    """

    kind: str
    name: str
    location: Location
    action: str = ""


def uses_in_code(root: Path) -> tuple[CodeUse, ...]:
    """Return what the ``*.py`` files below a folder use, in the order of files and lines; broken ones are left out."""
    found: dict[CodeUse, None] = {}
    for path, text in texts_of_code(root):
        if not _TELLING.search(text):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the code, such as "\d" in a string
                tree = ast.parse(text)
                nodes = [*_with_actions(tree)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the action server will report its fault
        shown = path.relative_to(root).as_posix()
        uses = [(*use, action) for node, action in nodes for use in _uses(node)]
        classes = (node for node, _ in nodes if isinstance(node, ast.ClassDef))
        uses += [("class", name, node, name) for node in classes if (name := _action_of(node))]
        for kind, name, where, action in sorted(uses, key=lambda use: (use[2].lineno, use[2].col_offset, *use[:2])):
            found[CodeUse(kind, name, Location(shown, where.lineno, where.col_offset + 1), action)] = None
    return tuple(found)


def _with_actions(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield every node with the action whose class it is in, the class itself included."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, action = waiting.pop()
        if isinstance(node, ast.ClassDef):
            action = _action_of(node) or action
        yield node, action
        waiting += [(child, action) for child in ast.iter_child_nodes(node)]


def _action_of(node: ast.ClassDef) -> str:
    """The name that the method ``name`` of a class returns; empty if there is none, or it is computed."""
    methods = (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "name")
    returned = (part.value for method in methods for part in ast.walk(method) if isinstance(part, ast.Return))
    names = [value.value for value in returned if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    return names[0] if len(names) == 1 else ""


_Use = tuple[str, str, "ast.expr | ast.stmt"]


def _uses(node: ast.AST) -> Iterator[_Use]:
    match node:
        case ast.Call():
            yield from _of_call(node)
        case ast.Subscript(value=value, slice=ast.Constant(value=str(name)) as key) if _is_slots(value):
            yield "slot", name, key
        case ast.Compare(left=left, comparators=comparators):
            for one in (left, *comparators):
                kind = _compared(one)
                for other in (left, *comparators) if kind else ():
                    yield from ((kind, name, place) for name, place in _strings(other) if kind)
        case ast.ClassDef(bases=bases) if any(_VALIDATION_ACTION.fullmatch(_name_of(base)) for base in bases):
            yield from _of_validation(node)
        case _:
            pass


def _of_call(call: ast.Call) -> Iterator[_Use]:
    called = _name_of(call.func)
    if called in _FIRST_ARGUMENT:
        kind, keyword = _FIRST_ARGUMENT[called]
        named = [one.value for one in call.keywords if one.arg == keyword]
        for value in (*call.args[:1], *named):
            yield from ((kind, name, place) for name, place in _strings(value))
    elif called == "utter_message":
        for one in call.keywords:
            if one.arg in _RESPONSE_KEYWORDS:
                yield from (("response", name, place) for name, place in _strings(one.value))
    if called in _SAYING:
        yield from (("variable", one.arg or "**", one.value) for one in call.keywords)
    if called == "get" and isinstance(call.func, ast.Attribute) and _is_slots(call.func.value):
        for value in call.args[:1]:
            yield from (("slot", name, place) for name, place in _strings(value))


def _of_validation(node: ast.ClassDef) -> Iterator[_Use]:
    for part in node.body:
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if method := _OF_VALIDATION.fullmatch(part.name):
            yield "method", method[1], part
            for inner in ast.walk(part):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Dict):
                    keys = (key for key in inner.value.keys if key is not None)
                    yield from (("slot", name, place) for key in keys for name, place in _strings(key))


def _compared(node: ast.expr) -> str:
    """What the other side of a comparison names: an intent, a form; empty for anything else."""
    words = {_name_of(part) for part in ast.walk(node) if isinstance(part, (ast.Attribute, ast.Name))}
    words |= {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    if "get_intent_of_latest_message" in words or {"latest_message", "intent", "name"} <= words:
        return "intent"
    return "form" if "active_loop_name" in words or {"active_loop", "name"} <= words else ""


def _strings(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The strings that an expression is: one, or each of a list or of two alternatives."""
    match node:
        case ast.Constant(value=str(name)) if name:
            yield name, node
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                if isinstance(part, ast.Constant):
                    yield from _strings(part)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (found for part in (body, orelse) if isinstance(part, ast.Constant) for found in _strings(part))
        case _:
            pass


def _is_slots(node: ast.expr) -> bool:
    """Whether an expression is ``tracker.slots``, or the call ``tracker.current_slot_values()``."""
    if isinstance(node, ast.Call):
        return _name_of(node.func) == "current_slot_values"
    return isinstance(node, ast.Attribute) and node.attr == "slots"


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
