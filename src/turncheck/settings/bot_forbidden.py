"""What ``bot:`` may not name: a host or a secret, which are given by flags and inputs alone."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any, Final

from turncheck.settings.bot_hosts import has_scheme, is_host, is_host_alone, is_of_host, names_address, unquoted
from turncheck.settings.bot_placeholders import PLACEHOLDER, placeholders
from turncheck.yaml_tree.shapes import Fault
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONG_CODE: Final = 20
"""Codes of countries, languages and offers are shorter."""
_SHORTEST_OPAQUE: Final = 8
_WHOSE: Final = frozenset(
    {"x", "my", "the", "bot", "api", "app", "auth", "access", "client", "user", "account", "service", "private", "hook"}
)
"""What precedes ``key`` or ``pass`` where it opens a door: that of a row, a message or a passenger does not."""
_HOOK: Final = re.compile(r"(?:\w*[_-])?(?:web)?hooks?", re.IGNORECASE)
_UUID: Final = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"(?:token|secrets?|passwords?|passwd|pwd|passphrase|credentials?|authorization|jwt|signature|(?<![a-z])auth"
    r"|(?:api|access|subscription|private|secret|functions?|auth|account|app|application|client|license|shared|signing"
    r"|encryption|admin|master|storage)[_-]?keys?)(?:[_-]?value)?$",
    re.IGNORECASE,
)
_LIMIT_NAME: Final = re.compile(r"(?:max|min)[_-]?\w*token", re.IGNORECASE)
"""How long an answer may be, as some models are told."""
_SECRET_VALUE: Final = re.compile(
    r"\s*(?:(?i:bearer)\s+\S{3}|(?i:basic)\s+(?=\S*[\d=+/])\S{4}|sk[-_](?!(?i:latn-)?(?i:sk|cz)$)[\w-]{3}|AKIA"
    r"|ASIA[0-9A-Z]{12}|AIza[\w-]{20}|gh[a-z]_\w{10}|github_pat_|xox[a-z]-|glpat-|eyJ[\w-]{8,}\.[\w-]+)"
)
"""How the secrets of well-known services begin; ``sk-SK`` is a language."""
_BASIC: Final = re.compile(r"\s*basic\s+([\w-]{4,})\s*", re.IGNORECASE | re.ASCII)
_ASSIGNED: Final = re.compile(r"(?:^|[?&;,\s])([^?&;,\s=]+)=([^&;,\s]*)")
_PATHS: Final = frozenset(
    {"replies", "intent", "confidence", "tools", "ended", "echo", "id", "cursor", "slots", "entities"}
    | {"buttons", "media", "cards", "usage", "prices"}
)
"""Keys whose texts are searched for in answers: nothing of them is sent."""
_HINT: Final = "Give it with --bot-token, and write {token} here, or name its header under `token`."


def is_secret(name: str, value: Any) -> bool:
    """Whether something with this name would hold a secret, or looks like one by itself."""
    values = value if isinstance(value, list) else [value]
    texts = [unquoted(str(one)) for one in values if isinstance(one, str | int | float) and not isinstance(one, bool)]
    if any(map(_looks_secret, texts)):
        return True
    if any(_is_opaque_key(name, PLACEHOLDER.sub("", text)) for text in texts):
        return True
    is_named = _SECRET.search(name) is not None and _LIMIT_NAME.fullmatch(name) is None
    return is_named and any(text.strip() and not placeholders(text) for text in texts)


def assigned_secret(text: str) -> str | None:
    """Return the name of the first secret that a path or another text gives a value (``?api_key=…``)."""
    pairs = ((unquoted(name), value) for name, value in _ASSIGNED.findall(text))
    return next((name for name, value in pairs if is_secret(_meaning(name, value), value)), None)


def _meaning(name: str, value: str) -> str:
    """Return what a name stands for: ``sig`` a signature, and a long ``code`` the key of an Azure Function."""
    return "signature" if name == "sig" or (name == "code" and len(value) >= _LONG_CODE) else name


def secret_part(path: str) -> str | None:
    """Return the first part of a path that is a secret by itself: one that looks so, or what follows a webhook's name.

    A UUID is none there: bots have them as names.
    """
    is_of_hook = False
    for part in re.split(r"[/?&;=]", path):
        plain = unquoted(part)
        if _looks_secret(plain):
            return part
        if is_of_hook and len(plain) >= _LONG_CODE and _is_opaque(plain) and not _UUID.fullmatch(plain):
            return part
        is_of_hook = is_of_hook or _HOOK.fullmatch(plain) is not None
    return None


def _is_opaque_key(name: str, value: str) -> bool:
    """Whether this is a ``key`` or a ``pass``, as which people also write plain words, with a value that is none."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if words[-1:] == ["value"]:
        words.pop()
    if not {*words[:-1]} <= _WHOSE:
        return False
    if words[-1:] == ["pass"]:
        return _is_opaque(value) or (len(value) >= _LONG_CODE and not re.search(r"\s", value))
    is_one = words[-1:] == ["key"] or words[-2:] == ["auth", "id"]
    return is_one and _is_opaque(value)


