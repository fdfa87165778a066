"""A model on disk: a ``.tar.gz`` with a manifest and members by name. Only data; nothing in it is executed.

It has the domain and the configured components as JSON: it answers without the project's files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict, TypeVar
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec
from msgspec import Struct, field

from turncheck import __version__
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.cache import MOST_BYTES, Cache
from turncheck.process.output_files import atomic_write
from turncheck.process.packed import BoundedGzip, UnpacksToTooMuchError
from turncheck.process.regular_file import open_regular
from turncheck.project import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

# skops files that are equal for equal content.

_SCHEMA: Final = "schema.json"
_IDENTITY: Final = re.compile(r'"__id__": (\d+)')
_NUMBER: Final = re.compile(r"\d+")
_FIXED_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest date in a ZIP file."""


def dump(value: Any) -> bytes:
    """Return the value as a skops file."""
    from skops.io import dumps  # imports scikit-learn

    with ZipFile(BytesIO(dumps(value))) as source:
        members = {name: source.read(name) for name in source.namelist()}
    schema = members.pop(_SCHEMA).decode()
    counted = {name: str(number) for number, name in enumerate(dict.fromkeys(_IDENTITY.findall(schema)), start=1)}
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as packed:
        renamed = {_counted(name, counted): content for name, content in members.items()}
        for name in sorted(renamed):
            packed.writestr(ZipInfo(name, _FIXED_DATE), renamed[name], ZIP_DEFLATED)
        packed.writestr(ZipInfo(_SCHEMA, _FIXED_DATE), _counted(schema, counted), ZIP_DEFLATED)
    return target.getvalue()


def _counted(text: str, counted: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda match: counted.get(match.group(), match.group()), text)


Shape = TypeVar("Shape")

FORMAT: Final = "turncheck/model/v7"
"""Incremented whenever the members change, so that models of older builds are recognised."""
_MANIFEST: Final = "manifest.json"
_MAX_BYTES: Final = 4 << 30
"""More bytes than any model has: an archive that unpacks to more is refused."""
_LARGEST_NUMBER: Final = 1e30
"""Sums of larger weights may be infinite."""
_SHOWN: Final = 20
_RASA_MEMBERS: Final = frozenset({"metadata.json", "components"})


class MemberWriter(Struct):
    """Collects members below a prefix; ``estimators`` are made members when all are needed, which takes a second."""

    members: dict[str, bytes] = field(default_factory=dict)
    prefix: str = ""
    estimators: dict[str, Any] = field(default_factory=dict)

    def below(self, name: str) -> MemberWriter:
        """Return a writer of the same archive for members below ``name/``."""
        return MemberWriter(self.members, f"{self.prefix}{name}/", self.estimators)

    def whole(self) -> dict[str, bytes]:
        """Return all members by name."""
        return {**self.members, **{path: dump(estimator) for path, estimator in self.estimators.items()}}

    def content(self, name: str, content: bytes) -> None:
        """Add a member unchanged."""
        path = self.prefix + name
        if path in self.members:
            raise AssertionError(f"two members of the name {path}")
        self.members[path] = content

    def json(self, name: str, value: Any) -> None:
        """Add a JSON value as ``name.json``. Mappings keep their order: of several rules that fit, the first counts."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.content(f"{name}.json", text.encode("utf-8", "surrogatepass"))

    def arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add NumPy arrays as ``name.npz``, without pickle. The same arrays give the same bytes."""
        import numpy as np

        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as target:
            for key, array in sorted(arrays.items()):
                member = io.BytesIO()
                np.save(member, array, allow_pickle=False)
                target.writestr(zipfile.ZipInfo(f"{key}.npy"), member.getvalue())  # always dated 1980
        self.content(f"{name}.npz", packed.getvalue())

    def estimator(self, name: str, estimator: Any) -> None:
        """Add a fitted scikit-learn estimator as ``name.skops``, without pickle."""
        self.estimators[f"{self.prefix}{name}.skops"] = estimator


