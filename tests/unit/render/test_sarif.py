"""SARIF: what GitHub accepts of it, and by what it knows a finding again."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.commands.validate import Request, line_hash_below, run_data_validate
from turncheck.messages.finding import Finding, Location, Severity
from turncheck.render.sarif import MOST_RESULTS, findings_sarif, line_hashes


def findings(number: int, severity: Severity, message: str = "Bad.") -> list[Finding]:
    return [Finding("code", severity, message, Location("data/nlu.yml", line, 1)) for line in range(1, number + 1)]


def log_of(found: list[Finding]) -> tuple[dict[str, Any], str, list[str]]:
    said: list[str] = []
    content = findings_sarif(found, {}, "bots/bank", "1.0", say=said.append).content
    assert isinstance(content, str)
    run: dict[str, Any] = json.loads(content)["runs"][0]
    return run, content, said


@pytest.mark.parametrize(
    ("content", "hashes"),
    [
        (b"", ["c129715d7a2bc9a3:1"]),
        (b" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
        (
            b" hello; \t\r\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
            [
                *("e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1", "ce8ba1a563dcdaca:1", "e20e36e16fcb0cc8:1"),
                *("b3edc88f2938467e:1", "c8e28b0b4002a3a0:1", "c129715d7a2bc9a3:1"),
            ],
        ),
        (
            b"Lorem ipsum dolor sit amet.\n" * 10,
            [
                *(f"a7f2ff13bc495cf2:{number}" for number in range(1, 7)),
                *("a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1", "55ec222b86bcae53:1", "cc97dc7b1d7d8f7b:1"),
                "c129715d7a2bc9a3:1",
            ],
        ),
    ],
)
def test_lines_have_the_hashes_that_githubs_own_action_gives_them(content: bytes, hashes: list[str]) -> None:
    assert line_hashes(content) == hashes


@given(st.binary(max_size=300))
def test_every_line_has_a_hash_of_its_own(content: bytes) -> None:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    hashes = line_hashes(content)

    assert len(hashes) == text.count("\n") + 1
    assert len(set(hashes)) == len(hashes)
    assert all(0 <= int(one.partition(":")[0], 16) < 2**64 for one in hashes)


@given(st.text(max_size=60), st.lists(st.sampled_from(["# note\n", "\n", "  - x\n"]), max_size=4))
def test_a_line_keeps_its_hash_when_it_moves(line: str, above: list[str]) -> None:
    below = "".join(f"- sentence number {number}\n" for number in range(10))
    moved = line_hashes(f"{''.join(above)}unique {line}\n{below}".encode("utf-8", "replace"))

    assert line_hashes(f"unique {line}\n{below}".encode("utf-8", "replace"))[0] in moved


def test_a_finding_has_githubs_fingerprint_beside_our_own(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text('version: "3.1"\nintents: [a]\nactions: [x, x]\n')
    output = io.StringIO()
    run_data_validate(Request(project=tmp_path, strict=True), output_format="sarif", output=output)
    hashes = line_hashes((tmp_path / "domain.yml").read_bytes())

    results = json.loads(output.getvalue())["runs"][0]["results"]
    at_lines = [
        one for one in results if one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "domain.yml"
    ]
    assert at_lines
    for one in at_lines:
        line = one["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert one["partialFingerprints"]["primaryLocationLineHash"] == hashes[line - 1]
        assert one["partialFingerprints"]["turncheck/v1"]


@pytest.mark.parametrize("place", [Location(""), Location("gone.yml", 1), Location("a.yml", 9), Location("folder")])
def test_a_place_without_a_line_of_a_file_has_no_hash(place: Location, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("x")
    (tmp_path / "folder").mkdir()

    assert line_hash_below(tmp_path)(place) is None
    assert line_hash_below(tmp_path)(Location("a.yml")) is not None


@pytest.mark.slow
def test_of_too_many_findings_the_worst_are_kept_in_their_order_and_it_is_said(golden: Golden) -> None:
    found = findings(4_000, "info") + findings(3_000, "warning") + findings(1_500, "error")

    run, _, said = log_of(found)

    levels = [one["level"] for one in run["results"]]
    assert len(levels) == MOST_RESULTS
    assert (levels.count("error"), levels.count("warning"), levels.count("note")) == (1_500, 3_000, 500)
    assert levels[:500] == ["note"] * 500
    (note,) = said
    golden(note)
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == note


@pytest.mark.slow
def test_a_log_is_never_larger_than_github_takes() -> None:
    letters = np.random.default_rng(1).integers(0x4E00, 0x9FFF, (1_400, 5_000), dtype="<u2")  # 13 MB, compressed
    texts = [text.tobytes().decode("utf-16-le") for text in letters]
    found = [Finding("a", "info", text, Location("x.yml", 1)) for text in texts]
    found += [Finding("b", "error", text[::-1], Location("x.yml", 2)) for text in texts[:100]]

    run, content, said = log_of(found)

    assert len(gzip.compress(content.encode(), compresslevel=6)) < 10_000_000
    assert 500 < len(run["results"]) < 1_500
    assert sum(one["level"] == "error" for one in run["results"]) == 100
    assert said


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    run, _, said = log_of(findings(10, "warning"))

    assert len(run["results"]) == 10
    assert "invocations" not in run
    assert said == []


def test_findings_that_say_the_same_of_one_file_have_fingerprints_of_their_own() -> None:
    def fingerprints(found: list[Finding]) -> list[str]:
        log, _, _ = log_of(found)
        return [one["partialFingerprints"]["turncheck/v1"] for one in log["results"]]

    three = fingerprints(findings(3, "warning"))
    assert len(set(three)) == 3
    moved = [Finding("code", "warning", "Bad.", Location("data/nlu.yml", line + 7, 1)) for line in range(1, 4)]
    assert fingerprints(moved) == three
    assert fingerprints(findings(1, "warning")) == three[:1]
