"""Model files: their names, which one counts, and what is in it.

They are in a folder, or stored elsewhere: behind http(s), in S3, Google Cloud Storage or Azure (``--remote-storage``).
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from turncheck.engines.embedded.model_archive import (
    MemberReader,
    Model,
    keep,
    keep_written,
    read_kept,
    read_model,
    written,
)
from turncheck.messages.errors import UserError
from turncheck.web.addresses import Network, is_http, without_login

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.base import Part
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.policies.trainer import Ensemble
    from turncheck.process.cache import Cache
    from turncheck.project.model import Project

DEFAULT_MODELS: Final = "models"
SUFFIX: Final = ".tar.gz"
_SHOWN: Final = 200


def model_path(folder: Path, name: str | None, prefix: str) -> Path:
    """Return where to save a model: under ``name`` if there is one, else under the time, as Rasa does.

    ``prefix``: ``core-``, ``nlu-``, or nothing for a model with both parts.
    """
    if name is None:
        name = f"{prefix}{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    return folder / (name if name.endswith(SUFFIX) else name + SUFFIX)


def newest_model(folder: Path) -> Path | None:
    """Return the newest model file of a folder; of several with the same age the last by name."""
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()] if folder.is_dir() else []
    return max(files, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


def named_model(path: Path) -> Path:
    """Return the model that ``--model`` names: a file, or the newest of a folder.

    Raises:
        UserError: there is none.
    """
    if path.is_file():
        return path
    found = newest_model(path)
    if found is None:
        raise UserError(f"there is no model at '{path}'", hint="Train one with turncheck train, or correct --model.")
    return found


class LoadedModel(Struct, frozen=True):
    """A model file that was read; its parts are created on demand.

    ``is_of_project``: whether it was trained on the project's files as they are now, or was named.
    """

    path: Path
    model: Model
    is_of_project: bool = True

    @property
    def has_nlu(self) -> bool:
        """Whether it understands sentences."""
        return "nlu" in self.model.parts

    @property
    def has_vectors(self) -> bool | str:
        """Whether its language understanding needs sentence vectors; for those of a folder, the folder."""
        from turncheck.engines.embedded.nlu.sentence_vectors import needs_vectors  # imports NumPy

        with self._reading():
            return needs_vectors(self.model.reader.below("nlu")) if self.has_nlu else False

    def ensemble(self) -> Ensemble:
        """Return its policies.

        Raises:
            UserError: it has none.
        """
        from turncheck.engines.embedded.policies.trainer import read_ensemble

        self.require("core")
        with self._reading():
            return read_ensemble(self.model.reader)

    def nlu(self) -> EmbeddedNluEngine:
        """Return its language understanding.

        Raises:
            UserError: it has none.
        """
        from turncheck.engines.embedded.nlu.persistence import read_nlu

        self.require("nlu")
        with self._reading():
            return read_nlu(self.model.reader)

    def tokenize(self, texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
        """Return the borders of each text's words; only the tokenizer of the model's NLU is read."""
        from turncheck.engines.embedded.nlu.persistence import read_tokenizer

        self.require("nlu")
        with self._reading():
            tokenizer = read_tokenizer(self.model.reader)
        return [tokenizer.tokenize(text).spans for text in texts]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Report whatever is wrong with the content of the file as an error that names it.

        Raises:
            UserError: it cannot be read.
        """
        try:
            yield
        except UserError as error:
            raise UserError(f"the model {self.path} cannot be used: {error.message}", hint=error.hint) from None
        except MemoryError:
            raise UserError(f"the model {self.path} needs more memory than there is") from None
        except Exception as error:  # noqa: BLE001 - whoever made the file may have put anything there
            raise UserError(
                f"the model {self.path} is damaged: it cannot be read ({type(error).__name__}: {str(error)[:_SHOWN]})",
                hint="Train it again: turncheck train.",
            ) from None

    def require(self, part: Part) -> None:
        """Make sure that it has a part.

        Raises:
            UserError: it does not.
        """
        name = "policies" if part == "core" else "language understanding"
        if part not in self.model.parts:
            raise UserError(
                f"the model {self.path} holds no {name}, only: {', '.join(self.model.parts)}",
                hint=f"Train one with turncheck train or turncheck train {part}.",
            )


def has_custom_components(project: Project) -> bool:
    """Whether the pipeline names the project's own classes."""
    from turncheck.project.rasa_components import is_custom  # only if a model is chosen

    return any(is_custom(component) for component in project.config.pipeline or ())


def load_model(path: Path) -> LoadedModel:
    """Read a model.

    Raises:
        UserError: it cannot be read.
    """

    return LoadedModel(path, read_model(path))


