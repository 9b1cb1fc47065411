"""What is imported when somebody first uses it: names of a package (PEP 562), modules, what layers offer to lower ones.

A package with many doors should cost only what one walks through: `import amcc` takes milliseconds, and a command
imports the modules that it needs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

# Where those things are that a lower layer needs of a higher one; the front door says it.
_PLACES: dict[str, str] = {}


def offer(name: str, place: str) -> None:
    """Say where something is that a lower layer asks for by name, as package.module:attribute."""
    _PLACES[name] = place


def offered(name: str) -> Any:
    """What was offered under a name, imported now.

    >>> offer("square root", "math:sqrt")
    >>> offered("square root")(9)
    3.0
    """
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(import_module(module), attribute)


class WhenUsed:
    """A module that is imported when something in it is first used: for what few commands need.

    >>> statistics = WhenUsed("statistics")
    >>> statistics.median([1, 2, 9])
    2
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


@contextmanager
def without_init(package: str) -> Iterator[None]:
    """Inside, modules of a package can be imported without what its `__init__` does, which may be most of the time.

    Afterwards, whoever imports the package gets all of it. Where there are other threads nothing is left out: one of
    them may want all of the package meanwhile.
    """
    spec = find_spec(package)
    if package in sys.modules or spec is None or threading.active_count() > 1:
        yield
        return
    sys.modules[package] = module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[package]


def lazy_names(
    package: str,
    names_of: Mapping[str, Iterable[str]],
    modules: Iterable[str] = (),
    moved: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package.

    names_of : names by the module of the package that defines them; modules : modules that are names themselves.
    moved : names that are elsewhere now, for whoever still looks for them here.
    """
    home = {name: f"{package}.{module}" for module, names in names_of.items() for name in names}
    home_modules = {name: f"{package}.{name}" for name in modules}

    def get(name: str) -> Any:
        if name in home:
            value = getattr(import_module(home[name]), name)
        elif name in home_modules:
            value = import_module(home_modules[name])
        else:
            hint = f": it is {moved[name]} now" if moved and name in moved else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        setattr(sys.modules[package], name, value)  # so that nobody asks again
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home, *home_modules})
