"""GitHub's cache as the action uses it: what each run takes, keeps and believes, and what one that fails costs."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cached_job import FILES, PULL, RULE, TAKEN, CachedJob, git, repository
from fake_caches import MAIN
from fake_github import FakeGitHub, refuse
from fake_host import Answer, Trouble
from fake_results import SIGNATURE, TOKEN, FakeResults
from golden_texts import Golden
from timing import Timing

from turncheck.ci.github.cache_service import VERSION
from turncheck.process.cache import Cache
from turncheck.process.cache_archive import FOLDER, digest_of, pack
from turncheck.process.environment import Secret

KEY = "ab" * 32
OTHER = "cd" * 32
SECRET = "the key of this repository"
NOT_ALLOWED = refuse(403, "Resource not accessible by integration")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("built"))


@pytest.fixture
def job(
    built: Path, fake: FakeGitHub, results: FakeResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CachedJob:
    fake.caches = results.caches
    fake.merge_bases = {}
    monkeypatch.chdir(shutil.copytree(built, tmp_path / "repository"))
    return CachedJob(tmp_path, fake, results)


@pytest.fixture
def checked(job: CachedJob, github: FakeGitHub) -> CachedJob:
    """The same, with what is asked of the API checked against GitHub's description."""
    github.caches = job.results.caches
    return job


def leave(job: CachedJob, variables: dict[str, str], **entries: bytes) -> None:
    """Let a job train something, and leave it in the cache."""
    with job.at_work(variables) as cache:
        assert cache is not None
        for key, content in entries.items():
            cache.put(key, "fold", content)


def found(job: CachedJob, variables: dict[str, str], key: str = KEY) -> bytes | None:
    """What a job finds under the key of an entry; ``None`` if nothing."""
    with job.at_work(variables) as cache:
        return cache.get(key, "fold") if cache is not None else None


def plain(lines: list[str]) -> list[str]:
    """Lines without what differs in each run."""
    return [re.sub(r"turncheck-1-[\w-]+", "KEY", line) for line in lines]


def asked(job: CachedJob) -> list[str]:
    """What was asked of the cache and of the list of its entries."""
    seen = [*job.results.log, *job.github.log]
    return [one.path for one in seen if "Cache" in one.path or "/cache" in one.path]


# What a run takes, and keeps.


def test_the_second_run_on_the_default_branch_trains_nothing(job: CachedJob, golden: Golden) -> None:
    assert job.on_main() == 0
    clean = job.report()
    assert TAKEN not in job.notes
    golden(*(re.sub(r"[\d.]+ MiB", "SIZE", line) for line in job.lines))
    assert (job.folder / "results" / "badge.svg").exists(), "of the first commit, too"
    (first,) = job.kept
    assert git(job.repository, "rev-parse", "HEAD") in first

    job.commit()
    assert job.on_main() == 0
    assert TAKEN in job.notes
    assert job.lines == [], "nothing is new, and nothing is kept"
    assert job.kept == [first]
    assert job.report() == clean
    assert f"::add-mask::{SIGNATURE}" in job.log


@pytest.mark.parametrize("baseline", ["none", "git", "auto"])
def test_the_default_branch_has_a_badge_whatever_it_is_compared_with(job: CachedJob, baseline: str) -> None:
    job.on_main(baseline=baseline)

    assert (job.folder / "results" / "badge.svg").exists()
    git(job.repository, "checkout", "-q", "-b", "feature")
    job.commit()
    (job.folder / "results" / "badge.svg").unlink()
    job.on_pull_request(baseline=baseline)
    assert not (job.folder / "results" / "badge.svg").exists()


def test_from_the_start_of_the_container_to_the_end_a_second_run_takes_five_seconds(
    job: CachedJob, timing: Timing
) -> None:
    job.in_a_process(job.of_main())
    job.commit()
    with timing.at_most(5, time.monotonic):
        job.in_a_process(job.of_main())

    assert TAKEN in job.notes
    assert len(job.kept) == 1


