"""Sums over coins (worker, label) and groups of workers: what a round costs beside the pass over the votes.

A coin of group m on label l is a Beta variable with the pseudo-votes `Usual`, integrated out (`bayes`): all sums are
of log-gamma or digamma functions. Few coins are summed by numpy; many by the compiled loops of `amcc.loops.coins`.
These need no tables of coins × groups, and leave out the groups that a worker does not belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints, unsigned
from amcc.consensus.default.bayes import log_beta
from amcc.fields import Each
from amcc.special import digamma
from amcc.sums import sum_per_code
from amcc.threads import in_threads, n_pieces
from amcc.votes import Coins

# Coins up to which numpy is the faster choice in a fresh process: compiled loops take their time to load.
FEW_COINS = 3000


@dataclass(frozen=True)
class Counts:
    """Expected votes of each coin on present (or on absent) labels: (n_coins,) yes and no."""

    yes: Annotated[Floats, Each("coin")]
    no: Annotated[Floats, Each("coin")]

    @classmethod
    def of_slots(cls, weight: Floats) -> Counts:
        """From weights of slots (no, yes, no, yes, …); rounding must not make them negative."""
        return cls(np.maximum(weight[1::2], 0.0), np.maximum(weight[0::2], 0.0))


@dataclass(frozen=True)
class Usual:
    """(n_groups, n_labels) pseudo-votes yes and no that a group lends to the coins of its workers."""

    yes: Floats
    no: Floats

    @property
    def total(self) -> Floats:
        """(n_groups, n_labels) pseudo-votes in all."""
        return self.yes + self.no


class Explained(NamedTuple):
    """What one kind of rate explains: the votes of coins, by groups who lend so many, to which workers belong so far.

    member : (n_workers, n_groups)
    """

    counts: Counts
    usual: Usual
    member: Floats


def group_fit(coins: Coins, kinds: Sequence[Explained]) -> list[Floats]:
    """(n_workers, n_groups) log-probability of each worker's votes if they belonged to each group, by kind of rate.

    Where the members say that they do not, it need not be computed.
    """
    if len(coins) > FEW_COINS:
        return [_compiled_fit(coins, *each) for each in kinds]
    table = _Table.of(coins, kinds)
    yes, no = table.votes
    fit = log_beta(yes, no, many=np.inf)  # a fit of few coins does not wait for compiled loops to load
    fit -= log_beta(*table.usual).take(coins.label, axis=1)
    return [rows.T for rows in table.by_kind(sum_per_code(coins.worker, fit, len(kinds[0].member)))]


def _compiled_fit(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Floats:
    """The same for one kind and many coins."""
    # The Beta function of pseudo-votes alone is the same for all coins of a label: once for each, not once per coin.
    without_votes = log_beta(usual.yes, usual.no)
    # One table for all threads: coins stand in the order of workers, and all coins of a worker are in one piece.
    fit, of_group = np.zeros(member.T.shape), np.ascontiguousarray(member.T)
    cuts = np.linspace(0, len(coins), n_pieces(len(coins)) + 1)[1:-1].astype(np.int64)
    bounds = np.concatenate([[0], np.searchsorted(coins.worker, coins.worker[cuts]), [len(coins)]])
    _run_compiled("group_fit", coins, counts, usual, bounds, lambda *_: (without_votes, of_group, fit))
    return np.asarray(fit.T)


def effective_votes(coins: Coins, kinds: Sequence[Explained]) -> list[Floats]:
    """(2, n_groups, n_labels) votes, yes and no, as they count for groups: the more of one coin, the less each adds.

    Minka's fixed point for beta-binomials: any step that climbs with these votes climbs the true bound. The same as
    `bayes.effective_votes_of`, summed over coins; the factor x₀ is the same for all of them, and is multiplied at the
    end.
    """
    if len(coins) > FEW_COINS:
        return [_compiled_effective(coins, *each) for each in kinds]
    table = _Table.of(coins, kinds)
    gain = digamma(table.votes, out=table.votes)
    gain -= digamma(table.usual).take(coins.label, axis=2)
    gain *= table.member(coins)
    return table.by_kind(
        table.usual * np.array([sum_per_code(coins.label, each, table.usual.shape[2]) for each in gain])
    )


def _compiled_effective(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Floats:
    """The same for one kind and many coins."""
    at_rest = digamma(usual.yes), digamma(usual.no)
    # One table per piece, added up at the end: threads never write to one place, and sums do not depend on timing.
    bounds = _even_bounds(coins, 2 * usual.yes.size)
    gain, of_group = np.zeros((len(bounds) - 1, 2, *usual.yes.shape)), np.ascontiguousarray(member.T)
    _run_compiled("effective_votes", coins, counts, usual, bounds, lambda piece, _: (*at_rest, of_group, gain[piece]))
    return np.asarray(gain.sum(axis=0) * [usual.yes, usual.no])


def expected_log_rates(coins: Coins, kinds: Sequence[Explained]) -> list[Floats]:
    """(2, n_coins) expected log of the rate and of one minus it, over the coin's votes and its worker's groups."""
    if len(coins) > FEW_COINS:
        return [_compiled_log_rates(coins, *each) for each in kinds]
    table = _Table.of(coins, kinds)
    votes, total = table.votes, table.votes[0] + table.votes[1]
    # E[log rate] = Ψ(yes) − Ψ(yes + no) of a Beta variable. Below the log of the mean: unsure rates count less.
    log_rates = digamma(votes, out=votes)
    log_rates -= digamma(total, out=total)
    log_rates *= table.member(coins)
    return [rows.sum(axis=1) for rows in table.by_kind(log_rates)]


def _compiled_log_rates(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Floats:
    """The same for one kind and many coins."""
    log_rates, of_group = np.zeros((2, len(coins))), np.ascontiguousarray(member.T)
    bounds = _even_bounds(coins, 0)
    _run_compiled("expected_log_rates", coins, counts, usual, bounds, lambda _, here: (of_group, *log_rates[:, here]))
    return log_rates


def mean_rates(coins: Coins, counts: Counts, usual: Usual, member: Floats) -> Floats:
    """(n_coins,) expected rate, over the coin's votes and its worker's groups."""
    rate = np.zeros(len(coins))
    for group, of_worker in enumerate(member.T):  # group by group: no table of coins × groups
        yes, no = counts.yes + usual.yes[group][coins.label], counts.no + usual.no[group][coins.label]
        rate += of_worker[coins.worker] * yes / (yes + no)
    return rate


class _Table(NamedTuple):
    """All kinds of rate at once, for few coins: calls of numpy would take longer than what they compute.

    usual : (2, n_groups, n_labels) pseudo-votes yes and no of all groups of all kinds
    votes : (2, n_groups, n_coins) votes of coins, if their workers belonged to each group: pseudo and real
    kinds : what the rows stand for
    """

    usual: Floats
    votes: Floats
    kinds: Sequence[Explained]

    @classmethod
    def of(cls, coins: Coins, kinds: Sequence[Explained]) -> _Table:
        sides = [each.usual.yes for each in kinds], [each.usual.no for each in kinds]
        usual = np.array([np.concatenate(each) for each in sides])
        votes, first = usual.take(coins.label, axis=2), 0
        for each in kinds:
            rows = slice(first, first := first + len(each.usual.yes))
            votes[0, rows] += each.counts.yes
            votes[1, rows] += each.counts.no
        return cls(usual, votes, kinds)

    def member(self, coins: Coins) -> Floats:
        """(n_groups, n_coins) how far the workers of the coins belong to the groups."""
        return np.concatenate([each.member.T for each in self.kinds]).take(coins.worker, axis=1)

    def by_kind(self, table: Floats) -> list[Floats]:
        """The rows of each kind, of a table (…, n_groups, any)."""
        first, rows = 0, []
        for each in self.kinds:
            rows.append(table[..., first : (first := first + len(each.usual.yes)), :])
        return rows


def _even_bounds(coins: Coins, n_sums: int) -> Ints:
    """First coin of each piece, and the number of coins; each piece has a table of so many sums."""
    return np.linspace(0, len(coins), n_pieces(len(coins), n_sums) + 1).astype(np.int64)


def _run_compiled(
    name: str,
    coins: Coins,
    counts: Counts,
    usual: Usual,
    bounds: Ints,
    further: Callable[[int, slice], tuple[Any, ...]],
) -> None:
    """The loop of that name over pieces of the coins, on all cores; `further` gives its last arguments."""
    from amcc.loops import coins as coin_loops  # here, for compiled loops take longer to load than small fits need

    columns = unsigned(coins.worker), unsigned(coins.label), counts.yes, counts.no
    loop = getattr(coin_loops, name)

    def run(piece: int) -> None:
        here = slice(bounds[piece], bounds[piece + 1])
        loop(*(column[here] for column in columns), usual.yes, usual.no, *further(piece, here))

    in_threads(run, len(bounds) - 1)
