"""The baseline that somebody names: a report in a file, or at an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.comparison.model import Missing, Present, Unreadable
from turncheck.messages.errors import UserError
from turncheck.report.codec import MAX_BYTES, decode
from turncheck.run.report_of import REPORT_NAME, read_report
from turncheck.web.addresses import HOW_TO_TRUST, is_https, is_untrusted, without_login

if TYPE_CHECKING:
    from turncheck.comparison.model import Baseline
    from turncheck.web.addresses import Network

_SECONDS: Final = 30.0
"""For fetching the whole report."""
_HINT: Final = "Give a report.json that `turncheck run` wrote."


def read_baseline(setting: str, network: Network) -> Baseline:
    """Read the baseline that a path or an https address names; ``none`` means no baseline.

    Raises:
        UserError: a path is missing or is not a report, or an address is not https. A file that somebody
            names is theirs to fix; an address may be down through no fault of theirs.
    """
    if setting == "none":
        return Missing("switched off (`baseline: none`)")
    if is_https(setting):
        return _from_address(setting, network)
    if "://" in setting:
        raise UserError(
            f"baseline: only https addresses are read, not {without_login(setting)!r}",
            hint="Write it as https://host/report.json, with special characters percent-encoded.",
        )
    return _from_file(Path(setting))


def _from_file(path: Path) -> Baseline:
    if path.is_dir():
        path = path / REPORT_NAME
    if not path.exists():
        branch = "" if path.suffix == ".json" else f" To compare with a branch: --base {path.as_posix()}"
        raise UserError(f"baseline: no such file: {path}", hint=f"{_HINT}{branch}")
    try:
        report = read_report(path)
    except UserError as error:
        raise UserError(f"baseline: {error.message}", hint=error.hint or _HINT) from None
    return Present(report, "file", report.source.commit, report.source.run_id)


def _from_address(address: str, network: Network) -> Baseline:
    import requests  # only if something is fetched
    from urllib3.exceptions import HTTPError

    from turncheck.web.exchange import AnswerTooLargeError, RedirectRefusedError, fetch

    try:
        status, content = fetch(address, network, seconds=_SECONDS, limit=MAX_BYTES)
    except RedirectRefusedError as error:
        return Unreadable(f"the address redirects to {error}")
    except AnswerTooLargeError as error:
        return Unreadable(f"it {error}")
    except requests.Timeout:
        return Unreadable(f"the address gave no complete answer within {_SECONDS:g} seconds")
    except (requests.RequestException, HTTPError) as error:
        if is_untrusted(error):
            return Unreadable(f"the certificate of the address is not trusted: {HOW_TO_TRUST}")
        return Unreadable(f"the address cannot be fetched ({type(error).__name__})")
    if status in {404, 410}:
        return Missing(f"the address answers {status}")
    if status != 200:
        return Unreadable(f"the address answers {status}")
    try:
        report = decode(content, name="the baseline")
    except UserError as error:
        return Unreadable(error.message)
    return Present(report, "url", report.source.commit, report.source.run_id)