def test_a_change_takes_what_the_default_branch_left_and_keeps_nothing(checked: CachedJob) -> None:
    checked.on_main()
    git(checked.repository, "checkout", "-q", "-b", "feature")
    checked.commit(data__rules=RULE)

    checked.on_pull_request()
    assert "trained pipeline" in next(line for line in checked.notes.splitlines() if TAKEN in line)
    assert checked.lines == []
    assert len(checked.kept) == 1


def test_with_a_key_a_change_takes_what_it_left_itself(checked: CachedJob) -> None:
    leave(checked, checked.of_main(cache_key=SECRET), **{KEY: b"of main"})
    leave(checked, checked.of_pull_request(cache_key=SECRET), **{OTHER: b"of the change"})

    assert {one.ref for one in checked.results.caches.done} == {PULL, MAIN}
    assert found(checked, checked.of_pull_request(cache_key=SECRET), OTHER) == b"of the change"
    assert found(checked, checked.of_main(cache_key=SECRET), OTHER) is None, "another ref cannot read it"


def test_what_a_run_did_not_use_is_kept_again_as_far_as_there_is_room(
    job: CachedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(job, job.of_main(), **{KEY: bytes(1_000)})
    leave(job, job.of_main(), **{OTHER: b"new"})
    assert found(job, job.of_main()) == bytes(1_000)

    monkeypatch.setattr("turncheck.process.cache_archive._LEAST_SPARE", 0)
    leave(job, job.of_main(), **{"ef" * 32: b"newest"})
    assert found(job, job.of_main()) is None
    assert found(job, job.of_main(), "ef" * 32) == b"newest"


def test_jobs_with_other_inputs_keep_entries_of_their_own(job: CachedJob) -> None:
    leave(job, job.of_main(project="bot", folds="5"), **{KEY: b"five"})
    leave(job, job.of_main(project="bot", folds="9"), **{KEY: b"nine"})

    assert found(job, job.of_main(project="bot", folds="5")) == b"five"
    assert found(job, job.of_main(project="bot", folds="9")) == b"nine"
    assert found(job, job.of_main(project="bot", folds="5", fail_on="errors")) == b"five"


def test_two_jobs_that_keep_the_same_at_once_are_both_content(job: CachedJob) -> None:
    variables = job.of_main()
    with job.at_work(dict(variables)) as cache:
        assert cache is not None
        cache.put(KEY, "fold", b"the same")
        leave(job, dict(variables), **{KEY: b"the same"})
        assert len(job.kept) == 1

    assert job.lines == []
    assert len(job.kept) == 1
    assert found(job, job.of_main()) == b"the same"


def test_several_assistants_share_one_entry(job: CachedJob) -> None:
    shutil.copytree(job.repository / "bot", job.repository / "other")
    job.commit()
    assert job.on_main(project="bot\nother") == 0
    assert len(job.kept) == 1

    job.on_main(project="bot\nother")
    assert job.notes.count(TAKEN) == 2
    assert len(job.kept) == 1


def test_an_entry_of_many_blocks_is_restored(job: CachedJob) -> None:
    noise = os.urandom((8 << 20) + 12_345)
    leave(job, job.of_main(), **{KEY: noise})

    assert found(job, job.of_main()) == noise


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_runs_of_the_branch_itself_keep(job: CachedJob, event: str) -> None:
    leave(job, job.of_main(event), **{KEY: b"kept"})

    assert found(job, job.of_main(event)) == b"kept"


@pytest.mark.parametrize("event", ["issue_comment", "workflow_call", "pull_request_review"])
def test_a_run_on_the_default_branch_that_may_have_checked_out_a_change_keeps_nothing(
    job: CachedJob, event: str
) -> None:
    leave(job, job.of_main(event), **{KEY: b"kept"})

    assert job.kept == []


def test_a_merge_queue_reads_the_default_branch_alone(checked: CachedJob) -> None:
    leave(checked, checked.of_main(), **{KEY: b"of main"})

    assert found(checked, checked.of_merge_queue()) == b"of main"
    leave(checked, checked.of_merge_queue(), **{OTHER: b"new"})
    assert len(checked.kept) == 1


def test_dependabot_reads_the_default_branch_alone(checked: CachedJob) -> None:
    leave(checked, checked.of_main(), **{KEY: b"of main"})

    assert found(checked, checked.of_pull_request(GITHUB_ACTOR="dependabot[bot]", token="ghs_fork")) == b"of main"


def test_a_run_that_is_repeated_takes_what_it_kept(job: CachedJob) -> None:
    leave(job, job.of_main(), **{KEY: b"kept"})
    job.number -= 1

    assert found(job, job.of_main(GITHUB_RUN_ATTEMPT="2")) == b"kept"
    assert len(job.kept) == 1


def test_a_fork_neither_reads_nor_writes(job: CachedJob) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    job.results.log.clear()

    for more in ({}, {"cache_key": SECRET}):
        with job.at_work(job.of_pull_request(fork=True, **more)) as cache:
            assert cache is None
        assert asked(job) == []
        assert job.lines == []


@pytest.mark.parametrize("how", [{"cache": "off"}, {"cache": "false"}, {"cache_folder": "/somewhere"}])
def test_switched_off_or_with_a_folder_github_is_not_asked(job: CachedJob, how: dict[str, str]) -> None:
    with job.at_work(job.of_main(**how)):
        pass

    assert asked(job) == []


# What a change may have written decides nothing.


def poisoned(folder: Path, secret: str | None = None, content: bytes = b"poison") -> tuple[str, bytes]:
    """The digest and the bytes of an archive that somebody made with an entry of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    cache = Cache(folder, Secret(secret) if secret else None)
    cache.put(KEY, "fold", content)
    entries = sorted(folder.rglob("*.entry"))
    file = io.BytesIO()
    pack(entries, file)
    return digest_of(entries), file.getvalue()


def prefix_of(job: CachedJob) -> str:
    """The beginning of the keys, from one that was kept."""
    return re.sub(r"[0-9a-f]{40}-[0-9a-f]{64}$", "", job.kept[0])


def test_an_entry_of_the_change_itself_is_not_used(checked: CachedJob, tmp_path: Path) -> None:
    leave(checked, checked.of_main(), **{KEY: b"of main"})
    digest, content = poisoned(tmp_path / "poison")
    for commit in ("0" * 40, "f" * 40, git(checked.repository, "rev-parse", "HEAD")):
        checked.results.caches.keep(f"{prefix_of(checked)}{commit}-{digest}", VERSION, content, PULL)

    assert found(checked, checked.of_pull_request()) == b"of main"
    assert found(checked, checked.of_main()) == b"of main"


def test_a_key_that_another_ref_has_too_is_not_used(checked: CachedJob, tmp_path: Path) -> None:
    leave(checked, checked.of_main(), **{KEY: b"of main"})
    _, content = poisoned(tmp_path / "poison")
    checked.results.caches.keep(checked.kept[0], VERSION, content, PULL)

    assert found(checked, checked.of_pull_request()) is None
    assert checked.lines == []
    assert not [one for one in checked.results.log if one.method == "GET"], "nothing is downloaded"


def test_an_entry_that_appears_after_the_list_is_not_believed(
    checked: CachedJob, tmp_path: Path, golden: Golden
) -> None:
    """A step that still runs writes one under the key of the default branch's, once that has been listed."""
    leave(checked, checked.of_main(), **{KEY: b"of main"})
    _, content = poisoned(tmp_path / "poison")
    listed = checked.results.caches.listed

    def list_and_write(prefix: str, ref: str | None) -> list[dict[str, Any]]:
        given = listed(prefix, ref)
        checked.results.caches.keep(checked.kept[0], VERSION, content, PULL)
        return given

    checked.results.caches.listed = list_and_write  # type: ignore[method-assign]
    try:
        assert found(checked, checked.of_pull_request()) is None
    finally:
        del checked.results.caches.listed
    golden(*plain(checked.lines))


@pytest.mark.parametrize("secret", [None, "another key"])
def test_with_a_key_an_entry_without_its_signature_is_not_used(
    checked: CachedJob, tmp_path: Path, secret: str | None
) -> None:
    leave(checked, checked.of_main(cache_key=SECRET), **{KEY: b"of main"})
    digest, content = poisoned(tmp_path / "poison", secret)
    checked.results.caches.keep(f"{prefix_of(checked)}{'0' * 40}-{digest}", VERSION, content, PULL)

    with checked.at_work(checked.of_pull_request(cache_key=SECRET)) as cache:
        assert cache is not None
        assert cache.get(KEY, "fold") is None
        assert len(cache.unsigned) == 1


def test_a_run_judges_a_poisoned_change_as_if_there_were_no_cache(checked: CachedJob, tmp_path: Path) -> None:
    """The trained models of a bot with swapped sentences, under the keys of the right one."""
    checked.on_main()
    swapped = FILES["data/nlu.yml"].replace("intent: greet", "intent: X").replace("intent: bye", "intent: greet")
    git(checked.repository, "checkout", "-q", "-b", "feature")
    checked.commit(data__nlu=swapped.replace("intent: X", "intent: bye"))
    checked.on_pull_request(cache="off", baseline="none")
    wrong = checked.report()
    git(checked.repository, "checkout", "-q", "-B", "feature", "main")
    checked.on_pull_request(cache="off", baseline="none")
    right = checked.report()
    assert wrong != right
    home = poison_of(checked, tmp_path, swapped.replace("intent: X", "intent: bye"))
    for commit in ("0" * 40, git(checked.repository, "rev-parse", "HEAD")):
        checked.results.caches.keep(f"{prefix_of(checked)}{commit}-{home[0]}", VERSION, home[1], PULL)

    checked.on_pull_request(baseline="none")

    assert checked.report() == right
    assert TAKEN in checked.notes


def poison_of(job: CachedJob, folder: Path, nlu: str) -> tuple[str, bytes]:
    """An archive with the entries of the default branch, whose contents are those of the entries for other data."""
    right, wrong = folder / "right", folder / "wrong"
    for cache, data in ((wrong, nlu), (right, FILES["data/nlu.yml"])):
        (job.repository / "bot" / "data" / "nlu.yml").write_text(data)
        job.on_pull_request(cache_folder=str(cache), baseline="none")
    ours, theirs = Cache(right), Cache(wrong)
    for mine, other in zip(by_size(ours), by_size(theirs), strict=True):
        ours.put(mine, "x", theirs.get(other, "x") or b"")
    entries = sorted(right.rglob("*.entry"))
    file = io.BytesIO()
    pack(entries, file)
    return digest_of(entries), file.getvalue()


def by_size(cache: Cache) -> list[str]:
    """The keys of a cache: of two bots that differ in names alone, the same place is the same kind of entry."""
    keys = sorted(path.stem for path in cache.folder.rglob("*.entry"))
    return sorted(keys, key=lambda key: len(cache.get(key, "x") or b""))


def archive(*members: tuple[str, bytes, bytes]) -> bytes:
    """A compressed tar file of members: name, type, content or target."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as made:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.size = len(content) if kind == tarfile.REGTYPE else 0
            member.linkname = "" if kind == tarfile.REGTYPE else content.decode()
            made.addfile(member, io.BytesIO(content))
    return file.getvalue()


ENTRY = f"{FOLDER}/ab/{KEY}.entry"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        gzip.compress(b"no archive"),
        gzip.compress(bytes(10_000)),
        archive((f"{FOLDER}/../../x.entry", tarfile.REGTYPE, b"x")),
        archive(("/etc/passwd", tarfile.REGTYPE, b"x")),
        archive((ENTRY, tarfile.SYMTYPE, b"/etc/passwd")),
        archive((ENTRY, tarfile.LNKTYPE, b"/etc/passwd")),
        archive((ENTRY, tarfile.FIFOTYPE, b"")),
        archive((ENTRY, tarfile.CHRTYPE, b"")),
        archive((f"{FOLDER}/ab", tarfile.SYMTYPE, b"/tmp"), (ENTRY, tarfile.REGTYPE, b"x")),
        archive((ENTRY, tarfile.REGTYPE, b"x"), (ENTRY, tarfile.REGTYPE, b"y")),
        archive((ENTRY, tarfile.REGTYPE, b"x"))[:-20],
        archive((ENTRY, tarfile.REGTYPE, b"another content")),
    ],
    ids=range(14),
)
def test_whatever_lies_under_a_key_nothing_is_written_elsewhere_or_believed(
    job: CachedJob, content: bytes, golden: Golden, tmp_path: Path
) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    job.results.caches.entries[0].content = content
    before = sorted(path for path in tmp_path.rglob("*") if "home" not in path.parts)

    assert found(job, job.of_main()) is None

    golden(*plain(job.lines))
    assert sorted(path for path in tmp_path.rglob("*") if "home" not in path.parts) == before
    leave(job, job.of_main(), **{KEY: b"of main"})
    assert len(job.kept) == 1, "it is under the same key, which cannot be replaced"


def test_a_small_archive_that_unpacks_to_more_than_is_read_is_ignored(
    job: CachedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(job, job.of_main(), **{KEY: bytes(3 << 20)})
    assert len(job.results.caches.entries[0].content or b"") < 1 << 20

    monkeypatch.setattr("turncheck.process.cache_archive.MOST_BYTES", 1 << 20)
    assert found(job, job.of_main()) is None
    assert len(job.lines) == 1


def test_an_entry_that_another_program_kept_under_such_a_key_is_not_used(job: CachedJob) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    job.results.caches.entries[0].version = "0" * 64

    assert found(job, job.of_main()) is None
    assert found(job, job.of_pull_request()) is None


# What is missing, or does not answer.


@contextmanager
def silent_server() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/"


def seconds_of(job: CachedJob, variables: dict[str, str]) -> float:
    """How long a job takes that has something to keep."""
    begun = time.monotonic()
    with job.at_work(variables) as cache:
        if cache is not None:
            cache.put(OTHER, "fold", b"new")
    return time.monotonic() - begun


@pytest.mark.parametrize("change", [False, True])
def test_a_server_that_never_answers_costs_five_seconds_and_one_line(
    job: CachedJob, timing: Timing, change: bool, golden: Golden
) -> None:
    with silent_server() as address:
        variables = job.of_pull_request() if change else job.of_main()
        variables["GITHUB_API_URL" if change else "ACTIONS_RESULTS_URL"] = address
        with timing.at_most(5, time.monotonic):
            assert seconds_of(job, variables) < 20
    golden(*(line.replace("ReadTimeout", "Timeout") for line in job.lines))  # whichever is first


@pytest.mark.slow
@pytest.mark.parametrize("hangs", ["Create", "Finalize"])
def test_a_service_that_answers_ever_more_slowly_costs_five_seconds(
    job: CachedJob, timing: Timing, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    answered, over = job.results.caches.call, threading.Event()

    def slowly(method: str, *rest: Any) -> Any:
        over.wait(8 if method.startswith(hangs) else 2.5)
        return answered(method, *rest)

    monkeypatch.setattr(job.results.caches, "call", slowly)
    with timing.at_most(5.5, time.monotonic):
        seconds_of(job, job.of_main())
    over.set()
    assert len(job.lines) == 1


def test_a_server_that_is_not_there_costs_one_line(job: CachedJob, timing: Timing, golden: Golden) -> None:
    with timing.at_most(2, time.monotonic):
        assert seconds_of(job, job.of_main(ACTIONS_RESULTS_URL=refused())) < 20
    golden(*job.lines)


def test_without_internet_asking_for_the_address_is_not_waited_for(
    job: CachedJob, timing: Timing, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    def slow(*_: object) -> list[object]:
        time.sleep(8)
        return []

    monkeypatch.setattr("socket.getaddrinfo", slow)
    address = "https://results-receiver.actions.githubusercontent.com/"

    with timing.at_most(5, time.monotonic):
        assert seconds_of(job, job.of_main(ACTIONS_RESULTS_URL=address)) < 20
    golden(*job.lines)


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "GetCacheEntryDownloadURL"),
        ("POST", "CreateCacheEntry"),
        ("POST", "FinalizeCacheEntryUpload"),
        ("PUT", "/cache/"),
        ("GET", "/cache/"),
        ("GET", "/actions/caches"),
    ],
)
def test_a_service_that_refuses_costs_five_seconds_and_one_line(
    job: CachedJob, timing: Timing, golden: Golden, *, method: str, path: str, status: int
) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    variables = job.of_pull_request() if path == "/actions/caches" else job.of_main()
    troubles = (job.github if path == "/actions/caches" else job.results).troubles
    troubles.append(Trouble(method, path, Answer(status, {"code": "x", "msg": "not now", "message": "no"}), times=99))

    with timing.at_most(5, time.monotonic):
        assert seconds_of(job, variables) < 20
    assert len(job.lines) == 1
    golden(*job.lines)
    assert not any(secret in job.notes for secret in (TOKEN, SIGNATURE, "s3cr3t"))


@pytest.mark.parametrize("answer", [Answer(close=True), Answer(200, content=b"<html>"), Answer(200, [1])])
def test_an_answer_of_another_kind_fails_nothing(job: CachedJob, timing: Timing, answer: Answer) -> None:
    job.results.troubles.append(Trouble("POST", "CacheService", answer, times=99))

    with timing.at_most(5, time.monotonic):
        assert seconds_of(job, job.of_main()) < 20
    assert len(job.lines) <= 1


@pytest.mark.parametrize(
    "answer", [{"ok": True}, {"ok": True, "signed_download_url": "ftp://x", "matched_key": "turncheck"}, {"ok": 7}]
)
def test_an_address_that_is_none_is_no_entry(job: CachedJob, answer: dict[str, Any]) -> None:
    job.results.troubles.append(Trouble("POST", "GetCacheEntryDownloadURL", Answer(200, answer)))

    assert found(job, job.of_main()) is None


def test_what_the_host_says_of_its_limits_is_said(job: CachedJob, golden: Golden) -> None:
    job.results.caches.denied = "cache write denied: the repository is over its limit of 10 GB"
    leave(job, job.of_main(), **{KEY: b"new"})
    golden(*job.lines)

    job.results.caches.denied = ""
    full = Answer(200, {"ok": False, "message": "the cache is full"})
    job.results.troubles.append(Trouble("POST", "FinalizeCacheEntryUpload", full))
    leave(job, job.of_main(), **{KEY: b"new"})
    golden(*job.lines)
    assert job.kept == []


@pytest.mark.parametrize("baseline", ["auto", "git"])
def test_a_token_without_the_permission_is_named_once_and_changes_no_verdict(job: CachedJob, baseline: str) -> None:
    """By the search for the base, if that needs it too; the annotation says the same again, at the pull request."""
    job.on_main()
    git(job.repository, "checkout", "-q", "-b", "feature")
    job.commit(data__rules=RULE)
    job.on_pull_request(cache="off", baseline="git")
    clean = job.report()
    job.github.troubles.append(Trouble("GET", "/actions/", NOT_ALLOWED, times=99))

    assert job.on_pull_request(baseline=baseline) == 0

    assert job.report() == clean
    said = [line for line in f"{job.log}\n{job.notes}".splitlines() if "actions: read" in line]
    annotations = [line for line in said if line.startswith("::")]
    assert len(said) - len(annotations) == 1
    assert len(annotations) <= 1


def test_without_a_token_a_change_has_no_cache(job: CachedJob, golden: Golden) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})

    assert found(job, job.of_pull_request(INPUT_TOKEN="")) is None
    golden(*job.lines)
    assert found(job, job.of_main(INPUT_TOKEN="")) == b"of main"


@pytest.mark.parametrize(
    "variables",
    [
        {"GITHUB_SERVER_URL": "https://git.example.org"},
        {"GITHUB_SERVER_URL": "https://git.example.org", "ACTIONS_CACHE_URL": "https://git.example.org/_apis/cache/"},
        {"ACTIONS_RESULTS_URL": "", "ACTIONS_RUNTIME_TOKEN": ""},
    ],
)
def test_where_there_is_no_such_service_it_is_said_in_one_line(
    job: CachedJob, variables: dict[str, str], golden: Golden
) -> None:
    with job.at_work(job.of_main(**variables)) as cache:
        assert cache is None
    golden(*job.lines)
    assert asked(job) == []


@pytest.mark.parametrize(
    ("mode", "reads", "writes"), [("none", 0, 0), ("read", 1, 0), ("write-only", 0, 1), ("x", 1, 1)]
)
def test_the_workflow_may_forbid_reading_or_writing(job: CachedJob, mode: str, reads: int, writes: int) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    variables = {"ACTIONS_CACHE_MODE": mode}

    assert (found(job, job.of_main(**variables)) is not None) == bool(reads)
    leave(job, job.of_main(**variables), **{OTHER: b"new"})
    assert len(job.kept) == 1 + writes


def test_nowhere_to_write_is_said_and_fails_nothing(
    job: CachedJob, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    def nowhere(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", nowhere)
    with job.at_work(job.of_main()) as cache:
        assert cache is None
    golden(*job.lines)


def test_a_disk_that_is_full_is_said_and_fails_nothing(
    job: CachedJob, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("turncheck.process.cache_archive._write", full)
    assert found(job, job.of_main()) is None
    golden(*job.lines)


# The list of entries, as GitHub's description has it.


def test_the_list_is_asked_for_as_github_describes_it(checked: CachedJob, github: FakeGitHub) -> None:
    leave(checked, checked.of_main(), **{KEY: b"of main"})
    github.log.clear()
    github.per_page = 1
    prefix = prefix_of(checked)
    checked.results.caches.keep(f"{prefix}x", "0" * 64, b"", "refs/heads/other")

    assert found(checked, checked.of_pull_request()) == b"of main"
    first, second = (one for one in github.log if one.path.endswith("/actions/caches"))
    assert first.query["key"] == prefix
    assert second.query["page"] == "2"


def test_a_list_without_an_end_is_not_read(job: CachedJob, golden: Golden) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    for number in range(1_001):
        job.results.caches.keep(f"{prefix_of(job)}{number}", VERSION, b"", PULL)

    assert found(job, job.of_pull_request()) is None
    golden(*job.lines)


@pytest.mark.parametrize(
    "answer", [{}, {"actions_caches": 7}, {"actions_caches": [{"key": 7}]}, {"actions_caches": []}]
)
def test_a_list_of_another_shape_is_no_entry(job: CachedJob, answer: dict[str, Any]) -> None:
    leave(job, job.of_main(), **{KEY: b"of main"})
    job.github.troubles.append(Trouble("GET", "/actions/caches", Answer(200, answer)))

    assert found(job, job.of_pull_request()) is None
    assert len(job.lines) <= 1
