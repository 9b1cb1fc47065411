"""What is believed when questions are chosen, and how it keeps up with new votes.

A `Learner` turns votes into `CurrentBeliefs`. To fit a model after every batch would cost too much, so new votes are
judged at once by what is known of their workers, and the workers are judged again when there are enough new votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from amcc.active.candidates import Candidates, OtherPairs
from amcc.active.commonality import integrated_commonality
from amcc.active.questions import Triplets
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.base import ConsensusModel
from amcc.consensus.families import Sharing
from amcc.consensus.parameters import checked_features
from amcc.consensus.settling import ASSUMED, Settling
from amcc.memory import check_size
from amcc.roster import Roster, Seats
from amcc.truth import Truth
from amcc.votes import Votes

# What is expected of workers before the first vote: better than chance, or no question would be worth its price, and
# far from perfect, or the first answer would settle everything.
COLD_HIT, COLD_FALSE_ALARM = 0.75, 0.25

# Share of new votes after which a model is fitted again. All fits on the way take about 20 times as long as the last.
# With 0.2 it is a third of that, but the same quality costs more, most of all where items have few answers; with 0.02
# it costs no less.
GROWTH = 0.05

# What an item and a label, or a worker and a label, take while questions are scored: beliefs, parts of the utility.
BELIEF_BYTES = 32


@dataclass(frozen=True)
class Expert:
    """The requester among the workers: their code, and (n_items, n_labels) what an answer is worth beside its pair."""

    worker: int
    gain: Floats


@dataclass(frozen=True)
class CurrentBeliefs:
    """What is known when the next questions are chosen; all codes are those of `votes`.

    votes : all answers so far.
    proba : (n_items, n_labels) probability that the label is present.
    hit, false_alarm : (n_workers, n_labels) expected rates of every worker on every label, newcomers included.
    experience : (n_workers,) answers so far.
    correlation : (n_labels, n_labels) correlation of labels, in −1 … 1.
    commonality : (n_labels, n_labels) what groups of workers have in common, C of eq8.
    features : (n_items, n_features) descriptions of items, if there are any.
    known : (n_items, n_labels) where truth is known, so that nobody needs to be asked; None where it is nowhere.
    settling : how sure one must be to settle a pair. seats : who the workers are, where a roster says so.
    sharing : who shares errors with whom, where a roster says who belongs together; None where nobody does.
    expert : the requester, where they are one of the workers, see `amcc.active.yourself`.
    """

    votes: Votes
    proba: Floats
    hit: Floats
    false_alarm: Floats
    experience: Ints
    correlation: Floats
    commonality: Floats
    features: Floats | None = None
    known: Mask | None = None
    settling: Settling = ASSUMED
    seats: Seats | None = None
    sharing: Sharing | None = None
    expert: Expert | None = None

    def gain_beside(self, asked: Triplets) -> Floats:
        """(n,) log-loss over all pairs, in nats, that each answer saves beside that of its own pair.

        Only the requester's saves any: it is known truth, by which the whole crowd is read.
        """
        if self.expert is None:
            return np.zeros(len(asked))
        return np.where(asked.worker == self.expert.worker, self.expert.gain[asked.item, asked.label], 0.0)

    def open_among(self, candidates: Candidates) -> Candidates:
        """The candidates without known pairs: nobody is paid for what is known."""
        return candidates if self.known is None else OtherPairs(candidates, self.known)

    def expected_error(self) -> float:
        """Mean probability that the more likely of present and absent is wrong."""
        return float(np.minimum(self.proba, 1 - self.proba).mean())

    def vote_counts(self) -> tuple[Ints, Ints]:
        """(n_items, n_labels) how many workers said yes, and how many voted."""
        votes, shape = self.votes.one_per_worker(), self.proba.shape
        n_yes, n_votes = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        pair = votes.pairs.item, votes.pairs.label
        n_yes[pair], n_votes[pair] = votes.n_yes, votes.pairs.n_votes
        return n_yes, n_votes

    def settled_pairs(self) -> Mask:
        """(n_items, n_labels) where more answers are hardly needed: truth is known, or see `Settling`."""
        done, pairs = np.zeros(self.proba.shape, dtype=bool), self.votes.pairs
        asked = pairs.item, pairs.label
        done[asked] = self.settling.of_votes(self.votes, self.proba[asked], self.seats)
        return done if self.known is None else done | self.known


def cold_beliefs(votes: Votes, features: Floats | None = None) -> CurrentBeliefs:
    """Beliefs before the first vote: every pair is open, every worker somewhat better than chance."""
    coins = votes.n_workers, votes.n_labels
    return CurrentBeliefs(
        votes=votes,
        proba=np.full((votes.n_items, votes.n_labels), 0.5),
        hit=np.full(coins, COLD_HIT),
        false_alarm=np.full(coins, COLD_FALSE_ALARM),
        experience=np.zeros(votes.n_workers, dtype=np.int64),
        correlation=np.eye(votes.n_labels),
        commonality=np.eye(votes.n_labels),
        features=features,
    )


class Learner:
    """Keeps beliefs in step with growing votes: new votes count at once, workers are judged again when it pays.

    Parameters
    ----------
    make_model : a new model.
    features : (n_items, n_features), optional; models that do not use them are fitted without.
    describe : whether the model gets the features as well, if it uses them, or only the strategy.
    truth : what is known already, optional. It teaches about workers, corrects probabilities, and is believed.
    roster : who the workers are, optional, for models that use it.
    growth : share of new votes after which the model is fitted again. In between, new votes are judged by the workers
        as learned, which costs one pass.
    """

    def __init__(
        self, make_model: Callable[[], ConsensusModel], *, features: Floats | None = None, describe: bool = True,
        truth: Truth | None = None, roster: Roster | None = None, growth: float = GROWTH,
    ) -> None:  # fmt: skip
        self._make_model, self._features, self._describe, self._growth = make_model, features, describe, growth
        self._truth, self._roster = truth, roster
        self.model: ConsensusModel | None = None
        self._commonality = np.empty((0, 0))
        self._n_fitted = 0

    def learn(self, votes: Votes, *, fresh: bool = False) -> CurrentBeliefs:
        """Beliefs after all of `votes`; `fresh` if nothing learned before may have a say."""
        votes = votes if isinstance(votes, Votes) else Votes.from_frame(votes)
        _check_sizes(votes)
        features = checked_features(self._features, votes)
        # Models refuse an empty table: before the first vote there is nothing that they could learn.
        if not len(votes):
            return self._told(cold_beliefs(votes, features))
        if self.model is None or fresh or _has_grown(len(votes), self._n_fitted, self._growth):
            self.model = self._fitted(votes, features)
            proba = self.model.predict_proba()
            self._commonality = integrated_commonality(self.model, votes, proba)  # as long as the model: it is slow
        else:
            proba = self.model.predict_proba(votes)
        hit, false_alarm = as_they_count(*self.model.rates_of_coins(), self.model.weights_for(votes))
        about_labels = self.model.label_correlations(), self._commonality
        learned = hit, false_alarm, votes.answers_per_worker, *about_labels, features
        rule = self.model.settling_, self.model.seats_for(votes), self.model.sharing
        return self._told(CurrentBeliefs(votes, proba, *learned, None, *rule))

    def _fitted(self, votes: Votes, features: Floats | None) -> ConsensusModel:
        """A new model of all votes."""
        model = self._make_model()
        used = features if self._describe and model.uses_features else None
        self._n_fitted = len(votes)
        return model.fit(votes, used, self._truth, self._roster)

    def _told(self, beliefs: CurrentBeliefs) -> CurrentBeliefs:
        """Beliefs in which known truth stands, also of pairs that nobody was asked about."""
        if self._truth is None:
            return beliefs
        names = beliefs.votes.item_names, beliefs.votes.label_names
        self._truth.check_names("the votes", item=names[0], label=names[1])
        present, known = self._truth.matrices(*names)
        return replace(beliefs, proba=np.where(known, present, beliefs.proba), known=known)


def as_they_count(hit: Floats, false_alarm: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """(n_workers, n_labels) hit and false-alarm rates, moved towards each other where a vote counts for less.

    weight : (n_workers,) how much of a vote counts; None where all of it does. One more language model tells little
    where others of its family have answered.

    >>> hit, false_alarm = as_they_count(np.array([[0.9]]), np.array([[0.1]]), np.array([0.5]))
    >>> hit.round(2).tolist(), false_alarm.round(2).tolist()
    ([[0.7]], [[0.3]])
    """
    if weight is None:
        return hit, false_alarm
    middle, half = (hit + false_alarm) / 2, weight[:, None] * (hit - false_alarm) / 2
    return middle + half, middle - half


def _check_sizes(votes: Votes) -> None:
    """Raise TooLargeError, before a model is fitted, where beliefs would not fit in memory."""
    advice = "Choose questions about a part of the labels, or of the items, at a time."
    for name, n in {"items": votes.n_items, "workers": votes.n_workers, "labels": votes.n_labels}.items():
        check_size(f"what is believed of {name} and labels", advice, n, votes.n_labels, cell_bytes=BELIEF_BYTES)


def _has_grown(n_votes: int, before: int, share: float) -> bool:
    """Whether there are more votes than before by this share; or fewer, which then are other ones."""
    return n_votes >= (1 + share) * before or n_votes < before
