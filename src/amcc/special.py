"""Special functions of scipy, without the third of a second that `import scipy.special` takes.

Most of that time makes copies of numpy for other array libraries, which nobody here uses. The functions themselves are
in one compiled module of the package, which loads in a tenth of the time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = [
    "betainc", "betaincinv", "betaln", "digamma", "expit", "gammaln", "logit", "ndtr", "ndtri", "stdtrit", "xlogy",
]  # fmt: skip

PACKAGE = "scipy.special"


def compiled_part(package: str, module: str) -> ModuleType:
    """A module of a package without what the package's `__init__` does; whoever imports the package gets all of it."""
    spec = find_spec(package)
    if package in sys.modules or spec is None:
        return import_module(f"{package}.{module}")
    sys.modules[package] = module_from_spec(spec)
    try:
        return import_module(f"{package}.{module}")
    finally:
        del sys.modules[package]


if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincinv,
        betaln,
        digamma,
        expit,
        gammaln,
        logit,
        ndtr,
        ndtri,
        stdtrit,
        xlogy,
    )  # fmt: skip
else:
    try:
        _found = compiled_part(PACKAGE, "_ufuncs")
        _made = {name: getattr(_found, {"digamma": "psi"}.get(name, name)) for name in __all__}
    except (ImportError, AttributeError):  # another version keeps them elsewhere
        _found = import_module(PACKAGE)
        _made = {name: getattr(_found, name) for name in __all__}
    globals().update(_made)
