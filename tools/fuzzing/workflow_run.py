"""A run of the action with a given measurement: only reading, asking and reporting remain."""

from __future__ import annotations

import base64
import io
import json
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tools.fuzzing.trial import PLANTED, PRIVATE

from turncheck.action import run_action
from turncheck.comparison.model import Missing
from turncheck.process.environment import redact
from turncheck.process.screen import Console
from turncheck.render.links import Links
from turncheck.run.prepare import prepare
from turncheck.run.run import run_and_conclude

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.conclude import Outcome

EXAMPLE = Path(__file__).parents[2] / "examples" / "pizzeria"
HEAD, BASE = "b" * 40, "c" * 40
_CLAIMS = base64.b64encode(b'{"scp": "Actions.Results:run:job"}').decode().rstrip("=")
SECRETS = {
    **{
        f"INPUT_{name.upper()}": f"{PLANTED}.{name}"
        for name in PRIVATE
        if name not in {"env", "rasa-token", "rasa-jwt"}
    },
    "INPUT_ENV": f"HANDED_OVER={PLANTED}.env",
    "ACTIONS_RUNTIME_TOKEN": f"{PLANTED.partition('.')[0]}.{_CLAIMS}.{PLANTED}",
    "GITHUB_TOKEN": f"{PLANTED}.of.github",
}
EVENTS: dict[str, dict[str, Any]] = {
    "pull_request": {
        "pull_request": {
            "number": 3,
            "head": {"sha": HEAD, "ref": "feature", "repo": {"full_name": "acme/bots"}},
            "base": {"sha": BASE, "ref": "main"},
        },
    },
    "push": {"before": BASE},
    "merge_group": {"merge_group": {"head_sha": HEAD, "base_sha": BASE, "base_ref": "refs/heads/main"}},
    "workflow_run": {"workflow_run": {"id": 12}},
    "workflow_dispatch": {},
}


def variables(place: Path, event: str, payload: Any) -> dict[str, str]:
    """The variables of a job, as GitHub's runner sets them."""
    path = place / "event.json"
    repository = {"default_branch": "main", "full_name": "acme/bots"}
    whole = {"repository": repository, **payload} if isinstance(payload, dict) else payload
    try:
        path.write_text(json.dumps(whole), "utf-8", "surrogatepass")
    except (RecursionError, ValueError):
        path.write_text("[" * 100_000)
    return {
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_SHA": HEAD,
        "GITHUB_REF": "refs/heads/feature",
        "GITHUB_API_URL": "https://api.github.test",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "500",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_WORKFLOW": "turncheck",
        "GITHUB_WORKFLOW_REF": "acme/bots/.github/workflows/ci.yml@refs/heads/feature",
        "GITHUB_WORKSPACE": str(place),
        "GITHUB_ACTOR": "alice",
        "GITHUB_JOB": "bot",
        "GITHUB_RETENTION_DAYS": "90",
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "GITHUB_OUTPUT": str(place / "output"),
        "ACTIONS_RESULTS_URL": "https://results.test/x/",
        "INPUT_PROJECT": str(EXAMPLE),
        "INPUT_OUT": str(place / "results"),
        "INPUT_BASELINE": "artifact",
        **SECRETS,
    }


@cache
def measured() -> Outcome:
    """What a run of an example finds."""
    prepared = prepare({"project": str(EXAMPLE), "evaluations": ("validate",), "baseline": "none"}, {})
    return run_and_conclude(prepared.inputs, Links(), lambda _: Missing("none"), Console(quiet=True))


@contextmanager
def _as_measured(*, with_git: bool) -> Iterator[None]:
    """Instead of measuring, use a given report, and find its baseline."""
    found = measured()

    def job(_inputs: Any, _links: Any, find_baseline: Any, *_: Any) -> Outcome:
        find_baseline(found.report)
        return found

    with ExitStack() as stack:
        stack.enter_context(patch("turncheck.action.run_and_conclude", job))
        # What takes long and does not depend on what a trial changes.
        stack.enter_context(patch("turncheck.action.draw_plots", lambda *_: []))
        stack.enter_context(patch("turncheck.action.write_results", lambda *_: []))
        stack.enter_context(patch("turncheck.action.terminal_summary", lambda *_: ""))
        if not with_git:
            stack.enter_context(patch("turncheck.run.prepare.find_checkout", lambda *_, **__: None))
        yield


def run(place: Path, given: Mapping[str, str], *, with_git: bool = False) -> str:
    """Run the action and return all that it shows and writes."""
    for name in ("summary.md", "output"):
        (place / name).unlink(missing_ok=True)
    printed = io.StringIO()
    with _as_measured(with_git=with_git), redirect_stdout(printed), redirect_stderr(printed):
        code = run_action(dict(given), lambda text: printed.write(redact(text)))
    assert code in {0, 1, 2, 130}, f"the exit code is {code}"  # noqa: S101 - what a trial finds out
    files = [path for name in ("summary.md", "output") if (path := place / name).is_file()]
    return "\n".join((printed.getvalue(), *(path.read_text("utf-8") for path in files)))
