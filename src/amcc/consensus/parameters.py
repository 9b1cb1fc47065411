"""Constructor arguments: scikit-learn's habits of reading and changing them, and the checks that models share."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self, get_args

import numpy as np
import scipy

from amcc.errors import ParameterError
from amcc.linalg import first_not_finite
from amcc.memory import check_size
from amcc.votes import Votes


class Parameters:
    """What a constructor stored, by name.

    scikit-learn's BaseEstimator has the same methods, and would bring 1.4 s of imports to every command.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn's `clone` wants them."""
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {name: value for name, value in self.get_params().items() if value != defaults[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def check_rounds(max_iter: int, tol: float) -> None:
    """Raise ParameterError where a fit could not start or could not stop."""
    check_at_least_one("max_iter", max_iter)
    check_number("tol", tol)
    if not tol > 0:
        raise ParameterError(f"tol must be positive; got {tol!r}.")


def check_number(name: str, value: object) -> None:
    """Refuse what is no number: neither texts nor True, which is 1 to Python and a slip to whoever wrote it."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ParameterError(f"{name} must be a number; got {value!r}.")


def check_whole_number(name: str, value: object) -> None:
    """Refuse what counts nothing: texts, fractions, and True.

    >>> check_whole_number("n_groups", "3")
    Traceback (most recent call last):
        ...
    amcc.errors.ParameterError: n_groups must be a whole number; got '3'.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ParameterError(f"{name} must be a whole number; got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False; of texts, "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False; got {value!r}.")


def check_positive(name: str, value: float) -> None:
    """Refuse zero, negative and infinite numbers."""
    check_number(name, value)
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be a positive number; got {value!r}.")


def check_not_negative(name: str, value: float) -> None:
    """Refuse negative and endless numbers."""
    check_number(name, value)
    if not (np.isfinite(value) and value >= 0):
        raise ParameterError(f"{name} must be a number >= 0; got {value!r}.")


def check_at_least_one(name: str, value: int | None, *, optional: bool = False) -> None:
    """Refuse counts below one; None is fine where the parameter is `optional`."""
    if value is None and optional:
        return
    if value is not None:
        check_whole_number(name, value)
    if value is None or value < 1:
        raise ParameterError(f"{name} must be at least 1{', or None' * optional}; got {value!r}.")


def check_seed(random_state: int) -> None:
    """Refuse seeds that numpy's generators do not take."""
    check_whole_number("random_state", random_state)
    if random_state < 0:
        raise ParameterError(f"random_state must be at least 0; got {random_state!r}.")


def check_pseudo_counts(name: str, counts: Sequence[float], *, positive: bool = False) -> None:
    """Refuse anything but two numbers that can be counts before any data; `positive` where neither may be zero."""
    least = np.nextafter(0.0, 1.0) if positive else 0.0
    if len(counts) != 2 or not all(np.isfinite(count) and count >= least for count in counts):
        kind = "two positive numbers" if positive else "two numbers >= 0"
        raise ParameterError(f"{name} must be {kind}; got {counts!r}.")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse what is not one of the words of a `typing.Literal`.

    >>> from typing import Literal
    >>> check_choice("size", "M", Literal["S", "L"])
    Traceback (most recent call last):
        ...
    amcc.errors.ParameterError: size must be 'S' or 'L'; got 'M'.
    """
    allowed = get_args(choices)
    if value not in allowed:
        words = " or ".join(map(repr, allowed)) if len(allowed) == 2 else f"one of {', '.join(allowed)}"
        raise ParameterError(f"{name} must be {words}; got {value!r}.")


def checked_features(features: Any, votes: Votes, *, sparse: bool = False) -> Any:
    """Features as numbers, one row for every item; `sparse` where a sparse matrix may stay one."""
    if features is None:
        return None
    if scipy.sparse.issparse(features) and not sparse:
        check_size("features without their sparse form", "Take fewer features, or AMCC.", *features.shape)
        features = features.toarray()
    try:
        matrix = (
            scipy.sparse.csr_array(features, dtype=np.float64)
            if scipy.sparse.issparse(features)
            else np.asarray(features, dtype=np.float64)
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(f"features must be a table of numbers, one row per item ({error}).") from None
    if matrix.ndim != 2 or matrix.shape[0] != votes.n_items:
        raise ParameterError(f"features must have one row per item ({votes.n_items}); got shape {matrix.shape}.")
    if (wrong := first_not_finite(matrix)) is not None:
        row, column = wrong
        raise ParameterError(f"features must be finite; row {row}, column {column} holds {matrix[row, column]}.")
    return matrix
