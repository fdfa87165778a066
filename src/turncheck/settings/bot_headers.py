"""What a call of a bot may not set: headers of the connection, and what leads it to another host, path or method."""

from __future__ import annotations

import re
from typing import Final

_OF_THE_CONNECTION: Final = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "cookie"),
        *("keep-alive", "content-encoding", "content-location", "via", "forwarded", "destination", "location"),
    }
)
_ELSEWHERE: Final = re.compile(
    r"(?:x-)?(?:original|originating|rewrite|forwarded|forward|real|remote|proxy|accel|envoy|http|middleware)(?:-.*)?"
    r"|(?:.*-)?(?:method|method-override|client-ip)"
    r"|(?:(?:x|request|base|proxy)-)?(?:ur[il]|path|host|port|proto|protocol|scheme|server)"
    r"|x-.*-(?:ur[il]|path|host|scheme|override)"
)
"""What IIS, Symfony, Rails, Spring, ASP.NET, Next.js and the usual proxies go by instead of the request line."""
_METHOD: Final = re.compile(r"_+method_*|\W*http[_-]?method|.*method[_-]?override", re.IGNORECASE)


def leads_elsewhere(header: str) -> bool:
    """Whether a header may not be set; one with ``_`` is for CGI and WSGI the same as with ``-``."""
    name = re.sub(r"[^a-z0-9]+", "-", header.lower()).strip("-")
    return name in _OF_THE_CONNECTION or _ELSEWHERE.fullmatch(name) is not None


def replaces_method(name: str) -> bool:
    """Whether frameworks take a value of this name, in a query or a body, for the method of the call."""
    return _METHOD.fullmatch(name) is not None
