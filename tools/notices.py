"""Print the licences of all packages that are installed beside turncheck, as the image is delivered with them."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# What PEP 639 has below `licenses/`, and what older packages have beside their metadata or below the package.
LICENCE = re.compile(r"(?:^|/)(?:licen[cs]es?|copying|notice|authors)(?:[._-][^/]*)?$|/licenses/.+", re.IGNORECASE)
RULE = "=" * 100
HEAD = """\
Third-party software in the image of turncheck

The Python packages below are installed in /opt/turncheck. Python, git and the other Debian packages have their
notices in /usr/share/doc/*/copyright. The script of the page (report.html) is turncheck's own, with no other code.
"""


def notices(packages: Iterable[Distribution]) -> str:
    """Return the notices of packages, sorted by name.

    Raises:
        LookupError: a package says nothing of its licence.
    """
    ordered = sorted(packages, key=lambda found: found.name.lower())
    return f"\n{RULE}\n".join([HEAD, *map(_notice, ordered)]) + "\n"


def _notice(found: Distribution) -> str:
    texts = [f"--- {file.name}\n{text}" for file, text in _texts(found)]
    licence = _named(found)
    if not texts and not licence:
        raise LookupError(f"{found.name} {found.version} says nothing of its licence")
    head = f"{found.name} {found.version}\nLicence: {licence or 'see below'}\n{_home(found)}".rstrip()
    return "\n\n".join([head, *texts])


def _named(found: Distribution) -> str:
    classifiers = found.metadata.get_all("Classifier") or []
    classified = [value.rpartition(" :: ")[2] for value in classifiers if value.startswith("License ::")]
    free = _field(found, "License")
    return _field(found, "License-Expression") or ", ".join(classified) or (free if "\n" not in free else "")


def _field(found: Distribution, name: str) -> str:
    return str(found.metadata[name]).strip() if name in found.metadata else ""


def _home(found: Distribution) -> str:
    links = found.metadata.get_all("Project-URL") or []
    return _field(found, "Home-page") or next((link.partition(", ")[2] for link in links), "")


def _texts(found: Distribution) -> list[tuple[Path, str]]:
    files = [Path(str(found.locate_file(file))) for file in found.files or [] if LICENCE.search(str(file))]
    files = [file for file in files if file.suffix not in {".py", ".pyc", ".so"} and file.is_file()]
    return [(file, file.read_text("utf-8", errors="replace").strip()) for file in sorted(files)]


if __name__ == "__main__":
    print(notices(found for found in distributions() if found.name != "turncheck"), end="")
