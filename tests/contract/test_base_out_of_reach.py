"""A bot on GitHub whose base is out of reach: the title says why, and the one thing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_bot import EXAMPLE, REST, FakeBot, serving
from fake_github import FakeGitHub, refuse
from fake_host import Trouble
from test_github_action import Job, git, packed

if TYPE_CHECKING:
    from pathlib import Path

    from fake_results import FakeResults
    from golden_texts import Golden


@pytest.fixture
def bot(github: FakeGitHub, results: FakeResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job of a pull request of a bot over HTTP, whose branch has a run from before."""
    folder = tmp_path / "repository"
    (folder / "bot" / "tests").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "bot" / "turncheck.yml").write_text(f"engine: http\n{REST}")
    (folder / "bot" / "tests" / "e2e_test_cases.yml").write_text(EXAMPLE)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    base = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", "-b", "feature")
    (folder / "bot" / "notes.txt").write_text("new\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")
    head = git(folder, "rev-parse", "HEAD")
    monkeypatch.chdir(folder)
    github.add_pull(7, head=head, base=base)
    github.history = [base]
    return Job(tmp_path, github, results, head, base)


def title(job: Job, bot_url_base: str = "") -> str:
    """The title of the comment and the line under it."""
    with serving(FakeBot()) as here:
        assert job.pull_request(evaluations="e2e,validate", bot_url=here.url, bot_url_base=bot_url_base) == 1
    lines = job.github.bodies(7)[0].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("### "))
    return job.told("\n".join(lines[start : start + 3]))


@pytest.mark.parametrize(("status", "why"), [(403, "Resource not accessible by integration"), (404, "Not Found")])
def test_where_runs_may_not_be_read_the_permission_is_named(bot: Job, status: int, why: str, golden: Golden) -> None:
    bot.github.troubles.append(Trouble("GET", "/actions/", refuse(status, why), times=9))
    golden(title(bot))


def test_a_report_that_has_expired_is_made_again(bot: Job, golden: Golden) -> None:
    run = bot.github.add_run(bot.base)
    bot.github.runs[400] = {**bot.github.runs.pop(run["id"]), "id": 400}
    bot.github.add_artifact(bot.github.runs[400], "turncheck", packed({"report.json": b"{}"}), expired=True)
    golden(title(bot))


def test_a_base_that_does_not_run_is_to_be_started(bot: Job, golden: Golden) -> None:
    golden(title(bot, bot_url_base="http://127.0.0.1:9"))
