"""Reads the files of a sentence-transformers model: JSON and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from turncheck.process.regular_file import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

WEIGHTS: Final = "model.safetensors"
_PICKLED: Final = "pytorch_model.bin"
MOST_DESCRIBED: Final = 256 << 20
"""No description of a model, the tokenizer with its words included, is larger."""
MOST_WEIGHTS: Final = 64 << 30
_LFS: Final = b"version https://git-lfs"
_SHOWN: Final = 40

_T = TypeVar("_T")


def decoded(path: Path, of: type[_T]) -> _T:
    """Read a JSON file.

    Raises:
        OSError: it does not exist, or cannot be read.
        ValueError: it is not JSON of this form.
    """
    try:
        return msgspec.json.decode(read_regular(path, most=MOST_DESCRIBED), type=of)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def read_tensors(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """Read the arrays of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or there is only one that Python's pickle would have to run.
    """
    if not path.exists() and (path.parent / _PICKLED).exists():
        raise ValueError(
            f"{path.parent.name} holds {_PICKLED}, not {path.name}: load it in sentence-transformers and save it"
        )
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in _stored(path).items()}


def _stored(path: Path) -> Mapping[str, NDArray[Any]]:
    """Read the arrays; bfloat16, which NumPy does not support, as floats."""
    from safetensors import SafetensorError, deserialize
    from safetensors.numpy import load_file

    with open_regular(path, most=MOST_WEIGHTS) as file:
        begin = file.read(len(_LFS))
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(pointer(begin) or f"{path.name}: {error}") from None
    except TypeError:  # a number type that NumPy lacks
        content = read_regular(path, most=MOST_WEIGHTS)
        read: list[tuple[str, dict[str, Any]]] = deserialize(content)  # type: ignore[no-untyped-call]
        if others := sorted({held["dtype"] for _, held in read} - {"BF16", "F32"}):
            raise ValueError(f"{path.name} holds numbers of the type {others[0]}") from None
        return {name: _numbers(held["data"], held["dtype"]).reshape(held["shape"]) for name, held in read}


def _numbers(data: bytes, kind: str) -> NDArray[np.float32]:
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)


def pointer(content: bytes) -> str:
    """Report a file that is only a Git LFS pointer."""
    return "it holds pointers of Git LFS, not the files themselves: git lfs pull" if content.startswith(_LFS) else ""


def quoted(value: object) -> str:
    """Return a file's content, shortened, on one line."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
