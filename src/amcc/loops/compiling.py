"""How loops are compiled with numba: once per machine, or in every process where nothing can be kept.

Numba keeps what it compiled in `__pycache__` beside the source, else in the user's cache folder, and compiles again
when the source file changes. A change in a file that it imports from is not seen: then remove `__pycache__`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from amcc.lazy import without_init

Loop = Callable[..., Any]
Compile = Callable[[Loop], Any]


def machine_code(**options: Any) -> Compile:
    """A decorator that compiles a loop when it is first called; `options` are numba's.

    Loops let go of Python's lock, so several threads can run them side by side (`amcc.threads`).
    """
    from numba import njit

    _look_for_blas()

    def decorate(loop: Loop) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(loop)
        except RuntimeError:  # "cannot cache function": not beside the source, nor in the cache folder of the user
            return njit(nogil=True, **options)(loop)

    return decorate


@cache
def _look_for_blas() -> None:
    """Let numba see that scipy has a BLAS: it would import all of scipy.linalg, half of what the first loop waits for.

    What it looks for is one compiled module. That is forgotten afterwards: whoever imports scipy.linalg gets all of it.
    """
    sought = "scipy.linalg.cython_blas"
    if sought in sys.modules:
        return
    with without_init("scipy.linalg"), suppress(ImportError):  # another version may look elsewhere, which takes longer
        import numba.np.arraymath  # noqa: F401
    sys.modules.pop(sought, None)
