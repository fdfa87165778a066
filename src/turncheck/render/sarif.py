"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from turncheck.finding import MANUAL_AT
from turncheck.render.links import repository_path
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.finding import Finding, Severity

MEDIA_TYPE: Final = "application/sarif+json"
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}


@dataclass(frozen=True, slots=True)
class RuleText:
    """What the manual says about a code: a title, an explanation in Markdown, and the severity it has by itself."""

    title: str
    help: str
    severity: Severity


def findings_sarif(findings: Sequence[Finding], rules: Mapping[str, RuleText], root: str, version: str) -> Rendered:
    """Return a SARIF log with one run.

    Args:
        findings: in the order in which they shall stand.
        rules: the text of each code; a code without one explains itself by its name.
        root: the project's path in its repository, "" at its top.
        version: turncheck's own.
    """
    used = sorted({finding.code for finding in findings})
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "turncheck",
                        "fullName": f"turncheck {version}",
                        "semanticVersion": version,
                        "informationUri": "https://github.com/turncheck/turncheck",
                        "rules": [_rule(code, rules.get(code) or RuleText(code, code, "warning")) for code in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The top of the repository."}}},
                "results": [_result(finding, used, root) for finding in findings],
            }
        ],
    }
    return Rendered("findings.sarif", MEDIA_TYPE, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _rule(code: str, text: RuleText) -> dict[str, Any]:
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in code.split("-")),
        "shortDescription": {"text": f"{text.title}."},
        "fullDescription": {"text": f"{text.title}."},
        "help": {"text": text.help, "markdown": text.help},
        "helpUri": f"{MANUAL_AT}#{code}",
        "defaultConfiguration": {"level": _LEVELS[text.severity]},
        "properties": {"tags": ["chatbot", "validation"]},
    }


def _result(finding: Finding, used: Sequence[str], root: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": used.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "partialFingerprints": {"turncheck/v1": _fingerprint(finding, root)},
    }
    path = repository_path(root, finding.location)
    if path is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(path, errors="replace"), "uriBaseId": "SRCROOT"}}
        # Where only the file is known, its first line stands for it: code scanning wants a region.
        region = {"startLine": max(1, finding.location.line or 1)}
        if finding.location.line is not None and finding.location.column is not None:
            region["startColumn"] = max(1, finding.location.column)
        physical["region"] = region
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _fingerprint(finding: Finding, root: str) -> str:
    """Stays the same while lines move: code, file and message."""
    identity = "\0".join((finding.code, root, finding.location.path, finding.message))
    return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]
