"""An error of ours is what Rasa refuses: every error and every refusal, with what Rasa does about it.

Each row of :mod:`refused_projects` is read and run here, and held against what a real Rasa 3.6.21 did with the same
files: ``rasa data validate`` and ``rasa train`` (``oracle/refusals``; recorded by ``tools/record_refusals.py``).
Whatever else is an error is declared below, once, with its reason. Besides these, `run` makes an error of a name that
the change took away and that is still used, whatever its code: only a comparison knows that (see
``comparison/renames.py``).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from in_process import turncheck
from rasa_verdicts import RECORDED, ask
from refused_projects import CONTROL, ROWS, Row, write

from turncheck.validation.catalogue import CHECKS

ROOT: Final = Path(__file__).parents[2]
LEGACY: Final = ROOT / "tests" / "oracle" / "legacy"


class Kind(NamedTuple):
    """Errors that stay although Rasa refuses nothing, and why."""

    reason: str
    codes: frozenset[str]


def _kind(reason: str, codes: str) -> Kind:
    return Kind(reason, frozenset(codes.split()))


KEPT: Final = {
    "never passes": _kind(
        "a test that can never pass, or that cannot be read and so would never fail",
        "test-action-undefined test-intent-undefined e2e-not-found e2e-syntax botium-syntax e2e-unknown-name",
    ),
    "may not be": _kind(
        "a quarantine that may not be: it would hide a test for longer than agreed, or one that does not exist",
        "quarantine-syntax quarantine-expired quarantine-unknown-test quarantine-never-flaky",
    ),
    "not as named": _kind(
        "a file that is not what its name says: Rasa reads something else, skips it, or it is not in the repository",
        "file-not-as-named data-key-unseen data-not-json file-outside-project",
    ),
    "not of Rasa": _kind(
        "what Rasa does not know: batch suites, assistants of other platforms, the settings of turncheck",
        "suite-not-found suite-not-json suite-typographic-quote suite-no-test-cases suite-empty suite-bad-value"
        " suite-header suite-open-quote suite-extra-field suite-input-missing suite-input-too-long"
        " suite-too-many-alternatives suite-double-pipe suite-bot-name suite-entity-incomplete"
        " kore-not-an-export kore-span-out-of-range settings-invalid",
    ),
    "flows": _kind(
        "a flow, a button's command or a test of flows that is not as Rasa's documentation demands, or that names what"
        " does not exist: Rasa 3.6, with which the rows are recorded, has no flows",
        "flow-syntax flow-name-invalid flow-repeated flow-description-missing flow-step-undefined flow-step-repeated"
        " flow-endless-loop flow-else-missing flow-branch-open flow-link-not-last flow-flow-undefined"
        " flow-action-undefined flow-response-undefined flow-slot-undefined flow-question-missing flow-policy-missing"
        " flow-model-group-undefined flow-condition-invalid flow-condition-word flow-condition-value"
        " flow-condition-never-true flow-payload-invalid flow-payload-undefined flow-payload-value"
        " flow-test-cannot-pass flow-test-names-nothing flow-link-refused flow-persisted-refused flow-question-twice"
        " flow-server-undefined flow-set-value",
    ),
    "another's words": _kind(
        "what has a row under another name: a refusal that is shown at its place, and what the schema refuses first",
        "training-refused mapping-malformed form-malformed",
    ),
}


class Older(NamedTuple):
    """What Rasa 0 to 2 do, in words; ``case``: the recorded run below ``oracle/legacy`` that has these words in it."""

    words: str
    case: str = ""
    says: str = ""


OLDER_CODES: Final = {
    "markdown-refused": Older(
        "Rasa 0 to 2 end with an exception at an unknown section, and at JSON in a story that cannot be read",
        "nlu/md_section_blank",
        "Found markdown section 'intent ' which is not in the allowed sections",
    ),
    "lookup-file-missing": Older(
        "the file is opened when RegexFeaturizer is trained: 'Could not load lookup table' ends the training",
        "nlu/md_lookup_missing",
        "data/lookup/nowhere.txt",
    ),
    "data-format-unknown": Older(
        "Rasa 0 ends at a file of no known format; Rasa 1 and 2 skip it, and nothing is learned from it",
        "nlu/json_broken",
        "unknown training file format",
    ),
}
"""Errors about files that only Rasa 0 to 2 read."""

OLDER_REFUSALS: Final = {
    "The configuration names no policies, which Rasa 1 demands": Older(
        "Rasa 1 ends: a mandatory parameter of the configuration is missing",
        "test_core/no_policies",
        "is missing mandatory parameters: 'policies'",
    ),
    "The configuration names no policy that can decide": Older(
        "Rasa 1 and 2 end at an empty list of policies ('You didn't define any policies'); Rasa 3 trains without them"
    ),
    "The domain has forms, and no FormPolicy": Older(
        "Rasa 1 and 2 end: a domain with forms needs FormPolicy", "test_core/form_no_policy", "FormPolicy"
    ),
    "triggers an action, and no MappingPolicy": Older(
        "Rasa 1 and 2 end with InvalidDomain where an intent has triggers and MappingPolicy is not configured"
    ),
    "which TwoStageFallbackPolicy needs": Older(
        "Rasa 1 and 2 end: the intent for denying must be in the domain", "test_core/two_stage_no_intent", "deny"
    ),
    "is not known to Rasa": Older(
        "Rasa 1 and 2 end: there is no such module or class", "test_core/unknown_policy", "not"
    ),
    "SklearnIntentClassifier needs dense features": Older(
        "Rasa 2 ends while it trains: there are no dense features; Rasa 3 refuses the pipeline (component-order)"
    ),
}
"""Refusals of the embedded engine about projects of Rasa 0 to 2."""

ENVIRONMENT: Final = {
    "is code of the project, which a model cannot hold": "a limit of the model archive, said while one is saved",
    "the project's component": "code of the project that failed with --allow-custom-code, as it would within Rasa",
    "All policies are code of the project": "a limit of this engine, which says what runs them",
    "the Duckling server at": "a server of the user's stopped",
    "the CRF that was trained could not be stored": "the disk, or the library, failed",
    "the spaCy model": "a package that is missing here, for a model trained elsewhere",
    "the pooling of SpacyFeaturizer must be": "Rasa ends, too; it takes spaCy and a model of its own to see",
    "JiebaTokenizer needs the package jieba": "a package that Rasa needs, too",
    "the dictionary_path": "Rasa ends, too; it takes the package jieba to see",
    "a dictionary of JiebaTokenizer": "Rasa ends, too; it takes the package jieba to see",
    "SklearnIntentClassifier could not be trained": "scikit-learn refuses; it takes dense features to see",
    "the model has an unknown policy": "a model that another version of turncheck trained",
}
"""Refusals that are about the machine, or that Rasa cannot be asked about without models that are not here."""

SEARCHED: Final = ("engines/embedded/nlu", "engines/embedded/policies", "dialogue", "project/rasa_components.py")
"""Where what trains is written."""
RAISED: Final = {"UserError", "TrainingRefusedError", "MachineError"}
NOT_TRAINING: Final = {"sentence_model.py", "sentence_vectors.py"}
"""Modules about the vectors that `--vectors` names: a choice of the user's that Rasa does not know."""

