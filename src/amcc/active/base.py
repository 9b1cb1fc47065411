"""What strategies see (beliefs), choose from (candidates) and give back (questions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from amcc.arrays import Floats, Ints, Mask, find_sorted
from amcc.consensus.base import ConsensusModel
from amcc.consensus.parameters import checked_features
from amcc.consensus.settling import ASSUMED, Settling
from amcc.memory import check_size
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

COLD_HIT, COLD_FALSE_ALARM = 0.75, 0.25
"""What is expected of workers before the first vote: better than chance, or no question would be worth its price."""


@dataclass(frozen=True)
class Triplets:
    """Questions that may be asked: (n,) codes of item, label and worker."""

    item: Ints
    label: Ints
    worker: Ints

    def __len__(self) -> int:
        return len(self.item)

    def take(self, places: Ints) -> Triplets:
        """Some of them, in that order."""
        return Triplets(self.item[places], self.label[places], self.worker[places])


@dataclass(frozen=True)
class Questions:
    """Questions chosen, the best first.

    asked : their codes.
    utility : (n,) higher is better; comparable within one strategy only.
    parts : what the utility was made of, by name (u1, u2, u, q, c, …), each (n,).
    """

    asked: Triplets
    utility: Floats
    parts: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.asked)


@dataclass(frozen=True)
class Beliefs:
    """What is known when the next questions are chosen; all codes are those of `votes`, whose vocabularies are fixed.

    votes : all answers so far.
    proba : (n_items, n_labels) probability that the label is present.
    hit, false_alarm : (n_workers, n_labels) expected rates of every worker on every label, newcomers included.
    experience : (n_workers,) answers so far.
    correlation : (n_labels, n_labels) correlation of labels, in −1 … 1.
    features : (n_items, n_features) descriptions of items, if there are any.
    known : (n_items, n_labels) where truth is known, so that nobody needs to be asked; None where it is nowhere.
    settling : how sure one must be to settle a pair.
    """

    votes: Votes
    proba: Floats
    hit: Floats
    false_alarm: Floats
    experience: Ints
    correlation: Floats
    features: Floats | None = None
    known: Mask | None = None
    settling: Settling = ASSUMED

    def open_among(self, candidates: Candidates) -> Candidates:
        """The candidates without pairs whose truth is known."""
        return candidates if self.known is None else Elsewhere(candidates, self.known)


class Candidates(Protocol):
    """What may be asked now."""

    def open_pairs(self) -> Mask:
        """(n_items, n_labels) where at least one worker can be asked."""

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """All questions about these pairs that can be asked."""

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """Up to `n` different questions, each equally likely."""


class Strategy(Protocol):
    """Chooses the next questions."""

    @property
    def model(self) -> str:
        """Name of the consensus method that it was published with."""

    @property
    def uses_features(self) -> bool:
        """Whether it looks at features of the items, beside what its model makes of them."""

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """Up to `batch` questions, the best first; `prices` (n_workers,) is what one vote of each worker costs.

        What is drawn about workers is drawn first: with an equal `rng` it is the same for other candidates.
        """


class Recorded:
    """Candidates of a replay: the votes of `pool` that have not been asked; every question can be asked once."""

    def __init__(self, pool: Votes, asked: Mask) -> None:
        self._pool, self._open = pool, ~asked
        self._n_open = np.add.reduceat(self._open.astype(np.int64), pool.pairs.start[:-1]) if len(pool) else np.empty(0)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        pairs = self._pool.pairs
        result = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        result[pairs.item, pairs.label] = self._n_open > 0
        return result

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        wanted = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        wanted[item, label] = True
        return self._triplets(np.flatnonzero(self._open & wanted[self._pool.item, self._pool.label]))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        places = np.flatnonzero(self._open)
        return self._triplets(rng.permutation(places)[:n])

    def _triplets(self, places: Ints) -> Triplets:
        pool = self._pool
        item, label, worker = (code[places].astype(np.int64) for code in (pool.item, pool.label, pool.worker))
        return Triplets(item, label, worker)


class Anything:
    """Candidates of a live crowd: every worker who is there, about every pair they have not answered."""

    def __init__(self, votes: Votes, available: Mask | None = None) -> None:
        self._votes = votes
        self._workers = np.flatnonzero(np.ones(votes.n_workers, bool) if available is None else available)
        key = (votes.item.astype(np.int64) * votes.n_labels + votes.label) * votes.n_workers + votes.worker
        self._done_keys = np.unique(key) if votes.reading.samples else np.sort(key)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        votes = self._votes
        votes = votes.one_per_worker()
        by_available = np.isin(votes.worker, self._workers)
        n_asked = np.zeros((votes.n_items, votes.n_labels), dtype=np.int64)
        np.add.at(n_asked, (votes.item[by_available], votes.label[by_available]), 1)
        return np.asarray(n_asked < len(self._workers))

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        n = len(self._workers)
        return self._not_done(Triplets(np.repeat(item, n), np.repeat(label, n), np.tile(self._workers, len(item))))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        votes, n_workers = self._votes, len(self._workers)
        n_all = votes.n_items * votes.n_labels * n_workers
        if n_all <= 4 * (n + len(votes)):
            drawn = np.arange(n_all)
        else:  # less than a quarter was asked, less than a quarter is drawn twice: of these, enough are left
            drawn = np.unique(rng.integers(0, n_all, size=2 * n + 20))
        pair, worker = np.divmod(rng.permutation(drawn), max(n_workers, 1))
        item, label = np.divmod(pair, votes.n_labels)
        found = self._not_done(Triplets(item, label, self._workers[worker]))
        return found.take(np.arange(min(n, len(found))))

    def _not_done(self, triplets: Triplets) -> Triplets:
        votes = self._votes
        key = (triplets.item * votes.n_labels + triplets.label) * votes.n_workers + triplets.worker
        return triplets.take(np.flatnonzero(~find_sorted(self._done_keys, key)[1]))


class Elsewhere:
    """Candidates without some pairs, (n_items, n_labels) `closed`: known ones, or those of an earlier choice."""

    def __init__(self, candidates: Candidates, closed: Mask) -> None:
        self._candidates = candidates
        could = candidates.open_pairs()
        self._free, self._shut = could & ~closed, could & closed

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        return self._free.copy()

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        free = self._free[item, label]
        return self._candidates.of_pairs(item[free], label[free])

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        n_shut = len(self._candidates.of_pairs(*np.nonzero(self._shut)))
        drawn = self._candidates.sample(n + n_shut, rng)
        return drawn.take(np.flatnonzero(self._free[drawn.item, drawn.label])[:n])


def cold_beliefs(votes: Votes, features: Floats | None = None) -> Beliefs:
    """Beliefs before the first vote: every pair is open, every worker somewhat better than chance."""
    coins = votes.n_workers, votes.n_labels
    return Beliefs(
        votes=votes,
        proba=np.full((votes.n_items, votes.n_labels), 0.5),
        hit=np.full(coins, COLD_HIT),
        false_alarm=np.full(coins, COLD_FALSE_ALARM),
        experience=np.zeros(votes.n_workers, dtype=np.int64),
        correlation=np.eye(votes.n_labels),
        features=features,
    )


GROWTH, RETHINK = 0.05, 0.5
"""Share of new votes after which a model is fitted again, and after which it chooses anew what it chooses by trying.
All fits on the way take about 20 times as long as the last. With 0.2 and 1 it is a third of that, but the same quality
costs more, most of all where items have few answers; with 0.02 and 0.2 it costs no less."""


class Learner:
    """Keeps beliefs in step with growing votes: new votes count at once, workers are judged anew when it pays.

    Parameters
    ----------
    make_model : a new model.
    features : (n_items, n_features), optional; models that do not use them are fitted without.
    describe : whether the model gets the features as well, if it uses them, or only the strategy.
    truth : what is known already, optional. It teaches about workers, corrects probabilities, and is believed.
    roster : who the workers are, optional, for models that use it.
    growth : share of new votes after which the model is fitted again. In between, new votes are judged by the workers
        as learned, which costs one pass. What a model chooses by trying, it keeps until the votes have grown by
        `RETHINK`; where there was nothing to choose by, it chooses at the next fit.
    """

    def __init__(
        self, make_model: Callable[[], ConsensusModel], *, features: Floats | None = None, describe: bool = True,
        truth: Truth | None = None, roster: Roster | None = None, growth: float = GROWTH,
    ) -> None:  # fmt: skip
        self._make_model, self._features, self._describe, self._growth = make_model, features, describe, growth
        self._truth, self._roster = truth, roster
        self.model: ConsensusModel | None = None
        self._n_fitted = 0
        self._settled: dict[str, Any] | None = None
        self._n_settled = 0

    def learn(self, votes: Votes, *, fresh: bool = False) -> Beliefs:
        """Beliefs after all of `votes`; `fresh` if nothing learned before may have a say."""
        votes = votes if isinstance(votes, Votes) else Votes.from_frame(votes)
        _check_sizes(votes)
        features = checked_features(self._features, votes)
        if not len(votes):
            return self._told(cold_beliefs(votes, features))
        if self.model is None or fresh or _has_grown(len(votes), self._n_fitted, self._growth):
            self.model = self._make_model()
            used = features if self._describe and self.model.uses_features else None
            if self._settled is None or fresh or _has_grown(len(votes), self._n_settled, RETHINK):
                self.model.fit(votes, used, self._truth, self._roster)
                self._settled, self._n_settled = self.model.settled_params(), len(votes)
            else:
                self.model.set_params(**self._settled).fit(votes, used, self._truth, self._roster)
            self._n_fitted = len(votes)
            proba = self.model.predict_proba()
        else:
            proba = self.model.predict_proba(votes)
        hit, false_alarm = as_they_count(*self.model.rates_of_coins(), self.model.weights_for(votes))
        correlation = self.model.label_correlations()
        learned = hit, false_alarm, votes.answers_per_worker, correlation, features
        return self._told(Beliefs(votes, proba, *learned, settling=self.model.settling_))

    def _told(self, beliefs: Beliefs) -> Beliefs:
        """Beliefs in which known truth stands, also of pairs that nobody was asked about."""
        if self._truth is None:
            return beliefs
        names = beliefs.votes.item_names, beliefs.votes.label_names
        self._truth.check_names("the votes", item=names[0], label=names[1])
        present, known = self._truth.matrices(*names)
        return replace(beliefs, proba=np.where(known, present, beliefs.proba), known=known)

    def catch_up(self, fitted: Iterable[Votes]) -> None:
        """Know what a learner knows who fitted a model to each of these votes in turn; only what counts is done."""
        needed: dict[str, Votes] = {}  # to choose by trying, and the latest
        for votes in fitted:
            n_chosen = len(needed["choose"]) if "choose" in needed else self._n_settled
            if self._settled is None:  # whether there is something to choose by, only a fit can tell
                self.learn(votes)
            elif _has_grown(len(votes), n_chosen, RETHINK):
                needed = {"choose": votes}
            else:
                needed["latest"] = votes
        for votes in needed.values():
            self.learn(votes)


def as_they_count(hit: Floats, false_alarm: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """(n_workers, n_labels) rates of workers whose answers, beside those there are, tell as much as theirs do.

    weight : (n_workers,) how much of a vote counts. The answer of one more language model tells little where others
    of its family have answered: its rates lie that much nearer to each other.
    """
    if weight is None:
        return hit, false_alarm
    middle, half = (hit + false_alarm) / 2, weight[:, None] * (hit - false_alarm) / 2
    return middle + half, middle - half


BELIEF_BYTES = 32
"""What an item and a label, or a worker and a label, take while questions are scored: beliefs, parts of the utility."""


def _check_sizes(votes: Votes) -> None:
    """Raise TooLargeError, before a model is fitted, where beliefs would not fit in memory."""
    sides = {"items": votes.n_items, "workers": votes.n_workers, "labels": votes.n_labels}
    for name, n in sides.items():
        check_size(
            f"what is believed of {name} and labels",
            "Choose questions about a part of the labels, or of the items, at a time.",
            n,
            votes.n_labels,
            cell_bytes=BELIEF_BYTES,
        )


def _has_grown(n_votes: int, before: int, share: float) -> bool:
    """Whether there are more votes than before by this share, or other ones."""
    return n_votes >= (1 + share) * before or n_votes < before
