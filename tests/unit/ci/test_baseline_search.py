"""Which state is the base, outside GitHub and by git alone; and how it is measured."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from golden_texts import Golden
from report_builder import report, with_changes

from turncheck.ci.git import find_checkout
from turncheck.ci.github.context import GitHubContext, PullRequest
from turncheck.ci.github.host import GitHub
from turncheck.ci.host import Host
from turncheck.comparison.changed_settings import rules_changed
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Baseline, Comparison, Missing, Present, Unreachable
from turncheck.gates.judged import JudgedGate
from turncheck.gates.verdict import judge_gates
from turncheck.messages.errors import UserError
from turncheck.process.screen import Console
from turncheck.render.links import Links
from turncheck.render.wording.failing_clauses import short_reason
from turncheck.render.wording.reasons.reason import reason_of
from turncheck.report.codec import encode
from turncheck.report.model import GateSettings, ProjectInfo, Report, Source
from turncheck.run.base_settings import with_given
from turncheck.run.find_baseline import BaselineSearch
from turncheck.run.inputs import Inputs
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.run import run_and_conclude
from turncheck.settings.options import Settings


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, text: str, *files: str) -> str:
    for name in files or ("bot/domain.yml",):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, "one")
    monkeypatch.chdir(folder)
    return folder


class Measurer:
    """Stands in for the measuring: says what it was asked to measure."""

    def __init__(self, error: str = "") -> None:
        self.asked: list[Inputs] = []
        self.seen: list[str] = []
        self.error = error

    def __call__(self, inputs: Inputs, screen: Console) -> Report:
        screen.note("noise")
        self.asked.append(inputs)
        self.seen.append((Path(inputs.settings.project) / "domain.yml").read_text())
        if self.error:
            raise UserError(self.error)
        gates = GateSettings(fail_on=inputs.settings.fail_on)
        measured = report(commit=inputs.source.commit or "", root=inputs.root, name="tree", settings=gates)
        return with_changes(measured, source=inputs.source)


def search(
    repository: Path,
    measurer: Measurer,
    context: GitHubContext | None = None,
    from_file: tuple[str, ...] = (),
    **settings: object,
) -> Baseline:
    """Search with these settings, of which those of ``from_file`` stand in the project's turncheck.yml."""
    chosen = replace(Settings(), project="bot", **settings)  # type: ignore[arg-type]  # whatever a test is about
    checkout = find_checkout(Path("bot"))
    inputs = Inputs(settings=chosen, source=Source(), root="bot")
    given = {"project": "bot", **{name: value for name, value in settings.items() if name not in from_file}}
    host = GitHub(context) if context is not None else Host()
    return BaselineSearch(inputs, given, checkout, repository, host, measurer).find(report(root="bot"))


def test_the_default_branch_itself_has_no_base_and_nothing_is_measured(repository: Path, golden: Golden) -> None:
    measurer = Measurer()

    found = search(repository, measurer)
    assert isinstance(found, Missing)
    assert found.agreed
    golden(found.reason)
    assert measurer.asked == []


def test_on_a_branch_the_base_is_where_it_left_the_default_branch(
    repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parted = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")
    git(repository, "checkout", "-q", "main")
    commit(repository, "three", "other")
    git(repository, "checkout", "-q", "feature")
    measurer = Measurer()

    found = search(repository, measurer)

    assert isinstance(found, Present)
    assert (found.commit, found.way, found.run_id, found.passed_over) == (parted, "git", None, "")
    assert found.report.source == Source(commit=parted)
    assert found.report.project == ProjectInfo(name="pizzeria", root="bot", file="turncheck.yml")
    assert measurer.seen == ["one"]
    assert capfd.readouterr() == ("", "")
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(repository, "status", "--porcelain") == ""


def test_uncommitted_changes_are_compared_with_the_last_commit(repository: Path) -> None:
    (repository / "bot" / "domain.yml").write_text("changed")
    measurer = Measurer()

    found = search(repository, measurer)

    assert isinstance(found, Present)
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert measurer.seen == ["one"]


def test_changes_elsewhere_in_the_repository_do_not_count(repository: Path) -> None:
    (repository / "README").write_text("changed")

    found = search(repository, Measurer())
    assert isinstance(found, Missing)
    assert found.agreed


def test_outside_a_checkout_there_is_no_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    (tmp_path / "bot").mkdir()
    monkeypatch.chdir(tmp_path)

    found = search(tmp_path, Measurer())
    assert isinstance(found, Missing)
    assert found.agreed
    golden(found.reason)


@pytest.mark.parametrize("shallow", [False, True])
def test_githubs_test_merge_is_compared_with_its_first_parent(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shallow: bool
) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    head = commit(repository, "two", "bot/data.yml")
    git(repository, "checkout", "-q", "main")
    base = commit(repository, "merged meanwhile")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    if shallow:
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "clone")
        monkeypatch.chdir(tmp_path / "clone")
        repository = tmp_path / "clone"
    pull = PullRequest(7, head, "feature", "main", base, fork=False)
    context = GitHubContext("acme/bots", "pull_request", "9" * 40, "refs/pull/7/merge", pull_request=pull)
    measurer = Measurer()

    found = search(repository, measurer, context)

    assert isinstance(found, Present), "what a short clone lacks is fetched"
    assert (found.commit, found.way, measurer.seen) == (base, "git", ["merged meanwhile"])