TEXT: Final = "  - user: hello\n    intent: greet\n"
TESTS: Final = f"""version: "3.1"
stories:
- story: greets
  steps:
{TEXT}  - action: utter_greet
  - action: action_look
"""


class Found(NamedTuple):
    """What `turncheck run`, or `data validate` for a row with flags of that, says: codes by severity, and refusals."""

    errors: frozenset[str]
    codes: frozenset[str]
    refusals: str


def found_in(row: Row, folder: Path) -> Found:
    write(row, folder / "project")
    flags = (*row.arguments, *row.ours)
    if flags:
        turncheck("data", "validate", "--strict", *flags, "--out", "../out", cwd=folder / "project")
    else:
        (folder / "project" / "tests").mkdir()
        without = "  - intent: greet\n" if row.files.get("data/nlu.yml", "") is None else TEXT
        (folder / "project" / "tests" / "test_stories.yml").write_text(TESTS.replace(TEXT, without))
        evaluations = ("--evaluations", "validate") if is_refused(row.name) and not row.refusal else ()
        turncheck("run", ".", "--strict", *evaluations, "--no-cache", "--out", "../out", cwd=folder / "project")
    report = json.loads((folder / "out" / "report.json").read_bytes())
    findings = report["validation"]["findings"]
    refusals = [one["reason"] for one in report.get("skipped", ()) if one.get("fault")]
    return Found(
        frozenset(one["code"] for one in findings if one["severity"] == "error"),
        frozenset(one["code"] for one in findings),
        "\n".join(refusals),
    )


