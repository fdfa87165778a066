"""Finding the baseline; each answer says how it was found, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from turncheck.comparison.baseline import Baseline, Missing, Present, Unreadable
from turncheck.errors import UserError
from turncheck.report.codec import MAX_BYTES, decode

_TIMEOUT: Final = 30.0
_REMEDY: Final = "Give a report.json that `turncheck run` wrote."
_CHUNK: Final = 1024 * 1024


def read_baseline(setting: str) -> Baseline:
    """Read the baseline that a path or an https address names; ``none`` is nobody's.

    Raises:
        UserError: a path that is not there or holds no report, or an address that is not https. A file that somebody
            names is theirs to mend; an address may be out of order without their doing.
    """
    if setting == "none":
        return Missing("switched off (`baseline: none`)")
    if setting.lower().startswith("https://"):
        return _from_address(setting)
    if "://" in setting:
        raise UserError(f"baseline: only https addresses are read, not {setting!r}")
    return _from_file(Path(setting))


def _from_file(path: Path) -> Baseline:
    if path.is_dir():
        path = path / "report.json"
    if not path.is_file():
        raise UserError(f"baseline: no such file: {path}", remedy=_REMEDY)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        report = decode(content, name=str(path))
    except OSError as error:
        raise UserError(f"baseline: {path} cannot be read: {error.strerror or error}") from None
    except UserError as error:
        raise UserError(f"baseline: {error.what}", remedy=error.remedy or _REMEDY) from None
    return Present(report, "file", report.source.commit, report.source.run_id)


def _from_address(address: str) -> Baseline:
    import requests  # noqa: PLC0415 - only where something is fetched

    try:
        with requests.get(address, stream=True, timeout=_TIMEOUT) as response:
            if not response.url.lower().startswith("https://"):
                return Unreadable("the address redirects to one that is not https")
            if response.status_code in {404, 410}:
                return Missing(f"the address answers {response.status_code}")
            if response.status_code != 200:
                return Unreadable(f"the address answers {response.status_code}")
            content = bytearray()
            for chunk in response.iter_content(_CHUNK):
                content += chunk
                if len(content) > MAX_BYTES:
                    return Unreadable(f"it is larger than {MAX_BYTES // 2**20} MiB")
    except requests.RequestException as error:
        return Unreadable(f"the address cannot be fetched ({type(error).__name__})")
    try:
        report = decode(bytes(content), name="the baseline")
    except UserError as error:
        return Unreadable(error.what)
    return Present(report, "url", report.source.commit, report.source.run_id)
