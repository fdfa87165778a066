"""What a fork's run leaves for the workflow that publishes: each attempt to look better, and what comes of it.

The fork owns its artifacts completely. The publishing job has a token that may write, and its comments and checks are
those of github-actions, as are those of the repository's own runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_github import ACTIONS_TOKEN
from golden_texts import Golden
from test_github_action import built, job, measured_by_fork, packed, second_workflow

from turncheck.report.codec import decode, encode
from turncheck.report.model import GateSettings, Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from test_github_action import Job

__all__ = ["built", "job"]

TRUSTED = "<!-- turncheck:report id=bot --><!-- turncheck:run 400.1 -->\n### ❌ Failed: bot\n"
PLAIN = re.compile(r"^#+ ✅ Passed(?!, but| with| although)", re.MULTILINE)


def healthy(job: Job) -> Report:
    """The base's report as if it were of the fork's own commit: nothing is wrong in it."""
    base = decode(job.artifact["baseline.json"])
    return with_source(base, job.head)


def with_source(report: Report, commit: str) -> Report:
    return msgspec.structs.replace(report, source=msgspec.structs.replace(report.source, commit=commit))


def with_root(report: Report, root: str) -> Report:
    return msgspec.structs.replace(report, project=msgspec.structs.replace(report.project, root=root))


def without_stories(report: Report, **gates: Any) -> Report:
    """Without its tests: all of them are gone."""
    settings = msgspec.structs.replace(GateSettings(), **gates)
    core = report.core and msgspec.structs.replace(report.core, stories=(), as_written=None)
    return msgspec.structs.replace(report, core=core, settings=settings)


def left_by_main(job: Job, report: bytes) -> None:
    """A run of main left a report of the base."""
    run = job.github.add_run(job.base)
    del job.github.runs[run["id"]]
    job.github.runs[400] = run | {"id": 400}
    job.github.add_artifact(job.github.runs[400], "turncheck", packed({"report.json": report}))


def published(job: Job, run: dict[str, Any], *artifacts: dict[str, bytes], **more: str) -> str:
    """Publish what a fork's run left in these artifacts; returns its comment."""
    job.github.artifacts.pop(min(job.github.artifacts))  # what it really left
    for number, files in enumerate(artifacts):
        job.github.add_artifact(run, "turncheck" if number == 0 else f"turncheck-{number}", packed(files))
    job.github.add_comment(7, TRUSTED)
    assert second_workflow(job, run, **more) == 0
    bodies = job.github.bodies(7)
    assert bodies[0] == TRUSTED, "the comment of the repository's own run stays"
    assert len(bodies) == 2, "a fork's run has one comment"
    assert "Measured by the fork** `mallory/bots`" in bodies[1].splitlines()[1]
    return bodies[1]


ATTEMPTS: dict[str, tuple[Callable[[Job], dict[str, bytes]], dict[str, str], bool, str]] = {
    # attempt: what the artifact holds, inputs of the second workflow, whether main left a report, the outcome
    "a good report, nothing hidden": (
        lambda job: {"report.json": encode(healthy(job)), "baseline.json": job.artifact["baseline.json"]},
        {},
        True,
        "### ✅ Passed: bot",
    ),
    "the base's report is left out": (
        lambda job: {"report.json": encode(healthy(job))},
        {},
        False,
        "### ❌ Failed: bot",
    ),
    "the base's report is forged": (
        lambda job: {
            "report.json": encode(without_stories(healthy(job))),
            "baseline.json": encode(with_source(without_stories(healthy(job)), job.base)),
        },
        {},
        False,
        "### ❌ Failed: bot",
    ),
    "the base's report is forged, and main left one": (
        lambda job: {
            "report.json": encode(without_stories(healthy(job))),
            "baseline.json": encode(with_source(without_stories(healthy(job)), job.base)),
        },
        {},
        True,
        "1 story gone",
    ),
    "the base is another project's": (
        lambda job: {"report.json": encode(with_root(healthy(job), "another"))},
        {},
        True,
        "### ❌ Failed: bot",
    ),
    "no gate needs the base": (
        lambda job: {"report.json": encode(healthy(job))},
        {"fail_on": "errors"},
        False,
        "### ⚠️ Passed, but not compared with the base: bot",
    ),
    "gates that nobody judges are to pass": (
        lambda job: {"report.json": encode(without_stories(healthy(job), not_judged="pass"))},
        {},
        False,
        "### ❌ Failed: bot",
    ),
    "the job itself lets pass what nobody judges": (
        lambda job: {"report.json": encode(healthy(job))},
        {"not_judged": "pass"},
        False,
        "### ⚠️ Passed, but not all gates were judged: bot",
    ),
    "all tests may go": (
        lambda job: {"report.json": encode(without_stories(healthy(job), accept_gone=("*",)))},
        {},
        True,
        "1 story gone",
    ),
    "all tests may go, and nothing fails": (
        lambda job: {"report.json": encode(without_stories(healthy(job), accept_gone=("*",), fail_on=("none",)))},
        {},
        True,
        "1 story gone",
    ),
    "errors do not count": (
        lambda job: {
            "report.json": encode(
                msgspec.structs.replace(decode(job.artifact["report.json"]), settings=GateSettings(fail_on=("none",)))
            )
        },
        {},
        True,
        "### ❌ Failed: bot",
    ),
    "a threshold that cannot be read": (
        lambda job: {"report.json": encode(with_gates(healthy(job), thresholds=("@octocat",)))},
        {},
        True,
        "### ✅ Passed: bot",
    ),
}