def _is_opaque(text: str) -> bool:
    """Whether a string is no word, name or number that people write: letters and digits take turns in it."""
    long = re.sub(r"[\W_]", "", text) if len(text) >= _LONG_CODE and not re.search(r"\s", text) else ""
    if len(_turns(long)) >= 6:
        return True
    runs = re.findall(r"[A-Za-z0-9]+", text)
    return any(len(run) >= _SHORTEST_OPAQUE and len(_turns(run)) >= 4 for run in runs)


def _turns(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+|\d+", text)


def named_elsewhere(node: YamlNode, keys: tuple[str, ...] = ()) -> Iterator[Fault]:
    """Yield what names a host or a secret, with its place: only flags and inputs do that."""
    is_sent = bool({"body", "headers"} & {*keys})
    if isinstance(node, YamlMapping):
        in_parts = is_sent and has_scheme(below.data for below in node.items.values() if isinstance(below, YamlScalar))
        for key, below in node.items.items():
            if is_sent:
                yield from _of_key(node.keys[key], str(key))
            if (
                in_parts
                and "version" not in str(key).lower()
                and isinstance(below, YamlScalar)
                and is_host(below.value)
            ):
                yield _host(below)
            name = f"{keys[-1]}-{key}" if is_sent and str(key).lower() == "value" else str(key)
            value = below.data if isinstance(below, YamlScalar | YamlSequence) else None
            if is_sent and is_secret(name, value):
                yield _secret(f"'{key}'", below)
            yield from () if not is_sent and key in _PATHS else named_elsewhere(below, (*keys, str(key)))
    elif isinstance(node, YamlSequence):
        for item in node.items:
            yield from named_elsewhere(item, keys)
    elif isinstance(node, YamlScalar) and isinstance(node.value, str):
        yield from _of_text(node, node.value, keys)
    elif isinstance(node, YamlScalar) and is_sent and _is_of_a_host(keys, node.value):
        yield _host(node)


def _of_key(node: YamlNode, key: str) -> Iterator[Fault]:
    """Yield what a key that is sent names: keys are no less read than values."""
    if _names_address(key):
        yield _host(node)
    elif (name := assigned_secret(key)) is not None:
        yield _secret(f"'{name[:80]}'", node)
    elif _looks_secret(unquoted(key)):
        yield _secret("a key", node)


def _of_text(node: YamlScalar, text: str, keys: tuple[str, ...]) -> Iterator[Fault]:
    is_sent = bool({"body", "headers", "path"} & {*keys})
    pairs = [(keys, text), *(((unquoted(name),), value) for name, value in _ASSIGNED.findall(text))]
    named = is_sent and any(_is_of_a_host(names, value) for names, value in pairs)
    if named or _names_address(text):
        yield _host(node)
    elif is_sent and (name := assigned_secret(text)) is not None:
        yield _secret(f"'{name[:80]}'", node)
    elif keys[-1:] == ("path",) and secret_part(text) is not None:
        yield _secret("a part of the path", node)
    elif keys == ("token", "prefix") and _holds_more_than_a_scheme(text):
        yield Fault(
            "`prefix` would hold a secret: a pull request could read and change it here.",
            node.location,
            "Write only what precedes the token, such as 'Bearer ', and give all of the token with --bot-token.",
        )


def _names_address(text: str) -> bool:
    """Whether a string, or a value that it assigns, contains an address."""
    return names_address((text, *(value for _, value in _ASSIGNED.findall(text))))


def _is_of_a_host(keys: tuple[str, ...], value: Any) -> bool:
    return is_host_alone(keys, value) or (is_of_host(keys) and is_host(value))


def _host(node: YamlNode) -> Fault:
    return Fault(
        "a host cannot be named here: a pull request could change it.",
        node.location,
        "Give the bot's address with --bot-url, and here only paths below it.",
    )


def _secret(what: str, node: YamlNode) -> Fault:
    return Fault(f"{what} would be a secret: a pull request could read and change it here.", node.location, _HINT)


def _looks_secret(text: str) -> bool:
    written = PLACEHOLDER.sub("", text)
    return _SECRET_VALUE.match(written) is not None or _is_login(written)


def _is_login(text: str) -> bool:
    """Whether a text is a login as a header has it; ``Basic plan`` is none."""
    match = _BASIC.fullmatch(text)
    try:
        return match is not None and b":" in urlsafe_b64decode(f"{match[1]}==")
    except Base64Error:
        return False


def _holds_more_than_a_scheme(prefix: str) -> bool:
    r"""Whether there is more than a word, or ``Token token=``; or a word that looks like a secret itself."""
    first, *more = prefix.split() or [""]
    return (
        len(more) > 1
        or any(not word.endswith(("=", ":", '"')) for word in more)
        or any(_looks_secret(word) for word in (first, *more, prefix))
    )