def fitting_model(
    folder: Path,
    project: Project,
    parts: Iterable[str],
    *,
    allow_custom_code: bool = False,
    vectors: bool | str = False,
) -> LoadedModel | None:
    """Return the newest model of a folder, if it has these parts and the project's files have not changed since.

    One that was trained on files that its user named (``train nlu --nlu train_test_split/training_data.yml``) counts
    in any case, as in Rasa: the project's files include what was to be kept from it. A model never contains the
    project's own code: if such components must run, none fits. With language understanding requested, it must have been
    trained as requested now: with sentence vectors, or without.
    """
    if allow_custom_code and "nlu" in parts and has_custom_components(project):
        return None
    from turncheck.engines.embedded.training_key import project_fingerprint

    path = newest_model(folder)
    if path is None:
        return None
    try:
        loaded = load_model(path)
    except UserError:
        return None  # this model was not named: a foreign or damaged one does not count
    is_of_project = loaded.model.fingerprint == project_fingerprint(project)
    fits = (is_of_project or bool(loaded.model.named)) and set(parts) <= set(loaded.model.parts)
    if fits and "nlu" in parts:
        fits = loaded.has_vectors == (str(Path(vectors).resolve()) if isinstance(vectors, str) else vectors)
    return replace(loaded, is_of_project=is_of_project) if fits else None


# Trained models in a cache, as ``turncheck train`` writes them: only data, nothing executable.

_NLU, _POLICIES = "trained pipeline", "set of trained policies"


def cached_nlu(cache: Cache, key: str | None, train: Callable[[], EmbeddedNluEngine]) -> EmbeddedNluEngine:
    """Return trained language understanding: the one stored under the key, else it is trained and stored."""
    from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu

    nlu_engine = read_kept(cache, key, _NLU, read_nlu)
    if nlu_engine is not None:
        return nlu_engine
    engine = train()
    keep(cache, key, _NLU, lambda writer: write_nlu(writer, engine))
    return engine


def cached_ensemble(cache: Cache, key: str, domain: DialogueDomain, train: Callable[[], Ensemble]) -> Ensemble | None:
    """Return trained policies: those stored under the key, else they are trained and stored.

    ``domain`` is the one that they act in, which may have more than what they learnt from. Returns ``None`` if they
    cannot be stored.
    """
    from turncheck.engines.embedded.policies.trainer import read_ensemble, write_ensemble

    def read(reader: MemberReader) -> Ensemble:
        return read_ensemble(reader, domain)

    found = read_kept(cache, key, _POLICIES, read)
    if found is not None:
        return found
    ensemble = train()
    writer = written(lambda writer: write_ensemble(writer, ensemble))
    if writer is None:
        return None
    keep_written(cache, key, _POLICIES, writer)
    return read(MemberReader(writer.whole()))


MAX_MODEL_BYTES: Final = 2 << 30
SECONDS: Final = 1800.0
"""For the whole download of a model."""
CONNECT_SECONDS: Final = 10
"""The vendors' libraries wait for up to a minute by themselves, and repeat that several times."""
READ_SECONDS: Final = 30
"""Between two parts of an answer."""
_KINDS: Final = "Name a folder, an address (https://…), s3://bucket/prefix, gs://bucket/prefix, aws, gcs or azure."
_HINT: Final = "Is the address of --remote-storage right, and is the server running?"
BUCKET_VARIABLE: Final = "BUCKET_NAME"
"""As in Rasa; credentials, region and endpoint are those that boto3 reads (``AWS_…``), of Google Cloud Storage those
that its library finds (``GOOGLE_APPLICATION_CREDENTIALS``, ``STORAGE_EMULATOR_HOST``)."""
CONTAINER_VARIABLE: Final = "AZURE_CONTAINER"
"""As in Rasa, with ``AZURE_ACCOUNT_NAME`` and ``AZURE_ACCOUNT_KEY``."""
CONNECTION_VARIABLE: Final = "AZURE_STORAGE_CONNECTION_STRING"
"""Of Azure's own tools; it counts before the account's name and key, and may name another endpoint."""
_IN_CLOUDS: Final = frozenset({"aws", "gcs", "azure"})
_SCHEMES: Final = frozenset({"http", "https", "s3", "gs"})


