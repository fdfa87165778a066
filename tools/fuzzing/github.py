"""GitHub's answers, spoiled: the API's, the results service's, an artifact's, an archive's."""

from __future__ import annotations

import io
import random
import re
import tarfile
import zipfile
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.fuzzing.servers import Answer, answering, mutated
from tools.fuzzing.trial import Trial, as_json, without_network
from tools.fuzzing.workflow_run import BASE, EVENTS, HEAD, measured, run, variables

from turncheck.report.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import requests

_REPOSITORY = {"full_name": "acme/bots", "id": 1}
_PULL = {
    "number": 3,
    "state": "open",
    "head": {"sha": HEAD, "ref": "feature", "repo": _REPOSITORY},
    "base": {"sha": BASE, "ref": "main", "repo": _REPOSITORY},
}
_RUN = {
    "id": 12,
    "head_sha": HEAD,
    "event": "push",
    "path": ".github/workflows/ci.yml",
    "run_attempt": 1,
    "head_branch": "feature",
    "head_repository": _REPOSITORY,
    "pull_requests": [{"number": 3}],
}
_COMMENT = {
    "id": 7,
    "html_url": "https://github.com/acme/bots/pull/3#issuecomment-7",
    "body": "<!-- turncheck:report id=pizzeria --><!-- turncheck:run 9.1 -->\nold",
    "user": {"login": "github-actions[bot]"},
}
_ARTIFACT = {
    "id": 5,
    "name": "turncheck",
    "expired": False,
    "workflow_run": {"id": 12, "repository_id": 1, "head_repository_id": 1},
}
_CHECK = {"id": 8, "html_url": "https://github.com/x", "external_id": "turncheck:pizzeria"}
_DIFFERENCE = {"status": "ahead", "merge_base_commit": {"sha": BASE}}
_ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("GET", r"/user$", {"login": "github-actions[bot]"}),
    ("GET", r"/issues/\d+/comments$", [_COMMENT]),
    ("POST", r"/comments$", _COMMENT),
    ("PATCH", r"/comments/\d+$", _COMMENT),
    ("GET", r"/check-runs$", {"total_count": 1, "check_runs": [_CHECK]}),
    ("POST", r"/check-runs$", _CHECK),
    ("PATCH", r"/check-runs/\d+$", _CHECK),
    ("GET", r"/pulls$", [_PULL]),
    ("GET", r"/pulls/\d+$", _PULL),
    ("GET", r"/compare/", _DIFFERENCE),
    ("GET", r"/commits$", [{"sha": BASE}, {"sha": HEAD}]),
    ("GET", r"/runs$", {"total_count": 1, "workflow_runs": [{**_RUN, "head_sha": BASE}, _RUN]}),
    ("GET", r"/runs/\d+$", _RUN),
    ("GET", r"/artifacts$", {"total_count": 1, "artifacts": [_ARTIFACT]}),
    ("POST", r"/CreateArtifact$", {"ok": True, "signed_upload_url": "https://blob.test/x?sig=abc%3D&se=1"}),
    ("POST", r"/FinalizeArtifact$", {"ok": True, "artifact_id": "99"}),
    ("PUT", r"", {}),
    ("DELETE", r"", {}),
)


_WITH_GIT = 0.05
"""The share of trials that also use git, which takes longer than everything else."""


@cache
def _artifact() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("report.json", "baseline.json"):
            archive.writestr(name, encode(measured().report))
    return file.getvalue()


@cache
def _tarball() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in (("acme-bots-c/bot/domain.yml", b"intents: []\n"), ("acme-bots-c/README.md", b"x")):
            head = tarfile.TarInfo(name)
            head.size = len(text)
            archive.addfile(head, io.BytesIO(text))
    return file.getvalue()


def answer_to(request: requests.PreparedRequest, chance: random.Random) -> Answer:
    """What GitHub would answer, or something like it."""
    path = urlsplit(request.url or "").path
    if path.endswith("/zip"):
        return mutated(Answer(200, _artifact()), None, chance)
    if "/tarball/" in path:
        return mutated(Answer(200, _tarball()), None, chance)
    for method, pattern, document in _ROUTES:
        if method == request.method and re.search(pattern, path):
            return mutated(Answer.json(document, 201 if method == "PUT" else 200), document, chance)
    return Answer.json({"message": "Not Found"}, 404)


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield runs of the action that get such answers."""
    while True:
        event, seed = chance.choice(list(EVENTS)), chance.random()
        given = variables(place, event, EVENTS[event])
        given["INPUT_CHECK-RUN"] = chance.choice(("true", "false"))
        given["INPUT_BASELINE"] = chance.choice(("artifact", "artifact", "none"))
        if event == "workflow_run" and chance.random() < 0.3:
            given["INPUT_RUN-ID"] = "12"

        def check(given: dict[str, str] = given, seed: float = seed) -> str:
            dice = random.Random(seed)
            with without_network(), answering(lambda request: answer_to(request, dice)):
                return run(place, given, with_git=seed < _WITH_GIT)

        yield Trial(check, as_json(event=event, seed=seed, variables=given))
