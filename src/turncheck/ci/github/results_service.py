"""Uploading an artifact of this run from inside its job: the Actions results service, protocol version 4.

The protocol is that of the official client (``@actions/artifact``: ``upload-artifact.ts``, ``blob-upload.ts``): create,
put blocks and the list of them to a signed address, finalize with size and digest.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.ci.github.results_host import Blocks, NameTakenError, NoService, ResultsHost, find_place
from turncheck.ci.rest import RestError
from turncheck.process.environment import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_LAST_NUMBER: Final = 9
_NUMBER: Final = re.compile("[0-9]{1,20}")


class Uploaded(Struct, frozen=True):
    """An uploaded artifact. ``id`` is its number, for links."""

    name: str
    id: str


@dataclass
class ResultsService(ResultsHost):
    """The service of artifacts as one job may use it: by its token and the two ids that are in it."""

    service = "ArtifactService"
    blob = "artifact"
    run_id: str
    job_id: str
    longest_retention: int | None = None

    def upload(self, name: str, files: Iterable[tuple[str, bytes]], days: int = 0) -> Uploaded:
        """Zip the files while they are sent, and make them an artifact.

        Args:
            name: of the artifact.
            files: name and content of each.
            days: how long it is kept; 0 is the repository's default.

        Raises:
            NameTakenError: the run has one of this name.
            RestError: it could not be uploaded; then there is none.
        """
        with (
            self._sending(name, "application/zip", days) as sent,
            zipfile.ZipFile(sent.blocks, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            for path, content in files:
                archive.writestr(_entry(path), content)
        return sent.kept

    def upload_page(self, name: str, content: bytes, days: int = 0) -> Uploaded:
        """Upload a page as an artifact that is not zipped, so that a browser shows it.

        This is what the official client does for a single file with ``skipArchive`` (``upload-artifact.ts``): the
        artifact is called like the file, and its type is the file's own.

        Raises:
            NameTakenError: the run has one of this name.
            RestError: as :meth:`upload`.
        """
        with self._sending(name, "text/html", days) as sent:
            sent.blocks.write(content)
        return sent.kept

    @contextmanager
    def _sending(self, name: str, media_type: str, days: int) -> Iterator[_Sent]:
        """Create an artifact, upload what is written in blocks, and finalize it."""
        wanted = {"name": name, **self._expiry(days), "version": 7, "mime_type": media_type}
        created = self._call("CreateArtifact", wanted)
        address = self._signed(created, "signed_upload_url")
        if not created.get("ok") or address is None:
            raise RestError(f"the results service gives no address to upload '{name}' to")
        blocks = Blocks(lambda number, block: self._put_block(address, number, block))
        sent = _Sent(blocks)
        yield sent
        blocks.finish()
        self._put_list(address, blocks.count, media_type)
        digest = f"sha256:{blocks.digest.hexdigest()}"
        final = self._call("FinalizeArtifact", {"name": name, "size": str(blocks.size), "hash": digest})
        sent.id = str(final.get("artifact_id") or "")
        if not final.get("ok") or not _NUMBER.fullmatch(sent.id):
            raise RestError(f"the results service did not keep the artifact '{name}'")
        sent.name = name

    def upload_beside(self, name: str, distinction: str, files: Iterable[tuple[str, bytes]], days: int = 0) -> Uploaded:
        """Upload under ``name`` or, where another job of this run has taken that, under one that begins with it.

        Raises:
            RestError: as :meth:`upload`.
        """
        kept = list(files)
        for candidate in names_beside(name, distinction):
            try:
                return self.upload(candidate, kept, days)
            except NameTakenError:
                continue
        return self.upload(f"{name}-{secrets.token_hex(4)}", kept, days)

    def retention(self, days: int) -> tuple[int, str]:
        """Limit the requested days to what the repository allows; the text says so if that was needed."""
        if self.longest_retention and days > self.longest_retention:
            most = self.longest_retention
            return most, f"retention-days: {days} is more than the repository allows, {most} are asked for"
        return days, ""

    def _expiry(self, days: int) -> dict[str, str]:
        days, _ = self.retention(days)
        if not days:
            return {}
        expires = datetime.fromtimestamp(self.patience.clock(), UTC) + timedelta(days=days)
        return {"expires_at": expires.isoformat(timespec="milliseconds").replace("+00:00", "Z")}

    def _call(self, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the service; every request names the run and the job."""
        ids = {"workflow_run_backend_id": self.run_id, "workflow_job_run_backend_id": self.job_id}
        return super()._call(method, {**ids, **message})


def find_service(environment: Mapping[str, str], mask: Callable[[str], object]) -> ResultsService | NoService:
    """Find the service in a job's variables; if there is none, say what to do instead."""
    place = find_place(environment, "add a step with actions/upload-artifact to keep the results")
    if isinstance(place, NoService):
        return place
    ids = _backend_ids(place.token.reveal())
    if ids is None:
        return NoService("the job's runtime token does not say which run it is for")
    most = whole_number(environment.get("GITHUB_RETENTION_DAYS", "")) or None
    return ResultsService(place.origin, place.token, *ids, mask=mask, longest_retention=most, network=place.network)


def names_beside(name: str, distinction: str) -> Iterator[str]:
    """Yield the names to try: the requested one, one that names this job's project, numbered ones."""
    yield name
    slug = "-".join("".join(c if (c.isascii() and c.isalnum()) or c in "._" else " " for c in distinction[:80]).split())
    if slug:
        yield f"{name}-{slug}"
    for number in range(2, _LAST_NUMBER + 1):
        yield f"{name}-{number}"


def _backend_ids(token: str) -> tuple[str, str] | None:
    """Read the ids of run and job out of the token's ``scp`` claim; it is decoded, there is nothing to verify it by."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        scopes = str(claims["scp"]).split(" ")
    except (IndexError, KeyError, TypeError, ValueError, RecursionError, binascii.Error):
        return None
    for scope in scopes:
        parts = scope.split(":")
        if parts[0] == "Actions.Results" and len(parts) == 3:
            return parts[1], parts[2]
    return None


def _entry(path: str) -> zipfile.ZipInfo:
    """An entry without a clock: the same files give the same archive."""
    entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


class _Sent(Struct):
    """An artifact being uploaded: where its content is written, and finally its name."""

    blocks: Blocks
    name: str = ""
    id: str = ""

    @property
    def kept(self) -> Uploaded:
        return Uploaded(self.name, self.id)
