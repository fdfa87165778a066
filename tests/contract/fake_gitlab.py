"""A GitLab that remembers: notes of merge requests, merge bases, archives.

It answers in the shapes of GitLab's documentation ("Notes", "Merge requests", "Repositories", "Users"); python-gitlab
reads them in ``test_gitlab.py``, and sends the requests that ours are held against.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from fake_host import Answer, FakeHost, Seen, files_in, serve, tip_of

PROJECT = "acme/group/bots"
BOT_TOKEN = "glpat-bot"
PERSON_TOKEN = "glpat-alice"
NARROW_TOKEN = "glpat-narrow"
"""Of the scope read_api alone."""
AUTHORS = {BOT_TOKEN: "project_7_bot_4f", PERSON_TOKEN: "alice", NARROW_TOKEN: "alice"}
LONGEST_NOTE = 1_000_000
TIME = "2026-11-21T09:00:00.000Z"


class FakeGitLab(FakeHost):
    """The state and its server; ``url`` is the API's."""

    def __init__(self) -> None:
        self._server = serve(self.answer)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/v4"
        super().__init__()

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.next_id = 300
        self.most_per_page = 100
        self.notes: dict[int, dict[str, Any]] = {}
        self.merge_requests: dict[int, dict[str, Any]] = {}
        self.merge_bases: dict[frozenset[str], str] = {}
        self.trees: dict[str, list[str]] = {}
        """The files of a commit whose archive leaves some out."""
        self.archives: dict[str, bytes] = {}
        self.pipelines: list[dict[str, Any]] = []
        """Newest first."""
        self.jobs: dict[int, list[dict[str, Any]]] = {}
        """Those of each pipeline."""
        self.kept: dict[int, bytes] = {}
        """What each job left."""
        self.history: list[str] = []
        """The commits of the default branch, newest first."""

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def add_merge_request(self, number: int, target: str = "main", sha: str = "a" * 40) -> None:
        """Open one."""
        self.merge_requests[number] = {
            "id": 1000 + number,
            "iid": number,
            "project_id": 7,
            "title": "change",
            "state": "opened",
            "target_branch": target,
            "source_branch": "feature",
            "sha": sha,
            "web_url": f"https://gitlab.example/{PROJECT}/-/merge_requests/{number}",
        }

    def add_pipeline(
        self, sha: str, content: bytes | None, ref: str = "main", source: str = "push", job: str = "turncheck"
    ) -> int:
        """Let a pipeline end that left an archive; ``None``: one that has expired."""
        number = 600 + len(self.pipelines)
        listed = {"id": number, "iid": number, "project_id": 7, "sha": sha, "ref": ref, "source": source}
        self.pipelines.insert(0, {**listed, "status": "failed", "created_at": TIME, "updated_at": TIME})
        kept = [{"file_type": "archive", "size": 9, "filename": "artifacts.zip", "file_format": "zip"}]
        self.jobs[number] = [
            {"id": 10 * number, "name": "lint", "status": "success", "artifacts": kept, "artifacts_expire_at": None},
            {
                "id": 10 * number + 1,
                "name": job,
                "status": "failed",
                "artifacts": [*(kept if content is not None else []), {"file_type": "trace"}],
                "artifacts_expire_at": "2026-11-01T00:00:00.000Z",
            },
        ]
        if content is not None:
            self.kept[10 * number + 1] = content
        return number

    def add_note(self, number: int, body: str, author: str = "alice", *, system: bool = False) -> dict[str, Any]:
        """Let somebody write a note, or GitLab itself."""
        self.next_id += 1
        self.notes[self.next_id] = {
            "id": self.next_id,
            "type": None,
            "body": body,
            "author": person(author),
            "created_at": TIME,
            "updated_at": TIME,
            "system": system,
            "noteable_id": 1000 + number,
            "noteable_type": "MergeRequest",
            "project_id": 7,
            "resolvable": False,
            "confidential": False,
            "internal": False,
            "imported": False,
            "imported_from": "none",
            "noteable_iid": number,
            "commands_changes": {},
        }
        return self.notes[self.next_id]

    def bodies(self, number: int) -> list[str]:
        """All notes of a merge request, oldest first."""
        return [one["body"] for one in self.notes.values() if one["noteable_iid"] == number]

    def _work(self, seen: Seen) -> Answer:
        author = AUTHORS.get(seen.headers.get("private-token", ""))
        if author is None:
            return Answer(401, {"message": "401 Unauthorized"})
        if seen.method != "GET" and seen.headers["private-token"] == NARROW_TOKEN:
            told = "The request requires higher privileges than provided by the access token."
            return Answer(403, {"error": "insufficient_scope", "error_description": told, "scope": "api"})
        path = seen.path.removeprefix("/api/v4")
        if path == "/user":
            return Answer(200, {**person(author), "bot": author.startswith("project_")})
        match = re.fullmatch(r"/projects/([^/]+)(/.*)", path)
        if match is None or unquote(match[1]) not in {PROJECT, "7"}:
            return Answer(404, {"message": "404 Project Not Found"})
        return self._of_project(seen, match[2], author)

    def _of_project(self, seen: Seen, path: str, author: str) -> Answer:  # noqa: PLR0911 - a way for each address
        if match := re.fullmatch(r"/merge_requests/(\d+)(?:/notes(?:/(\d+))?)?", path):
            number = int(match[1])
            if number not in self.merge_requests:
                return Answer(404, {"message": "404 Not found"})
            if "/notes" not in path:
                return Answer(200, self.merge_requests[number])
            return self._notes(seen, number, int(match[2]) if match[2] else None, author)
        if path == "/repository/merge_base":
            names = {tip_of(name): name for known in self.merge_bases for name in known}
            found = self.merge_bases.get(frozenset(names.get(one, one) for one in seen.queries.get("refs[]", [])))
            return (
                Answer(200, {"id": found, "short_id": found[:8]})
                if found
                else Answer(404, {"message": "404 Not Found"})
            )
        if match := re.fullmatch(r"/repository/branches/(.+)", path):
            name = unquote(match[1])
            if not any(name in one for one in self.merge_bases):
                return Answer(404, {"message": "404 Branch Not Found"})
            return Answer(200, {"name": name, "commit": {"id": tip_of(name)}})
        if path == "/repository/tree" and seen.query.get("ref") in self.archives:
            assert seen.query["recursive"] == "true"
            files = self.trees.get(seen.query["ref"]) or files_in(self.archives[seen.query["ref"]])
            return self._page(seen, [{"path": one, "type": "blob", "id": "1" * 40, "name": one} for one in files])
        if path == "/pipelines":
            asked = {name: seen.query[name] for name in ("sha", "ref") if name in seen.query}
            assert (seen.query["order_by"], seen.query["sort"]) == ("id", "desc")
            return self._page(seen, [one for one in self.pipelines if asked.items() <= one.items()])
        if match := re.fullmatch(r"/pipelines/(\d+)/jobs", path):
            return self._page(
                seen, [one for one in self.jobs[int(match[1])] if one["status"] in seen.queries["scope[]"]]
            )
        if match := re.fullmatch(r"/jobs/(\d+)/artifacts", path):
            content = self.kept.get(int(match[1]))
            return Answer(404, {"message": "404 Not Found"}) if content is None else Answer(200, content=content)
        if path == "/repository/commits":
            first = self.history.index(seen.query["ref_name"])
            return self._page(seen, [{"id": one, "short_id": one[:8]} for one in self.history[first:]])
        if path == "/repository/archive.tar.gz" and seen.query.get("sha") in self.archives:
            return Answer(200, content=self.archives[seen.query["sha"]])
        return Answer(404, {"message": "404 Not Found"})

    def _notes(self, seen: Seen, number: int, note: int | None, author: str) -> Answer:
        if note is None and seen.method == "GET":
            found = [one for one in self.notes.values() if one["noteable_iid"] == number]
            return self._page(seen, found if seen.query.get("sort") == "asc" else found[::-1])
        body = (seen.body or {}).get("body")
        if seen.method in {"POST", "PUT"} and (not isinstance(body, str) or not body):
            return Answer(400, {"error": "body is missing"})
        if isinstance(body, str) and len(body) > LONGEST_NOTE:
            told = f'Note {{:note=>["is too long (maximum is {LONGEST_NOTE} characters)"]}}'
            return Answer(400, {"message": told})
        if note is None and seen.method == "POST":
            return Answer(201, self.add_note(number, str(body), author))
        if note not in self.notes:
            return Answer(404, {"message": "404 Note Not Found"})
        if self.notes[note]["author"]["username"] != author:
            return Answer(403, {"message": "403 Forbidden"})
        if seen.method == "PUT":
            self.notes[note]["body"] = body
            return Answer(200, self.notes[note])
        if seen.method == "DELETE":
            del self.notes[note]
            return Answer(204)
        return Answer(405, {"error": "405 Not Allowed"})

    def _page(self, seen: Seen, items: list[Any]) -> Answer:
        size = min(int(seen.query.get("per_page", 20)), self.most_per_page)
        number = int(seen.query.get("page", 1))
        headers = {"X-Page": str(number), "X-Per-Page": str(size), "X-Total": str(len(items)), "X-Next-Page": ""}
        if number * size < len(items):
            rest = "&".join(f"{name}={value}" for name, value in seen.query.items() if name != "page")
            address = f"{self.url.removesuffix('/api/v4')}{seen.path}?{rest}&page={number + 1}"
            headers |= {"Link": f'<{address}>; rel="next"', "X-Next-Page": str(number + 1)}
        return Answer(200, items[(number - 1) * size : number * size], headers)


def person(username: str) -> dict[str, Any]:
    """Somebody, as notes name their authors."""
    return {
        "id": sum(username.encode()),
        "username": username,
        "public_email": "",
        "name": username.title(),
        "state": "active",
        "locked": False,
        "avatar_url": None,
        "web_url": f"https://gitlab.example/{username}",
    }
