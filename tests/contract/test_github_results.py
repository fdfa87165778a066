"""Uploading artifacts: the official client and ours against the same service, request by request."""

from __future__ import annotations

import io
import os
import re
import subprocess
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from fake_host import Answer, Seen, Trouble
from fake_results import JOB, RUN, SIGNATURE, TOKEN, FakeResults
from golden_texts import Golden
from node_tools import node_folder, npm_package

from turncheck.ci.github.results_host import BLOCK, NoService
from turncheck.ci.github.results_service import ResultsService, find_service, names_beside
from turncheck.ci.rest import RestError, RetryBudget

FILES = [("report.json", b'{"a": 1}'), ("rasa/intent_report.json", b"{}")]
UNUSED = ("typescript", "@bufbuild/protobuf", "@bufbuild/protoplugin", "apache-arrow", "unzip-stream")
"""What makes its code, reads lists of blobs, and downloads."""
SCRIPT = """
import { DefaultArtifactClient } from "ARTIFACT";
const [name, folder, days, skipArchive, ...files] = process.argv.slice(2);
const options = { retentionDays: Number(days) || undefined, skipArchive: skipArchive === "true" };
await new DefaultArtifactClient().uploadArtifact(name, files, folder, options);
"""


def service(results: FakeResults, masked: list[str] | None = None, **more: str) -> ResultsService:
    found = find_service({**results.variables, **more}, (masked if masked is not None else []).append)
    assert isinstance(found, ResultsService)
    found.patience = RetryBudget(120, clock=lambda: 1_700_000_000.0, sleep=lambda _: None)
    return found


def official_upload(results: FakeResults, folder: Path, name: str, days: int, *, zipped: bool = True) -> None:
    package = npm_package("@actions/artifact", "6.2.1", UNUSED)
    script = folder.parent / "upload.mjs"
    script.write_text(SCRIPT.replace("ARTIFACT", (package / "lib" / "artifact.js").as_uri()))
    paths = [str(path) for path in sorted(folder.rglob("*")) if path.is_file()]
    node = node_folder() / "bin" / "node"
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **results.variables}
    command = [node, script, name, folder, str(days), "false" if zipped else "true", *paths]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def shape_of(seen: Seen) -> tuple[object, ...]:
    """What a request is, without what differs between any two uploads."""
    queries = sorted((name, "" if name == "blockid" else value) for name, value in seen.query.items())
    headers = {name: seen.headers.get(name) for name in ("authorization", "content-type", "x-ms-blob-content-type")}
    body: object = seen.body
    if isinstance(body, dict):
        free = {"expires_at": "a time", "size": "a number", "hash": "a digest"}
        body = {name: free.get(name, value) for name, value in body.items()}
        headers["content-type"] = str(headers["content-type"]).partition(";")[0]
    elif seen.query.get("comp") == "blocklist":
        body = re.sub(r"<\?xml.*?\?>|<Latest>[^<]+</Latest>", "", (seen.body or b"").decode()).strip()
    elif seen.query.get("comp") == "block":
        body = "a block"
    return seen.method, seen.path.replace("/blob/1", "/blob/0"), queries, headers, body


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("days", [0, 7])
def test_ours_and_the_official_client_send_the_same(results: FakeResults, tmp_path: Path, days: int) -> None:
    folder = tmp_path / "files"
    for name, content in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    official_upload(results, folder, "report", days)
    official, theirs = [shape_of(seen) for seen in results.log], unpacked(results.artifacts["report"])
    results.reset()

    service(results).upload("report", FILES, days)

    assert [shape_of(seen) for seen in results.log] == official
    assert unpacked(results.artifacts["report"]) == theirs == dict(FILES)


def test_ours_and_the_official_client_send_the_same_page_unzipped(results: FakeResults, tmp_path: Path) -> None:
    page = b"<!doctype html><title>t</title>"
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "turncheck.html").write_bytes(page)
    official_upload(results, folder, "not its name", 7, zipped=False)
    official, theirs = [shape_of(seen) for seen in results.log], results.artifacts["turncheck.html"]
    results.reset()

    uploaded = service(results).upload_page("turncheck.html", page, 7)

    assert [shape_of(seen) for seen in results.log] == official
    assert results.artifacts["turncheck.html"] == theirs == page
    assert uploaded.name == "turncheck.html"


def test_an_artifact_of_many_blocks_arrives_whole(results: FakeResults) -> None:
    noise = os.urandom(2 * BLOCK + 12345)

    uploaded = service(results).upload("big", [("noise", noise)])

    puts = [seen for seen in results.log if seen.query.get("comp") == "block"]
    assert [len(seen.body) == BLOCK for seen in puts] == [True, True, False]
    assert unpacked(results.artifacts["big"]) == {"noise": noise}
    assert uploaded.id.isdecimal()


def test_the_signature_is_masked_and_the_storage_sees_no_token(results: FakeResults) -> None:
    masked: list[str] = []

    service(results, masked).upload("report", FILES)

    assert masked == [SIGNATURE, "s3cr3t%2Fsig%2Bnature%3D"]
    assert all("authorization" not in seen.headers for seen in results.log if seen.method == "PUT")


def test_the_same_files_make_the_same_archive(results: FakeResults) -> None:
    for name in ("one", "two"):
        service(results).upload(name, FILES)

    assert results.artifacts["one"] == results.artifacts["two"]