def fetch_model(storage: str, name: str | None, environment: Mapping[str, str], into: Path) -> Path:
    """Return the model ``name`` of the storage as a file, fetched into the folder ``into`` if it is elsewhere.

    ``storage``: a folder (whose newest model counts without a name), ``http://…`` or ``https://…`` (the name is
    appended), ``s3://bucket/prefix`` or ``gs://bucket/prefix``; or, as Rasa's: ``aws`` and ``gcs`` (the bucket of
    ``BUCKET_NAME``), ``azure`` (the container of ``AZURE_CONTAINER``).

    Raises:
        UserError: there is no such storage or model, or it cannot be fetched.
    """
    scheme = storage.partition("://")[0].lower() if "://" in storage else ""
    if scheme in {"http", "https"} and not is_http(storage):
        raise UserError(f"'{without_login(storage)}' is not an address of a model storage", hint=_KINDS)
    if scheme not in _SCHEMES and storage not in _IN_CLOUDS:
        folder = Path(storage)
        if not folder.is_dir():
            raise UserError(
                f"'{without_login(storage)}' is not a model storage",
                hint=_KINDS,
            )
        return named_model(folder / name if name else folder)
    if not name:
        raise UserError(f"which model of '{without_login(storage)}'?", hint="Name it with --model.")
    target = into / Path(name).name
    if scheme in {"http", "https"}:
        _fetch_http(f"{storage.rstrip('/')}/{quote(name)}", target, Network.of(environment))
    elif storage == "azure":
        _fetch_azure(name, environment, target)
    elif storage == "gcs" or scheme == "gs":
        _fetch_gcs(*_place_in_bucket(storage, name, environment, "gs"), target)
    else:
        _fetch_s3(*_place_in_bucket(storage, name, environment, "s3"), environment, target)
    return target


def _fetch_http(address: str, target: Path, network: Network) -> None:
    import requests  # only if something is fetched
    from urllib3.exceptions import HTTPError

    from turncheck.web.exchange import AnswerTooLargeError, Call, RedirectRefusedError, anywhere, copy_body, exchange
    from turncheck.web.timed import session

    shown = without_login(address)
    try:
        limits = {"connect": CONNECT_SECONDS, "silence": READ_SECONDS}
        call = Call("GET", address)
        with session(network) as one, exchange(one, call, SECONDS, follow=anywhere, **limits) as response:
            if not response.ok:
                raise _refusal(shown, response.status_code)
            with target.open("wb") as file:
                copy_body(response, file, MAX_MODEL_BYTES)
    except AnswerTooLargeError as error:
        raise UserError(f"the model at {shown} {error}") from None
    except RedirectRefusedError as error:
        raise UserError(f"the model at {shown} cannot be fetched: it redirects to {error}", hint=_HINT) from None
    except (requests.RequestException, HTTPError) as error:  # requests accepts some invalid hosts
        raise UserError(f"the model at {shown} cannot be fetched: {_why(error)}", hint=_HINT) from error


def _refusal(shown: str, status: int) -> UserError:
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        hint = "Are --remote-storage and the model's name right? The name is appended to the address."
        return UserError(f"there is no model at {shown}: status {status}", hint=hint)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        hint = "Put the login into the address (https://user:password@host/…), or allow reading."
        return UserError(f"the model at {shown} may not be read: status {status}", hint=hint)
    return UserError(f"the model at {shown} cannot be fetched: status {status}", hint="Does the storage work?")


def _why(error: Exception) -> str:
    import requests  # only if something was fetched

    from turncheck.web.timed import was_refused

    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted (SSL_CERT_FILE names the file of your own), or it does not speak TLS"
    if isinstance(error, requests.Timeout):
        return "there was no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "nothing answers there" if was_refused(error) else "the connection was cut"
    return f"it is not an address, or the answer is incomplete ({type(error).__name__})"


def _place_in_bucket(storage: str, name: str, environment: Mapping[str, str], scheme: str) -> tuple[str, str]:
    """Return the bucket and the key of a model.

    Raises:
        UserError: no bucket is named.
    """
    named, _, below = storage.partition("://")[2].partition("/")
    bucket = environment.get(BUCKET_VARIABLE) if storage in _IN_CLOUDS else named
    if not bucket:
        raise UserError("which bucket?", hint=f"Set {BUCKET_VARIABLE}, or write {scheme}://bucket/prefix.")
    prefix = below.strip("/")
    return bucket, f"{prefix}/{name}" if prefix else name


def _too_large(shown: str) -> UserError:
    return UserError(f"the model {shown} has more than {MAX_MODEL_BYTES >> 30} GB")


def _missing_library(library: str, what: str, extra: str) -> UserError:
    return UserError(
        f"{library} is needed to fetch models from {what}", hint=f"Install it: pip install 'turncheck[{extra}]'."
    )