def is_refused(name: str) -> bool:
    """Whether a real Rasa did not validate or did not train the project."""
    recorded = json.loads(RECORDED.read_text())[name]
    return bool(recorded["validate"] or recorded["train"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_error_is_what_rasa_refuses(row: Row, tmp_path: Path) -> None:
    found = found_in(row, tmp_path)

    assert not row.code or row.code in found.codes
    assert row.refusal in found.refusals
    kept = frozenset().union(*(kind.codes for kind in KEPT.values())) - KEPT["another's words"].codes
    if is_refused(row.name):
        assert found.errors
        assert not row.code or row.code in found.errors
    else:
        assert found.errors <= kept
        assert found.errors or not found.refusals


def test_a_project_without_faults_is_trained_by_both(tmp_path: Path) -> None:
    assert not is_refused(CONTROL.name)
    assert found_in(CONTROL, tmp_path).errors == frozenset()


def test_every_error_has_a_row_or_a_reason() -> None:
    errors = {check.code for check in CHECKS.values() if check.severity == "error"}
    kept = [code for kind in KEPT.values() for code in kind.codes]
    shown = {row.code for row in ROWS if row.code and is_refused(row.name)}
    declared = [*kept, *OLDER_CODES]
    assert len(declared) == len(set(declared))
    assert set(declared) <= errors
    assert shown.isdisjoint(declared)
    assert errors == shown | set(declared)


def test_each_row_is_recorded_and_nothing_else() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert list(json.loads(RECORDED.read_text())) == names


def refusals_in_the_code() -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each refusal of what trains, and the pieces of text that its message always has."""
    source = ROOT / "src" / "turncheck"
    for part in SEARCHED:
        files = [source / part] if part.endswith(".py") else sorted((source / part).rglob("*.py"))
        for path in (file for file in files if file.name not in NOT_TRAINING):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in RAISED and not _passes_on(node):
                    yield f"{path.relative_to(source)}:{node.lineno}", [*_pieces(node.args[0])]


def _passes_on(raised: ast.Call) -> bool:
    """Whether it is another error's message, to which only a place is added."""
    return ast.unparse(raised.args[0]) == "error.message"


def _pieces(message: ast.expr) -> Iterator[str]:
    for node in ast.walk(message):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.strip()) >= len("has no"):
            yield node.value.strip()


def _covers(words: str, pieces: list[str]) -> bool:
    return any(words in piece or piece in words for piece in pieces)


def test_every_refusal_of_what_trains_has_a_row_or_a_reason() -> None:
    found = dict(refusals_in_the_code())
    known = {row.refusal for row in ROWS if row.refusal} | OLDER_REFUSALS.keys() | ENVIRONMENT.keys()
    without = [place for place, pieces in found.items() if not any(_covers(words, pieces) for words in known)]
    assert not without, f"no project shows what Rasa does where this is refused: {without}"
    declared = {*OLDER_REFUSALS, *ENVIRONMENT}
    unused = [words for words in declared if not any(_covers(words, pieces) for pieces in found.values())]
    assert not unused


def test_a_new_refusal_would_be_missed() -> None:
    known = {row.refusal for row in ROWS if row.refusal} | OLDER_REFUSALS.keys() | ENVIRONMENT.keys()
    assert not any(_covers(words, ["the weather of the component is bad"]) for words in known)


@pytest.mark.parametrize("older", [*OLDER_CODES.values(), *OLDER_REFUSALS.values()], ids=lambda older: older.words[:40])
def test_what_older_versions_do_is_in_their_recorded_runs(older: Older) -> None:
    assert older.words
    if older.case:
        assert older.says in (LEGACY / older.case / "expected.json").read_text()


LIVE: Final = (
    "healthy",
    "yaml-syntax",
    "intent-duplicate",
    "annotation-broken",
    "keyword-not-regex",
    "rule-contradiction",
    "endpoint-url-missing",
    "no policies",
    "an even number of features around a token",
    "a regex that nothing reads",
)
"""Rows of each part of the table; one takes a real Rasa ten seconds, on a busy machine twenty."""


@pytest.mark.rasa
def test_a_real_rasa_does_what_is_recorded(rasa: str) -> None:
    rows = [row for row in ROWS if row.name in LIVE]
    assert len(rows) == len(LIVE)
    recorded = json.loads(RECORDED.read_text())
    assert ask(rasa.split(maxsplit=1)[0], rows) == {name: recorded[name] for name in (row.name for row in rows)}