class MemberReader(Struct, frozen=True):
    """Reads members below a prefix; their checksums have been checked."""

    members: Mapping[str, bytes]
    prefix: str = ""

    def below(self, name: str) -> MemberReader:
        """Return a reader for the members below ``name/``."""
        return MemberReader(self.members, f"{self.prefix}{name}/")

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return self.prefix + name in self.members

    def content(self, name: str) -> bytes:
        """Return a member unchanged.

        Raises:
            UserError: it does not exist.
        """
        try:
            return self.members[self.prefix + name]
        except KeyError:
            raise UserError(f"the model is damaged: {self.prefix + name} is missing", hint=_TRAIN_AGAIN) from None

    def json(self, name: str, shape: type[Shape]) -> Shape:
        """Return the JSON value ``name.json``, which has the given type.

        Raises:
            UserError: it does not exist.
            ValueError: it is not JSON, or has a number that is not finite.
            msgspec.ValidationError: it has another type.
        """
        text = self.content(f"{name}.json").decode("utf-8", "surrogatepass")
        return as_shape(json.loads(text, parse_constant=_refuse, parse_float=_finite), shape)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the NumPy arrays of ``name.npz``, all of finite floating-point numbers.

        Raises:
            UserError: they cannot be read.
        """
        import numpy as np

        try:
            content = self.content(f"{name}.npz")
            _ensure_bounded(content)
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return {name: _ensure_finite(array) for name, array in arrays.items()}
        except (ValueError, zipfile.BadZipFile, EOFError, OSError, zlib.error, NotImplementedError):
            raise UserError(
                f"the model is damaged: {self.prefix}{name}.npz cannot be read", hint=_TRAIN_AGAIN
            ) from None

    def estimator(self, name: str) -> Any:
        """Return the scikit-learn estimator of ``name.skops``; skops refuses types that it does not trust."""
        from skops.io import loads

        content = self.content(f"{name}.skops")
        _ensure_bounded(content)
        return loads(content)


def as_shape(value: Any, shape: type[Shape]) -> Shape:
    """Return a JSON value as a value of this type.

    Raises:
        msgspec.ValidationError: it has another type.
    """
    return msgspec.convert(value, shape)


def ensure_dimensions(array: NDArray[Any], *lengths: int) -> NDArray[Any]:
    """Return an array that has as many rows, columns and so on as what it belongs to.

    Raises:
        ValueError: it does not.
    """
    if array.shape != lengths:
        raise ValueError(f"an array of the shape {array.shape} instead of {lengths}")
    return array


def _ensure_finite(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind != "f" or not bool((abs(array) <= _LARGEST_NUMBER).all()):  # false for what is not a number
        raise ValueError("an array has something else than finite numbers")
    return array


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of a model")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) <= _LARGEST_NUMBER else _refuse(text[:_SHOWN])


def _ensure_bounded(content: bytes) -> None:
    """Make sure that a zip unpacks to no more than a model has; an entry that is larger than it says is refused when
    it is read.

    Raises:
        ValueError: it unpacks to more.
        zipfile.BadZipFile: it is not a zip.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
            raise ValueError("it unpacks to more than a model has")


_TRAIN_AGAIN: Final = "Train it again: turncheck train."


class Model(Struct, frozen=True):
    """A model that was read: its manifest and its members."""

    fingerprint: str
    """The digest of the project's files that it was trained on."""
    parts: tuple[str, ...]
    """Which parts it has: ``nlu``, ``core``."""
    reader: MemberReader
    named: tuple[str, ...] = ()
    """The files that its user named to train on, if these were not those of the project."""


