"""How loops are compiled with numba: once per machine, or in every process where nothing can be kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loop = Callable[..., Any]


def machine_code(**options: Any) -> Callable[[Loop], Any]:
    """A decorator that compiles a loop; `options` are numba's."""
    from numba import njit

    def decorate(loop: Loop) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(loop)
        except RuntimeError:  # "cannot cache function": not beside the source, nor in the cache folder of the user
            return njit(nogil=True, **options)(loop)

    return decorate
