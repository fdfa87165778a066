"""What GitHub says about a run, and how a step answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.ci.github.context import read_context
from turncheck.ci.github.runner import SUMMARY_LIMIT, format_output, write_outputs, write_summary
from turncheck.messages.errors import UserError


def environment(tmp_path: Path, event: Any, **more: str) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    return {
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_SHA": "a" * 40,
        "GITHUB_RUN_ID": "12",
        "GITHUB_WORKFLOW_REF": "acme/bots/.github/workflows/ci.yml@refs/pull/3/merge",
        **more,
    }


def pull_request(head_repository: str | None) -> dict[str, Any]:
    repo = {"full_name": head_repository} if head_repository else None
    return {
        "pull_request": {
            "number": 3,
            "head": {"sha": "b" * 40, "ref": "feature", "repo": repo},
            "base": {"sha": "c" * 40, "ref": "main"},
        }
    }


def test_outside_github_there_is_no_context() -> None:
    assert read_context({}) is None


def test_a_pull_request_is_known_by_its_head_not_by_the_test_merge(tmp_path: Path) -> None:
    context = read_context(environment(tmp_path, pull_request("acme/bots")))

    assert context is not None
    assert context.pull_request is not None
    assert (context.pull_request.number, context.head_sha, context.pull_request.fork) == (3, "b" * 40, False)
    assert context.workflow_path == ".github/workflows/ci.yml"
    assert context.run_url == "https://github.com/acme/bots/actions/runs/12"


@pytest.mark.parametrize("head_repository", ["mallory/bots", None])
def test_a_head_of_another_repository_or_a_deleted_one_is_a_fork(tmp_path: Path, head_repository: str | None) -> None:
    context = read_context(environment(tmp_path, pull_request(head_repository)))

    assert context is not None
    assert context.pull_request is not None
    assert context.pull_request.fork


@pytest.mark.parametrize("event", [[], "x", {}, {"pull_request": 3}, {"pull_request": {"number": "3"}}])
def test_a_strange_payload_is_no_pull_request(tmp_path: Path, event: Any) -> None:
    context = read_context(environment(tmp_path, event))

    assert context is not None
    assert context.pull_request is None
    assert context.head_sha == "a" * 40


def test_enterprise_servers_are_named_by_their_variables(tmp_path: Path) -> None:
    variables = {"GITHUB_SERVER_URL": "https://git.acme.test/", "GITHUB_API_URL": "https://git.acme.test/api/v3"}

    context = read_context(environment(tmp_path, {}, **variables))

    assert context is not None
    assert (context.repository_url, context.api_url) == (
        "https://git.acme.test/acme/bots",
        "https://git.acme.test/api/v3",
    )


def runner_reads(text: str) -> dict[str, str]:
    """The runner's own rules: the first of ``=`` and ``<<`` decides, the last line break is not part of the value."""
    outputs, lines = {}, text.split("\n")
    while lines and (line := lines.pop(0)):
        name, _, delimiter = line.partition("<<")
        value = []
        while (line := lines.pop(0)) != delimiter:
            value.append(line)
        outputs[name] = "\n".join(value)
    return outputs


@given(st.dictionaries(st.sampled_from(["verdict", "summary", "metrics"]), st.text(st.characters(codec="utf-8"))))
def test_no_value_can_define_another_output(tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("outputs") / "output"

    write_outputs(path, outputs)

    written = path.read_bytes().decode() if outputs else ""
    assert runner_reads(written) == outputs


def test_a_value_that_knew_the_delimiter_would_be_refused() -> None:
    with pytest.raises(ValueError, match="delimiter"):
        format_output("summary", "a\nEND\nverdict<<X\npassed", "END")


def test_a_summary_that_the_runner_would_drop_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="larger"):
        write_summary(tmp_path / "summary", b"x" * (SUMMARY_LIMIT + 1))


@pytest.mark.parametrize("attempt", ["abc", "-1", "1.5", "9" * 5000, "²", "0x1"])
def test_a_number_that_is_none_is_passed_over_and_said(tmp_path: Path, attempt: str) -> None:
    context = read_context(environment(tmp_path, {}, GITHUB_RUN_ATTEMPT=attempt, GITHUB_RUN_ID=attempt))

    assert context is not None
    assert (context.run_attempt, context.run_id, context.run_number, context.run_url) == (1, None, None, None)
    assert [trouble.partition(" ")[0] for trouble in context.troubles] == ["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"]


@pytest.mark.parametrize("name", ["GITHUB_API_URL", "GITHUB_SERVER_URL"])
@pytest.mark.parametrize(
    "url",
    [
        "http://a:99999",
        "http://[",
        "a",
        "ftp://a",
        "http://a:b",
        "http://a\n.b",
        "http://a..b",
        "https://me:s3cret@a:0",
    ],
)
def test_an_address_of_github_that_is_none_is_refused_by_its_name(
    tmp_path: Path, name: str, url: str, golden: Golden
) -> None:
    with pytest.raises(UserError, match=f"{name}") as caught:
        read_context(environment(tmp_path, {}, **{name: url}))
    golden(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("repository", ["a/b/c", "a/..", "../b", "a b/c", "a/b\nc", "/", "a/", "ä/b"])
def test_a_repository_that_cannot_be_is_refused(tmp_path: Path, repository: str, golden: Golden) -> None:
    with pytest.raises(UserError, match="GITHUB_REPOSITORY") as refused:
        read_context(environment(tmp_path, {}, GITHUB_REPOSITORY=repository))
    golden(refused.value)


@pytest.mark.parametrize("part", [[], "x", 3, None, True])
@pytest.mark.parametrize("path", [("head",), ("base",), ("head", "repo"), ("head", "sha"), ("number",)])
def test_any_part_of_a_payload_may_be_of_another_kind(tmp_path: Path, path: tuple[str, ...], part: Any) -> None:
    event = pull_request("acme/bots")
    place = event["pull_request"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = part

    context = read_context(environment(tmp_path, event))

    assert context is not None
    assert isinstance(context.head_sha, str)
