"""When to stop asking: the paper does so where "the consensus model cannot be further improved".

How good a consensus is nobody knows without the truth, so the model's own word counts: the error that it expects
(`CurrentBeliefs.expected_error`). Campaigns and replays share the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from amcc.errors import ParameterError


def has_progress(errors: Sequence[float], patience: int) -> bool:
    """Whether the error reached a new low in the last `patience` rounds; `errors` has one before each and the last.

    >>> has_progress([0.5, 0.4, 0.41], 2), has_progress([0.5, 0.4, 0.41, 0.4], 2)
    (True, False)
    """
    return len(errors) <= patience or min(errors[-patience:]) < min(errors[:-patience])


def check_patience(patience: int | None, rounds: str = "rounds", what: str = "patience") -> None:
    """Raise ParameterError unless it is a number of rounds, at least 1, or None: never lose it.

    rounds, what : what rounds and patience are called by whoever gave it.
    """
    if patience is None or (isinstance(patience, Integral) and not isinstance(patience, bool) and patience >= 1):
        return
    raise ParameterError(f"{what} must be a whole number of {rounds} of at least 1; got {patience!r}.")
