"""An Azure DevOps that remembers: threads of pull requests and their status.

What it takes and answers goes through the models of Microsoft's own client (``azure-devops``, made from the API's
description): a body with a field that the description does not have is refused, and so is an answer of another shape.
"""

from __future__ import annotations

import base64
import re
from types import ModuleType
from typing import Any

from azure.devops.v7_1.build import models as build_models
from azure.devops.v7_1.git import models
from fake_host import Answer, FakeHost, Seen, serve
from msrest import Deserializer

TOKEN = "eyJ0.job-access.token"
READ_ONLY = "eyJ0.fork-access.token"
PERSONAL = "a-persons-own-access-token"
US = "11111111-aaaa-4bbb-8ccc-222222222222"
PATH = "/acme/p1/_apis/git/repositories/r1"
LONGEST = 150_000
STATUSES = {"unknown", "active", "fixed", "wontFix", "closed", "byDesign", "pending"}


def checked(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document if it is one of a kind of Microsoft's description.

    Raises:
        AssertionError: it has a field that the description does not have.
    """
    checked_by(models, kind, document)
    for comment in document.get("comments", ()):
        checked("Comment", comment)
    return document


def checked_by(described: ModuleType, kind: str, document: dict[str, Any]) -> None:
    """Hold a document against a kind of one of the client's packages.

    Raises:
        AssertionError: it has a field that the description does not have.
    """
    known = {one["key"] for one in getattr(described, kind)._attribute_map.values()}
    assert set(document) <= known, set(document) - known
    read = Deserializer(  # type: ignore[no-untyped-call]
        {name: one for name, one in vars(described).items() if isinstance(one, type)}
    )
    assert read(kind, document) is not None


class FakeAzure(FakeHost):
    """The state and its server; ``url`` is the collection's."""

    def __init__(self) -> None:
        self._server = serve(self.answer)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/acme"
        super().__init__()

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self.threads: dict[int, dict[str, Any]] = {}
        self.merge_bases: dict[tuple[str, str], str] = {}
        self.builds: list[dict[str, Any]] = []
        """Newest first."""
        self.artifacts: dict[int, dict[str, bytes]] = {}
        """What each build published, by name."""
        self.history: list[str] = []
        """The commits of the branch, newest first."""
        self.files: dict[str, dict[str, bytes]] = {}
        """The files of each commit."""

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def add_thread(self, content: str, author: str = "alice", status: str = "active") -> dict[str, Any]:
        """Let somebody open a thread."""
        number = 100 + len(self.threads)
        comment = {"id": 1, "parentCommentId": 0, "author": {"id": author, "displayName": author}}
        comment |= {"content": content, "commentType": "text", "isDeleted": False}
        self.threads[number] = {"id": number, "status": status, "isDeleted": False, "comments": [comment]}
        return self.threads[number]

    def contents(self) -> list[tuple[str, str]]:
        """What every thread begins with, and its status."""
        return [(one["comments"][0]["content"], one["status"]) for one in self.threads.values() if not one["isDeleted"]]

    def _work(self, seen: Seen) -> Answer:  # noqa: PLR0911 - a way for each address
        kind, _, token = seen.headers.get("authorization", "").partition(" ")
        if kind == "Basic":  # a person's token is a password without a name
            token = base64.b64decode(token).decode().removeprefix(":")
        if (kind, token) not in {("Bearer", TOKEN), ("Bearer", READ_ONLY), ("Basic", PERSONAL)}:
            return Answer(203, content=b"<html>Sign In</html>")
        if not re.fullmatch(r"7\.1(-preview)?", seen.query.get("api-version", "")):
            return problem(400, "No api-version was supplied")
        if seen.path == "/acme/_apis/connectionData":
            return Answer(200, {"authenticatedUser": {"id": US, "isActive": True}, "instanceId": "x"})
        if token == READ_ONLY and seen.method != "GET":
            return problem(403, "TF401027: You need the Git 'PullRequestContribute' permission to perform this action.")
        if seen.path == f"{PATH}/diffs/commits":
            sides = [(seen.query[f"{side}Version"], seen.query[f"{side}VersionType"]) for side in ("base", "target")]
            found = self.merge_bases.get((sides[0][0], sides[1][0]))
            assert [kind for _, kind in sides] == [("branch", "commit")[len(name) == 40] for name, _ in sides]
            if found is None:
                return problem(404, "TF401175: The version descriptor could not be resolved to a version")
            return Answer(200, checked("GitCommitDiffs", {"commonCommit": found, "aheadCount": 1, "changes": []}))
        if match := re.fullmatch(r"/acme/p1/_apis/build/builds(?:/(\d+)/artifacts)?", seen.path):
            return self._of_builds(seen, int(match[1]) if match[1] else None)
        if seen.path == f"{PATH}/commits":
            first = seen.query["searchCriteria.itemVersion.version"]
            assert seen.query["searchCriteria.itemVersion.versionType"] == "commit"
            history = self.history[self.history.index(first) :] if first in self.history else []
            return Answer(200, {"value": [checked("GitCommitRef", {"commitId": one}) for one in history], "count": 1})
        if seen.path == f"{PATH}/items":
            return self._of_items(seen)
        if seen.path == f"{PATH}/pullRequests/7":
            commit = {"commitId": "a" * 40}
            made = {"pullRequestId": 7, "targetRefName": "refs/heads/main", "lastMergeSourceCommit": commit}
            return Answer(200, checked("GitPullRequest", made))
        match = re.fullmatch(rf"{PATH}/pullRequests/7/threads(?:/(\d+)(/comments/(\d+))?)?", seen.path)
        return (
            self._of_threads(seen, match)
            if match
            else problem(404, "TF401180: The requested pull request was not found.")
        )

    def add_build(
        self, commit: str, branch: str = "refs/heads/main", reason: str = "individualCI", **artifacts: bytes
    ) -> int:
        """Let a build of the pipeline 3 end."""
        number = 200 + len(self.builds)
        self.builds.insert(
            0,
            {
                "id": number,
                "buildNumber": f"2026.{number}",
                "status": "completed",
                "result": "failed",
                "sourceVersion": commit,
                "sourceBranch": branch,
                "reason": reason,
                "definition": {"id": 3, "name": "turncheck"},
                "repository": {"id": "r1", "type": "TfsGit"},
            },
        )
        self.artifacts[number] = artifacts
        return number

    def _of_builds(self, seen: Seen, number: int | None) -> Answer:
        if number is None:
            assert (seen.query["definitions"], seen.query["statusFilter"]) == ("3", "completed")
            wanted = seen.query.get("branchName")
            found = [one for one in self.builds if wanted in {None, one["sourceBranch"]}][: int(seen.query["$top"])]
            for one in found:
                checked_by(build_models, "Build", one)
            return Answer(200, {"value": found, "count": len(found)})
        kept = self.artifacts.get(number, {})
        if "artifactName" in seen.query:
            assert seen.query["$format"] == "zip"
            content = kept.get(seen.query["artifactName"])
            return problem(404, "Artifact not found") if content is None else Answer(200, content=content)
        listed = [{"id": at, "name": name, "resource": {"type": "PipelineArtifact"}} for at, name in enumerate(kept, 1)]
        for artifact in listed:
            checked_by(build_models, "BuildArtifact", artifact)
        return Answer(200, {"value": listed, "count": len(listed)})

    def _of_items(self, seen: Seen) -> Answer:
        assert seen.query["versionDescriptor.versionType"] == "commit"
        files = self.files.get(seen.query["versionDescriptor.version"])
        if files is None:
            return problem(404, "TF401175: The version descriptor could not be resolved")
        if "path" in seen.query:
            assert seen.query["$format"] == "octetStream"
            return Answer(200, content=files[seen.query["path"]])
        assert (seen.query["scopePath"], seen.query["recursionLevel"]) == ("/", "full")
        items = [{"path": "/", "gitObjectType": "tree", "isFolder": True}]
        items += [
            {"path": path, "gitObjectType": "blob", **({"isSymLink": True} if path.endswith(".link") else {})}
            for path in files
        ]
        return Answer(200, {"value": [checked("GitItem", one) for one in items], "count": len(items)})

    def _of_threads(self, seen: Seen, match: re.Match[str]) -> Answer:
        if match[1] is None and seen.method == "GET":
            kind = "GitPullRequestCommentThread"
            return Answer(200, {"value": [checked(kind, one) for one in self.threads.values()], "count": 1})
        if match[1] is None:
            body = checked("GitPullRequestCommentThread", seen.body)
            assert body["status"] in STATUSES
            if len(body["comments"][0]["content"]) > LONGEST:
                return problem(400, "A comment is too long")
            return Answer(200, self.add_thread(body["comments"][0]["content"], US, body["status"]))
        thread = self.threads.get(int(match[1]))
        if thread is None or (match[3] and int(match[3]) != 1):
            return problem(404, "TF401180: not found")
        if match[3] is None:
            thread["status"] = checked("GitPullRequestCommentThread", seen.body)["status"]
            assert thread["status"] in STATUSES
            return Answer(200, thread)
        if seen.method == "DELETE":
            thread["isDeleted"] = thread["comments"][0]["isDeleted"] = True
            return Answer(200)
        thread["comments"][0]["content"] = checked("Comment", seen.body)["content"]
        return Answer(200, thread["comments"][0])


def problem(status: int, message: str) -> Answer:
    """A refusal in the shape of Azure DevOps."""
    return Answer(status, {"$id": "1", "message": message, "typeKey": "X", "errorCode": 0, "eventId": 3000})
