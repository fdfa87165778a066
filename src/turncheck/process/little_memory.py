"""Where memory is limited (``ulimit -v``), libraries end the process with exit code 1 when they get none.

1 is a verdict here. So the C library is told to end with another code whenever ``exit`` is called, and the process
ends by itself without that call.
"""

from __future__ import annotations

import os
import sys

_NOT_DONE = 2


def is_limited() -> bool:
    """Whether this process may only have so much memory."""
    import resource

    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)


def end_by_libraries_is_not_done() -> bool:
    """Have the process end with :data:`_NOT_DONE` if a library ends it; whether that could be arranged."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        return not library.__cxa_atexit(library._exit, ctypes.c_void_p(_NOT_DONE), None)  # noqa: SLF001 - its name
    except (AttributeError, OSError):  # another C library
        return False


def end(code: int) -> None:
    """End the process with a code, after what Python does at its end."""
    import atexit

    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
