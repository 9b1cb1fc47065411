"""What the requester themselves should answer first: the few pairs that say most about how to read the crowd.

Known truth corrects the probabilities of all pairs (`amcc.consensus.calibration`): the log-odds of presence become

    log_odds[j] = log_odds by the votes + f[j] · correction,      correction ~ N(0, covariance)

where f holds 1, the log-odds themselves, how far a plain majority departs from them, the label, and the range in which
the log-odds lie. Before any answer the covariance is that of the priors. An answer about pair j tells its log-odds
with a variance of 1/w[j] + τ²: w = E[p (1 − p)] over what the correction may be, and τ is how far all labels of an item
are misread together. To second order this does not depend on what the answer is. The log-loss that is expected too
much, because the correction is not known, is half of

    V = sum over open pairs k of w[k] · f[k]ᵀ covariance f[k]

The next question is the one that lowers V most (a V-optimal design, chosen greedily): with A = sum w[k] f[k] f[k]ᵀ and
u = covariance f[j],

    gain[j] = uᵀ A u / (1/w[j] + τ² + f[j]ᵀ u)

So it prefers pairs with an open answer, pairs that look like many others, and pairs on which readings disagree.
Unless asked otherwise, questions are drawn at random all the same: the design sees only what its model predicts.
The answers about all labels of an item have the covariance W⁻¹ + τ² 1 1ᵀ, and likewise

    gain = trace((W⁻¹ + τ² 1 1ᵀ + F covariance Fᵀ)⁻¹ F covariance A covariance Fᵀ)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.base import ConsensusModel
from amcc.consensus.calibration import INTERCEPT_SPREAD, LABEL_SPREAD, SLOPE_SPREAD, log_odds
from amcc.errors import EmptyInputError, ParameterError
from amcc.memory import check_size
from amcc.special import expit
from amcc.tables import Frame, as_frame
from amcc.votes import Votes

__all__ = ["ExpertQuestions", "questions_for_expert"]


# How far a plain majority may have to be believed in the place of the model, before anything is known: as a standard
# deviation of its weight, where 1 would be all of it. Three tenths, because the model is usually the better reader.
READING_SPREAD = 0.3

# How far probabilities of one range may be off by more than a line says. Without it, few ranges would be asked about,
# and a correction that is no line would be learned where it is easiest, not where the pairs are. In log-odds: a third
# of the ranges may have odds that are off by a factor of 1.6 or more.
RANGE_SPREAD = 0.5

# τ: how far all labels of an item may be misread together. Without it, one item with many labels seems to tell all. In
# log-odds: a third of the items may have odds that are off by a factor of 2.7 or more, more than any range.
ITEM_SPREAD = 1.0

# Log-odds that bound the ranges: finer in the middle, where decisions are made.
RANGES = np.array([-5.0, -3.5, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5, 5.0])

# Share of the questions drawn at random. A design trusts its model of what may be wrong, chance does not: where workers
# share errors, confident pairs are wrong that no design would ask about. On twelve families of real sets ten items by
# design left .007 more log-loss than ten at random, half and half .005 (docs/active.md). Random answers are also a fair
# sample, by which `settled` can be measured and `amcc audit` can go.
DRAWN = 1.0

# What a question that was drawn teaches about.
BY_CHANCE = "chance"

# Items that are compared exactly, when whole items are chosen: those with the most promising pairs. A
# comparison solves a system of equations, too much for thousands of items after every choice.
SHORTLIST = 500

# Gauss–Hermite quadrature of a normal distribution; nine nodes come within 2 % of the integral (test_expert.py).
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)

# What an answer can teach about, and where that stands in f.
N_COMMON, N_RANGES = 3, len(RANGES) + 1
PARTS: dict[str, slice] = {
    "trust": slice(0, 2),
    "reading": slice(2, N_COMMON),
    "range": slice(N_COMMON, N_COMMON + N_RANGES),
    "label": slice(N_COMMON + N_RANGES, None),
}


@dataclass(frozen=True)
class PairFeatures:
    """f of every pair; few of its numbers are not zero: (n_pairs, n_set) places and numbers, among `size`."""

    place: Ints
    number: Floats
    size: int

    def quadratic(self, matrix: Floats) -> Floats:
        """(n_pairs,) fᵀ matrix f."""
        # Five numbers of f are not zero: 25 products per pair, whatever the size of the matrix.
        total = np.zeros(len(self.place))
        for one, first in zip(self.place.T, self.number.T, strict=True):
            for other, second in zip(self.place.T, self.number.T, strict=True):
                total += first * second * matrix[one, other]
        return total

    def information(self, weight: Floats) -> Floats:
        """(size, size) sum of weight · f fᵀ."""
        n_pairs, n_set = self.place.shape
        start = np.arange(n_pairs + 1) * n_set
        rows = scipy.sparse.csr_array((self.number.ravel(), self.place.ravel(), start), shape=(n_pairs, self.size))
        weighted = rows.multiply(weight[:, None]).tocsr()
        return np.asarray((rows.T @ weighted).toarray())

    def dense(self, pairs: Ints) -> Floats:
        """(n, size) f of some pairs."""
        result = np.zeros((len(pairs), self.size))
        result[np.arange(len(pairs))[:, None], self.place[pairs]] = self.number[pairs]
        return result


@dataclass(frozen=True)
class Readings:
    """How the votes can be read: (n_pairs,) log-odds by the model, by a plain majority, the label, and the range."""

    model: Floats
    majority: Floats
    label: Ints
    range: Ints
    n_labels: int

    @classmethod
    def of(cls, model: ConsensusModel, votes: Votes) -> Readings:
        """Those of a fitted model, without the truth that it may have been told."""
        by_model = log_odds(model.pair_proba_ if model.pair_unseen_ is None else model.pair_unseen_)
        n_yes = votes.n_yes.astype(np.float64)
        by_majority = np.log((n_yes + 0.5) / (votes.pairs.n_votes - n_yes + 0.5))  # Jeffreys' prior
        label = votes.pairs.label.astype(np.int64)
        return cls(by_model, by_majority, label, np.digitize(by_model, RANGES), votes.n_labels)

    @property
    def disagree(self) -> Mask:
        """(n_pairs,) where the model and a majority decide differently."""
        return np.not_equal(self.model > 0, self.majority > 0)

    def features(self) -> PairFeatures:
        """f, scaled so that the correction has variance 1 in each of its parts before anything is known."""
        ones = np.ones(len(self.label))
        spread = np.array([INTERCEPT_SPREAD, SLOPE_SPREAD, READING_SPREAD, RANGE_SPREAD, LABEL_SPREAD])
        number = spread * np.stack([ones, self.model, self.majority - self.model, ones, ones], axis=1)
        place = np.tile(np.arange(len(spread)), (len(ones), 1))
        place[:, 3:] = np.stack([N_COMMON + self.range, N_COMMON + N_RANGES + self.label], axis=1)
        size = N_COMMON + N_RANGES + self.n_labels
        check_size("what is not known of labels", "Leave out labels that do not matter.", size, size, cell_bytes=32)
        return PairFeatures(place, number, size)


@dataclass(frozen=True)
class ExpertQuestions:
    """Pairs to answer, the most telling first.

    item, label : (n,) codes. proba : (n,) what is believed now. why : in words.
    gain : (n,) share of what is uncertain about how to read the crowd that each answer resolves; with whole items the
        share of all labels together, with each of them.
    nats : (n,) the same in log-loss over all open pairs, half of what the answer lowers V by.
    """

    item: Ints
    label: Ints
    proba: Floats
    gain: Floats
    nats: Floats
    why: list[str]

    def __len__(self) -> int:
        return len(self.item)

    def table(self, votes: Votes, frame: Frame = "arrow") -> Any:
        """Table item, label, probability, why."""
        item, label = votes.item_names.take(pa.array(self.item)), votes.label_names.take(pa.array(self.label))
        why = pa.array(self.why, pa.string())
        return as_frame(pa.table({"item": item, "label": label, "probability": self.proba, "why": why}), frame)


def questions_for_expert(
    model: ConsensusModel,
    votes: Votes,
    n: int,
    *,
    whole_items: bool = False,
    among: Mask | None = None,
    drawn: float = DRAWN,
    seed: int = 0,
) -> ExpertQuestions:
    """The `n` pairs whose true answer says most about how to read the crowd; with `whole_items` all pairs of `n` items.

    model : fitted to these votes, with or without known truth; what is known is not asked again.
    among : (n_pairs,) which of the asked pairs can be asked; all, by default. What is learned is for all pairs.
    drawn : share that is drawn at random instead, spread evenly.
    seed : decides between equals, and draws. Of an item one pair is chosen, as long as there are other items.
    """
    if n < 1:
        raise ParameterError(f"n must be at least 1; got {n}.")
    if not 0 <= drawn <= 1:
        raise ParameterError(f"drawn must be a share from 0 to 1; got {drawn!r}.")
    known = np.zeros(len(votes.pairs), dtype=bool) if model.pair_known_ is None else model.pair_known_
    free = ~known if among is None else among & ~known
    if not free.any():
        raise EmptyInputError("there must be a pair whose truth is not known; that of all asked pairs is.")
    readings = Readings.of(model, votes)
    features = readings.features()
    belief = _Belief.before(features, _believed(model, readings), known, free)
    item, rng = votes.pairs.item.astype(np.int64), np.random.default_rng(seed)
    before = belief.uncertainty
    chosen = (_choose_items if whole_items else _choose_pairs)(belief, item, n, drawn, rng)
    pair, reasons = np.array(chosen.pair, dtype=np.int64), _Reasons(readings, votes, known)
    why = [reasons.why(*each) for each in zip(chosen.pair, chosen.part, strict=True)]
    lower = np.array(chosen.gain)
    return ExpertQuestions(item[pair], readings.label[pair], model.pair_proba_[pair], lower / before, lower / 2, why)


def _believed(model: ConsensusModel, readings: Readings) -> Floats:
    """(n_pairs,) log-odds as they are corrected now, were no pair known."""
    calibration = model.calibration_
    if calibration is None:
        return readings.model
    return log_odds(calibration.of(expit(readings.model), readings.label))


# -- design ----------------------------------------------------------------------------------------------------------


@dataclass
class _Belief:
    """What is not known about the correction, and how much depends on it.

    weight : (n_pairs,) w. free : (n_pairs,) pairs that can be asked. covariance : (size, size).
    importance : (size, size) A.
    """

    features: PairFeatures
    weight: Floats
    free: Mask
    covariance: Floats
    importance: Floats

    @classmethod
    def before(cls, features: PairFeatures, mean: Floats, known: Mask, free: Mask) -> _Belief:
        """What is left after the known pairs."""
        # Twice: what known pairs tell depends on how uncertain the correction was, all else on what is left of that.
        weight = expected_weight(mean, features.quadratic(np.eye(features.size)))
        told = features.information(np.where(known, weight, 0.0))
        # Answers about one item count as single ones here, without τ: known truth may be spread in any way.
        covariance: Floats = np.linalg.inv(np.eye(features.size) + told).astype(np.float64)
        weight = expected_weight(mean, features.quadratic(covariance))
        return cls(features, weight, free, covariance, features.information(np.where(known, 0.0, weight)))

    @property
    def uncertainty(self) -> float:
        """V: twice the log-loss that is expected too much, over all open pairs."""
        return float((self.importance * self.covariance).sum())

    def gains(self) -> Floats:
        """(n_pairs,) what the answer about each pair by itself lowers V by."""
        helped = self.covariance @ self.importance @ self.covariance
        noise = 1 / self.weight + ITEM_SPREAD**2 + self.features.quadratic(self.covariance)
        return np.asarray(self.features.quadratic(helped) / noise)

    def gain_of_item(self, pairs: Ints) -> float:
        """What the answers about all these pairs of an item lower V by."""
        moved, noise = self._moved(pairs)
        return float(np.trace(np.linalg.solve(noise, moved @ self.importance @ moved.T)))

    def parts(self, pair: int) -> str:
        """What the answer about a pair teaches about most."""
        moved = self.covariance @ self.features.dense(np.array([pair]))[0]
        share = moved * (self.importance @ moved)
        return max(PARTS, key=lambda part: float(share[PARTS[part]].sum()))

    def learn(self, pairs: Ints) -> None:
        """Take an answer about these pairs of an item into account."""
        moved, noise = self._moved(pairs)
        # The update of a Kalman filter; what the answer is does not matter for what is left uncertain.
        self.covariance = self.covariance - moved.T @ np.linalg.solve(noise, moved)

    def _moved(self, pairs: Ints) -> tuple[Floats, Floats]:
        """F covariance, and the covariance of what the answers say, W⁻¹ + τ² 1 1ᵀ + F covariance Fᵀ."""
        rows = self.features.dense(pairs)
        moved = rows @ self.covariance
        return moved, np.diag(1 / self.weight[pairs]) + ITEM_SPREAD**2 + moved @ rows.T


def expected_weight(mean: Floats, variance: Floats) -> Floats:
    """E[p (1 − p)] where log-odds have this mean and variance: what an answer is expected to tell."""
    proba = expit(mean[:, None] + np.sqrt(variance)[:, None] * NODES)
    return np.asarray((proba * (1 - proba)) @ (NODE_WEIGHTS / NODE_WEIGHTS.sum()))


def _is_drawn(number: int, share: float) -> bool:
    """Whether the question of this number, from 0, is drawn at random, so that the share is.

    >>> [_is_drawn(number, 0.5) for number in range(4)]
    [False, True, False, True]
    """
    return int((number + 1) * share) > int(number * share)


@dataclass
class _Chosen:
    """Pairs in the order of their choice, what each lowers V by, and what it teaches about most."""

    pair: list[int] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    part: list[str] = field(default_factory=list)

    def add(self, belief: _Belief, pairs: Ints, gain: float, *, by_chance: bool) -> None:
        """Choose these pairs of an item; what is believed then counts with the answer to come."""
        self.pair += pairs.tolist()
        self.gain += [gain] * len(pairs)
        self.part += [BY_CHANCE if by_chance else belief.parts(pair) for pair in pairs.tolist()]
        belief.learn(pairs)


def _choose_pairs(belief: _Belief, item: Ints, n: int, drawn: float, rng: np.random.Generator) -> _Chosen:
    """The most telling pairs one after the other, of different items as long as there are some."""
    order, free = rng.permutation(len(item)), belief.free.copy()
    asked = np.zeros(int(item.max()) + 1, dtype=bool)
    chosen = _Chosen()
    for number in range(min(n, int(free.sum()))):
        # Labels of one item are misread together (τ), so a second pair of it tells less than one of another item.
        fresh = free & ~asked[item]
        can_be = fresh if fresh.any() else free
        by_chance = _is_drawn(number, drawn)
        score = np.where(can_be, rng.random(len(item)) if by_chance else belief.gains(), -np.inf)
        best = np.array([order[np.argmax(score[order])]])  # chance decides between equals
        # Of the one that is chosen only: after a draw nobody needs the gains of all.
        chosen.add(belief, best, belief.gain_of_item(best), by_chance=by_chance)
        free[best], asked[item[best]] = False, True
    return chosen


def _choose_items(belief: _Belief, item: Ints, n: int, drawn: float, rng: np.random.Generator) -> _Chosen:
    """The most telling items one after the other, each with all its pairs that are open."""
    single = np.where(belief.free, belief.gains(), 0.0)
    total = np.bincount(item, single)
    open_items = rng.permutation(np.unique(item[belief.free]))
    shortlist = open_items[np.argsort(-total[open_items], kind="stable")][: max(SHORTLIST, n)].tolist()
    bounds = np.searchsorted(item, np.arange(int(item.max()) + 2))  # pairs are sorted by item
    left = dict.fromkeys(open_items.tolist())  # in random order

    def pairs_of(each: int) -> Ints:
        return np.asarray(np.flatnonzero(belief.free[bounds[each] : bounds[each + 1]]) + bounds[each], dtype=np.int64)

    chosen = _Chosen()
    for number in range(min(n, len(left))):
        by_chance = _is_drawn(number, drawn)
        best = next(iter(left))
        if not by_chance:
            open_now = (each for each in shortlist if each in left)
            best = max(open_now, key=lambda each: belief.gain_of_item(pairs_of(each)))
        del left[best]
        chosen.add(belief, pairs_of(best), belief.gain_of_item(pairs_of(best)), by_chance=by_chance)
    return chosen


# -- telling ---------------------------------------------------------------------------------------------------------


class _Reasons:
    """Says why a pair was chosen, with how many others there are like it."""

    def __init__(self, readings: Readings, votes: Votes, known: Mask) -> None:
        self._readings, self._votes, self._open = readings, votes, ~known
        self._n_range = np.bincount(readings.range[self._open], minlength=N_RANGES)
        self._n_label = np.bincount(readings.label[self._open], minlength=votes.n_labels)
        self._n_disagree = int((readings.disagree & self._open).sum())

    def why(self, pair: int, part: str) -> str:
        """In one line: what the answer tells, and of how many other pairs."""
        n_yes, n_votes = int(self._votes.n_yes[pair]), int(self._votes.pairs.n_votes[pair])
        label = str(self._votes.label_names[int(self._readings.label[pair])])
        said = f"{n_yes} of {n_votes} say yes"
        if part == BY_CHANCE:
            return f"drawn at random, to see what nobody would suspect ({said}); {self._alike(pair)}"
        if self._readings.disagree[pair]:
            majority, model = (
                "yes" if reading > 0 else "no"
                for reading in (self._readings.majority[pair], self._readings.model[pair])
            )
            votes = f"votes are split ({said})" if 2 * n_yes == n_votes else f"most say {majority} ({said})"
            others = self._others(self._n_disagree)
            return f"readings disagree: {votes}, weighed by reliability it is {model}; {others} look like this"
        if part == "label":
            others = self._others(int(self._n_label[self._readings.label[pair]]))
            return f"shows how {label!r} is to be read ({said}); {others} have this label"
        if part == "reading":
            return f"shows how far to weigh votes by reliability ({said}); {self._alike(pair)}"
        return f"shows how far to trust {_range_text(int(self._readings.range[pair]))} ({said}); {self._alike(pair)}"

    def _alike(self, pair: int) -> str:
        return f"{self._others(int(self._n_range[self._readings.range[pair]]))} look like this"

    @staticmethod
    def _others(n: int) -> str:
        return f"{n - 1:,} other pair{'s' * (n != 2)}"


def _range_text(number: int) -> str:
    """A range of probabilities.

    >>> _range_text(0), _range_text(5), _range_text(9)
    ('probabilities below 0.01', 'probabilities from 0.50 to 0.73', 'probabilities above 0.99')
    """
    bounds = expit(RANGES)
    if number == 0:
        return f"probabilities below {bounds[0]:.2f}"
    if number == len(bounds):
        return f"probabilities above {bounds[-1]:.2f}"
    return f"probabilities from {bounds[number - 1]:.2f} to {bounds[number]:.2f}"
