"""A GitHub that remembers: comments, check runs, pull requests, workflow runs, artifacts, commits.

It answers as GitHub's API description says (Prism before it checks that), keeps authors and rights by token, and can be
told to fail. Blobs lie on a second server, another host as it were, which refuses requests that bear a token.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from fake_caches import FakeCaches
from fake_host import Answer, FakeHost, Seen, files_in, serve, tip_of
from github_shapes import REPOSITORY, artifact, check_run, comment, commit, comparison, pull, shape, user, workflow_run

ACTIONS_TOKEN = "ghs_actions"
APP_TOKEN = "ghs_team"
PERSON_TOKEN = "ghp_alice"
READ_ONLY_TOKEN = "ghs_fork"
AUTHORS = {
    ACTIONS_TOKEN: "github-actions[bot]",
    READ_ONLY_TOKEN: "github-actions[bot]",
    APP_TOKEN: "team-reports[bot]",
    PERSON_TOKEN: "alice",
}
LONGEST_COMMENT = 65536


Work = Callable[["FakeGitHub", Seen, re.Match[str]], Answer]
ROUTES: list[tuple[str, re.Pattern[str], Work]] = []
_REPO = rf"/repos/{REPOSITORY}"


def route(method: str, pattern: str) -> Callable[[Work], Work]:
    """Say which requests a function answers."""

    def add(work: Work) -> Work:
        ROUTES.append((method, re.compile(pattern), work))
        return work

    return add


class FakeGitHub(FakeHost):
    """The state, and two servers: the API at ``url``, the blobs elsewhere. ``public`` is what links are made from."""

    def __init__(self) -> None:
        self._api = serve(self.answer)
        self._blobs = serve(self.blob)
        self.url = f"http://127.0.0.1:{self._api.server_address[1]}"
        self.blob_url = f"http://127.0.0.1:{self._blobs.server_address[1]}"
        super().__init__()

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.public = self.url
        self.per_page = 100
        self.next_id = 1000
        self.comments: dict[int, dict[str, Any]] = {}
        self.checks: dict[int, dict[str, Any]] = {}
        self.annotations: dict[int, list[dict[str, Any]]] = {}
        self.scans: list[dict[str, Any]] = []
        """What was uploaded to code scanning."""
        self.code_scanning = True
        self.pulls: dict[int, dict[str, Any]] = {}
        self.runs: dict[int, dict[str, Any]] = {}
        self.artifacts: dict[int, dict[str, Any]] = {}
        self.contents: dict[int, bytes] = {}
        self.tarballs: dict[str, bytes] = {}
        self.trees: dict[str, list[str]] = {}
        """The files of a commit whose archive leaves some out."""
        self.releases: dict[int, dict[str, Any]] = {}
        self.assets: dict[int, dict[int, dict[str, Any]]] = {}
        """The files of each release (`fake_github_releases`)."""
        self.immutable_releases = True
        self.history: list[str] = []
        """The commits of the base branch, newest first."""
        self.merge_bases: dict[tuple[str, str], str] = {}
        self.caches = FakeCaches()
        """What the results service keeps for this repository."""
        self.locked: set[int] = set()
        self.blob_log: list[Seen] = []

    def close(self) -> None:
        """Stop listening."""
        for server in (self._api, self._blobs):
            server.shutdown()
            server.server_close()

    def new_id(self) -> int:
        """Return a number greater than all before."""
        self.next_id += 1
        return self.next_id

    # --- what tests put in -------------------------------------------------------------------------------------------

    def add_comment(self, number: int, body: str, author: str = "github-actions[bot]") -> dict[str, Any]:
        """Let somebody comment."""
        made = comment(self.public, self.new_id(), number, body, author)
        self.comments[made["id"]] = made
        return made

    def add_pull(self, number: int, **more: Any) -> dict[str, Any]:
        """Open a pull request."""
        self.pulls[number] = pull(number, **more)
        return self.pulls[number]

    def add_run(self, sha: str, **more: Any) -> dict[str, Any]:
        """Let a workflow have run."""
        made = workflow_run(self.new_id(), sha, **more)
        self.runs[made["id"]] = made
        return made

    def add_artifact(self, run: dict[str, Any], name: str, content: bytes, *, expired: bool = False) -> dict[str, Any]:
        """Let a run have uploaded a zip file."""
        number = self.new_id()
        self.artifacts[number] = artifact(self.public, number, name, run, len(content), expired=expired)
        self.contents[number] = content
        return self.artifacts[number]

    def bodies(self, number: int) -> list[str]:
        """All comments of a pull request, oldest first."""
        return [one["body"] for one in self.comments.values() if one["issue_url"].endswith(f"/{number}")]

    # --- answering ---------------------------------------------------------------------------------------------------

    def _work(self, seen: Seen) -> Answer:
        token = seen.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in AUTHORS:
            return refuse(401, "Bad credentials")
        if seen.method != "GET" and token == READ_ONLY_TOKEN:
            return refuse(403, "Resource not accessible by integration")
        for method, pattern, work in ROUTES:
            match = pattern.fullmatch(seen.path)
            if method == seen.method and match:
                return work(self, seen, match)
        return refuse(404, "Not Found")

    def blob(self, seen: Seen) -> Answer:
        """Give a file out; a request that bears a token came to the wrong host."""
        self.blob_log.append(seen)
        if "authorization" in seen.headers:
            return Answer(400, {"message": "AuthenticationFailed"})
        kind, _, name = seen.path.removeprefix("/").partition("/")
        content = self.tarballs.get(name) if kind == "tarball" else self.contents.get(int(name))
        return Answer(404, {}) if content is None else Answer(200, content=content)

    def page(self, seen: Seen, items: list[Any], key: str | None = None) -> Answer:
        """Return one page of a list, with a link to the next."""
        size = min(int(seen.query.get("per_page", 30)), self.per_page)
        number = int(seen.query.get("page", 1))
        shown = items[(number - 1) * size : number * size]
        headers = {}
        if number * size < len(items):
            rest = "&".join(f"{name}={value}" for name, value in seen.query.items() if name != "page")
            headers["Link"] = f'<{self.public}{seen.path}?{rest}&page={number + 1}>; rel="next"'
        return Answer(200, shown if key is None else {"total_count": len(items), key: shown}, headers)


def refuse(status: int, message: str) -> Answer:
    """A refusal in GitHub's shape."""
    return Answer(
        status, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    )


