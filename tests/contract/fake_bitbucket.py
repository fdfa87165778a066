"""A Bitbucket that remembers: comments of pull requests, Code Insights reports with their annotations.

It takes and answers what the description of its API has, which ``test_bitbucket.py`` holds it against, refuses fields
and values beyond that, and has its limits.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlencode

from fake_host import Answer, FakeHost, Seen, serve, tip_of

TOKEN = "ATCTT-person"
BOT_TOKEN = "ATCTT-repository"
"""Of a repository: it may not ask who it is."""
NARROW_TOKEN = "ATCTT-narrow"
AUTHORS = {TOKEN: "{alice}", BOT_TOKEN: "{bot}", NARROW_TOKEN: "{alice}"}
REPOSITORY = "/2.0/repositories/acme/bots"
NOTHING = {"Content-Type": "text/plain"}
"""Its clients look for it, also where there is no content."""
LONGEST_COMMENT = 32_768
REPORT = {
    "title": str,
    "details": str,
    "report_type": {"SECURITY", "COVERAGE", "TEST", "BUG"},
    "reporter": str,
    "link": str,
    "result": {"PASSED", "FAILED", "PENDING"},
}
ANNOTATION = {
    "external_id": str,
    "annotation_type": {"VULNERABILITY", "CODE_SMELL", "BUG"},
    "summary": str,
    "details": str,
    "severity": {"HIGH", "MEDIUM", "LOW", "CRITICAL"},
    "result": {"PASSED", "FAILED", "SKIPPED", "IGNORED"},
    "path": str,
    "line": int,
}


def fault(document: Any, fields: dict[str, Any], needed: set[str]) -> str:
    """What of a document its documentation does not have."""
    if not isinstance(document, dict) or not needed <= set(document):
        return "a field is missing"
    for name, value in document.items():
        allowed = fields.get(name)
        if allowed is None:
            return f"{name} is unknown"
        if not (value in allowed if isinstance(allowed, set) else isinstance(value, allowed) and value not in {"", 0}):
            return f"{name}: {value!r}"
        if isinstance(value, str) and len(value) > (2000 if name == "details" else 450):
            return f"{name} is too long"
    return ""


class FakeBitbucket(FakeHost):
    """The state and its server; ``url`` is the API's."""

    def __init__(self) -> None:
        self._server = serve(self.answer)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.address}/2.0"
        super().__init__()

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.next_id = 500
        self.most_per_page = 100
        self.comments: dict[int, dict[str, Any]] = {}
        self.reports: dict[str, dict[str, Any]] = {}
        self.annotations: dict[str, dict[str, dict[str, Any]]] = {}
        self.merge_bases: dict[str, str] = {}
        self.sources: dict[str, dict[str, bytes]] = {}
        """The files of each commit."""
        self.signs = False
        """Whether it stands in for the proxy of a step, which signs what comes without a token."""

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def add_comment(self, raw: str, author: str = "{mallory}") -> dict[str, Any]:
        """Let somebody comment."""
        self.next_id += 1
        href = f"https://bitbucket.org/acme/bots/pull-requests/7/_/diff#comment-{self.next_id}"
        self.comments[self.next_id] = {
            "type": "pullrequest_comment",
            "id": self.next_id,
            "content": {"raw": raw, "markup": "markdown", "html": "<p></p>"},
            "user": {"type": "user", "uuid": author, "display_name": author},
            "deleted": False,
            "created_on": "2026-11-21T09:00:00.000000+00:00",
            "links": {"html": {"href": href}},
        }
        return self.comments[self.next_id]

    def raws(self) -> list[str]:
        """The comments that are there, oldest first."""
        return [one["content"]["raw"] for one in self.comments.values() if not one["deleted"]]

    def answer(self, seen: Seen) -> Answer:
        """Answer one request, also one that came through the proxy of the pipelines."""
        seen.path = re.sub(r"^http://api\.bitbucket\.org(?=/)", "", seen.path)
        return super().answer(seen)

    def _work(self, seen: Seen) -> Answer:
        token = seen.headers.get("authorization", "").removeprefix("Bearer ")
        signed = self.signs and "/reports/" in seen.path
        if token not in AUTHORS and not signed:
            return problem(401, "Token is invalid, expired, or not supported for this endpoint.")
        if seen.path == "/2.0/user":
            return (
                problem(403, "scopes") if token == BOT_TOKEN else Answer(200, {"uuid": AUTHORS[token], "type": "user"})
            )
        if seen.method != "GET" and token == NARROW_TOKEN:
            return problem(403, "Your credentials lack one or more required privilege scopes.")
        path = seen.path.removeprefix(REPOSITORY)
        if match := re.fullmatch(r"/pullrequests/7/comments(?:/(\d+))?", path):
            return self._of_comments(seen, int(match[1]) if match[1] else None, AUTHORS.get(token, ""))
        if path == "/pullrequests/7":
            side = {"branch": {"name": "main"}, "commit": {"hash": "a" * 12}}
            return Answer(200, {"id": 7, "type": "pullrequest", "source": side, "destination": side})
        if match := re.fullmatch(r"/refs/branches/(.+)", path):
            target = {"type": "commit", "hash": tip_of(unquote(match[1]))}
            return Answer(200, {"type": "branch", "name": unquote(match[1]), "target": target})
        if match := re.fullmatch(r"/merge-base/(.+)", path):
            head, _, tip = match[1].partition("..")
            names = {tip_of(name): name for name in (one.partition("..")[2] for one in self.merge_bases)}
            found = self.merge_bases.get(f"{head}..{names.get(tip, tip)}")
            return Answer(200, {"type": "commit", "hash": found}) if found else problem(404, "Commit not found")
        if match := re.fullmatch(r"/commit/([0-9a-f]+)/reports/([\w-]+)(/annotations)?", path):
            return self._of_reports(seen, match[2], annotations=bool(match[3]))
        if match := re.fullmatch(r"/src/([0-9a-f]+)/(.*)", path):
            return self._of_source(seen, self.sources.get(match[1]), unquote(match[2]))
        return problem(404, "Resource not found")

    def _of_source(self, seen: Seen, files: dict[str, bytes] | None, name: str) -> Answer:
        if files is None or (name and name not in files):
            return problem(404, "No such file or directory")
        if name:
            return Answer(200, content=files[name])
        assert int(seen.query["max_depth"]) > 1
        folders = {path.partition("/")[0] for path in files if "/" in path}
        items: list[dict[str, Any]] = [{"type": "commit_directory", "path": folder} for folder in sorted(folders)]
        items += [
            {"type": "commit_file", "path": path, "attributes": ["link"] if path.endswith(".link") else []}
            for path in sorted(files)
        ]
        return self._page(seen, items)

    def _of_comments(self, seen: Seen, number: int | None, author: str) -> Answer:
        if seen.method in {"POST", "PUT"}:
            raw = seen.body.get("content", {}).get("raw")
            if not isinstance(raw, str) or not raw or len(raw) > LONGEST_COMMENT:
                return problem(400, "content.raw: Ensure this value has at most 32768 characters")
        if number is None and seen.method == "POST":
            return Answer(201, self.add_comment(seen.body["content"]["raw"], author))
        if number is None:
            return self._page(seen, list(self.comments.values()))
        found = self.comments.get(number)
        if found is None or found["deleted"]:
            return problem(404, "Comment not found")
        if found["user"] is None or found["user"]["uuid"] != author:
            return problem(403, "You may not change this comment")
        if seen.method == "DELETE":
            found["deleted"] = True
            return Answer(204, headers=NOTHING)
        found["content"]["raw"] = seen.body["content"]["raw"]
        return Answer(200, found)

    def _page(self, seen: Seen, items: list[dict[str, Any]]) -> Answer:
        size = min(int(seen.query.get("pagelen", 10)), self.most_per_page)
        page = int(seen.query.get("page", 1))
        shown: dict[str, Any] = {"values": items[(page - 1) * size : page * size], "pagelen": size, "page": page}
        if page * size < len(items):
            query = urlencode({**seen.query, "pagelen": size, "page": page + 1})
            shown["next"] = f"{self.address}{seen.path}?{query}"
        return Answer(200, shown)

    def _of_reports(self, seen: Seen, name: str, *, annotations: bool) -> Answer:
        if annotations:
            if name not in self.reports:
                return problem(404, "Report not found")
            needed = {"external_id", "annotation_type", "summary"}
            faults = [told for one in seen.body if (told := fault(one, ANNOTATION, needed))]
            if faults or len(seen.body) > 100:
                return problem(400, "; ".join(faults) or "more than 100 annotations")
            self.annotations[name] |= {one["external_id"]: one for one in seen.body}
            if len(self.annotations[name]) > 1000:
                return problem(400, "more than 1000 annotations")
            return Answer(200, seen.body)
        if seen.method == "DELETE":
            self.annotations.pop(name, None)
            return Answer(204, headers=NOTHING) if self.reports.pop(name, None) else problem(404, "Report not found")
        if told := fault(seen.body, REPORT, {"title", "details", "report_type"}):
            return problem(400, told)
        self.reports[name] = seen.body
        self.annotations.setdefault(name, {})
        return Answer(200, seen.body)


def problem(status: int, message: str) -> Answer:
    """A refusal in Bitbucket's shape."""
    return Answer(status, {"type": "error", "error": {"message": message}})