def write_model(
    path: Path, writer: MemberWriter, *, fingerprint: str, parts: tuple[str, ...], named: tuple[str, ...] = ()
) -> None:
    """Write a model; the same members give the same bytes. A partially written file is never left under that name.

    ``named``: the files that its user named to train on.

    Raises:
        UserError: it cannot be written.
    """
    members = writer.whole()
    manifest = {
        "format": FORMAT,
        "turncheck": __version__,
        "versions": _versions() if "nlu" in parts else {},
        "fingerprint": fingerprint,
        "parts": parts,
        "named": named,
        "members": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }
    content = json.dumps(manifest, indent=1, sort_keys=True).encode()
    with (
        atomic_write(path) as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in [(_MANIFEST, content), *sorted(members.items())]:
            head = tarfile.TarInfo(name)
            head.size = len(data)
            archive.addfile(head, io.BytesIO(data))


def read_model(path: Path) -> Model:
    """Read a model into memory; nothing is unpacked to disk.

    Raises:
        UserError: there is no such file; it is damaged; it is not a model of turncheck (a Rasa model, say), or one of a
            format that this version does not know.
    """
    members = _read_members(path)
    if _MANIFEST not in members:
        raise _foreign(path, members)
    manifest = _manifest(path, members.pop(_MANIFEST))
    if manifest["format"] != FORMAT:
        raise UserError(
            f"the model {path} has the format {manifest['format']!r}; this version of turncheck reads {FORMAT!r}",
            hint=_TRAIN_AGAIN,
        )
    expected = manifest["members"]
    for name in sorted(expected.keys() | members.keys()):
        if name not in members:
            raise _damaged(path, f"its member {name} is missing")
        if hashlib.sha256(members[name]).hexdigest() != expected.get(name):
            raise _damaged(path, f"its member {name} is not what was stored")
    return Model(manifest["fingerprint"], manifest["parts"], MemberReader(members), manifest.get("named", ()))


def _read_members(path: Path) -> dict[str, bytes]:
    try:
        with open_regular(path, most=_MAX_BYTES) as packed, BoundedGzip(packed, _MAX_BYTES) as unpacked:
            return dict(members_of(unpacked))
    except FileNotFoundError:
        raise UserError(f"there is no model {path}") from None
    except UnpacksToTooMuchError:
        raise UserError(f"the model {path} holds more than {_MAX_BYTES >> 30} GB") from None
    except MemoryError:
        raise UserError(f"the model {path} needs more memory than there is") from None
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, RecursionError) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from None
    except OSError as error:
        raise UserError(f"the model {path} cannot be read: {error.strerror or error}") from None


