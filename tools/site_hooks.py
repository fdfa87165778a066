"""What the documentation site does beside mkdocs: links to files outside docs/ lead to the repository."""

from __future__ import annotations

import re
from typing import Any

REPOSITORY = "https://github.com/turncheck/turncheck/blob/main/"

_CODE_OR_OUTSIDE = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`)|\]\(\.\./(?P<target>[^)\s]+)\)", re.DOTALL | re.MULTILINE
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text with absolute addresses for what is not part of the site. Code stays as it is."""
    return _CODE_OR_OUTSIDE.sub(_absolute, markdown)


def _absolute(match: re.Match[str]) -> str:
    return match[0] if match["code"] else f"]({REPOSITORY}{match['target']})"
