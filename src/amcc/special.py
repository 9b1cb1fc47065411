"""Special functions of scipy, without the third of a second that `import scipy.special` takes.

Most of that time makes copies of numpy for other array libraries, which nobody here uses. The functions themselves are
in one compiled module of the package, which loads in a tenth of the time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from amcc.lazy import without_init

__all__ = [
    "betainc", "betaincinv", "betaln", "digamma", "expit", "gammaln", "logit", "ndtr", "ndtri", "stdtrit", "xlogy",
]  # fmt: skip

PACKAGE = "scipy.special"

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
        with without_init(PACKAGE):
            _found = import_module(f"{PACKAGE}._ufuncs")
        _made = {name: getattr(_found, {"digamma": "psi"}.get(name, name)) for name in __all__}
    except (ImportError, AttributeError):  # another version keeps them elsewhere
        _found = import_module(PACKAGE)
        _made = {name: getattr(_found, name) for name in __all__}
    globals().update(_made)