def test_paths_of_the_settings_are_those_of_the_base(repository: Path, tmp_path: Path) -> None:
    commit(repository, "one", "tests/nlu.yml", "bot/data/nlu.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two", "tests/nlu.yml", "tests/new_stories.yml", "tests/e2e.yml")
    outside = tmp_path / "outside.yml"
    outside.write_text("x")
    measurer = Measurer()

    search(
        repository,
        measurer,
        nlu="tests/nlu.yml",
        data=("bot/data", str(outside)),
        stories=("tests/new_stories.yml",),
        e2e=("tests/e2e.yml::greeting",),
    )

    settings = measurer.asked[0].settings
    tree = Path(settings.project).parent
    assert settings.nlu == f"{tree}/tests/nlu.yml"
    assert settings.data == (f"{tree}/bot/data", str(outside))
    assert (settings.stories, settings.e2e) == ((), ())
    assert settings.evaluations == ("validate", "nlu", "batch"), "tests that the base does not have are not run there"


def test_the_gates_are_those_of_the_base(repository: Path) -> None:
    commit(repository, "fail-on: errors\n", "bot/turncheck.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "fail-on: none\n", "bot/turncheck.yml")
    measurer = Measurer()

    found = search(repository, measurer)

    assert isinstance(found, Present)
    assert found.report.settings.fail_on == ("errors",)


def test_evaluations_that_a_change_leaves_out_are_told(repository: Path) -> None:
    commit(repository, "evaluations: [validate, nlu]\n", "bot/turncheck.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "evaluations: [validate]\n", "bot/turncheck.yml")

    found = search(repository, Measurer(), from_file=("evaluations",), evaluations=("validate",))

    assert isinstance(found, Present)
    assert found.report.settings.evaluations == ("validate", "nlu")


def test_data_that_a_change_adds_do_not_cost_the_baseline(repository: Path) -> None:
    commit(repository, "one", "bot/data/nlu.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two", "shared/new.yml")
    measurer = Measurer()

    found = search(repository, measurer, data=("bot/data", "shared/new.yml"))

    assert isinstance(found, Present)
    settings = measurer.asked[0].settings
    assert settings.data == (f"{settings.project}/data",)


def test_the_folder_of_the_base_is_in_no_message(repository: Path, golden: Golden) -> None:
    commit(repository, "one", "bot/data/nlu.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    class Refuser(Measurer):
        def __call__(self, inputs: Inputs, screen: Console) -> Report:
            raise UserError(f"{inputs.settings.project}/domain.yml is broken")

    found = search(repository, Refuser())

    assert isinstance(found, Present)
    golden(*sorted({one.reason for one in found.report.skipped}))


def test_where_a_change_names_other_tests_the_base_runs_those_that_it_names(repository: Path) -> None:
    commit(repository, "nlu: tests/hard.yml\n", "bot/turncheck.yml", "bot/tests/hard.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "nlu: tests/easy.yml\n", "bot/turncheck.yml")
    commit(repository, "two", "bot/tests/easy.yml")
    measurer = Measurer()

    found = search(repository, measurer, from_file=("nlu",), nlu=str(repository / "bot/tests/easy.yml"))

    settings = measurer.asked[0].settings
    assert settings.nlu == f"{settings.project}/tests/hard.yml"
    assert isinstance(found, Present)
    assert found.report.settings.evaluations == (), "nobody left anything out"


@pytest.mark.parametrize("mistake", ["fail-on: everything\n", "thresholds: nlu.intents.f2 >= 1\n"])
def test_gates_of_the_base_that_cannot_be_read_are_those_of_this_run(repository: Path, mistake: str) -> None:
    commit(repository, mistake, "bot/turncheck.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "fail-on: none\n", "bot/turncheck.yml")
    measurer = Measurer()

    found = search(repository, measurer, fail_on=("none",))

    assert isinstance(found, Present)
    assert (measurer.asked[0].settings.fail_on, measurer.asked[0].settings.thresholds) == (("none",), ())


def test_a_project_that_is_new_or_cannot_be_measured_has_no_baseline(repository: Path, golden: Golden) -> None:
    git(repository, "mv", "bot", "old")
    git(repository, "commit", "-q", "-m", "moved")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    found = search(repository, Measurer())
    assert isinstance(found, Missing)
    assert not isinstance(found, Unreachable)
    golden(re.sub(r"[0-9a-f]{8}", "BASE", found.reason))

    git(repository, "checkout", "-q", "-b", "next")
    git(repository, "branch", "-f", "main", "feature")
    commit(repository, "three")
    found = search(repository, Measurer(error="nothing can be read"))
    assert isinstance(found, Present)
    golden(found.report.skipped[0].reason)


def test_another_engine_is_not_started_on_the_base(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    found = search(repository, Measurer(), engine="rasa")

    assert isinstance(found, Missing)
    assert "'rasa'" in found.reason
    assert msgspec.json.encode(found)


def test_our_own_output_is_no_change(repository: Path) -> None:
    (repository / "bot" / "results").mkdir()
    (repository / "bot" / "results" / "report.json").write_text("{}")

    found = search(repository, Measurer(), out="bot/results")
    assert isinstance(found, Missing)
    assert found.agreed
    assert isinstance(search(repository, Measurer(), out="elsewhere"), Present)


def test_an_interrupt_while_the_base_is_measured_ends_the_search(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    class Interrupted(Measurer):
        def __call__(self, inputs: Inputs, screen: Console) -> Report:
            return with_changes(super().__call__(inputs, screen), stopped="interrupted")

    with pytest.raises(KeyboardInterrupt):
        search(repository, Interrupted())
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_interrupted_while_the_baseline_is_looked_for_a_run_keeps_what_it_has_measured(
    repository: Path, golden: Golden
) -> None:
    commit(repository, "version: '3.1'\nintents: [greet]\n")

    def never_found(_: Report) -> Baseline:
        raise KeyboardInterrupt

    settings = replace(Settings(), project="bot", evaluations=("validate",))
    inputs = Inputs(settings=settings, source=Source())
    outcome = run_and_conclude(inputs, Links(), never_found, Console(quiet=True))
    assert outcome.report.validation is not None
    assert (outcome.report.stopped, outcome.exit_code) == ("interrupted", 130)
    assert isinstance(outcome.baseline, Missing)
    assert not outcome.baseline.agreed
    golden(outcome.baseline.reason)


def test_a_base_that_is_known_and_cannot_be_had_is_out_of_reach(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    head = commit(repository, "two", "bot/data.yml")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "clone")
    monkeypatch.chdir(tmp_path / "clone")
    pull = PullRequest(7, head, "feature", "main", "1" * 40, fork=False)
    context = GitHubContext("acme/bots", "pull_request", "9" * 40, "refs/pull/7/merge", pull_request=pull)

    found = search(tmp_path / "clone", Measurer(), context)

    assert isinstance(found, Unreachable)


def gone_tests(compared: Comparison) -> JudgedGate:
    gates = judge_gates(report(root="bot"), compared, GateSettings(fail_on=("gone-tests",)))
    return next(gate for gate in gates if gate.name == "gone-tests")


def test_of_a_base_that_cannot_be_measured_nothing_is_known(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    found = search(repository, Measurer("domain.yml is empty"))

    assert isinstance(found, Present)
    assert all(one.fault for one in found.report.skipped)
    compared = compare(report(root="bot"), found)
    assert {one.evaluation for one in compared.base_faults} == {"nlu", "core", "e2e", "batch"}
    gate = gone_tests(compared)
    assert gate.outcome == "not judged"
    assert "domain.yml is empty" in reason_of(gate, report(root="bot"), compared)


def test_the_base_is_measured_with_its_own_tests(repository: Path) -> None:
    commit(repository, "stories:\n- tests/a.yml\n- tests/b.yml\n", "bot/turncheck.yml")
    commit(repository, "stories: []\n", "bot/tests/a.yml", "bot/tests/b.yml")
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "stories: tests/a.yml\nevaluations: validate\n", "bot/turncheck.yml")
    measurer = Measurer()

    found = search(
        repository,
        measurer,
        from_file=("stories", "evaluations"),
        stories=("bot/tests/a.yml",),
        evaluations=("validate",),
    )

    asked = measurer.asked[0].settings
    assert [path.removeprefix(f"{asked.project}/") for path in asked.stories] == ["tests/a.yml", "tests/b.yml"]
    assert asked.evaluations == ()
    assert isinstance(found, Present)
    assert found.report.settings.stories == ("tests/a.yml", "tests/b.yml")
    assert found.report.settings.evaluations == ()


def test_what_a_workflow_asks_for_on_this_event_is_no_change_of_the_rules(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")

    found = search(repository, Measurer(), fail_on=("errors", "new-failures"))

    assert isinstance(found, Present)
    left = with_changes(found.report, settings=GateSettings(fail_on=("errors", "test-failures"), strict=True))
    head = report(settings=GateSettings(fail_on=("errors", "new-failures")))
    given = {"fail_on": ("errors", "new-failures")}
    assert with_given(left, head, given).settings == GateSettings(fail_on=("errors", "new-failures"), strict=True)


@pytest.mark.parametrize(("by_flag", "expected"), [(True, "first: 3, most: 40"), (False, "first: 20, most: 20")])
def test_how_often_a_flag_had_the_base_run_is_not_what_its_file_says(by_flag: bool, expected: str) -> None:
    settings = GateSettings(repeats="first: 20, most: 20", repeats_given=by_flag or msgspec.UNSET)
    of_file = replace(Settings(), repeats="first: 3, most: 40")

    found = with_given(report(settings=settings), report(), {}, of_file).settings

    assert (found.repeats, bool(found.repeats_given)) == (expected, False)


@pytest.mark.parametrize(("own", "altered"), [("auto", []), ("first: 1, most: 3", ["repeats"])])
def test_of_a_named_report_no_flag_of_its_run_is_a_rule_that_a_change_alters(
    repository: Path, tmp_path: Path, own: str, altered: list[str]
) -> None:
    """What the base's file says of ``repeats`` is not known then; what the change's says stays listed."""
    of_base = GateSettings(fail_on=("auto",), repeats="first: 5, most: 30", repeats_given=True)
    (tmp_path / "report.json").write_bytes(encode(report(settings=of_base)))
    given = {"project": "bot", "baseline": str(tmp_path / "report.json"), "fail_on": ("new-errors",)}

    head = report(settings=GateSettings(fail_on=("new-errors",), repeats=own))
    found = baseline_finder(prepare(given, {}))(head)

    assert isinstance(found, Present)
    assert [change.name for change in rules_changed(found.report.settings, head.settings)] == altered


# --- a bot that only a run of the base can measure --------------------------------------------------------------------


class CI(GitHub):
    """A host that says what earlier runs left: nothing, but for those that cannot be used any more."""

    skipped = ""

    def earlier_reports(self, artifact_name: str, root: str) -> Any:
        nothing: Any = SimpleNamespace(
            in_words=lambda: self.skipped,
            unreadable=False,
            of_commit=lambda *_: None,
            of_branch=lambda *_: None,
            of_ancestor=lambda *_: None,
        )
        return nothing


def of_a_bot(repository: Path, host: Host, *, artifact: str = "turncheck", **given: str) -> Baseline:
    """Search the base of a bot over HTTP; ``artifact``: where the change says that reports are."""
    settings = replace(Settings(), project="bot", engine="http", artifact_name=artifact, base="main")
    inputs = Inputs(settings=settings, source=Source(), root="bot")
    named = {"project": "bot", "engine": "http", "base": "main", **given}
    return BaselineSearch(inputs, named, find_checkout(Path("bot")), repository, host, Measurer()).find(
        report(root="bot")
    )


def test_a_bot_whose_base_has_no_report_any_more(repository: Path, golden: Golden) -> None:
    """On a laptop there is none to compare with; on CI the title says what to do, unless no run ever left one."""
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, "two")
    base, head = (git(repository, "rev-parse", name) for name in ("main", "HEAD"))
    pull = PullRequest(7, head, "feature", "main", base, fork=False)
    context = GitHubContext("acme/bots", "pull_request", head, "refs/pull/7/merge", pull_request=pull)
    laptop = of_a_bot(repository, Host())
    assert isinstance(laptop, Missing)
    assert not isinstance(laptop, Unreachable)

    never = of_a_bot(repository, CI(context))
    assert isinstance(never, Missing)
    assert not isinstance(never, Unreachable)
    golden(never.reason.partition(" (")[0])

    elsewhere = of_a_bot(repository, CI(context), artifact="another")
    assert isinstance(elsewhere, Unreachable), "a change must not look where no report is"

    gone = CI(context)
    gone.skipped = "2 expired"
    found = of_a_bot(repository, gone)
    assert isinstance(found, Unreachable)
    comparison = compare(report(root="bot"), found)
    golden(short_reason(gone_tests(comparison), report(root="bot"), comparison))
