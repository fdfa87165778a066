"""What Jenkins' plugin warnings-ng makes of a SARIF file, by the rules of its reader.

The plugin reads with ``SarifAdapter`` of jenkinsci/analysis-model, on ``SarifParser`` of tomasbjerre/violations-lib.
Both come from a Java registry, so these are their rules, not they: where they would fail this raises.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

SEVERITIES = {"error": "ERROR", "warning": "WARN"}


class Issue(NamedTuple):
    """One of the plugin's issues; two that are equal are shown once."""

    file: str
    line: int
    rule: str
    severity: str
    message: str


def issues(text: str) -> set[Issue]:
    """Return what the plugin would list.

    Raises:
        LookupError, TypeError: it would end with an exception.
    """
    found = set()
    for run in json.loads(text)["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        assert len({json.dumps(rule, sort_keys=True) for rule in rules}) == len(rules), "it keeps them as a set"
        for result in run["results"]:
            index = result.get("ruleIndex", -1)
            rule = next((one for one in rules if one["id"] == result["ruleId"]), {}) if index == -1 else rules[index]
            level = result.get("level") or rule.get("defaultConfiguration", {}).get("level")
            for location in result.get("locations") or [None]:
                file, line = _place(location, run)
                severity = SEVERITIES.get(level, "INFO")
                found.add(Issue(file, line, result["ruleId"], severity, _message(result["message"], rule)))
    return found


def _place(location: dict[str, Any] | None, run: dict[str, Any]) -> tuple[str, int]:
    if location is None:
        return "-", 0
    physical = location["physicalLocation"]
    artifact = physical["artifactLocation"]
    base = run.get("originalUriBaseIds", {}).get(artifact.get("uriBaseId"), {}).get("uri", "")
    path = urlsplit(f"{base}{artifact['uri']}").path  # as java.net.URI has it
    return unquote(path), physical.get("region", {}).get("startLine", 0)


def _message(message: dict[str, Any], rule: dict[str, Any]) -> str:
    said = message.get("markdown") or message["text"]
    short = rule.get("shortDescription", {}).get("text", "")
    head = ": ".join(part for part in (rule.get("id"), rule.get("name")) if part)
    return "\n\n".join(part for part in (head, short, "" if said in short else said) if part)
