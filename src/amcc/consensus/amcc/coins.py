"""Sums over coins (worker, label) and groups of workers: what a round costs beside the pass over the votes.

A coin of group m on label l is a Beta variable with the pseudo-votes `Usual`, integrated out: every sum is one of
log-gamma or digamma functions. Coins are taken in blocks, which keeps tables of coins × groups small and shares the
cores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.special import digamma, gammaln

from amcc.kernels import Floats, in_threads, weight_per_code
from amcc.tables import Codes
from amcc.votes import Coins

BLOCK = 20_000
"""Coins in a block. Fixed, so that results do not depend on the machine."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Counts:
    """Expected votes of each coin on present (or on absent) labels: (n_coins,) yes and no."""

    yes: Floats
    no: Floats

    @classmethod
    def of_slots(cls, weight: Floats) -> Counts:
        """From weights of slots (no, yes, no, yes, …); rounding must not make them negative."""
        weight = np.maximum(weight, 0.0)
        return cls(weight[1::2], weight[0::2])


@dataclass(frozen=True)
class Usual:
    """(n_groups, n_labels) pseudo-votes yes and no that a group lends to the coins of its workers."""

    yes: Floats
    no: Floats

    @property
    def total(self) -> Floats:
        """(n_groups, n_labels) pseudo-votes in all."""
        return self.yes + self.no


def group_fit(coins: Coins, counts: Counts, usual: Usual, n_workers: int) -> Floats:
    """(n_workers, n_groups) log-probability of each worker's votes if he belonged to each group."""
    without_votes = gammaln(usual.yes) + gammaln(usual.no) - gammaln(usual.total)

    def fit(block: slice) -> Floats:
        label = coins.label[block]
        yes, no = usual.yes.T[label] + counts.yes[block, None], usual.no.T[label] + counts.no[block, None]
        return _by(
            coins.worker[block], gammaln(yes) + gammaln(no) - gammaln(yes + no) - without_votes.T[label], n_workers
        )

    return np.asarray(sum(_blocks(fit, len(coins))))


@dataclass(frozen=True)
class Effective:
    """Votes as they count for a group: the more votes of one coin, the less each adds.

    yes, no : (n_groups, n_labels)
    """

    yes: Floats
    no: Floats


def effective_votes(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Effective:
    """Minka's fixed point for beta-binomials: any step that climbs with these votes climbs the true bound."""
    n_labels = usual.yes.shape[1]
    at_rest = digamma(usual.yes).T, digamma(usual.no).T

    def effective(block: slice) -> Floats:
        label, weight = coins.label[block], member[coins.worker[block]]
        yes, no = usual.yes.T[label] + counts.yes[block, None], usual.no.T[label] + counts.no[block, None]
        gains = (digamma(each) - rest[label] for each, rest in zip((yes, no), at_rest, strict=True))
        return np.stack([_by(label, weight * gain, n_labels).T for gain in gains])

    yes, no = np.asarray(sum(_blocks(effective, len(coins))))
    return Effective(usual.yes * yes, usual.no * no)


def expected_log_rates(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> tuple[Floats, Floats]:
    """(n_coins,) expected log of the rate and of one minus it, over the coin's votes and its worker's groups."""

    def expected(block: slice) -> Floats:
        label, weight = coins.label[block], member[coins.worker[block]]
        yes, no = usual.yes.T[label] + counts.yes[block, None], usual.no.T[label] + counts.no[block, None]
        total = digamma(yes + no)
        return np.stack([(weight * (digamma(each) - total)).sum(axis=1) for each in (yes, no)])

    log_rate, log_rest = np.concatenate(_blocks(expected, len(coins)), axis=1)
    return log_rate, log_rest


def mean_rates(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Floats:
    """(n_coins,) expected rate, over the coin's votes and its worker's groups."""

    def mean(block: slice) -> Floats:
        label, weight = coins.label[block], member[coins.worker[block]]
        yes, no = usual.yes.T[label] + counts.yes[block, None], usual.no.T[label] + counts.no[block, None]
        return np.asarray((weight * yes / (yes + no)).sum(axis=1))

    return np.concatenate(_blocks(mean, len(coins)))


def _blocks(task: Callable[[slice], Result], n_coins: int) -> list[Result]:
    """The task's results for all blocks in order; numpy and scipy let go of Python's lock."""
    starts = range(0, max(n_coins, 1), BLOCK)
    return in_threads(lambda number: task(slice(starts[number], starts[number] + BLOCK)), len(starts))


def _by(code: Codes, weight: Floats, n_codes: int) -> Floats:
    """(n_codes, n_groups) sums of the (n_coins, n_groups) weights by code."""
    return np.stack([weight_per_code(code, column, n_codes) for column in weight.T], axis=1)
