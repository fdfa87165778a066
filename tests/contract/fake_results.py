"""An Actions results service with the storage behind it, as strict as the protocol lets it be.

It takes only what adds up: the ids of the token, blocks before their list, a size and a digest that are those of what
was put, a name once. The storage refuses requests that bear a token. What is finalized is in ``artifacts``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from fake_caches import CACHE_SERVICE, FakeCaches
from fake_host import Answer, Seen, Trouble, serve

RUN, JOB = "run-7e57", "job-4b0b"
SIGNATURE = "s3cr3t/sig+nature="
_QUOTED = SIGNATURE.replace("+", "%2B").replace("=", "%3D")
_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"


def _part(document: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


TOKEN = f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part({'scp': f'Actions.Example Actions.Results:{RUN}:{JOB}'})}.x"


@dataclass
class _Upload:
    name: str
    wanted: dict[str, Any]
    blocks: dict[str, bytes] = field(default_factory=dict)
    content: bytes | None = None


class FakeResults:
    """The service at ``url``; its storage is another host, as it were, at ``storage``."""

    def __init__(self) -> None:
        self._service = serve(self.answer)
        self._storage = serve(self.store)
        self.url = f"http://127.0.0.1:{self._service.server_address[1]}"
        self.storage = f"http://127.0.0.1:{self._storage.server_address[1]}"
        self.lock = threading.RLock()
        self.caches = FakeCaches()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.caches.reset()
        self.uploads: dict[str, _Upload] = {}
        self.artifacts: dict[str, bytes] = {}
        self.wanted: dict[str, dict[str, Any]] = {}
        self.troubles: list[Trouble] = []
        self.log: list[Seen] = []

    def close(self) -> None:
        """Stop listening."""
        for server in (self._service, self._storage):
            server.shutdown()
            server.server_close()

    @property
    def variables(self) -> dict[str, str]:
        """What a job's environment says about the service."""
        return {
            "ACTIONS_RESULTS_URL": f"{self.url}/some/path/",
            "ACTIONS_RUNTIME_TOKEN": TOKEN,
            "GITHUB_SERVER_URL": "https://github.com",
        }

    def answer(self, seen: Seen) -> Answer:
        """Answer one call of the service."""
        with self.lock:
            self.log.append(seen)
            if trouble := self._trouble(seen):
                return trouble
            if seen.headers.get("authorization") != f"Bearer {TOKEN}":
                return _refuse(401, "unauthenticated", "no or another token")
            if seen.path.startswith(CACHE_SERVICE) and isinstance(seen.body, dict):
                return self.caches.call(seen.path[len(CACHE_SERVICE) :], seen.body, self.storage, _QUOTED)
            if not seen.path.startswith(_SERVICE) or seen.method != "POST" or not isinstance(seen.body, dict):
                return _refuse(404, "bad_route", "no such call")
            ids = (seen.body.get("workflow_run_backend_id"), seen.body.get("workflow_job_run_backend_id"))
            if ids != (RUN, JOB):
                return _refuse(403, "permission_denied", "not the ids of the token")
            call = {"CreateArtifact": self._create, "FinalizeArtifact": self._finalize}.get(seen.path[len(_SERVICE) :])
            return call(seen.body) if call else _refuse(404, "bad_route", "no such call")

    def _trouble(self, seen: Seen) -> Answer | None:
        found = next((t for t in self.troubles if t.method == seen.method and re.search(t.path, seen.path)), None)
        if found is None:
            return None
        found.times -= 1
        if found.times <= 0:
            self.troubles.remove(found)
        return found.answer

    def _create(self, body: dict[str, Any]) -> Answer:
        known = {"workflow_run_backend_id", "workflow_job_run_backend_id", "name", "version", "mime_type", "expires_at"}
        name = body.get("name")
        if set(body) - known or not isinstance(name, str) or re.search(r'[":<>|*?\\/\r\n]', name) or not name:
            return _refuse(400, "invalid_argument", "bad message or name")
        if body.get("version") != 7 or body.get("mime_type") not in {"application/zip", "text/html"}:
            return _refuse(400, "invalid_argument", "bad version or type")
        if not re.fullmatch(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", body.get("expires_at", "2026-01-01T00:00:00.000Z")
        ):
            return _refuse(400, "malformed", "bad time")
        if name in self.uploads:
            return _refuse(409, "already_exists", "an artifact with this name already exists on the workflow run")
        self.uploads[name] = _Upload(name, body)
        number = len(self.uploads) - 1
        signed = f"{self.storage}/blob/{number}?sv=2026&sig={_QUOTED}"
        return Answer(200, {"ok": True, "signed_upload_url": signed})

    def _finalize(self, body: dict[str, Any]) -> Answer:
        upload = self.uploads.get(str(body.get("name")))
        if upload is None or upload.content is None:
            return _refuse(404, "not_found", "nothing was uploaded")
        digest = f"sha256:{hashlib.sha256(upload.content).hexdigest()}"
        if (body.get("size"), body.get("hash")) != (str(len(upload.content)), digest):
            return _refuse(400, "invalid_argument", "size or hash is not that of what was put")
        self.artifacts[upload.name] = upload.content
        self.wanted[upload.name] = upload.wanted
        return Answer(200, {"ok": True, "artifact_id": str(4242 + len(self.artifacts))})

    def store(self, seen: Seen) -> Answer:
        """Take a block, or the list of them."""
        with self.lock:
            self.log.append(seen)
            if trouble := self._trouble(seen):
                return trouble
            if "authorization" in seen.headers or seen.query.get("sig") != SIGNATURE:
                return Answer(403, content=b"<Error><Code>AuthenticationFailed</Code></Error>")
            if seen.path.startswith("/cache/"):
                return self.caches.store(seen)
            upload = list(self.uploads.values())[int(seen.path.rpartition("/")[2])]
            body = seen.body or b""
            if "content-length" not in seen.headers or not re.fullmatch(
                r"\d{4}-\d\d-\d\d", seen.headers["x-ms-version"]
            ):
                return Answer(400)
            if seen.query.get("comp") == "block":
                return self._block(upload, seen.query["blockid"], body)
            if seen.query.get("comp") == "blocklist":
                return self._list(upload, body, seen.headers.get("x-ms-blob-content-type"))
            return Answer(400)

    def _block(self, upload: _Upload, name: str, body: bytes) -> Answer:
        if any(len(other) != len(name) for other in upload.blocks) or not base64.b64decode(name, validate=True):
            return Answer(400, content=b"<Error><Code>InvalidBlobOrBlock</Code></Error>")
        upload.blocks[name] = body
        return Answer(201)

    def _list(self, upload: _Upload, body: bytes, kind: str | None) -> Answer:
        names = re.findall(r"<Latest>([^<]+)</Latest>", body.decode())
        if not names or any(name not in upload.blocks for name in names) or kind != upload.wanted["mime_type"]:
            return Answer(400, content=b"<Error><Code>InvalidBlockList</Code></Error>")
        upload.content = b"".join(upload.blocks[name] for name in names)
        return Answer(201)


def _refuse(status: int, code: str, message: str) -> Answer:
    """A refusal in Twirp's shape."""
    return Answer(status, {"code": code, "msg": message})
