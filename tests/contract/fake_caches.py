"""GitHub's cache: the service that jobs ask, the storage behind it, and what the API lists.

A job reads by key, then by prefixes, in its own ref, the base's and the default branch's, and writes into its own ref
only. An entry never changes; two refs may have one of the same key.
"""

from __future__ import annotations

import base64
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from fake_host import Answer, Seen

MAIN = "refs/heads/main"
CACHE_SERVICE = "/twirp/github.actions.results.api.v1.CacheService/"
LONGEST_KEY = 512


@dataclass
class Kept:
    """An entry; ``content`` is ``None`` until it is uploaded, ``done`` when it is finalized."""

    number: int
    key: str
    version: str
    ref: str
    content: bytes | None = None
    done: bool = False
    blocks: dict[str, bytes] = field(default_factory=dict)


class FakeCaches:
    """The entries of a repository, and the refs of the job that asks: its own first."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.entries: list[Kept] = []
        self.refs = [MAIN]
        self.number = 0
        self.denied = ""
        """Why jobs may not write, if they may not."""

    @property
    def done(self) -> list[Kept]:
        """What can be restored, the newest first."""
        return [one for one in reversed(self.entries) if one.done]

    def keep(self, key: str, version: str, content: bytes, ref: str) -> Kept:
        """Let a job on a ref have kept an entry."""
        self.number += 1
        self.entries.append(Kept(self.number, key, version, ref, content, done=True))
        return self.entries[-1]

    def listed(self, prefix: str, ref: str | None) -> list[dict[str, Any]]:
        """What the API lists."""
        return [
            {
                "id": one.number,
                "ref": one.ref,
                "key": one.key,
                "version": one.version,
                "last_accessed_at": "2026-11-21T09:00:00.000000000Z",
                "created_at": f"2026-11-21T09:{one.number // 60 % 60:02}:{one.number % 60:02}.000000000Z",
                "size_in_bytes": len(one.content or b""),
            }
            for one in self.done
            if one.key.startswith(prefix) and ref in {None, one.ref}
        ]

    def call(self, method: str, body: dict[str, Any], storage: str, signature: str) -> Answer:
        """Answer one call of the service."""
        work = {
            "GetCacheEntryDownloadURL": self._find,
            "CreateCacheEntry": self._create,
            "FinalizeCacheEntryUpload": self._finalize,
        }.get(method)
        key, version = body.get("key"), body.get("version")
        if work is None:
            return Answer(404, {"code": "bad_route", "msg": "no such call"})
        if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or "," in key:
            return Answer(400, {"code": "invalid_argument", "msg": "bad key"})
        if not isinstance(version, str) or not re.fullmatch("[0-9a-f]{64}", version):
            return Answer(400, {"code": "invalid_argument", "msg": "bad version"})
        found = work(key, version, body)
        if isinstance(found, Answer):
            return found
        name = "signed_download_url" if method.startswith("Get") else "signed_upload_url"
        more = {"matched_key": found.key} if method.startswith("Get") else {}
        return Answer(200, {"ok": True, name: f"{storage}/cache/{found.number}?sv=2026&sig={signature}", **more})

    def _find(self, key: str, version: str, body: dict[str, Any]) -> Kept | Answer:
        if set(body) - {"metadata", "key", "version", "restore_keys"}:
            return Answer(400, {"code": "malformed", "msg": "unknown field"})
        for ref in self.refs:
            here = [one for one in self.done if one.ref == ref and one.version == version]
            if found := next((one for one in here if one.key == key), None):
                return found
            for prefix in body.get("restore_keys", []):
                if found := next((one for one in here if one.key.startswith(prefix)), None):
                    return found
        return Answer(200, {"ok": False})

    def _create(self, key: str, version: str, body: dict[str, Any]) -> Kept | Answer:
        if set(body) - {"metadata", "key", "version"}:
            return Answer(400, {"code": "malformed", "msg": "unknown field"})
        if self.denied:
            return Answer(200, {"ok": False, "message": self.denied})
        if any((one.key, one.version, one.ref) == (key, version, self.refs[0]) for one in self.entries):
            return Answer(409, {"code": "already_exists", "msg": "cache entry with the same key already exists"})
        self.number += 1
        self.entries.append(Kept(self.number, key, version, self.refs[0]))
        return self.entries[-1]

    def _finalize(self, key: str, version: str, body: dict[str, Any]) -> Answer:
        found = next(
            (one for one in self.entries if (one.key, one.version, one.ref) == (key, version, self.refs[0])), None
        )
        if set(body) - {"metadata", "key", "version", "size_bytes"} or found is None or found.content is None:
            return Answer(404, {"code": "not_found", "msg": "nothing was uploaded"})
        if body.get("size_bytes") != str(len(found.content)):
            return Answer(400, {"code": "invalid_argument", "msg": "size is not that of what was put"})
        found.done = True
        return Answer(200, {"ok": True, "entry_id": str(found.number)})

    def store(self, seen: Seen) -> Answer:
        """Take or give the content of an entry, as the storage of blobs does."""
        number = int(seen.path.rpartition("/")[2])
        entry = next(one for one in self.entries if one.number == number)
        if seen.method in {"GET", "HEAD"}:
            return self._given(seen, entry.content or b"")
        body = seen.body or b""
        if seen.query.get("comp") == "block":
            base64.b64decode(seen.query["blockid"], validate=True)
            entry.blocks[seen.query["blockid"]] = body
        elif seen.query.get("comp") == "blocklist":
            names = re.findall(r"<Latest>([^<]+)</Latest>", body.decode())
            if not names or any(name not in entry.blocks for name in names):
                return Answer(400, content=b"<Error><Code>InvalidBlockList</Code></Error>")
            entry.content = b"".join(entry.blocks[name] for name in names)
        elif seen.headers.get("x-ms-blob-type") == "BlockBlob":
            entry.content = body
        else:
            return Answer(400)
        return Answer(201)

    def _given(self, seen: Seen, content: bytes) -> Answer:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", seen.headers.get("range", ""))
        if wanted is None:
            return Answer(200, content=content)
        begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
        if begin >= len(content):
            return Answer(416)
        bounds = f"bytes {begin}-{end - 1}/{len(content)}"
        return Answer(206, content=content[begin:end], headers={"Content-Range": bounds})
