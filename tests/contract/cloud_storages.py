"""The vendors' storages as emulators: Microsoft's Azurite (npm), and gcp-storage-emulator (PyPI), each in a process.

What they do not show: real credentials and permissions, and what the vendors' own servers refuse.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import venv
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azure.storage.blob import BlobServiceClient
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from node_tools import CACHE, alone, node_folder, npm_package

if TYPE_CHECKING:
    from collections.abc import Iterator

AZURITE = "3.37.0"
UNUSED = ("applicationinsights", "mysql2", "tedious")
"""Telemetry, which is off, and databases, as it keeps all in memory."""
GCP_STORAGE_EMULATOR = "2026.7.19"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of every Azurite: its manual prints them."""


@cache
def _gcs_emulator() -> Path:
    """Return the program, in an environment of its own; install it if need be."""
    home = CACHE / f"gcp-storage-emulator-{GCP_STORAGE_EMULATOR}"
    with alone(home):
        if not (home / "complete").exists():
            venv.EnvBuilder(clear=True).create(home)
            pip = [sys.executable, "-m", "pip", "--python", str(home), "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "install", f"gcp-storage-emulator=={GCP_STORAGE_EMULATOR}"], check=True)
            (home / "complete").touch()
    return home / "bin" / "gcp-storage-emulator"


@contextmanager
def azurite(container: str, blobs: dict[str, bytes]) -> Iterator[str]:
    """Run Azurite with these blobs in a container; yields the connection string."""
    port = _free_port()
    main = npm_package("azurite", AZURITE, UNUSED) / "dist" / "src" / "blob" / "main.js"
    flags = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    flags += ["--disableTelemetry", "--silent"]
    connection = (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
        f"BlobEndpoint=http://127.0.0.1:{port}/{ACCOUNT};"
    )
    with _running([str(node_folder() / "bin" / "node"), str(main), *flags], port):
        with BlobServiceClient.from_connection_string(connection) as service:
            service.create_container(container)
            for name, content in blobs.items():
                with service.get_blob_client(container, name) as blob:
                    blob.upload_blob(content)
        yield connection


@contextmanager
def gcs(bucket: str, blobs: dict[str, bytes]) -> Iterator[str]:
    """Run the emulator of Google Cloud Storage with these blobs in a bucket; yields its address."""
    port = _free_port()
    flags = ["start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--quiet", "--default-bucket", bucket]
    with _running([str(_gcs_emulator()), *flags], port):
        address = f"http://127.0.0.1:{port}"
        anybody: Any = AnonymousCredentials
        client: Any = storage.Client(project="test", credentials=anybody(), client_options={"api_endpoint": address})
        for name, content in blobs.items():
            client.bucket(bucket).blob(name).upload_from_string(content)
        client.close()
        yield address


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with subprocess.Popen(command, stdout=sys.stderr, stderr=subprocess.STDOUT, env=environment) as process:
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise AssertionError(f"{command[0]} ended with {process.returncode}")
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                except OSError:
                    time.sleep(0.1)
                else:
                    break
            else:
                raise AssertionError(f"{command[0]} does not answer")
            yield
        finally:
            process.terminate()
            process.wait(20)
