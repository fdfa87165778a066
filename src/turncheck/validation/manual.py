"""The manual of all checks: docs/findings.md, `--explain CODE`, and the texts of SARIF's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.finding import MANUAL_AT
from turncheck.messages.phrasing import nearest
from turncheck.platforms.registry import parts
from turncheck.validation.catalogue import CHECKS, OWN_CHECKS, RASA_CHECKS
from turncheck.validation.catalogue_suites import CASE_CHECKS, QUARANTINE_CHECKS, SUITE_CHECKS
from turncheck.validation.checks import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.render.rule_text import RuleText
    from turncheck.validation.checks import Check

_PREFACE: Final = """\
# Findings

A finding is a fault, or something suspicious, in an assistant's files. This page explains every code, with wrong and
right examples; `turncheck data validate --explain CODE` prints a section of it. The page is made from
`turncheck.validation.catalogue`.

| section | found by |
|---|---|
| [Found by Rasa too](#found-by-rasa-too) | `data validate` and `run`, with levels and exit code of Rasa 3.6 |
| [turncheck's own](#turnchecks-own) | the same commands |
| [In end-to-end test cases](#in-end-to-end-test-cases) | `test e2e` and `run` |
| [In batch suites](#in-batch-suites) | `test batch` and `run` |
| [In flows (CALM)](#in-flows-calm) | `data validate` and `run` |
| [In the export of a Kore.ai assistant](#in-the-export-of-a-koreai-assistant) | `data validate` and `run` |

**Severity.** `data validate` shows turncheck's own findings as `info` (a few as warnings), and with `--strict` at the
severity given here. `run` and the action show those marked "always" at that severity, and all with `strict: true`.

**To suppress a finding**, write the comment `# turncheck: ignore CODE` on its line or on the line above (in Markdown
files `<!-- turncheck: ignore CODE -->`, anywhere); if it is about several places, at any of them. Several codes are
separated by commas. `ignore:` in `turncheck.yml`, a list of codes, counts for all files. What cannot be read at all
cannot be suppressed.

**Against a base**, `run`, the action and `report compare` know more. A name (of an intent, entity, slot, response,
action or form) that this change renamed or removed and that is still used is one error with all its places:
"'utter_hours' was renamed to 'utter_opening_hours' in this change; 5 uses keep the old name". Otherwise each finding
keeps the level given here, as it always does in `report.json`. A finding is new if the base has none of its code about
the same: other words, counts, suggestions or places make no new finding, and one old finding is the partner of one now.
"""


_ENDS_CASES: Final = "As an error it makes `test e2e` end with 2, and keeps `run` from running the cases, which fails."
_ENDS_SUITES: Final = "It makes `test batch` end with 2, and keeps `run` from running the suites, which fails."


def manual_section(check: Check) -> str:
    """Return the section of the manual for one check, in Markdown."""
    when = " Shown at this severity always." if check.matters_always else ""
    if check.eased != "info":
        when = f" Shown at this severity always but in `data validate`, which makes it a {check.eased}."
    exit_code = {
        "always": "It makes `data validate` end with 1.",
        "on-warnings": "It makes `data validate --fail-on-warnings` end with 1.",
        "never": "It never changes the exit code.",
    }[check.fails]
    if check.own and check.fails != "never":
        exit_code = exit_code.replace("data validate", "data validate --strict")
    if check.stage in {"cases", "suites"}:
        ends = _ENDS_CASES if check.stage == "cases" else _ENDS_SUITES
        exit_code = ends if check.severity == "error" else "Both commands go on."
    parts = [f"### {check.code}", f"{check.title}. {check.text}", *([check.details] if check.details else ())]
    parts += [f"Severity: {check.severity}.{when} {exit_code}"]
    if check.stage == "quarantine":
        exit_code = "`run` counts it as an error in the data."
    if check.wrong:
        language = "text" if check.stage == "suites" else "yaml"
        parts += ["Wrong:", _block(check.wrong, language), "Right:", _block(check.right, language)]
    return "\n\n".join(parts) + "\n"


def manual() -> str:
    """Return the whole page ``docs/findings.md``."""
    sections = [_PREFACE, "## Found by Rasa too\n", *map(manual_section, RASA_CHECKS)]
    sections += ["## turncheck's own\n", *map(manual_section, OWN_CHECKS)]
    sections += ["## In end-to-end test cases\n", *map(manual_section, CASE_CHECKS)]
    sections += ["## In batch suites\n", *map(manual_section, SUITE_CHECKS)]
    sections += ["## In turncheck.quarantine.yml\n", *map(manual_section, QUARANTINE_CHECKS)]
    for part in parts(CATALOGUE).values():
        sections += [f"## {part.SECTION}\n", *map(manual_section, part.CHECKS)]
    return "\n".join(sections)


def explain(code: str) -> str:
    """Return the section of the manual for ``code``.

    Raises:
        UserError: there is no such code.
    """
    check = CHECKS.get(code)
    if check is None:
        near = nearest(code, CHECKS, most=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"All codes are listed in {MANUAL_AT}"
        raise UserError(f"There is no finding with the code {code!r}.", hint=hint)
    return manual_section(check)


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def rule_texts() -> Mapping[str, RuleText]:
    """Return the text of each code of a finding."""
    from turncheck.render.rule_text import RuleText  # few outputs have it

    return {
        code: RuleText(check.title, f"{check.title}. {check.text} {check.details}".strip(), check.severity)
        for code, check in CHECKS.items()
    }
