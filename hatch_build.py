"""The package's page: README.md with absolute addresses, since a package index has none of the repository's files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "https://github.com/turncheck/turncheck"
PAGES = f"{REPOSITORY}/blob/main/"
FILES = "https://raw.githubusercontent.com/turncheck/turncheck/main/"

_CODE_OR_TARGET = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`)"
    r"|(?P<before>(?P<picture>!)?\[(?:[^][]|\[[^][]*\])*\]\(|(?P<attribute>src|href)=\")(?P<target>[^)\s\"]*)",
    re.DOTALL | re.MULTILINE,
)


def with_absolute_addresses(text: str) -> str:
    """Return Markdown whose links and pictures lead to the repository, whatever page it is shown on. Code stays."""
    return _CODE_OR_TARGET.sub(_absolute, text)


def _absolute(match: re.Match[str]) -> str:
    target = match["target"]
    if match["code"] or re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
        return match[0]
    if target.startswith("#"):
        return f"{match['before']}{REPOSITORY}{target}"
    base = FILES if match["picture"] or match["attribute"] == "src" else PAGES
    return f"{match['before']}{base}{target.removeprefix('./').removeprefix('/')}"


class PageHook(MetadataHookInterface):
    """Makes the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme``."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_addresses(text)}