def _fetch_s3(bucket: str, key: str, environment: Mapping[str, str], target: Path) -> None:
    try:
        import boto3  # an optional extra
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise _missing_library("boto3", "S3", "s3") from None
    shown = f"s3://{bucket}/{key}"
    try:
        limits = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS)
        client = boto3.client("s3", endpoint_url=environment.get("AWS_ENDPOINT_URL") or None, config=limits)
        answer: dict[str, Any] = client.get_object(Bucket=bucket, Key=key)
        if answer["ContentLength"] > MAX_MODEL_BYTES:
            raise _too_large(shown)
        body: BinaryIO = answer["Body"]
        with target.open("wb") as file:
            shutil.copyfileobj(body, file)
    except (BotoCoreError, ClientError) as error:
        raise UserError(
            f"the model {shown} cannot be fetched: {_in_short(error)}",
            hint="Are bucket and name right, and the variables AWS_… (credentials, region, endpoint)?",
        ) from error


def _fetch_gcs(bucket: str, key: str, target: Path) -> None:
    """Fetch with Google's own library, which finds the credentials itself."""
    try:
        from google.api_core.exceptions import GoogleAPIError  # an optional extra
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import storage
        from google.cloud.storage.retry import DEFAULT_RETRY
    except ImportError:
        raise _missing_library("google-cloud-storage", "Google Cloud Storage", "gcs") from None
    import requests  # what Google's library sends with

    shown = f"gs://{bucket}/{key}"
    hint = f"Are {BUCKET_VARIABLE}, the name and the credentials (GOOGLE_APPLICATION_CREDENTIALS) right?"
    limits = (CONNECT_SECONDS, READ_SECONDS)
    try:
        found = storage.Client().bucket(bucket)
        blob = found.get_blob(key, timeout=limits, retry=DEFAULT_RETRY.with_timeout(2 * CONNECT_SECONDS))
        if blob is None:
            raise UserError(f"there is no model {shown}", hint=hint)
        if blob.size > MAX_MODEL_BYTES:
            raise _too_large(shown)
        blob.download_to_filename(str(target), timeout=limits)
    except (GoogleAPIError, GoogleAuthError, requests.RequestException, OSError, ValueError) as error:
        raise UserError(f"the model {shown} cannot be fetched: {_in_short(error)}", hint=hint) from error


def _fetch_azure(name: str, environment: Mapping[str, str], target: Path) -> None:
    """Fetch with Azure's own library, from the container and account that Rasa's variables name."""
    container = environment.get(CONTAINER_VARIABLE)
    if not container:
        raise UserError("which container?", hint=f"Set {CONTAINER_VARIABLE}.")
    try:
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # an optional extra
        from azure.storage.blob import BlobServiceClient
    except ImportError:
        raise _missing_library("azure-storage-blob", "Azure", "azure") from None
    shown = f"'{name}' of the container '{container}'"
    hint = f"Are {CONTAINER_VARIABLE}, AZURE_ACCOUNT_NAME, AZURE_ACCOUNT_KEY and the name right?"
    connection, account = environment.get(CONNECTION_VARIABLE), environment.get("AZURE_ACCOUNT_NAME")
    if not connection and not account:
        raise UserError("which Azure account?", hint=f"Set AZURE_ACCOUNT_NAME, or {CONNECTION_VARIABLE}.")
    limits: dict[str, Any] = {"connection_timeout": CONNECT_SECONDS, "read_timeout": READ_SECONDS, "retry_total": 2}
    limits |= {"initial_backoff": 1, "increment_base": 2, "random_jitter_range": 1}  # seconds between the attempts
    try:
        if connection:
            service = BlobServiceClient.from_connection_string(connection, **limits)
        else:
            address = f"https://{account}.blob.core.windows.net/"
            key = environment.get("AZURE_ACCOUNT_KEY")
            service = BlobServiceClient(address, credential=key, **limits)
        with service, service.get_blob_client(container, name) as blob:
            if blob.get_blob_properties().size > MAX_MODEL_BYTES:
                raise _too_large(shown)
            with target.open("wb") as file:
                blob.download_blob().readinto(file)
    except ResourceNotFoundError as error:
        raise UserError(f"there is no model {shown}", hint=hint) from error
    except (AzureError, ValueError) as error:
        raise UserError(f"the model {shown} cannot be fetched: {_in_short(error)}", hint=hint) from error


def _in_short(error: Exception) -> str:
    """The libraries append whole answers to their messages, and name the cause at the end of a long line, if at all."""
    from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError
    from urllib3.exceptions import TimeoutError as NoAnswerError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NameResolutionError):
            return f"there is no host '{cause.conn.host}'"
        if isinstance(cause, NewConnectionError):
            return f"nothing answers at {cause.conn.host}:{cause.conn.port}"
        if isinstance(cause, NoAnswerError):
            return "there was no answer in time"
        named = cause.reason if isinstance(cause, MaxRetryError) else getattr(cause, "inner_exception", None)  # Azure's
        cause = named or cause.__cause__ or cause.__context__
    return (str(error).splitlines() or [type(error).__name__])[0]
