"""Draws without repeats: different workers for each item, different labels in each answer."""

from __future__ import annotations

import numpy as np

from amcc.arrays import Codes, Floats, Mask

# Clocks of a race that are held at once: 32 MB in single precision.
RACE_CELLS = 2**23


def draw_distinct(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Codes 0 … weight.size - 1 drawn by weight, (n_rows, n_draws), none twice in a row.

    As if one code after the other were drawn from those that are left. Where all are drawn, they come in order.
    """
    if n_draws == weight.size:
        return np.broadcast_to(np.arange(n_draws, dtype=np.int32), (n_rows, n_draws))
    # A race costs one clock per code; redrawing, about 5 clocks per try of the worst last draw (timed). That draw
    # succeeds least often where all heavy codes are taken: only the lightest n - n_draws + 1 are left.
    worst_last_chance = np.sort(weight)[: weight.size - n_draws + 1].sum() / weight.sum()
    redraws_are_cheap = 5 * n_draws / worst_last_chance < weight.size
    draw = draw_by_redrawing if redraws_are_cheap else draw_by_racing
    return draw(rng, weight, n_rows, n_draws)


def draw_by_redrawing(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Draw freely, then redraw repeats until none is left: fast as long as repeats are rare."""
    cumulative = np.cumsum(weight) / weight.sum()

    def free_draws(size: int | tuple[int, int]) -> Codes:
        # Without the last sum, which rounding may leave below 1: a draw above it would be no code.
        codes: Codes = np.searchsorted(cumulative[:-1], rng.random(size), side="right").astype(np.int32)
        return codes

    codes = free_draws((n_rows, n_draws))
    rows = np.arange(n_rows)
    while rows.size:
        repeated = _is_repeated(codes[rows])
        row, column = repeated.nonzero()
        codes[rows[row], column] = free_draws(row.size)
        # Only rows that had a repeat can have one now.
        rows = rows[repeated.any(axis=1)]
    return codes


def _is_repeated(codes: Codes) -> Mask:
    """Whether a code stood earlier in its row, same shape as `codes`.

    >>> _is_repeated(np.array([[3, 1, 3, 3]], dtype=np.int32)).tolist()
    [[False, False, True, True]]
    """
    # A stable sort keeps equal codes in their order: all but the first have an equal neighbour before them.
    order = codes.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    repeated = np.zeros(codes.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return repeated


def draw_by_racing(rng: np.random.Generator, weight: Floats, n_rows: int, n_draws: int) -> Codes:
    """Let exponential clocks run at the speed of the weights and take the first `n_draws` of each row.

    The first of such clocks is code c with chance weight[c] / sum(weight), and so is each next one among those left.
    """
    mean_time = (weight.mean() / weight).astype(np.float32)
    chunk = max(1, RACE_CELLS // weight.size)
    codes = np.empty((n_rows, n_draws), dtype=np.int32)
    for start in range(0, n_rows, chunk):
        rows = codes[start : start + chunk]
        time = rng.standard_exponential((len(rows), weight.size), dtype=np.float32) * mean_time
        rows[:] = time.argpartition(n_draws - 1, axis=1)[:, :n_draws]
    return codes
