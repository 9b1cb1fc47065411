"""What is believed of every pair, kept up vote by vote, and the items that promise most now.

A vote changes one item: its probabilities by Bayes' rule with the worker's rates, its counts, and what it promises. So
nothing here looks at all pairs but `rebuild`, which runs once per fit beside the server.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from amcc.active.assignment import SHORTLIST, promising_items
from amcc.active.strategies.voi import ValueOfInformation, said_by_few, still_to_learn
from amcc.arrays import Floats, Ints, Mask, Signs, sigmoid
from amcc.serve.learned import Learned

Small = npt.NDArray[np.float32]

# Rates are held to this distance from 0 and 1: one answer must not make anything certain.
NEVER_CERTAIN = 0.02

# Items that are valued at once where all are: as many as fit in the caches of a processor.
PIECE = 4096

# The shortlist is made anew when this many of its items have changed: a quarter, so that its best are still the best.
WORN = SHORTLIST // 4


class Counts:
    """Votes on each pair, and known truth; they hold whatever is believed.

    n_yes, n_votes : (n_items, n_labels). known : (n_items, n_labels) 1 present, 0 absent, −1 not known.
    """

    def __init__(self, n_items: int, n_labels: int) -> None:
        self.n_yes: npt.NDArray[np.uint16] = np.zeros((n_items, n_labels), np.uint16)
        self.n_votes: npt.NDArray[np.uint16] = np.zeros((n_items, n_labels), np.uint16)
        self.known: Signs = np.full((n_items, n_labels), -1, np.int8)

    def grow(self, n_items: int) -> None:
        """Make room for new items."""
        more = n_items - len(self.known)
        if more > 0:
            self.n_yes, self.n_votes = (np.pad(each, ((0, more), (0, 0))) for each in (self.n_yes, self.n_votes))
            self.known = np.pad(self.known, ((0, more), (0, 0)), constant_values=-1)

    def add(self, item: Ints, label: Ints, value: Ints) -> None:
        """Count votes."""
        np.add.at(self.n_votes, (item, label), 1)
        np.add.at(self.n_yes, (item, label), (value > 0).astype(np.uint16))


class Believed:
    """Probabilities by one fit and the votes since, what each item promises, and the shortlist.

    log_odds : (n_items, n_labels). together, alone : (n_items,) what all labels promise, and the best one.
    """

    def __init__(self, learned: Learned, counts: Counts, strategy: ValueOfInformation) -> None:
        self.learned: Learned = learned
        self.counts: Counts = counts
        self.strategy: ValueOfInformation = strategy
        n_items = len(counts.known)
        self.log_odds: Small = np.empty(counts.known.shape, np.float32)
        fitted = min(len(learned.log_odds), n_items)
        self.log_odds[:fitted] = learned.log_odds[:fitted]
        self.log_odds[fitted:] = learned.prior
        self.together: Small = np.zeros(n_items, np.float32)
        self.alone: Small = np.zeros(n_items, np.float32)
        self.usual: float = 0.5  # what a usual worker is asked by, see `rebuild`
        hit, alarm = (np.clip(each, NEVER_CERTAIN, 1 - NEVER_CERTAIN) for each in (learned.hit, learned.false_alarm))
        self._step = {1: np.log(hit / alarm), -1: np.log((1 - hit) / (1 - alarm))}
        self._items: Ints = np.empty(0, np.int64)  # the shortlist, see `shortlist`
        self._place = np.full(n_items, -1, np.int32)
        self._worn = 0
        self._fresh = False
        self._value_now: tuple[Floats, Floats] = (np.empty((0, 0)), np.empty((0, 0)))

    def grow(self) -> None:
        """Make room for items that were added."""
        n_items, before = len(self.counts.known), len(self.log_odds)
        if n_items == before:
            return
        more = n_items - before
        self.log_odds = np.vstack([self.log_odds, np.tile(self.learned.prior.astype(np.float32), (more, 1))])
        self.together, self.alone = (np.pad(each, (0, more)) for each in (self.together, self.alone))
        self._place = np.pad(self._place, (0, more), constant_values=-1)
        self._value(np.arange(before, n_items))
        self._fresh = False

    # -- votes -------------------------------------------------------------------------------------------------------

    def hear(self, item: Ints, label: Ints, worker: Ints, value: Ints) -> None:
        """Votes that the fit did not know, by Bayes' rule; `refresh` the items after it."""
        np.add.at(self.log_odds, (item, label), self.steps(label, worker, value))

    def steps(self, label: Ints, worker: Ints, value: Ints) -> Small:
        """(n,) by how much each vote moves the log-odds."""
        who = np.minimum(worker, len(self.learned.hit) - 1)  # the last row is a stranger's
        return np.where(value > 0, self._step[1][who, label], self._step[-1][who, label]).astype(np.float32)

    def refresh(self, items: Ints) -> None:
        """Value these items again, since something about them has changed."""
        items = np.unique(items)
        self._value(items)
        rows = self._place[items]
        listed = rows >= 0
        self._worn += int(listed.sum())
        if self._fresh and listed.any():
            proba, weight = self._value_now
            proba[rows[listed]] = self._sigmoid(items[listed])
            weight[rows[listed]] = self.weight(items[listed])

    def rebuild(self, n_votes_of_worker: Ints) -> None:
        """Value all items; some at a time, so that others get their turn in between."""
        skill = self.skill_of(np.arange(len(self.learned.square)), n_votes_of_worker)
        self.usual = float(np.sqrt(np.mean(skill**2)))
        untouched = (self.counts.n_votes == 0).all(axis=1) & (self.counts.known < 0).all(axis=1)
        untouched &= (self.log_odds == self.learned.prior.astype(np.float32)).all(axis=1)
        alike, others = np.flatnonzero(untouched), np.flatnonzero(~untouched)
        if len(alike):  # all these promise the same: before the first votes that is every item
            one, others_alike = alike[:1], alike[1:]
            self._value(one)
            for each in (self.together, self.alone):
                each[others_alike] = each[one]
        for start in range(0, len(others), PIECE):
            self._value(others[start : start + PIECE])
        self._fresh = False

    def _value(self, items: Ints) -> None:
        promise = np.multiply(self.weight(items), self.strategy.value(self.proba(items), np.float64(self.usual)))
        self.together[items], self.alone[items] = promise.sum(axis=1), promise.max(axis=1)

    # -- looking -----------------------------------------------------------------------------------------------------

    def proba(self, items: Ints | slice) -> Floats:
        """(n, n_labels) probability of presence, known truth included."""
        known = self.counts.known[items]
        return np.where(known >= 0, known, self._sigmoid(items))

    def _sigmoid(self, items: Ints | slice) -> Floats:
        return np.asarray(sigmoid(self.log_odds[items].astype(np.float64)))

    def settled(self, items: Ints) -> Mask:
        """(n, n_labels) pairs about which nobody is asked now: settled by all votes so far, or known.

        Where a roster says who the workers are, only what was settled at the last fit stays so: of which families the
        votes since then are is not counted here. What is reported as settled is what the fit found, see `fitted`.
        """
        n_yes, n_votes = (each[items].astype(np.int64) for each in (self.counts.n_yes, self.counts.n_votes))
        done = self.learned.settling.of(self._sigmoid(items), n_yes, n_votes)
        if self.learned.declared:
            done &= self.fitted(items)
        return np.asarray(done | (self.counts.known[items] >= 0))

    def fitted(self, items: Ints) -> Mask:
        """(n, n_labels) pairs that were settled at the last whole fit; items that came later are open."""
        settled = self.learned.settled
        found = np.zeros((len(items), settled.shape[1]), dtype=bool)
        there = items < len(settled)
        found[there] = settled[items[there]]
        return found

    def weight(self, items: Ints) -> Floats:
        """(n, n_labels) what the value of an answer is multiplied by; 0 where no more is needed."""
        weight = still_to_learn(self.counts.n_votes[items].astype(np.float64))
        weight[self.settled(items)] = 0.0
        return weight

    def skill_of(self, worker: Ints, n_votes: Ints) -> Floats:
        """(n,) by which workers are compared, see `ValueOfInformation.skill_to_ask`; n_votes : (n_workers,) given."""
        who = np.minimum(worker, len(self.learned.square) - 1)
        given = np.zeros(len(worker), dtype=np.int64)
        here = worker < len(n_votes)
        given[here] = n_votes[worker[here]]
        usual = max(float(n_votes.mean()) if len(n_votes) else 0.0, self.log_odds.shape[1])  # at first, one answer
        return np.asarray(np.sqrt((self.learned.square[who] + self.learned.option[who]) / said_by_few(given, usual)))

    def shortlist(self) -> tuple[Ints, Floats, Floats]:
        """Items that promise most, with their (n, n_labels) probabilities and weights."""
        if not self._fresh or self._worn > WORN:
            self._place[self._items] = -1
            self._items = promising_items(self.together.astype(np.float64), self.alone.astype(np.float64))
            self._place[self._items] = np.arange(len(self._items))
            self._value_now = self._sigmoid(self._items), self.weight(self._items)
            self._fresh, self._worn = True, 0
        return self._items, *self._value_now

    def place(self, items: Ints) -> Ints:
        """(n,) places of items in the shortlist; −1 where they are not in it."""
        return self._place[items].astype(np.int64)

    @property
    def generation(self) -> int:
        """Changes when the shortlist is made anew."""
        return id(self._items)
