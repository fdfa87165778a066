"""How a host or an address can be written in what a bot is sent, so that some server or library would call it.

Servers decode what they are sent in many ways, often more than once; what any of them would read as a host is one here.
"""

from __future__ import annotations

import html
import re
import unicodedata
from base64 import b64decode
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from turncheck.settings.bot_placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OF_SERVERS: Final = (
    r"https?|wss?|hxxps?|t?ftps?|sftp|scp|ssh|telnet|rlogin|gopher|dict|ldap[si]?|smb|cifs|nfs|afp|(?:web)?davs?|svn|git|hg"
    r"|bzr|rsync|imaps?|pop3s?|smtps?|nntps?|ircs?|xmpp|sips?|rts?p|rtmps?|mms[tu]?|rediss?|mongodb|mysql|mariadb"
    r"|postgres(?:ql)?|jdbc|odbc|amqps?|mqtts?|memcached?|kafka|nats|s3[an]?|gc?s|abfss?|wasbs?|adl|(?:web)?hdfs|jndi|rmi"
    r"|iiop(?:name)?|corba(?:loc|name)?|dns|tcp|udp|grpcs?|xds|net\.(?:tcp|pipe)|vsock|docker|ipfs|ipns|magnet"
)
"""Schemes that lead to a server, also with fewer slashes than they ought to have, or with none."""
_OF_THE_MACHINE: Final = (
    r"file|unix|npipe|netdoc|jrt|jar|classpath|phar|php|compress\.\w+|view-source|blob|filesystem|javascript|vbscript"
    r"|livescript|chrome(?:-extension)?|moz-extension|ms-[a-z-]{1,40}|ur[il]"
)
"""Schemes of what a machine has or runs, and of what holds another address."""
_ADDRESS: Final = re.compile(
    rf"[A-Za-z0-9+.-]://|(?<![A-Za-z0-9])(?i:{_OF_SERVERS}|{_OF_THE_MACHINE}):(?!\d{{0,5}}(?:\s|$))\S"
    r"|(?<![A-Za-z0-9])(?i:data):(?:[\w.+-]+/[\w.+-]+)?(?:;[^\s,;:]+)*,|^\s*[/\\]{2}"
)
"""Many words before a colon are no schemes (``order:1001``, ``whatsapp:+49…``); data has a comma."""
_NUMBER: Final = r"(?:0x[0-9a-f]+|\d+)"
_BYTES: Final = rf"{_NUMBER}(?:\.{_NUMBER}){{1,3}}\.?|0x[0-9a-f]+|\d{{8,10}}|0\d{{8,11}}"
"""A number is one of all four bytes of an address, or of its last ones (``127.1``, ``0x7f000001``)."""
_NAME: Final = r"(?:(?:[\w-]+\.)+(?:[^\W\d_]{2,}|xn--[\w-]+)|localhost)"
_WITH_PORT: Final = re.compile(
    rf"\s*(?:(?:[^\s/@]+@)?(?:{_NAME}\.?|(?:\d{{1,3}}\.){{3}}\d{{1,3}}|\[[\da-f:.]*:[\da-f:.]*\]|(?:{_BYTES})(?=:\d\d))"
    rf"|[^\s/@]+@[\w.-]+|{_OF_SERVERS}):\d{{1,5}}(?:[/\\?#]\S*)?\s*|\s*[^\s/@:]+@[\w.-]+:\S+\s*",
    re.IGNORECASE,
)
"""Nothing but a host has a port, whatever its key is called; ``2.35:1`` is a ratio, ``git@host:path`` of SSH."""
_WITH_SCHEME: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:\S")
_LEFT_OUT: Final = re.compile(r"[\x00-\x1f\x7f]")
"""What they leave out of an address."""
_NOT_SEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What international names leave out, besides marks of formatting (Unicode's ``Default_Ignorable_Code_Point``)."""
_DOTS: Final = re.compile("[\u3002\uff0e\uff61]")
"""What separates the labels of an international name besides the dot (RFC 3490)."""
_ESCAPED: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|[\\%]u(?:([0-9A-Fa-f]{4})|\{0*([0-9A-Fa-f]{1,5})\})")
"""A character of JSON or JavaScript, and as IIS decodes it."""
_HOST: Final = re.compile(
    rf"\s*(?P<user>[^\s/]*@)?(?:(?P<name>{_NAME})\.?|{_BYTES}"
    r"|\[[^\s\[\]/]*:[^\s\[\]/]*\]|[\w-]+(?=:\d)|[\w-]+\.|[\w-]+(?=[/\\]))"
    r"(?P<more>(?::\d{1,5})?(?:[/\\?#]\S*)?)\s*",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
    r"(?i:html?|json|txt|png|jpe?g|gif|svg|webp|ico|pdf|xml|css|csv|js|php|ya?ml|mp3|mp4|wav|ogg)"
)
"""The ends of names of files that no host has."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OF_HOSTS: Final = re.compile(
    r"(?:\w*(?:ur[il]|hook|callback|endpoint|hostname)|(?:\w{3,})?host|server|proxy|origin|href|redirect)s?"
)
"""The last word of a key whose value is a host or an address."""
_HOSTS_ALONE: Final = frozenset({"host", "hostname", "url", "uri"})
"""Keys whose value is a host whatever it looks like (``intranet``, ``2130706433``), unless it is a path."""
_OF_VALUES: Final = frozenset({"value", "address", "name", "target"})
_SCHEME: Final = re.compile(rf"(?:{_OF_SERVERS})(?::/{{0,2}})?", re.IGNORECASE)
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_AS_USUAL: Final = str.maketrans("-_", "+/")
_MOST_DECODINGS: Final = 10


def names_address(texts: Iterable[str]) -> bool:
    """Whether one of these strings contains an address, or is a host with a port, however it is encoded."""
    forms = (form for text in texts for form in _forms(PLACEHOLDER.sub("x", text)))
    return any(_ADDRESS.search(form) or _WITH_PORT.fullmatch(form) for form in forms)


def is_of_host(keys: tuple[str, ...]) -> bool:
    """Whether such keys, the innermost last, name a host or an address: ``callbackUrl``, ``host: {name: …}``."""
    words = [word.lower() for key in keys[-2:] for word in _WORDS.findall(key)]
    if words and words[-1] in _OF_VALUES:
        words.pop()
    elif not _WORDS.findall(keys[-1]):
        return False
    return bool(words) and _OF_HOSTS.fullmatch(words[-1]) is not None


def is_host_alone(keys: tuple[str, ...], value: Any) -> bool:
    """Whether the innermost key is that of a host, and its value a string or number, but no path or placeholder."""
    if keys[-1].lower() not in _HOSTS_ALONE or value is None or isinstance(value, bool):
        return False
    text = plainly(str(value)).strip()
    return bool(PLACEHOLDER.sub("", text)) and not text.startswith("/")


def has_scheme(values: Iterable[Any]) -> bool:
    """Whether a map with these values describes an address in parts: ``{scheme: https, domain: …}``."""
    return any(isinstance(value, str) and _SCHEME.fullmatch(plainly(value).strip()) for value in values)


def is_host(value: Any) -> bool:
    """Whether a string or number is a host, perhaps with a port and a path, or begins with any scheme.

    An e-mail address or a file name is none.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return any(map(_is_plain_host, _forms(PLACEHOLDER.sub("x", str(value)))))


def unquoted(text: str) -> str:
    """Return a text as a server may read it that percent-decodes it more than once; none does so ten times."""
    for _ in range(_MOST_DECODINGS):
        if (decoded := unquote(text)) == text:
            break
        text = decoded
    return text


def plainly(text: str) -> str:
    """Return a text as a server may read it that decodes it more than once."""
    for _ in range(_MOST_DECODINGS):
        decoded = _ESCAPED.sub(
            lambda match: chr(int(match[1] or match[2] or match[3], 16)), html.unescape(unquote(text))
        )
        if decoded == text:
            break
        text = decoded
    kept = "".join(one for one in _NOT_SEEN.sub("", text) if unicodedata.category(one) != "Cf")
    return _DOTS.sub(".", unicodedata.normalize("NFKC", kept))


def _forms(text: str) -> Iterator[str]:
    """Yield what a string may be read as: itself, without what is left out of addresses, and what it encodes."""
    for plain in (plainly(text), *map(plainly, _decoded(text))):
        yield plain
        yield _LEFT_OUT.sub("", plain)


def _decoded(text: str) -> Iterator[str]:
    """Yield what runs of a string are in base64 or in hexadecimal digits."""
    for packed in _ENCODED.findall(text):
        for decode in (_of_base64, bytes.fromhex):
            with suppress(ValueError):  # also what is not UTF-8
                if (content := decode(packed).decode()).isprintable():
                    yield content


def _of_base64(packed: str) -> bytes:
    return b64decode(packed.translate(_AS_USUAL) + "=" * (-len(packed) % 4), validate=True)


def _is_plain_host(text: str) -> bool:
    if _is_ip_address(text) or _WITH_SCHEME.match(text):
        return True
    match = _HOST.fullmatch(text)
    if match is None:
        return False
    user = (match["user"] or "").strip("@")
    if user and ":" not in user and not match["more"]:
        return False
    return _FILE.fullmatch((match["name"] or "").rpartition(".")[2]) is None


def _is_ip_address(text: str) -> bool:
    """Whether a string is one of version 6 without brackets, perhaps with a path."""
    try:
        return ":" in text and ip_address(re.split(r"[/\\%?#]", text.strip(), maxsplit=1)[0]).version == 6
    except ValueError:
        return False
