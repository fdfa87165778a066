"""skops files that are equal for equal content.

skops names its members by memory addresses (``140331792347376.npy``) and dates them by the clock. Here the names
are numbered in the order of the file and the date is fixed; skops reads the result as usual.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMA: Final = "schema.json"
_IDENTITY: Final = re.compile(r'"__id__": (\d+)')
_NUMBER: Final = re.compile(r"\d+")
_FIXED_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest date in a ZIP file."""


def dump(value: Any) -> bytes:
    """Return the value as a skops file."""
    from skops.io import dumps  # imports scikit-learn

    with ZipFile(BytesIO(dumps(value))) as source:
        members = {name: source.read(name) for name in source.namelist()}
    schema = members.pop(_SCHEMA).decode()
    counted = {name: str(number) for number, name in enumerate(dict.fromkeys(_IDENTITY.findall(schema)), start=1)}
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as packed:
        renamed = {_counted(name, counted): content for name, content in members.items()}
        for name in sorted(renamed):
            packed.writestr(ZipInfo(name, _FIXED_DATE), renamed[name], ZIP_DEFLATED)
        packed.writestr(ZipInfo(_SCHEMA, _FIXED_DATE), _counted(schema, counted), ZIP_DEFLATED)
    return target.getvalue()


def _counted(text: str, counted: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda found: counted.get(found.group(), found.group()), text)
