"""The process of a fit: `python -m amcc.serve.fit FOLDER SERVER`. What it does is in `fitting`.

It has low priority and dies with the server that started it. Whatever happens to it, the server goes on with the
beliefs that it has, and starts another one later. Both hold before anything large is imported, which takes seconds: a
server that has just been killed and started again needs the processor for those who wait.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

# Steps of priority below the server's: it gets what nobody else needs.
NICE = 10

# What the process ends with where another one is at it.
BUSY = 3

_PR_SET_PDEATHSIG = 1  # of Linux, see prctl(2)


def main() -> int:
    """The process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if len(sys.argv) > 2 and os.getppid() != int(sys.argv[2]):
        return BUSY  # the server was killed before we could die with it
    with contextlib.suppress(OSError):
        os.nice(NICE)
    from amcc.serve.fitting import run
    from amcc.threads import one_thread

    with one_thread():
        return run(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
