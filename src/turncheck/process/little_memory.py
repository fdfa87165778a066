"""Libraries that get no memory, or no threads, and end the process as they see fit.

Where memory is limited (``ulimit -v``), they end it with exit code 1, which is a verdict here. So the C library is told
to end with another code whenever ``exit`` is called, and the process ends by itself without that call.

OpenBLAS, which NumPy and SciPy bring along, interrupts the process with SIGINT if it can start no threads while it is
loaded. Nobody has pressed Ctrl-C then: it becomes a :class:`MemoryError`. If it gets no memory for its buffers, it asks
for it again, for ever: so there must be room for them before.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from typing import TYPE_CHECKING, NoReturn

from turncheck.process import interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

_NOT_DONE = 2
_WITH_OPENBLAS = ("numpy.", "scipy.")
_OF_LIBRARY = 32 << 20
_OF_THREAD = 40 << 20
"""A buffer of 32 MiB, and the stack."""
_MOST_THREADS = 64


def end_by_libraries_is_not_done() -> bool:
    """Have the process end with :data:`_NOT_DONE` if a library ends it; whether that could be arranged."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        return not library.__cxa_atexit(library._exit, ctypes.c_void_p(_NOT_DONE), None)  # noqa: SLF001 - its name
    except (AttributeError, OSError):  # another C library
        return False


def end(code: int) -> NoReturn:
    """End the process with a code, after what Python does at its end."""
    import atexit

    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def watch_libraries() -> None:
    """Have NumPy and SciPy raise a :class:`MemoryError`, instead of an interrupt, if they can start no threads."""
    if hasattr(signal, "sigtimedwait"):  # macOS and Windows have none
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds modules as Python does; those that may load OpenBLAS get another loader."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a library is, ``None`` for everything else."""
        if not name.startswith(_WITH_OPENBLAS):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is ExtensionFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(ExtensionFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        ensure_room(spec.name)
        with telling_own_interrupts():
            return super().create_module(spec)


def ensure_room(module: str) -> None:
    """Make sure that OpenBLAS gets its buffers, if a module of NumPy's, SciPy's or scikit-learn's might load it.

    Raises:
        MemoryError: it would not.
    """
    from turncheck.process import system  # not for --version

    if not system.memory_is_limited() or _has_openblas(of_numpy=module.startswith("numpy.")):
        return
    import mmap

    wanted = os.environ.get("OPENBLAS_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdecimal() and len(wanted) < 4 else os.cpu_count() or 1
    try:
        mmap.mmap(-1, _OF_LIBRARY + _OF_THREAD * min(max(1, threads), _MOST_THREADS)).close()
    except OSError as error:
        raise MemoryError("a library could get no memory (see ulimit -v)") from error


def _has_openblas(*, of_numpy: bool) -> bool:
    """Whether the library is loaded; NumPy's has 64-bit integers, and is another one than SciPy's."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - not a path of ours
            return any("openblas" in line and ("openblas64" in line) == of_numpy for line in maps)
    except OSError:  # another system
        return True


@contextmanager
def telling_own_interrupts() -> Iterator[None]:
    """Tell an interrupt that this process sends itself from any other, which comes a moment later.

    Raises:
        MemoryError: it sent itself one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # type: ignore[attr-defined,unused-ignore] # on Windows
    is_own = False
    try:
        yield
    finally:
        heard = signal.sigtimedwait({signal.SIGINT}, 0)  # type: ignore[attr-defined,unused-ignore] # on Windows
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # type: ignore[attr-defined,unused-ignore] # on Windows
        if heard is not None:
            # The terminal has no number, and another process has its own; ours repeats an interrupt that was dropped.
            is_own = heard.si_pid == os.getpid() and not interrupts.happened()
            if not is_own:
                signal.raise_signal(signal.SIGINT)
    if is_own:
        raise MemoryError("a library could start no threads (see ulimit -v and -u)")