def members_of(file: BoundedGzip) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an archive, each with its content; folders and links without any.

    Raises:
        tarfile.TarError, OSError, EOFError, ValueError: it is damaged.
    """
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for head in archive:
            if head.issparse():
                raise ValueError("it has a sparse member")
            content = archive.extractfile(head) if head.isreg() else None
            yield head.name.rstrip("/"), b"" if content is None else content.read()


class _Manifest(TypedDict):
    format: str
    fingerprint: str
    parts: tuple[str, ...]
    members: dict[str, str]
    named: NotRequired[tuple[str, ...]]


def _manifest(path: Path, content: bytes) -> _Manifest:
    try:
        return as_shape(json.loads(content), _Manifest)
    except (ValueError, RecursionError):
        raise _damaged(path, "its manifest cannot be read") from None


def _damaged(path: Path, how: str) -> UserError:
    return UserError(f"the model {path} is damaged: {how}", hint=_TRAIN_AGAIN)


def _foreign(path: Path, members: Mapping[str, bytes]) -> UserError:
    tops = {name.removeprefix("./").partition("/")[0] for name in members}
    whose = "a model of Rasa" if tops >= _RASA_MEMBERS else "not a model of turncheck"
    return UserError(
        f"{path} is {whose}, which turncheck cannot run",
        hint="Train one with turncheck train, or start Rasa with this model and give its address by --rasa-url.",
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scikit-learn", "skops", "python-crfsuite")}


# Archives of members in a cache: only data, nothing executable.

ReadModel = TypeVar("ReadModel")


def read_kept(cache: Cache, key: str | None, kind: str, read: Callable[[MemberReader], ReadModel]) -> ReadModel | None:
    """Return what ``read`` makes of the members under a key, ``None`` if there are no readable ones."""
    if key is None or (content := cache.get(key, kind)) is None:
        return None
    try:
        return read(MemberReader(_members(content)))
    except Exception:  # noqa: BLE001 - what somebody put there may go wrong in any way, and is only ignored
        cache.mark_damaged(key, kind)
        return None


def keep(cache: Cache, key: str | None, kind: str, write: Callable[[MemberWriter], None]) -> None:
    """Store what ``write`` writes; what cannot be stored is trained each time."""
    if key is not None and (writer := written(write)) is not None:
        keep_written(cache, key, kind, writer)


def keep_written(cache: Cache, key: str, kind: str, writer: MemberWriter) -> None:
    """Store what was written."""
    cache.put_made(key, kind, lambda: _packed(writer, cache.compression))


def written(write: Callable[[MemberWriter], None]) -> MemberWriter | None:
    """Return a writer with what ``write`` writes, ``None`` if that cannot be written."""
    writer = MemberWriter()
    try:
        write(writer)
    except (UserError, TypeError, ValueError):
        return None
    return writer


def _packed(writer: MemberWriter, compression: int) -> bytes | None:
    """Return the members as an archive, ``None`` if an estimator cannot be written."""
    try:
        members = writer.whole()
    except (UserError, TypeError, ValueError):
        return None
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=compression) as archive:
        for name, content in sorted(members.items()):
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return packed.getvalue()


def _members(content: bytes) -> dict[str, bytes]:
    with BoundedGzip(io.BytesIO(content), MOST_BYTES) as unpacked:
        return dict(members_of(unpacked))


Json = dict[str, Any]
_Named = TypeVar("_Named", model.Intent, model.Entity, model.Slot, model.Form, model.Action)


class _ResponseShape(TypedDict):
    name: str
    variations: list[dict[str, Any]]


def domain_to_json(domain: model.Domain) -> Json:
    """Return the domain as JSON values. Lists keep the order of the files."""
    return {
        "intents": _listed(domain.intents),
        "entities": _listed(domain.entities),
        "slots": _listed(domain.slots),
        "forms": _listed(domain.forms),
        "responses": [
            {"name": name, "variations": [dict(variation.content) for variation in response.variations]}
            for name, response in domain.responses.items()
        ],
        "actions": _listed(domain.actions),
        "end_to_end_actions": list(domain.end_to_end_actions),
        "session": msgspec.structs.asdict(domain.session),
        "rasa": domain.rasa,
    }


def domain_from_json(shape: Mapping[str, Any]) -> model.Domain:
    """Read what :func:`domain_to_json` wrote. Responses lose their places in the files, the rest keeps them.

    Raises:
        KeyError, msgspec.ValidationError: it is not that.
    """
    return model.Domain(
        intents=_named(shape["intents"], model.Intent),
        entities=_named(shape["entities"], model.Entity),
        slots=_named(shape["slots"], model.Slot),
        forms=_named(shape["forms"], model.Form),
        responses={
            response.name: response for response in map(_response, as_shape(shape["responses"], list[_ResponseShape]))
        },
        actions=_named(shape["actions"], model.Action),
        end_to_end_actions=as_shape(shape["end_to_end_actions"], tuple[str, ...]),
        session=as_shape(shape["session"], model.SessionConfig),
        rasa=as_shape(shape["rasa"], int),
    )


def components_to_json(components: Iterable[model.Component]) -> list[Json]:
    """Return names and parameters of configured components."""
    return [{"name": component.name, "parameters": dict(component.parameters)} for component in components]


def components_from_json(shape: Sequence[Mapping[str, Any]]) -> tuple[model.Component, ...]:
    """Read what :func:`components_to_json` wrote."""
    return tuple(model.Component(entry["name"], entry["parameters"], Location("")) for entry in shape)


def _listed(things: Mapping[str, Any]) -> list[Json]:
    # The places of single values are not needed in a model.
    return [
        {name: value for name, value in msgspec.to_builtins(thing).items() if name != "places"}
        for thing in things.values()
    ]


def _named(entries: Any, kind: type[_Named]) -> dict[str, _Named]:
    things: list[_Named] = as_shape(entries, list[kind])  # type: ignore[valid-type]  # only known when it runs
    return {thing.name: thing for thing in things}


def _response(entry: _ResponseShape) -> model.Response:
    nowhere = Location("")
    variations = tuple(model.ResponseVariation(content, nowhere) for content in entry["variations"])
    return model.Response(entry["name"], variations, nowhere)