# --- what is answered ------------------------------------------------------------------------------------------------


@route("GET", r"/user")
def _user(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    token = seen.headers["authorization"].removeprefix("Bearer ")
    if token.startswith("ghs_"):
        return refuse(403, "Resource not accessible by integration")
    return Answer(200, shape("public-user", **user(AUTHORS[token])))


@route("GET", rf"{_REPO}/issues/(\d+)/comments")
def _comments(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    wanted = f"/{match[1]}"
    return fake.page(seen, [one for one in fake.comments.values() if one["issue_url"].endswith(wanted)])


@route("POST", rf"{_REPO}/issues/(\d+)/comments")
def _comment_new(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    number = int(match[1])
    if number in fake.locked:
        return refuse(403, "Unable to create comment because issue is locked.")
    if number not in fake.pulls:
        return refuse(404, "Not Found")
    if len(seen.body["body"]) > LONGEST_COMMENT:
        return refuse(422, "Validation Failed")
    author = AUTHORS[seen.headers["authorization"].removeprefix("Bearer ")]
    return Answer(201, fake.add_comment(number, seen.body["body"], author))


@route("PATCH", rf"{_REPO}/issues/comments/(\d+)")
def _comment_change(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = fake.comments.get(int(match[1]))
    if found is None:
        return refuse(404, "Not Found")
    if len(seen.body["body"]) > LONGEST_COMMENT:
        return refuse(422, "Validation Failed")
    found["body"] = seen.body["body"]
    return Answer(200, found)


@route("DELETE", rf"{_REPO}/issues/comments/(\d+)")
def _comment_gone(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    return Answer(204) if fake.comments.pop(int(match[1]), None) else refuse(404, "Not Found")


@route("POST", rf"{_REPO}/check-runs")
def _check_new(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    made = check_run(fake.public, fake.new_id(), seen.body)
    fake.checks[made["id"]] = made
    _annotate(fake, made, seen.body)
    return Answer(201, made)


@route("POST", rf"{_REPO}/code-scanning/sarifs")
def _scan(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    if not fake.code_scanning:
        return refuse(403, "Code Security must be enabled for this repository to use code scanning.")
    log = json.loads(gzip.decompress(base64.b64decode(seen.body["sarif"])))
    categories = [run.get("automationDetails", {}).get("id") for run in log["runs"]]
    if len(categories) > 20 or len(set(categories)) < len(categories):  # it says so later; here at once
        return refuse(400, "Too many runs, or several runs with the same tool and category")
    fake.scans.append(seen.body)
    made = "47177e22-5596-11eb-80a1-c1e54ef945c6"
    return Answer(202, {"id": made, "url": f"{fake.public}{seen.path}/{made}"})


@route("PATCH", rf"{_REPO}/check-runs/(\d+)")
def _check_change(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    made = fake.checks.get(int(match[1]))
    if made is None:
        return refuse(404, "Not Found")
    for name in ("status", "conclusion"):
        made[name] = seen.body.get(name, made[name])
    _annotate(fake, made, seen.body)
    return Answer(200, made)


def _annotate(fake: FakeGitHub, made: dict[str, Any], body: dict[str, Any]) -> None:
    output = body.get("output", {})
    fake.annotations.setdefault(made["id"], []).extend(output.get("annotations", []))
    made["output"].update({name: output[name] for name in ("title", "summary") if name in output})
    made["output"]["annotations_count"] = len(fake.annotations[made["id"]])


@route("GET", rf"{_REPO}/commits/([^/]+)/check-runs")
def _checks(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = [one for one in fake.checks.values() if one["head_sha"] == match[1]]
    found = [one for one in found if one["name"] == seen.query.get("check_name", one["name"])]
    return fake.page(seen, found, "check_runs")


@route("GET", rf"{_REPO}/pulls")
def _pulls(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = [one for one in fake.pulls.values() if one["state"] == seen.query.get("state", "open")]
    if "head" in seen.query:
        found = [one for one in found if one["head"]["label"] == seen.query["head"]]
    return fake.page(seen, found)


@route("GET", rf"{_REPO}/pulls/(\d+)")
def _pull(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = fake.pulls.get(int(match[1]))
    return Answer(200, found) if found else refuse(404, "Not Found")


@route("GET", rf"{_REPO}/branches/(.+)")
def _branch(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    name = unquote(match[1])
    if name not in {base for base, _ in fake.merge_bases}:
        return refuse(404, "Branch not found")
    return Answer(200, shape("branch-with-protection", name=name, commit=commit(tip_of(name))))


@route("GET", rf"{_REPO}/git/trees/([0-9a-f]+)")
def _tree(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    if match[1] not in fake.tarballs:
        return refuse(404, "Not Found")
    paths = fake.trees.get(match[1]) or files_in(fake.tarballs[match[1]])
    listed = [{"path": path, "mode": "100644", "type": "blob", "sha": "1" * 40, "size": 1} for path in paths]
    return Answer(200, shape("git-tree", sha=match[1], tree=listed, truncated=False))


@route("GET", rf"{_REPO}/compare/([^/]+)")
def _compare(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    base, _, head = match[1].partition("...")
    names = {tip_of(name): name for name, _ in fake.merge_bases}
    found = fake.merge_bases.get((names.get(base, base), head))
    if found is None:
        return refuse(404, "Not Found")
    return Answer(200, comparison(base, found, ahead=int(found != head), behind=int(found != base)))


@route("GET", rf"{_REPO}/commits")
def _commits(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    start = seen.query.get("sha", "")
    if start not in fake.history:
        return refuse(404, "Not Found")
    return fake.page(seen, [commit(sha) for sha in fake.history[fake.history.index(start) :]])


@route("GET", rf"{_REPO}/actions(?:/workflows/([^/]+))?/runs")
def _runs(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = [one for one in fake.runs.values() if match[1] is None or one["path"].endswith(f"/{match[1]}")]
    for name, key in (("head_sha", "head_sha"), ("branch", "head_branch"), ("event", "event"), ("status", "status")):
        if name in seen.query:
            found = [one for one in found if one[key] == seen.query[name]]
    return fake.page(seen, sorted(found, key=lambda one: -one["id"]), "workflow_runs")


@route("GET", rf"{_REPO}/actions/caches")
def _caches(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    return fake.page(seen, fake.caches.listed(seen.query.get("key", ""), seen.query.get("ref")), "actions_caches")


@route("GET", rf"{_REPO}/actions/runs/(\d+)")
def _run(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = fake.runs.get(int(match[1]))
    return Answer(200, found) if found else refuse(404, "Not Found")


@route("GET", rf"{_REPO}/actions/runs/(\d+)/artifacts")
def _artifacts(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = [one for one in fake.artifacts.values() if one["workflow_run"]["id"] == int(match[1])]
    return fake.page(seen, sorted(found, key=lambda one: -one["id"]), "artifacts")


@route("GET", rf"{_REPO}/actions/artifacts/(\d+)/zip")
def _artifact_zip(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    found = fake.artifacts.get(int(match[1]))
    if found is None:
        return refuse(404, "Not Found")
    if found["expired"]:
        return refuse(410, "Artifact has expired")
    return Answer(302, headers={"Location": f"{fake.blob_url}/artifact/{match[1]}?se=1&sig=secret%2Bsignature"})


@route("GET", rf"{_REPO}/tarball/([0-9a-f]+)")
def _tarball(fake: FakeGitHub, seen: Seen, match: re.Match[str]) -> Answer:
    if match[1] not in fake.tarballs:
        return refuse(404, "Not Found")
    return Answer(302, headers={"Location": f"{fake.blob_url}/tarball/{match[1]}"})


# --- the servers -----------------------------------------------------------------------------------------------------
