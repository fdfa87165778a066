"""Reports out of archives that anybody may have made."""

from __future__ import annotations

import io
import zipfile

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from report_builder import report

from turncheck.ci import earlier_reports as archived_reports
from turncheck.ci.earlier_reports import BadArchiveError, is_ours, read_reports
from turncheck.report.codec import encode

CONTENT = encode(report())


def packed(*files: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return io.BytesIO(buffer.getvalue())


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = 0o120777 << 16
    return entry


def test_reports_are_found_with_the_baselines_beside_them() -> None:
    base = encode(report(commit="1" * 40))
    archive = packed(("a/report.json", CONTENT), ("a/baseline.json", base), ("b/report.json", CONTENT), ("x.txt", b"x"))

    found = list(read_reports(archive))

    assert [one.report for one in found] == [report(), report()]
    assert [one.baseline for one in found] == [report(commit="1" * 40), None]


def test_an_archive_without_a_report_holds_none() -> None:
    assert list(read_reports(packed(("plots/matrix.png", b"x")))) == []


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (packed(("../report.json", CONTENT)), "leads out"),
        (packed(("/report.json", CONTENT)), "leads out"),
        (packed(("a\\..\\report.json", CONTENT)), "leads out"),
        (packed(("report.json", CONTENT), ("../../etc/passwd", b"x")), "leads out"),
        (packed((link("report.json"), b"/etc/passwd")), "link"),
        (packed(("report.json", b"{}")), "not a report"),
        (packed(("report.json", b'{"schema": "turncheck/report/v9"}')), "schema"),
        (packed(("report.json", CONTENT), method=zipfile.ZIP_LZMA), "compressed"),
        (packed(*[(f"{n}/report.json", CONTENT) for n in range(51)]), "more than 50"),
        (io.BytesIO(b""), "not a zip"),
        (io.BytesIO(b"PK\x03\x04 and no more"), "not a zip"),
        (io.BytesIO(CONTENT), "not a zip"),
        (io.BytesIO(packed(("report.json", CONTENT)).getvalue()[:-30]), "not a zip"),
    ],
)
def test_tricks_are_refused(archive: io.BytesIO, why: str) -> None:
    with pytest.raises(BadArchiveError, match=why):
        list(read_reports(archive))


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        archive = packed(("report.json", CONTENT), ("report.json", CONTENT))

    with pytest.raises(BadArchiveError, match="twice"):
        list(read_reports(archive))


def test_a_bomb_is_put_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived_reports, "MAX_BYTES", 1_000_000)

    with pytest.raises(BadArchiveError, match="larger"):
        list(read_reports(packed(("report.json", b" " * 5_000_000))))


def test_many_small_values_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(archived_reports, "MOST_VALUES", 1_000)

    with pytest.raises(BadArchiveError, match="1,000") as refused:
        list(read_reports(packed(("report.json", b"[" + b"[]," * 600))))
    golden(refused.value)


def test_a_size_that_is_a_lie_is_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived_reports, "MAX_BYTES", 1_000_000)
    raw = bytearray(packed(("report.json", b" " * 5_000_000)).getvalue())
    directory = raw.rindex(b"PK\x01\x02")
    raw[directory + 24 : directory + 28] = (100).to_bytes(4, "little")

    with pytest.raises(BadArchiveError):
        list(read_reports(io.BytesIO(bytes(raw))))


def test_a_directory_of_very_many_names_is_not_even_read() -> None:
    raw = bytearray(packed(("report.json", CONTENT)).getvalue())
    end = raw.rindex(b"PK\x05\x06")
    raw[end + 12 : end + 16] = (0x7FFFFFFF).to_bytes(4, "little")

    with pytest.raises(BadArchiveError, match="more than"):
        list(read_reports(io.BytesIO(bytes(raw))))


@given(st.binary(max_size=400), st.integers(0, 600))
def test_damage_is_never_more_than_a_bad_archive(noise: bytes, at: int) -> None:
    raw = bytearray(packed(("report.json", CONTENT), ("a/report.json", CONTENT)).getvalue())
    at = at * len(raw) // 600
    raw[at : at + len(noise)] = noise
    try:
        found = list(read_reports(io.BytesIO(bytes(raw))))
    except BadArchiveError:
        return
    assert all(one.report == report() for one in found)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("turncheck", True),
        ("turncheck-2", True),
        ("turncheck-bots-a", True),
        ("turncheck-plots", False),
        ("turn", False),
        ("turnchecker", False),
    ],
)
def test_an_artifact_is_known_by_how_its_name_begins(name: str, ours: bool) -> None:
    assert is_ours(name, "turncheck") == ours
