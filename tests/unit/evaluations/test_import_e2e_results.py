"""Results that ``rasa test e2e`` left become a report that is compared and judged like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.commands.import_results import import_results
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.evaluations.e2e.imported import import_cases
from turncheck.messages.errors import UserError
from turncheck.render.wording.gates import judge

EXAMPLE = Path(__file__).parents[3] / "examples" / "appointment"
OPEN, CLOSED = "when it is open", "a day on which the salon is closed"


def results(*cases: tuple[str, bool]) -> str:
    """A file as Rasa writes it."""
    written = ["test_results:"]
    for name, passed in cases:
        written += [f"- name: {name}", f"  pass_status: {str(passed).lower()}", "  expected_steps:", "  - user: hello"]
        lines = ["  - ' user: hello'", "  - '- bot: Anything else?'", "  - '+ bot: utter_opening_hours'"]
        written += ["  difference: []"] if passed else ["  difference:", *lines]
    return "\n".join(written) + "\n"


def folder_with(folder: Path, *cases: tuple[str, bool]) -> Path:
    """A folder with the results of a run."""
    folder.mkdir(parents=True)
    for passed in (True, False):
        name = f"e2e_results_{'passed' if passed else 'failed'}.yml"
        (folder / name).write_text(results(*(case for case in cases if case[1] is passed)), encoding="utf-8")
    return folder


def test_cases_are_at_the_lines_of_the_project(tmp_path: Path) -> None:
    report = import_results(folder_with(tmp_path / "results", (OPEN, False), (CLOSED, True)), EXAMPLE)
    assert report.e2e is not None
    assert (report.e2e.passed, report.e2e.failed) == (1, 1)
    by_name = {case.name: case for case in report.e2e.cases}
    assert str(by_name[OPEN].location).startswith("tests/e2e_test_cases.yml:")
    assert by_name[OPEN].difference[-1].startswith("+")


def test_a_case_that_newly_fails_fails_the_run(tmp_path: Path, golden: Golden) -> None:
    base = import_results(folder_with(tmp_path / "base", (OPEN, True), (CLOSED, True)), EXAMPLE)
    head = import_results(folder_with(tmp_path / "head", (OPEN, False), (CLOSED, True)), EXAMPLE)
    verdict = judge(head, compare(head, Present(base, "file")), head.settings)
    assert not verdict.passed
    golden(verdict.summary)


NONE_PASSED = ("e2e_results_passed.yml", "test_results: []\n")
BROKEN = {
    "not YAML": "test_results: [",
    "an escape that is none": 'test_results: "\\ud800"',
    "no list": "results: []",
    "no name": "test_results:\n- pass_status: true\n",
    "no status": "test_results:\n- name: a\n",
    "another status": "test_results:\n- name: a\n  pass_status: maybe\n",
    "both": results((OPEN, True), (OPEN, False)),
    "a key twice": f"test_results: []\n{results((OPEN, False))}",
    "a status of the other file": results((OPEN, True)),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_file_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        import_cases([("e2e_results_failed.yml", text), NONE_PASSED], {})


@pytest.mark.parametrize(
    "more", ["difference: ['+ bot: hello']", "difference: ['- bot: hello']", "assertion_failure: {error_message: no}"]
)
@pytest.mark.parametrize("name", ["e2e_results_passed.yml", "e2e_results.yml"])
def test_what_passed_cannot_have_failed(name: str, more: str) -> None:
    text = f"test_results:\n- name: a\n  pass_status: true\n  {more}\n"
    with pytest.raises(UserError):
        import_cases([(name, text), ("e2e_results_failed.yml", "test_results:\n")], {})


@pytest.mark.parametrize("missing", ["e2e_results_failed.yml", "e2e_results_passed.yml"])
@pytest.mark.parametrize("instead", [None, "deep/e2e_results_failed.yml", "E2E_results_failed.yml", "a link"])
def test_half_a_run_is_no_result(missing: str, instead: str | None, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "results", (OPEN, False), (CLOSED, True))
    if instead == "a link":
        (folder / missing).unlink()
        (folder / missing).symlink_to("nowhere")
    elif instead is not None:
        (folder / "deep").mkdir()
        (folder / missing).rename(folder / instead)
    else:
        (folder / missing).unlink()
    with pytest.raises(UserError, match=missing):
        import_results(folder, EXAMPLE)


@given(st.text(max_size=80) | st.text(alphabet="test_resulname:-[]{} \n'truefalse", max_size=120))
def test_no_text_breaks_the_reader(text: str) -> None:
    for written in (text, f"test_results:\n{text}"):
        try:
            import_cases([("e2e_results_failed.yml", written), NONE_PASSED], {})
        except UserError:
            continue
