"""Models fetched from a folder, over http, and from clouds by the vendors' own libraries.

The endpoint of boto3 is a server of this test; those of Google's and Azure's libraries are emulators.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from cloud_storages import azurite, gcs
from golden_texts import Golden

from turncheck.engines.embedded.models import fetch_model
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and keeps no log; ``/403/…`` is answered with that status."""

    def do_GET(self) -> None:
        status = self.path.split("/")[1]
        if status.isdigit():
            self.send_error(int(status))
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        pass


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    folder = tmp_path / "storage"
    (folder / "bucket" / "deep").mkdir(parents=True)
    for place in (folder, folder / "bucket", folder / "bucket" / "deep"):
        (place / "model.tar.gz").write_bytes(place.name.encode())
    return folder


@pytest.fixture
def address(storage: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(storage))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


@pytest.fixture
def s3(address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    environment = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "key",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "BUCKET_NAME": "bucket",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


def test_a_folder_gives_the_model_itself(storage: Path, into: Path) -> None:
    assert fetch_model(str(storage), "model.tar.gz", {}, into) == storage / "model.tar.gz"
    assert fetch_model(str(storage), None, {}, into) == storage / "model.tar.gz"


def test_a_model_is_fetched_over_http(address: str, into: Path) -> None:
    assert fetch_model(f"{address}/bucket/", "model.tar.gz", {}, into).read_bytes() == b"bucket"


@pytest.mark.parametrize(("where", "content"), [("aws", b"bucket"), ("s3://bucket/deep", b"deep")])
@pytest.mark.follows(page="rasa-cli", sentence="`--remote-storage aws` fetches the model from S3.")
def test_a_model_is_fetched_from_s3(s3: dict[str, str], into: Path, where: str, content: bytes) -> None:
    assert fetch_model(where, "model.tar.gz", s3, into).read_bytes() == content


@pytest.fixture(scope="module")
def google() -> Iterator[str]:
    with gcs("bucket", {"model.tar.gz": b"bucket", "deep/model.tar.gz": b"deep"}) as address:
        yield address


@pytest.mark.follows(page="rasa-cli", sentence="`--remote-storage gcs` fetches the model from Google Cloud Storage.")
@pytest.mark.parametrize(("where", "content"), [("gcs", b"bucket"), ("gs://bucket/deep", b"deep")])
def test_a_model_is_fetched_from_google(
    google: str, into: Path, where: str, content: bytes, monkeypatch: pytest.MonkeyPatch, *, golden: Golden
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", google)
    assert fetch_model(where, "model.tar.gz", {"BUCKET_NAME": "bucket"}, into).read_bytes() == content
    with pytest.raises(UserError, match="gs://bucket/") as refused:
        fetch_model(where, "none.tar.gz", {"BUCKET_NAME": "bucket"}, into)
    golden(refused.value)


@pytest.mark.follows(page="rasa-cli", sentence="`--remote-storage azure` fetches the model from Azure's storage.")
def test_a_model_is_fetched_from_azure(into: Path, golden: Golden) -> None:
    with azurite("models", {"model.tar.gz": b"azure"}) as connection:
        environment = {"AZURE_CONTAINER": "models", "AZURE_STORAGE_CONNECTION_STRING": connection}
        assert fetch_model("azure", "model.tar.gz", environment, into).read_bytes() == b"azure"
        with pytest.raises(UserError, match=r"'none\.tar\.gz'") as refused:
            fetch_model("azure", "none.tar.gz", environment, into)
        golden(refused.value)
        wrong = connection.replace("AccountKey=E", "AccountKey=F")
        with pytest.raises(UserError) as refused:
            fetch_model("azure", "model.tar.gz", environment | {"AZURE_STORAGE_CONNECTION_STRING": wrong}, into)
        golden(refused.value)
    assert "AZURE_ACCOUNT_KEY" in str(refused.value)


def test_nobody_answers_for_google(into: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.setattr("turncheck.engines.embedded.models.CONNECT_SECONDS", 0.1)
    with pytest.raises(UserError, match=r"gs://bucket/model\.tar\.gz") as refused:
        fetch_model("gcs", "model.tar.gz", {"BUCKET_NAME": "bucket"}, into)
    golden(refused.value)


AZURE = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://{};"


def in_cloud(where: str, address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables by which each library looks at this address."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{address}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    azure = {"AZURE_CONTAINER": "c", "AZURE_STORAGE_CONNECTION_STRING": AZURE.format(address)}
    return {"azure": azure, "gcs": {}, "http": {}, "aws": {"AWS_ENDPOINT_URL": f"http://{address}"}}[where] | {
        "BUCKET_NAME": "b"
    }


@pytest.mark.parametrize("where", ["aws", "gcs", "azure", "http"])
def test_a_cloud_that_does_not_answer_is_not_waited_for_long(
    into: Path, where: str, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.engines.embedded.models.CONNECT_SECONDS", 1)
    monkeypatch.setattr("turncheck.engines.embedded.models.READ_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:  # accepts, and never answers
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(UserError) as refused:
            fetch_model(
                f"http://{address}/" if where == "http" else where, "m", in_cloud(where, address, monkeypatch), into
            )
        golden(refused.value)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("where", ["aws", "azure"])
def test_an_unknown_cloud_is_told_at_once_and_by_name(
    into: Path, where: str, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match=r"127\.0\.0\.1:1") as refused:
        fetch_model(where, "m", in_cloud(where, "127.0.0.1:1", monkeypatch), into)
    golden(refused.value)
    with pytest.raises(UserError, match=r"'unknown\.invalid'") as refused:
        fetch_model(where, "m", in_cloud(where, "unknown.invalid", monkeypatch), into)
    golden(refused.value)
    assert time.monotonic() - began < 40


@pytest.mark.parametrize(
    ("where", "module", "extra"),
    [("aws", "boto3", "s3"), ("gcs", "google.cloud", "gcs"), ("azure", "azure.storage.blob", "azure")],
)
def test_a_missing_extra_is_named(
    into: Path, where: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch, *, golden: Golden
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    environment = {"BUCKET_NAME": "b", "AZURE_CONTAINER": "c", "AZURE_ACCOUNT_NAME": "a"}
    with pytest.raises(UserError) as missing:
        fetch_model(where, "m", environment, into)
    golden(missing.value)
    assert f"pip install 'turncheck[{extra}]'" in str(missing.value)


def test_a_name_cannot_lead_out_of_the_folder(address: str, into: Path) -> None:
    assert fetch_model(address, "bucket/deep/model.tar.gz", {}, into) == into / "model.tar.gz"


def test_what_is_missing_is_said(address: str, s3: dict[str, str], storage: Path, into: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="status 404"):
        fetch_model(address, "none.tar.gz", {}, into)
    with pytest.raises(UserError, match=r"s3://bucket/none\.tar\.gz") as refused:
        fetch_model("aws", "none.tar.gz", s3, into)
    golden(refused.value)
    with pytest.raises(UserError) as refused:
        fetch_model(str(storage), "none.tar.gz", {}, into)
    golden(refused.value)


@pytest.mark.parametrize(
    ("where", "name", "what"),
    [
        ("no-such-folder", "m", "not a model storage"),
        ("https://a.example/", None, "which model"),
        ("aws", "m", "which bucket"),
        ("gcs", "m", "which bucket"),
        ("gs://", "m", "which bucket"),
        ("azure", "m", "which container"),
        ("gcs", None, "which model"),
        ("http://[::1/", "m", "is not an address of a model storage"),
        ("http://a..b/", "m", "is not an address of a model storage"),
        ("http://127.0.0.1:1/", "m", "the model at http://127.0.0.1:1/m cannot be fetched: nothing answers there"),
    ],
)
def test_what_cannot_be_is_an_error(into: Path, where: str, name: str | None, what: str) -> None:
    with pytest.raises(UserError, match=what):
        fetch_model(where, name, {}, into)


@pytest.mark.parametrize(
    ("status", "what", "hint"),
    [
        (404, "there is no model at", "name right"),
        (403, "may not be read: status 403", "login"),
        (500, "cannot be fetched: status 500", "storage work"),
    ],
)
def test_a_refusal_is_told_with_what_to_do(address: str, into: Path, status: int, what: str, hint: str) -> None:
    with pytest.raises(UserError, match=what) as raised:
        fetch_model(f"{address}/{status}/", "m", {}, into)
    assert hint in str(raised.value)
    assert list(into.iterdir()) == []


def test_an_azure_account_is_needed(into: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        fetch_model("azure", "m", {"AZURE_CONTAINER": "models"}, into)
    golden(refused.value)


def test_a_password_in_the_address_is_never_shown(address: str, into: Path) -> None:
    with pytest.raises(UserError) as raised:
        fetch_model(address.replace("://", "://bob:hunter2@"), "none.tar.gz", {}, into)
    assert "hunter2" not in str(raised.value)
