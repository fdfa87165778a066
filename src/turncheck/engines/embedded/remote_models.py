"""Models stored elsewhere: in a folder, behind http(s), or in S3 (``--remote-storage``)."""

from __future__ import annotations

import shutil
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from turncheck.engines.embedded.models import named_model
from turncheck.messages.errors import UserError
from turncheck.web.addresses import Network, is_http, without_login

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

MAX_MODEL_BYTES: Final = 2 << 30
SECONDS: Final = 1800.0
"""For the whole download of a model."""
_KINDS: Final = "Name a folder, an address (https://…), s3://bucket/prefix, or aws."
_REMEDY: Final = "Is the address of --remote-storage right, and is the server running?"
BUCKET_VARIABLE: Final = "BUCKET_NAME"
"""As in Rasa; credentials, region and endpoint are those that boto3 reads (``AWS_…``)."""


def fetch_model(storage: str, name: str | None, environment: Mapping[str, str], into: Path) -> Path:
    """Return the model ``name`` of the storage as a file, fetched into the folder ``into`` if it is elsewhere.

    ``storage``: a folder (whose newest model counts without a name), ``http://…`` or ``https://…`` (the name is
    appended), ``s3://bucket/prefix``, or ``aws`` (the bucket of ``BUCKET_NAME``, as Rasa's).

    Raises:
        UserError: there is no such storage or model, or it cannot be fetched.
    """
    scheme = storage.partition("://")[0].lower() if "://" in storage else ""
    if scheme in {"http", "https"} and not is_http(storage):
        raise UserError(f"'{without_login(storage)}' is not an address of a model storage", remedy=_KINDS)
    if scheme not in {"http", "https", "s3"} and storage != "aws":
        folder = Path(storage)
        if not folder.is_dir():
            raise UserError(
                f"'{without_login(storage)}' is not a model storage",
                remedy=_KINDS,
            )
        return named_model(folder / name if name else folder)
    if not name:
        raise UserError(f"which model of '{without_login(storage)}'?", remedy="Name it with --model.")
    target = into / Path(name).name
    if scheme in {"http", "https"}:
        _fetch_http(f"{storage.rstrip('/')}/{quote(name)}", target, Network.of(environment))
    else:
        _fetch_s3(storage, name, environment, target)
    return target


def _fetch_http(address: str, target: Path, network: Network) -> None:
    import requests  # only if something is fetched
    from urllib3.exceptions import HTTPError

    from turncheck.web.exchange import AnswerTooLargeError, Call, RedirectRefusedError, anywhere, copy_body, exchange
    from turncheck.web.timed import session

    shown = without_login(address)
    try:
        with session(network) as one, exchange(one, Call("GET", address), SECONDS, follow=anywhere) as response:
            if not response.ok:
                raise _refusal(shown, response.status_code)
            with target.open("wb") as file:
                copy_body(response, file, MAX_MODEL_BYTES)
    except AnswerTooLargeError as error:
        raise UserError(f"the model at {shown} {error}") from None
    except RedirectRefusedError as error:
        raise UserError(f"the model at {shown} cannot be fetched: it redirects to {error}", remedy=_REMEDY) from None
    except (requests.RequestException, HTTPError) as error:  # requests accepts some invalid hosts
        raise UserError(f"the model at {shown} cannot be fetched: {_why(error)}", remedy=_REMEDY) from error


def _refusal(shown: str, status: int) -> UserError:
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        remedy = "Are --remote-storage and the model's name right? The name is appended to the address."
        return UserError(f"there is no model at {shown}: status {status}", remedy=remedy)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        remedy = "Put the login into the address (https://user:password@host/…), or allow reading."
        return UserError(f"the model at {shown} may not be read: status {status}", remedy=remedy)
    return UserError(f"the model at {shown} cannot be fetched: status {status}", remedy="Does the storage work?")


def _why(error: Exception) -> str:
    import requests  # only if something was fetched

    from turncheck.web.timed import was_refused

    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted, or it does not speak TLS"
    if isinstance(error, requests.Timeout):
        return "there was no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "nothing answers there" if was_refused(error) else "the connection was cut"
    return f"it is not an address, or the answer is incomplete ({type(error).__name__})"


def _fetch_s3(storage: str, name: str, environment: Mapping[str, str], target: Path) -> None:
    named, _, below = storage.partition("://")[2].partition("/")
    bucket = environment.get(BUCKET_VARIABLE) if storage == "aws" else named
    if not bucket:
        raise UserError("which bucket?", remedy=f"Set {BUCKET_VARIABLE}, or write s3://bucket/prefix.")
    prefix = below.strip("/")
    key = f"{prefix}/{name}" if prefix else name
    try:
        import boto3  # an optional extra
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise UserError(
            "boto3 is needed to fetch models from S3", remedy="Install it: pip install 'turncheck[s3]'."
        ) from None
    try:
        client = boto3.client("s3", endpoint_url=environment.get("AWS_ENDPOINT_URL") or None)
        answer: dict[str, Any] = client.get_object(Bucket=bucket, Key=key)
        if answer["ContentLength"] > MAX_MODEL_BYTES:
            raise UserError(f"the model s3://{bucket}/{key} has more than {MAX_MODEL_BYTES >> 30} GB")
        body: BinaryIO = answer["Body"]
        with target.open("wb") as file:
            shutil.copyfileobj(body, file)
    except (BotoCoreError, ClientError) as error:
        raise UserError(
            f"the model s3://{bucket}/{key} cannot be fetched: {error}",
            remedy="Are bucket and name right, and the variables AWS_… (credentials, region, endpoint)?",
        ) from error
