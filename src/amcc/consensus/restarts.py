"""Fits from several random starts: every label keeps the best of them.

Labels are models of their own here: one start may be the best for one label and a bad one for another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.monitor import Monitor
from amcc.consensus.signature import signatures
from amcc.votes import Votes

# Runs with objectives that differ by less ended in the same place: the first counts, whatever the rounding.
SAME_END = 1e-6


class RandomStarts:
    """Random numbers for workers and items that depend on their votes and not on their names.

    Labels may share them, for each label is a model of its own.
    """

    def __init__(self, votes: Votes, random_state: int) -> None:
        self.random_state = random_state
        hashes = signatures(votes, random_state)
        self._worker = _rank(hashes.worker, np.bincount(votes.worker, minlength=votes.n_workers) > 0)
        self._item = _rank(hashes.item, np.bincount(votes.item, minlength=votes.n_items) > 0)

    def per_worker(self, restart: int, size: int) -> Floats:
        """(n_workers, size) between 0 and 1."""
        return self._draw(restart, len(self._worker), size)[self._worker]

    def per_item(self, restart: int, size: int) -> Floats:
        """(n_items, size) between 0 and 1."""
        return self._draw(restart, len(self._item), size)[self._item]

    def _draw(self, restart: int, rows: int, size: int) -> Floats:
        # A generator for each start, so that start 3 is the same whether or not starts 0 to 2 were made.
        return np.random.default_rng([self.random_state, restart]).random((rows, size))


def _rank(key: npt.NDArray[np.uint64], counts: Mask) -> Ints:
    """Place in sorted order, first those that count: those without votes change nobody's chance."""
    # By hash, not by code: the order of names must not decide who draws which number.
    rank = np.empty(len(key), dtype=np.int64)
    rank[np.lexsort((key, ~counts))] = np.arange(len(key))
    return rank


class Restarts:
    """Runs from several starts: every label keeps its best, and the history is that of the kept ones."""

    def __init__(self, n_labels: int) -> None:
        self._best = np.zeros(n_labels, dtype=np.int64)
        self._histories: list[Floats] = []
        self._monitors: list[Monitor] = []

    def add(self, history: Floats, monitor: Monitor) -> Mask:
        """Take the (rounds, n_labels) objectives of a run and say for which labels it is the best so far."""
        ends = np.array([earlier[-1] for earlier in self._histories])
        # The first run is the best so far for every label.
        better = np.ones(len(self._best), dtype=bool)
        if len(ends):
            better = history[-1] > ends[self._best, np.arange(len(better))] + SAME_END
        self._best[better] = len(ends)
        self._histories.append(history)
        self._monitors.append(monitor)
        return better

    def history(self) -> list[float]:
        """Objective round by round, each label in its best run; runs that ended earlier stay where they ended."""
        rounds = np.arange(max(map(len, self._histories)))
        total = np.zeros(len(rounds))
        for number, history in enumerate(self._histories):
            total += history[np.minimum(rounds, len(history) - 1)][:, self._best == number].sum(axis=1)
        return [float(objective) for objective in total]

    def monitor(self) -> Monitor:
        """All runs as one: it has converged when the run farthest from its end has."""
        slowest = max(self._monitors, key=lambda monitor: monitor.change)
        return Monitor(slowest.tol, slowest.max_iter, self.history(), slowest.change)