def with_gates(report: Report, **gates: Any) -> Report:
    return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **gates))


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_of_a_fork_has_this_outcome(job: Job, attempt: str) -> None:
    content, inputs, main_left_one, expected = ATTEMPTS[attempt]
    run = measured_by_fork(job)
    files, base = content(job), job.artifact["baseline.json"]
    if main_left_one:
        left_by_main(job, base)
    body = published(job, run, files, **inputs)
    assert expected in body
    assert main_left_one or PLAIN.search(body) is None


CHECKS: dict[str, str] = {
    "its own name": "bot",
    "the name of another assistant": "bots/bank",
    "the name of a fork's check": "(measured by the fork)",
    "a path with a colon": "x\nturncheck: bots/bank",
}


@pytest.mark.parametrize("attempt", CHECKS)
def test_the_check_of_a_fork_is_neutral_and_has_no_name_of_its_choosing(job: Job, attempt: str, golden: Golden) -> None:
    run = measured_by_fork(job)
    left_by_main(job, job.artifact["baseline.json"])
    published(job, run, {"report.json": encode(with_root(healthy(job), CHECKS[attempt]))}, check_run="true")

    (check,) = job.github.checks.values()
    golden(check["name"])
    assert check["conclusion"] == "neutral"
    golden(check["output"]["title"])


def test_many_artifacts_of_a_fork_make_one_comment_and_one_check(job: Job) -> None:
    run = measured_by_fork(job)
    left_by_main(job, job.artifact["baseline.json"])
    artifacts = [{"report.json": encode(with_root(healthy(job), f"bots/{number}"))} for number in range(30)]
    body = published(job, run, *artifacts, check_run="true")

    assert "30 of 30 assistants failed" in body
    assert len(job.github.checks) == 1


def test_several_assistants_without_a_base_are_not_plainly_passed(job: Job, golden: Golden) -> None:
    run = measured_by_fork(job)
    artifacts = [{"report.json": encode(with_root(healthy(job), f"bots/{number}"))} for number in range(2)]
    body = published(job, run, *artifacts, fail_on="errors")

    golden(body, only="reservations")
    assert "✅ 2 assistants passed" not in body


def test_a_later_run_of_the_fork_replaces_its_comment(job: Job) -> None:
    run = measured_by_fork(job)
    assert second_workflow(job, run) == 0
    again = measured_by_fork(job)
    assert second_workflow(job, again) == 0

    (body,) = job.github.bodies(7)
    assert f"turncheck:run {again['id']}.1" in body


def test_a_run_of_the_repository_itself_keeps_its_name_and_its_check(job: Job) -> None:
    run = measured_by_fork(job)
    run["head_repository"] = {**run["head_repository"], "full_name": "acme/bots"}
    job.github.add_pull(7, head=job.head, base=job.base)
    second_workflow(job, run, check_run="true", token=ACTIONS_TOKEN)

    (body,) = job.github.bodies(7)
    assert body.startswith("<!-- turncheck:report id=bot -->")
    assert "Measured by" not in body
    assert "as the run itself measured it" in body
    (check,) = job.github.checks.values()
    assert (check["name"], check["conclusion"]) == ("turncheck: bot", "failure")
