"""Bitbucket: the comment in its dialect, and Code Insights."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bitbucket_description import faults, kinds, package
from fake_bitbucket import ANNOTATION, BOT_TOKEN, NARROW_TOKEN, REPORT, TOKEN, FakeBitbucket
from fake_host import Answer, Seen, Trouble
from golden_texts import Golden
from hostile import HOSTILE
from node_tools import node_folder
from pull_request import LINKS, pull_request

from turncheck.ci.bitbucket.host import BitbucketClient, BitbucketRepository, from_bitbucket, to_bitbucket
from turncheck.ci.comment import StickyComment, stamped
from turncheck.ci.host import Check, RunStamp
from turncheck.ci.rest import NotFoundError, RefusedError, RestError, RetryBudget
from turncheck.cli import run_command_line
from turncheck.process.environment import Secret
from turncheck.render.annotations import Annotation
from turncheck.render.markdown import render_comment
from turncheck.render.sinks.markdown import block, code

MARKER = "<!-- turncheck:report id=pizzeria -->"
COMMENTS = "/pullrequests/7/comments"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeBitbucket]:
    server = FakeBitbucket()
    yield server
    server.close()


@pytest.fixture
def fake(server: FakeBitbucket) -> FakeBitbucket:
    server.reset()
    return server


def repository(fake: FakeBitbucket, token: str = TOKEN) -> BitbucketRepository:
    return BitbucketRepository(BitbucketClient(fake.url, Secret(token), RetryBudget(sleep=lambda _: None)), "acme/bots")


def sticky(fake: FakeBitbucket, token: str = TOKEN) -> StickyComment:
    return StickyComment(repository(fake, token).comments(7), MARKER)


def body(text: str) -> str:
    return f"{MARKER}\n{text}\n"


def raw(text: str, run: int) -> str:
    return to_bitbucket(stamped(body(text), MARKER, RunStamp(run)))


@pytest.mark.parametrize("token", [TOKEN, BOT_TOKEN])
def test_the_first_run_posts_and_the_next_one_updates(fake: FakeBitbucket, token: str) -> None:
    fake.add_comment("hello")

    first = sticky(fake, token).write(body("one"), RunStamp(5))
    second = sticky(fake, token).write(body("two"), RunStamp(6))

    assert first.url == second.url
    assert fake.raws() == ["hello", raw("two", 6)]


@pytest.mark.parametrize("token", [TOKEN, BOT_TOKEN])
def test_an_update_finds_the_comment_that_is_ours_and_writes_none_where_there_is_none(
    fake: FakeBitbucket, token: str
) -> None:
    fake.add_comment(raw("forged", 999))
    nothing = sticky(fake, token).update(body("green"), RunStamp(1))
    assert (nothing.url, fake.raws()) == (None, [raw("forged", 999)])

    sticky(fake, token).write(body("red"), RunStamp(2))
    sticky(fake, token).update(body("green"), RunStamp(3))

    assert fake.raws() == [raw("forged", 999), raw("green", 3)]


@pytest.mark.parametrize("token", [TOKEN, BOT_TOKEN])
def test_the_comment_of_an_account_that_is_gone_is_nobodys(fake: FakeBitbucket, token: str) -> None:
    fake.add_comment(raw("forged", 999))["user"] = None

    sticky(fake, token).write(body("mine"), RunStamp(3))

    assert fake.raws() == [raw("forged", 999), raw("mine", 3)]


def test_it_is_found_on_any_page(fake: FakeBitbucket) -> None:
    fake.most_per_page = 10
    for number in range(25):
        fake.add_comment(f"comment {number}")
    fake.add_comment(raw("old", 1), "{alice}")

    sticky(fake).write(body("new"), RunStamp(2))

    assert fake.raws()[-1] == raw("new", 2)
    assert len(fake.raws()) == 26


def test_comments_of_others_are_never_touched(fake: FakeBitbucket) -> None:
    fake.add_comment(raw("forged", 999))

    sticky(fake).write(body("mine"), RunStamp(3))

    assert fake.raws() == [raw("forged", 999), raw("mine", 3)]


def test_runs_that_race_leave_one_comment_with_the_newest_content(fake: FakeBitbucket) -> None:
    def another_run(seen: Seen) -> None:
        if seen.method == "POST":
            fake.before = None
            fake.add_comment(raw("theirs", 9), "{alice}")

    fake.before = another_run
    sticky(fake).write(body("ours"), RunStamp(8))

    assert fake.raws() == [raw("theirs", 9)]


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (Answer(401, {"error": {"message": "Token is invalid"}}), RestError, "wrong or has expired"),
        (Answer(403, {"error": {"message": "scopes"}}), RefusedError, "the scope `pullrequest:write`"),
        (Answer(404, {"error": {"message": "gone"}}), NotFoundError, "gone"),
        (Answer(503, {}), RestError, "tried 5 times"),
        (Answer(429, {"error": {"message": "Rate limit"}}, {"Retry-After": "900"}), RestError, "too long"),
        (Answer(200, {"values": [], "next": "http://evil.example/"}), RestError, "continues on another host"),
        (Answer(302, headers={"Location": "http://127.0.0.1:9/x"}), RestError, "which is another server"),
    ],
)
def test_what_is_refused_is_told_and_the_token_never(
    fake: FakeBitbucket, answer: Answer, kind: type[RestError], told: str
) -> None:
    fake.troubles.append(Trouble("GET", COMMENTS, answer, times=9))

    with pytest.raises(kind) as caught:
        sticky(fake).write(body("one"), RunStamp(1))

    assert told in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_list_that_leads_round_in_circles_ends(fake: FakeBitbucket, golden: Golden) -> None:
    onward = {"values": [], "next": f"{fake.url}/repositories/acme/bots{COMMENTS}?page=2"}
    fake.troubles.append(Trouble("GET", COMMENTS, Answer(200, onward), times=50))

    with pytest.raises(RestError) as refused:
        sticky(fake).write(body("one"), RunStamp(1))
    golden(refused.value)


def test_a_token_of_too_narrow_a_scope_is_told_so(fake: FakeBitbucket) -> None:
    with pytest.raises(RefusedError, match="pullrequest:write"):
        sticky(fake, NARROW_TOKEN).write(body("one"), RunStamp(1))


def test_a_whole_comment_has_no_html_and_its_first_line_comes_back() -> None:
    given, comparison, verdict = pull_request()
    comment = render_comment(given, comparison, verdict, LINKS, limit=30_000).encoded.decode()
    with_stamp = stamped(comment, comment.partition("\n")[0], RunStamp(70, 2))

    shown = to_bitbucket(with_stamp)

    assert "<details>" in comment
    assert len(shown) < 32_768
    assert re.findall(r"(?m)^(?!    ).*?(</?[a-z][^>]*>|<!--)", re.sub(r"`[^`\n]*`", "", shown)) == []
    assert shown.startswith("[//]: # (turncheck:report id=")
    assert from_bitbucket(shown).partition("\n")[0] == with_stamp.partition("\n")[0]
    for summary in re.findall(r"<summary>(.*?)</summary>", comment):
        assert re.sub(r"</?\w+>|\*", "", summary).strip() in shown.replace("*", "")


@pytest.mark.parametrize("text", ["</details>", "a<br>b", "<!-- x -->", "<details><summary>x</summary>", "a`<b>`c"])
def test_what_is_code_is_shown_letter_by_letter(text: str) -> None:
    literal, several = code(text), block(f"{text}\n  {text}")
    summary = f"<details><summary>More <code>{html.escape(text)}</code></summary>"
    given = f"{MARKER}\n{summary}\n\n- {literal}<br>{literal}\n\n{several}\n\n</details>\n"

    shown = to_bitbucket(given)

    assert f"- {literal} · {literal}\n" in shown
    assert several in shown
    assert "<details>" not in shown.replace(text, "")
    assert shown.count("**") == 2


def test_the_client_made_from_the_description_reads_the_fake_and_sends_what_we_send(fake: FakeBitbucket) -> None:
    program = Path(__file__).with_name("bitbucket_client.mjs")
    command = [str(one) for one in (node_folder() / "bin/node", program, fake.url, package() / "lib" / "index.umd.js")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={"PATH": os.environ["PATH"]}
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        kind, answer = json.loads(line)
        assert faults(kind, answer) == [], kind

    def sent() -> list[tuple[str, str, object]]:
        asked = [seen for seen in fake.log if seen.method != "GET"]
        return [(seen.method, re.sub(r"comments/\d+|turncheck-\w+", "…", seen.path), seen.body) for seen in asked]

    theirs = sent()
    fake.log.clear()
    comments = repository(fake).comments(7)
    written = comments.post("one")
    comments.change(written, "two")
    comments.delete(written)
    repository(fake).report(check(Annotation("error", "a", "b", "data/nlu.yml", 3)))
    ours = sent()
    addresses = {(method, path) for method, path, _ in theirs}
    assert {(method, path) for method, path, _ in ours} == addresses
    assert ours[:3] == theirs[:3]
    assert faults("Report", next(body for method, path, body in ours if method == "PUT" and "reports" in path)) == []
    assert faults("ReportAnnotation[]", next(body for _, path, body in ours if path.endswith("annotations"))) == []


def test_the_fake_takes_no_more_than_the_description_has() -> None:
    for kind, taken in (("Report", REPORT), ("ReportAnnotation", ANNOTATION)):
        for name, values in taken.items():
            example = sorted(values) if isinstance(values, set) else [1 if values is int else "x"]
            assert [told for one in example for told in faults(kind, {name: one})] == [], name
    assert faults("Report", {"result": "GREEN"})
    assert faults("Report", {"colour": "green"})
    assert "type: string" in kinds()["Treeentry"][1]


def check(*annotations: Annotation, key: str = "pizzeria", passed: bool = False) -> Check:
    return Check(key, "b" * 40, passed, "2 stories fail", "text", RunStamp(1), "https://bitbucket.org/x", annotations)


def test_a_report_has_its_annotations_by_the_hundred_up_to_a_thousand(fake: FakeBitbucket) -> None:
    many = [Annotation("warning", "w", f"about {number}", "data/nlu.yml", number) for number in range(1, 1203)]

    assert repository(fake).report(check(*many)) == 1000
    ((name, report),) = fake.reports.items()
    assert (report["result"], report["report_type"], report["link"]) == ("FAILED", "TEST", "https://bitbucket.org/x")
    assert len(fake.annotations[name]) == 1000
    assert max(len(seen.body) for seen in fake.log if seen.path.endswith("/annotations")) == 100

    repository(fake).report(check(passed=True))
    assert (fake.reports[name]["result"], fake.annotations[name]) == ("PASSED", {})
    repository(fake).report(check(key="another"))
    assert len(fake.reports) == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_taken(fake: FakeBitbucket, text: str) -> None:
    repository(fake).report(check(Annotation("error", f"a{text}", f"b{text}", "data/nlu.yml", 3), key=f"k{text}"))


@pytest.fixture
def job(fake: FakeBitbucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A pull request's step on a project whose data have an error."""
    monkeypatch.chdir(tmp_path)
    Path("domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    Path("data").mkdir()
    rules = 'version: "3.1"\nrules:\n- rule: r\n  steps:\n  - intent: greet\n  - action: utter_x\n'
    Path("data/rules.yml").write_text(rules)
    variables = {
        "BITBUCKET_BUILD_NUMBER": "12",
        "BITBUCKET_API_URL": fake.url,
        "BITBUCKET_REPO_FULL_NAME": "acme/bots",
        "BITBUCKET_GIT_HTTP_ORIGIN": "http://bitbucket.org/acme/bots",
        "BITBUCKET_COMMIT": "b" * 40,
        "BITBUCKET_PR_ID": "7",
        "BITBUCKET_PR_DESTINATION_BRANCH": "main",
        "BITBUCKET_TOKEN": TOKEN,
    }

    def run(**changed: str | None) -> int:
        for name, value in {**variables, **changed}.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        return run_command_line(["run", "--evaluations", "validate"])

    return run


def test_a_step_has_its_comment_and_its_report(
    fake: FakeBitbucket, job: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert job() == 1

    (written,) = fake.raws()
    assert f"(https://bitbucket.org/acme/bots/src/{'b' * 40}/data/rules.yml#lines-6)" in written
    ((name, report),) = fake.reports.items()
    assert report["link"] == "https://bitbucket.org/acme/bots/pipelines/results/12"
    assert {(one["path"], one.get("line")) for one in fake.annotations[name].values()} >= {("data/rules.yml", 6)}
    printed = capsys.readouterr()
    assert TOKEN not in printed.out + printed.err + written


def test_without_a_token_the_report_goes_through_the_proxy_of_the_step(
    fake: FakeBitbucket,
    job: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    golden: Golden,
) -> None:
    fake.signs = True
    monkeypatch.setattr("turncheck.ci.bitbucket.host._PROXY", fake.address)

    assert job(BITBUCKET_TOKEN=None) == 1

    assert len(fake.reports) == 1
    assert fake.raws() == []
    assert all("authorization" not in seen.headers for seen in fake.log)
    golden(capsys.readouterr().out, only="`BITBUCKET_TOKEN`")


def test_where_no_proxy_is_the_verdict_is_the_same(
    fake: FakeBitbucket, job: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turncheck.ci.bitbucket.host._PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr("turncheck.ci.rest._ATTEMPTS", 1)

    assert job(BITBUCKET_TOKEN=None) == 1

    assert "Bitbucket cannot be reached" in capsys.readouterr().out


def test_the_base_is_had_from_bitbucket_where_the_checkout_lacks_it(
    fake: FakeBitbucket, job: Callable[..., int]
) -> None:
    fake.most_per_page = 2
    rules = b'version: "3.1"\nrules: []\n'
    files = {"domain.yml": Path("domain.yml").read_bytes(), "data/rules.yml": rules, "data/rûles 2.yml": rules}
    fake.sources["c" * 40] = {**files, "a.link": b"domain.yml"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "merged by the step"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *command], check=True)
    fake.merge_bases[f"{'b' * 40}..main"] = "c" * 40

    job()

    baseline = json.loads(Path("results/comparison.json").read_text())["baseline"]
    assert (baseline["status"], baseline["way"], baseline["commit"]) == ("present", "tarball", "c" * 40)
    with repository(fake).files_of("c" * 40) as had:
        folder = had.folder
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {**files, "a.link": files["domain.yml"]}, "a link leads where it did"


@pytest.mark.parametrize("name", ["../out", "a/../../out"])
def test_a_name_that_leads_out_is_refused(fake: FakeBitbucket, name: str) -> None:
    fake.sources["c" * 40] = {name: b"x"}
    with pytest.raises(RestError, match="leads out"), repository(fake).files_of("c" * 40):
        pass


def test_a_name_like_a_tag_keeps_its_letters_in_the_line_of_a_fold() -> None:
    fold = "head\n<details><summary>a <code>x&lt;b&gt;</code></summary>\n\ntext\n</details>\n"

    assert "**a `x<b>`**" in to_bitbucket(fold)
