"""Findings as SARIF 2.1.0, for code scanning.

GitHub rejects a log of more than 25,000 results or rules, or of more than 10 MB packed. Of what it accepts it shows
5,000 results, 100 locations of each, and 10 tags of a rule; no log has more than it shows. The least severe findings
are left out, and the log says how many. Source:
https://docs.github.com/code-security/code-scanning/troubleshooting-sarif-uploads/results-exceed-limit
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.finding import MANUAL_AT, SEVERITIES, Finding, Location, Severity
from turncheck.messages.plain_text import without_controls
from turncheck.render.annotations import Level, find_remarks
from turncheck.render.assistants import comment_key
from turncheck.render.links import RootedPaths, places_of_findings, repository_path
from turncheck.render.rendered import Rendered
from turncheck.render.rule_text import RuleText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.render.assistants import Assistants
    from turncheck.report.model import Report


NAME: Final = "findings.sarif"
MEDIA_TYPE: Final = "application/sarif+json"
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS: Final = 5_000
MOST_BYTES: Final = 9_500_000
"""Size of the log as it is sent, compressed by gzip; GitHub accepts 10 MB, and compressors differ."""
_LONGEST_MESSAGE: Final = 4_000
_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_OF_LEVELS: Final[Mapping[Level, Severity]] = {"error": "error", "warning": "warning", "notice": "info"}


TEST_RULES: Final[Mapping[str, RuleText]] = {
    "failed-story": RuleText("A test story fails", "A step of a test story is not predicted.", "error", False),
    "failed-end-to-end-case": RuleText(
        "An end-to-end case fails", "A step is not what the case expects.", "error", False
    ),
    "failed-batch-case": RuleText("A batch case fails", "An utterance is not understood as expected.", "error", False),
    "misunderstood-sentence": RuleText(
        "A sentence of a test is misunderstood",
        "It is understood differently than written; as written, the test passes.",
        "warning",
        False,
    ),
    "cause": RuleText(
        "A change makes a test fail", "Without it the test passes: it was taken back and tried.", "error", False
    ),
    "misclassified-sentence": RuleText(
        "A sentence is newly misclassified", "On the base, its intent was recognised.", "warning", False
    ),
}
"""What a run reports about tests, besides findings."""


class _Part(Struct, frozen=True):
    """The findings of one assistant, in the order in which they are written; ``root`` is its path in the repository.

    ``key``: what tells it from others of the repository: GitHub's category, in which an upload replaces an earlier one;
    "" for the tool's only one.
    """

    findings: Sequence[Finding]
    root: str
    key: str


def run_sarif(assistants: Assistants, rules: Mapping[str, RuleText], version: str) -> Rendered:
    """Return a SARIF log of everything that a run found: findings, failed tests, misunderstood sentences.

    Each assistant has a run, in the category that it has alone: GitHub accepts a file with several runs of one tool
    only if each has a category of its own.
    """
    parts = [
        _Part(_results(run.report, run.comparison), run.report.project.root, comment_key(run.report))
        for run in assistants.runs
    ]
    return _rendered(parts, {**rules, **TEST_RULES}, version)


def _results(report: Report, comparison: Comparison | None) -> list[Finding]:
    findings = report.validation.findings if report.validation else ()
    of_tests = [
        Finding(remark.kind, _OF_LEVELS[remark.level], remark.text, remark.location)
        if remark.kind == "misclassified-sentence"
        else Finding(remark.kind, _OF_LEVELS[remark.level], f"{remark.title}: {remark.text}", remark.location)
        for remark in find_remarks(report, comparison)
        if remark.kind in TEST_RULES
    ]
    return [*findings, *of_tests]


def findings_sarif(
    findings: Sequence[Finding],
    rules: Mapping[str, RuleText],
    root: str,
    version: str,
    *,
    key: str = "",
    line_hash: Callable[[Location], str | None] = lambda _: None,
    say: Callable[[str], object] = lambda _: None,
) -> Rendered:
    """Return a SARIF log with one run, within what GitHub accepts and shows.

    Args:
        findings: in the order in which they are written.
        rules: the text of each code; a code without one is explained by its name.
        root: the project's path in its repository, "" at its top.
        version: turncheck's own.
        key: the category; "" for the tool's only one.
        line_hash: the hash by which GitHub recognises the line of a place (:mod:`turncheck.render.sarif`).
        say: called with what was left out.
    """
    return _rendered([_Part(findings, root, key)], rules, version, line_hash=line_hash, say=say)


def _rendered(
    parts: Sequence[_Part],
    rules: Mapping[str, RuleText],
    version: str,
    *,
    line_hash: Callable[[Location], str | None] = lambda _: None,
    say: Callable[[str], object] = lambda _: None,
) -> Rendered:
    most = MOST_RESULTS
    while True:
        kept = [replace(part, findings=_worst(part.findings, most)) for part in parts]
        notes = [_left_out(len(part.findings), len(rest.findings)) for part, rest in zip(parts, kept, strict=True)]
        runs = [_run(rest, rules, version, note, line_hash) for rest, note in zip(kept, notes, strict=True)]
        content = (
            json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}, ensure_ascii=False, indent=2) + "\n"
        )
        size = len(gzip.compress(content.encode("utf-8", "replace"), compresslevel=6))
        longest = max((len(rest.findings) for rest in kept), default=0)
        if size <= MOST_BYTES or not longest:
            break
        most = min(longest - 1, longest * MOST_BYTES // size)
    for note in filter(None, notes):
        say(note)
    return Rendered(NAME, MEDIA_TYPE, content)


def _run(
    part: _Part,
    rules: Mapping[str, RuleText],
    version: str,
    note: str,
    line_hash: Callable[[Location], str | None],
) -> dict[str, Any]:
    rooted = RootedPaths(part.root, places_of_findings(part.findings))
    used = sorted({finding.code for finding in part.findings})
    results = [
        _result(
            replace(finding, message=rooted.text(finding.message)),
            used,
            part.root,
            line_hash(finding.location),
            fingerprint,
        )
        for finding, fingerprint in zip(part.findings, _fingerprints(part.findings, part.root), strict=True)
    ]
    notification = {"level": "warning", "message": {"text": note}}
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": [notification]}
    return {
        "tool": {
            "driver": {
                "name": "turncheck",
                "fullName": f"turncheck {version}",
                "semanticVersion": version,
                "informationUri": "https://github.com/turncheck/turncheck",
                "rules": [_rule(code, rules.get(code) or RuleText(code, code, "warning")) for code in used],
            }
        },
        **({"automationDetails": {"id": f"turncheck/{part.key}/"}} if part.key else {}),
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The top of the repository."}}},
        **({"invocations": [invocation]} if note else {}),
        "results": results,
    }


def _worst(findings: Sequence[Finding], most: int) -> list[Finding]:
    """The worst of the findings, at most this many, in their original order."""
    ranked = sorted(range(len(findings)), key=lambda index: SEVERITIES.index(findings[index].severity))
    return [findings[index] for index in sorted(ranked[:most])]


def _left_out(found: int, kept: int) -> str:
    if kept == found:
        return ""
    return (
        f"{found - kept:,} of {found:,} findings were left out, the least severe ones: "
        f"GitHub shows {MOST_RESULTS:,} results of at most 10 MB. `--format json` has them all."
    )


def _rule(code: str, text: RuleText) -> dict[str, Any]:
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in code.split("-")),
        "shortDescription": {"text": f"{text.title}."},
        "fullDescription": {"text": f"{text.title}."},
        "help": {"text": text.help, "markdown": text.help},
        **({"helpUri": f"{MANUAL_AT}#{code}"} if text.in_manual else {}),
        "defaultConfiguration": {"level": _LEVELS[text.severity]},
        "properties": {"tags": ["chatbot", "validation" if text.in_manual else "test"]},
    }


def _result(
    finding: Finding, used: Sequence[str], root: str, line_hash: str | None, fingerprint: str
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": used.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": _shortened(finding.message)},
        "partialFingerprints": {
            **({"primaryLocationLineHash": line_hash} if line_hash else {}),
            "turncheck/v1": fingerprint,
        },
    }
    path = repository_path(root, finding.location)
    if path is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(path, errors="replace"), "uriBaseId": "SRCROOT"}}
        # If only the file is known, use its first line: code scanning requires a region.
        region = {"startLine": max(1, finding.location.line or 1)}
        if finding.location.line is not None and finding.location.column is not None:
            region["startColumn"] = max(1, finding.location.column)
        physical["region"] = region
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _shortened(text: str) -> str:
    shown = without_controls(text)
    return shown if len(shown) <= _LONGEST_MESSAGE else f"{shown[: _LONGEST_MESSAGE - 1]}…"


def _fingerprints(findings: Iterable[Finding], root: str) -> list[str]:
    """Fingerprints that survive moved lines: code, file, message, and which of several alike it is."""
    seen: Counter[tuple[str, ...]] = Counter()
    fingerprints = []
    for finding in findings:
        identity = (finding.code, root, finding.location.path, finding.message)
        of_its_kind = (str(seen[identity]),) if seen[identity] else ()
        seen[identity] += 1
        content = "\0".join((*identity, *of_its_kind)).encode("utf-8", "replace")
        fingerprints.append(hashlib.sha256(content).hexdigest()[:32])
    return fingerprints


# The hash by which GitHub's code scanning recognises a line that has moved.
#
# Source: github/codeql-action, ``src/fingerprints.ts``. The hash of a line covers the 100 characters (UTF-16 code
# units) from its start on: blanks and tabs are omitted, line ends are line feeds, and the last character is followed
# by 65535 and zeros. It is their polynomial in 37 modulo 2⁶⁴, in hexadecimal, followed by a number: lines with the
# same hash count from 1.

_BLOCK: Final = 100
_FACTOR: Final = 37
_MASK: Final = 2**64 - 1
_OUT_OF_BLOCK: Final = pow(_FACTOR, _BLOCK, 2**64)
_END_OF_FILE: Final = 0xFFFF
_LINE_FEED: Final = 0x0A
_BLANKS: Final = {ord(" "): None, ord("\t"): None}
_UTF_16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def line_hashes(content: bytes) -> list[str]:
    """Return the hash of each line of a file, ``a7f2ff13bc495cf2:1``. Bytes that are not UTF-8 count as replaced."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").translate(_BLANKS)
    units = array("H", f"\n{text}".encode(_UTF_16))  # a line begins after a line feed: so does the first
    units.append(_END_OF_FILE)
    zeros = array("H", bytes(2 * _BLOCK))
    lines: Counter[int] = Counter()
    hashes = []
    value = 0
    for gone, come in zip(zeros + units[:-1], units + zeros[1:], strict=True):
        value = (value * _FACTOR + come - gone * _OUT_OF_BLOCK) & _MASK
        if gone == _LINE_FEED:
            lines[value] += 1
            hashes.append(f"{value:x}:{lines[value]}")
    return hashes
