"""``endpoints.yml`` → the model's ``Endpoint``.

Rasa ignores a key that it does not know, and an endpoint without an address: a misspelling then looks like a missing
server. Here it is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from turncheck.messages.finding import Finding
from turncheck.messages.suggestions import misspelt
from turncheck.project.model import Endpoint
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project.project_file import ProjectFile
    from turncheck.yaml_tree.tree import YamlNode

ACTIONS: Final = "action_endpoint"
KNOWN: Final = (
    *(ACTIONS, "nlg", "nlu", "models", "model", "tracker_store", "lock_store", "event_broker"),
    *("vector_store", "model_groups", "privacy", "secrets_manager", "anonymization", "interaction_handling"),
)
"""The endpoints of Rasa 3.6, followed by those of Rasa Pro, as far as known: it has more, and new ones are added."""
_KEYS: Final = (
    *("url", "params", "headers", "basic_auth", "token", "token_name", "cafile", "type", "enable_selective_domain"),
    "actions_module",
)
"""The keys of ``action_endpoint`` that Rasa reads; ``actions_module`` is for Rasa Pro, which then needs no server."""
_HINT: Final = "See Rasa's documentation of the model configuration."


def endpoints_from_file(file: ProjectFile) -> tuple[dict[str, Endpoint], tuple[Finding, ...]]:
    """Read the endpoints as written; an entry that is not a mapping is left out and reported.

    Also reported are a name that is close to one of Rasa's (``endpoint-unknown``), and an action server without an
    address (``endpoint-url-missing``).
    """
    document = file.document
    if document is None or document.root is None:
        return {}, ()
    root = document.root
    if not isinstance(root, YamlMapping):
        return {}, (_schema(root, "the endpoints must be a mapping"),)
    endpoints = {}
    findings = [*_misspelt(root, KNOWN, f"'{file.path}'")]
    for key, node in root.items.items():
        if isinstance(node, YamlMapping):
            endpoints[str(key)] = Endpoint(str(key), node.data, root.key_location(key))
            findings += _action_server(root, node) if key == ACTIONS else ()
        elif not _is_nothing(node):
            hint = f"Write `url: {node.value}` below it." if _is_address(node) else _HINT
            findings.append(_schema(node, f"the endpoint '{key}' must be a mapping", hint))
    return endpoints, tuple(findings)


def _action_server(root: YamlMapping, node: YamlMapping) -> Iterator[Finding]:
    if not node.data.get("url") and "actions_module" not in node.items:
        meant = next((key for key in node.items if key == "uri" or misspelt(str(key), ("url",))), None)
        place = root.key_location(ACTIONS) if meant is None else node.key_location(meant)
        hint = "Write `url: http://localhost:5055/webhook` below it." if meant is None else "Did you mean 'url'?"
        message = f"The '{ACTIONS}' of '{root.source.path}' has no 'url': no action server would be called."
        yield Finding("endpoint-url-missing", "error", message, place, hint)
        return
    yield from _misspelt(node, _KEYS, f"'{ACTIONS}'")


def _misspelt(node: YamlMapping, known: Iterable[str], what: str) -> Iterator[Finding]:
    for key in node.items:
        if near := misspelt(str(key), known):
            message = f"Nothing reads the key '{key}' of {what}."
            yield Finding("endpoint-unknown", "warning", message, node.key_location(key), f"Did you mean '{near}'?")


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _is_address(node: YamlNode) -> TypeGuard[YamlScalar]:
    return isinstance(node, YamlScalar) and str(node.value).startswith(("http://", "https://"))


def _schema(node: YamlNode, what: str, hint: str = _HINT) -> Finding:
    return Finding("schema-violation", "error", f"In '{node.source.path}' {what}.", node.location, hint)
