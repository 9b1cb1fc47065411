"""How loops are compiled with numba: once per machine, or in every process where nothing can be kept.

Numba keeps what it compiled in `__pycache__` beside the source, else in the user's cache folder, and compiles again
when the source file changes. A change in a file that it imports from is not seen: then remove `__pycache__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loop = Callable[..., Any]
Compile = Callable[[Loop], Any]


def machine_code(**options: Any) -> Compile:
    """A decorator that compiles a loop when it is first called; `options` are numba's.

    Loops let go of Python's lock, so several threads can run them side by side (`amcc.threads`).
    """
    from numba import njit

    def decorate(loop: Loop) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(loop)
        except RuntimeError:  # "cannot cache function": not beside the source, nor in the cache folder of the user
            return njit(nogil=True, **options)(loop)

    return decorate