def test_jobs_of_one_run_do_not_collide(results: FakeResults) -> None:
    names = [service(results).upload_beside("turncheck", "bots/pizzeria", FILES).name for _ in range(12)]

    assert names[:3] == ["turncheck", "turncheck-bots-pizzeria", "turncheck-2"]
    assert len(set(names)) == 12
    assert sorted(results.artifacts) == sorted(names)


def test_names_are_ones_that_the_service_takes() -> None:
    assert list(names_beside("t", 'a:b/"c"<é> ..'))[1] == "t-a-b-c-.."
    assert len(list(names_beside("t", ""))) == 9


@pytest.mark.parametrize(
    ("maximum", "wished", "days", "said"), [("90", 7, 7, False), ("5", 7, 5, True), ("", 7, 7, False)]
)
def test_the_retention_is_cut_to_what_the_repository_allows(
    results: FakeResults, maximum: str, wished: int, days: int, said: bool
) -> None:
    ours = service(results, GITHUB_RETENTION_DAYS=maximum)
    ours.upload("report", FILES, wished)

    assert results.wanted["report"]["expires_at"].startswith({7: "2023-11-21T22:13:20", 5: "2023-11-19T22:13:20"}[days])
    assert bool(ours.retention(wished)[1]) == said


@pytest.mark.parametrize("path", ["CreateArtifact", "FinalizeArtifact", "/blob/"])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_service_is_tried_again(results: FakeResults, path: str, status: int) -> None:
    method = "PUT" if path == "/blob/" else "POST"
    results.troubles.append(Trouble(method, path, Answer(status, {"code": "unavailable", "msg": "later"}), times=2))

    service(results).upload("report", FILES)

    assert list(results.artifacts) == ["report"]


@pytest.mark.parametrize("path", ["CreateArtifact", "FinalizeArtifact", "/blob/"])
@pytest.mark.parametrize(
    "answer", [Answer(503), Answer(403, {"code": "x", "msg": "insufficient usage"}), Answer(close=True)]
)
def test_what_cannot_be_uploaded_is_an_error_that_shows_no_secret(
    results: FakeResults, path: str, answer: Answer
) -> None:
    method = "PUT" if path == "/blob/" else "POST"
    results.troubles.append(Trouble(method, path, answer, times=1000))

    with pytest.raises(RestError) as caught:
        service(results).upload("report", FILES)

    assert results.artifacts == {}
    assert not any(secret in str(caught.value) for secret in (TOKEN, SIGNATURE, "s3cr3t"))
    if path == "/blob/":
        assert not any("Finalize" in seen.path for seen in results.log)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ACTIONS_RESULTS_URL": ""}, "actions/upload-artifact"),
        ({"ACTIONS_RUNTIME_TOKEN": ""}, "actions/upload-artifact"),
        ({"GITHUB_SERVER_URL": "https://git.example.org"}, "actions/upload-artifact"),
        ({"ACTIONS_RUNTIME_TOKEN": "a.b.c"}, "runtime token"),
        ({"ACTIONS_RUNTIME_TOKEN": "none"}, "runtime token"),
        ({"ACTIONS_RESULTS_URL": "http://results.example.org/"}, "https"),
    ],
)
def test_where_there_is_no_service_it_says_why(results: FakeResults, change: dict[str, str], why: str) -> None:
    found = find_service({**results.variables, **change}, print)

    assert isinstance(found, NoService)
    assert why in found.reason


@pytest.mark.parametrize(
    "payload", ["[" * 5_000 + "]" * 5_000, '{"scp": ' + "[" * 100_000, '{"scp": 1e999}', '{"a"', "7"]
)
def test_a_token_of_any_content_is_no_service_and_no_crash(results: FakeResults, payload: str) -> None:
    token = f"a.{urlsafe_b64encode(payload.encode()).decode()}.c"

    found = find_service({**results.variables, "ACTIONS_RUNTIME_TOKEN": token}, print)

    assert isinstance(found, NoService)
    assert "runtime token" in found.reason


@pytest.mark.parametrize(
    ("given", "is_one"),
    [
        ("4242", True),
        (4242, True),
        ("9" * 20, True),
        ("9" * 21, False),
        ("9" * 5_000, False),
        ("\u0663", False),
        ("\uff14\uff12", False),
        ("\u00b2", False),
        ("-1", False),
        ("4242\n", False),
        ("4242/../../x", False),
        ("", False),
        (None, False),
        (True, False),
        ([4242], False),
    ],
)
def test_the_number_of_an_artifact_is_one_of_ascii_digits(
    results: FakeResults, given: object, is_one: bool, golden: Golden
) -> None:
    results.troubles.append(Trouble("POST", "FinalizeArtifact", Answer(200, {"ok": True, "artifact_id": given})))
    ours = service(results)
    if is_one:
        assert ours.upload("report", FILES).id == str(given)
        return
    with pytest.raises(RestError, match="'report'") as refused:
        ours.upload("report", FILES)
    golden(refused.value)


def test_the_ids_come_out_of_the_token(results: FakeResults) -> None:
    ours = service(results, GITHUB_SERVER_URL="https://acme.ghe.com")

    assert (ours.run_id, ours.job_id) == (RUN, JOB)
    assert TOKEN not in repr(ours)
