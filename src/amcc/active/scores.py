"""How much a question is worth: one pure function per equation, vectorised, NaN where nothing may be asked.

Equations `eq7` … `eq13` are those of the paper; the others belong to the strategies that it is compared with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from amcc.arrays import AnyInts, Floats, Floats32, Ints, Mask, find_sorted, weight_per_code
from amcc.special import betainc, expit, logit
from amcc.votes import Votes

Singles = Floats32

# Nobody is cheaper than this where a score is divided by a price: free workers come first, and nothing is infinite. Far
# below any real price, which is at least one minor unit, so that it changes nothing for paid workers.
CHEAPEST = 1e-4

# No rate is closer to 0 or 1 than this where its logarithm is taken: the logarithm is then −23, and stays a number.
# As in `arrays.safe_log`; no rate that was learned from votes is so extreme.
NEAREST_RATE = 1e-10

# Beta prior of a worker being right: four right answers and one wrong one, as the authors of the gradient advise.
STRANGER = (4.0, 1.0)

# Where `best_temperature` looks first: the coarse grid of CROWDLAB's authors.
TEMPERATURES = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 3.0, 5.0, 8.0)

# So many items at a time are compared with all others: to 100,000 items these are 26 MB in single precision.
BLOCK = 64


# -- pairs (eq7, eq8, eq9) -------------------------------------------------------------------------------------------


def pair_uncertainty(proba: Floats, allowed: Mask) -> Floats:
    """u¹ of eq7: 1 where present and absent are equally likely, ½ where either is certain, NaN where not allowed.

    Examples
    --------
    >>> pair_uncertainty(np.array([0.5, 0.9, 0.0]), np.array([True, True, False]))
    array([1. , 0.6, nan])
    """
    return np.where(allowed, 1.0 - np.abs(0.5 - proba), np.nan)


def integrated_correlation(commonality: Floats, group_weights: Floats, weight_exponent: float) -> Floats:
    """C of eq8, as printed: (1 / M) Σ_m λ_m^r C_m.

    commonality : (n_groups, n_labels, n_labels), the C_m. group_weights : (n_groups,) λ.

    >>> integrated_correlation(np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]), np.array([0.8, 0.2]), 2)
    array([[0.34, 0.16],
           [0.16, 0.34]])
    """
    return np.asarray(np.einsum("m,mgl->gl", group_weights**weight_exponent, commonality) / len(group_weights))


def correlation_gain(correlation: Floats, unqueried: Mask) -> Floats:
    """u² of eq8: (n_items, n_labels) mean absolute correlation with the item's labels that nobody was asked about.

    0 where at most one of them is left. As printed, a label that is unqueried itself is one of those.

    correlation : (n_labels, n_labels), the integrated correlation of labels.
    unqueried : (n_items, n_labels).
    """
    # The paper divides by the number that is left, and defines the value for at least one only.
    n_left = unqueried.sum(axis=1, keepdims=True)
    total = unqueried.astype(np.float64) @ np.abs(correlation).T
    return np.where(n_left > 1, total / np.maximum(n_left, 1), 0.0)


def pair_utility(uncertainty: Floats, gain: Floats, correlation_mix: float = 0.3) -> Floats:
    """u of eq9: η u² + (1 − η) u¹."""
    return correlation_mix * gain + (1.0 - correlation_mix) * uncertainty


# -- workers (eq11, eq13) --------------------------------------------------------------------------------------------


def chance_right(proba: Floats, hit: Floats, false_alarm: Floats) -> Floats:
    """Chance that a worker with these rates answers rightly, where the label is present with probability `proba`."""
    return proba * hit + (1.0 - proba) * (1.0 - false_alarm)


def answer_likelihood(present: Mask, asked: Mask, hit: Floats, false_alarm: Floats) -> Singles:
    """P^w of eq11: (n_items, n_workers) chance that a worker repeats the consensus of an item, per label.

    The product of the chances of its asked labels (of all labels, if none was asked), in logs. A question is about one
    label, so that the root of as many factors is taken: an item with many labels says no less than one with few.
    Single precision, because there may be thousands of items times thousands of workers.

    present, asked : (n_items, n_labels) the consensus, and the pairs that anybody was asked about.
    hit, false_alarm : (n_workers, n_labels).
    """
    asked = asked | ~asked.any(axis=1, keepdims=True)  # nobody was asked: all labels count
    # One matrix product for both kinds of labels: present ones need a hit, absent ones a rejection.
    share = np.hstack([asked & present, asked & ~present]) / asked.sum(axis=1, keepdims=True)
    log_right = np.log(np.clip(np.hstack([hit, 1.0 - false_alarm]), NEAREST_RATE, 1.0))
    likelihood = share.astype(np.float32) @ log_right.astype(np.float32).T
    return np.asarray(np.exp(likelihood, out=likelihood))


def similarity(distance: Floats) -> Floats:
    """S of eq11: inverse distance, with 1 for items that are alike."""
    return 1.0 / (1.0 + distance)


def credibility(similar: Floats, neighbor: Ints, likelihood: Floats | Singles) -> Floats:
    """q of eq11: (n_items, n_workers), (1 / k) Σ S(x, neighbour) · P^w(neighbour).

    similar, neighbor : (n_items, k) similarities, and rows of `likelihood`, which is (n_neighbors, n_workers).
    """
    n_items, k = similar.shape
    entries = (similar.ravel().astype(likelihood.dtype), neighbor.ravel(), np.arange(n_items + 1) * k)
    return np.asarray(
        scipy.sparse.csr_array(entries, shape=(n_items, len(likelihood))) @ likelihood / max(k, 1), np.float64
    )


def paper_prices(accuracy: Floats) -> Floats:
    """(n_workers,) prices between 1 and the number of workers, in proportion to accuracy; 1 if all are equal.

    A worker whose accuracy is unknown (NaN) costs as much as the others do on average.

    Examples
    --------
    >>> paper_prices(np.array([0.5, 0.7, 0.9, np.nan]))
    array([1. , 2.5, 4. , 2.5])
    """
    known = accuracy[~np.isnan(accuracy)]
    spread = np.ptp(known) if len(known) else 0.0
    if spread == 0.0:
        return np.ones(len(accuracy))
    prices = 1.0 + (len(accuracy) - 1) * (accuracy - known.min()) / spread
    return np.asarray(np.where(np.isnan(prices), np.nanmean(prices), prices))


def per_price(score: Floats, cost: Floats) -> Floats:
    """A score for each unit of money; a vote for nothing counts as one for next to nothing.

    >>> per_price(np.array([0.5, 0.5]), np.array([2.0, 0.0])).tolist()
    [0.25, 5000.0]
    """
    return np.asarray(score / np.maximum(cost, CHEAPEST))


def triplet_utility(utility: Floats, worker_credibility: Floats, cost: Floats) -> Floats:
    """The criterion of eq13: u · q / c; c is the price of a vote, which may be that of eq12."""
    return per_price(utility * worker_credibility, cost)


# -- neighbours ------------------------------------------------------------------------------------------------------


class Neighbors(NamedTuple):
    """(n, k) codes of the nearest items, and how far they are; infinitely far where there are fewer than k."""

    item: Ints
    distance: Floats


def nearest(profile: Floats, of: Ints, among: Ints, k: int) -> Neighbors:
    """The k items `among` these, sorted by code, that are nearest to each item `of` those, itself excluded.

    profile : (n_items, n_features) by which items are compared.
    """
    k = min(k, len(among))
    if k == 0 or len(of) == 0:
        return Neighbors(np.empty((len(of), k), np.int64), np.empty((len(of), k)))
    groups = _Groups.of_points(profile[among].astype(np.float32), k)
    own = np.where((found := find_sorted(among, of))[1], found[0], -1)  # an item is not its own neighbour
    blocks = [slice(first, first + BLOCK) for first in range(0, len(of), BLOCK)]
    place = np.concatenate([groups.nearest(profile[of[each]].astype(np.float32), own[each], k) for each in blocks])
    found = (place < len(among)) & (place != own[:, None])
    item = among[place.clip(max=len(among) - 1)]
    # Anew in double precision: the squares in single precision were good enough to choose, not to be compared with 1.
    distance = np.linalg.norm(profile[item] - profile[of][:, None], axis=2)
    return Neighbors(item, np.where(found, distance, np.inf))


class _Groups(NamedTuple):
    """Points cut into groups of equal size, the last one filled up with points infinitely far away.

    The k nearest points are in the k groups with the nearest members: only these need be looked through.
    """

    point: Singles
    square: Singles
    size: int

    @classmethod
    def of_points(cls, point: Singles, k: int) -> _Groups:
        size = max(1, int(np.sqrt(len(point) / k)))
        n_missing = -len(point) % size
        square = np.pad((point**2).sum(axis=1), (0, n_missing), constant_values=np.inf)
        return cls(np.pad(point, ((0, n_missing), (0, 0))), square, size)

    def nearest(self, query: Singles, own: Ints, k: int) -> Ints:
        """(n, k) places of the nearest points; the query's own place (−1: none) counts as infinitely far away."""
        # The square of the distance is |point|² − 2 point·query + a constant; only the order matters.
        apart: Singles = (-2.0 * query).astype(np.float32) @ self.point.T
        apart += self.square
        is_point = np.flatnonzero(own >= 0)
        apart[is_point, own[is_point]] = np.inf
        group = _smallest(apart.reshape(len(query), -1, self.size).min(axis=2), k)
        places = (group[:, :, None] * self.size + np.arange(self.size)).reshape(len(query), -1)
        return np.take_along_axis(places, _smallest(np.take_along_axis(apart, places, axis=1), k), axis=1)


def _smallest(values: Singles, k: int) -> Ints:
    """Places of the k smallest values of each row, or of all."""
    return np.argpartition(values, min(k, values.shape[1]) - 1, axis=1)[:, :k]


# -- SAC, NAM(A), CEAL -----------------------------------------------------------------------------------------------


def agreement(votes: Votes, proba: Floats) -> Floats:
    """(n_workers,) share of each worker's votes that agree with the consensus, with one more of each kind."""
    right = (votes.value > 0) == (proba[votes.item, votes.label] > 0.5)
    n_right = weight_per_code(votes.worker, right, votes.n_workers)
    return (n_right + 1.0) / (np.bincount(votes.worker, minlength=votes.n_workers) + 2.0)


def label_cardinality_inconsistency(n_present: Floats, mean_cardinality: float) -> Floats:
    """LCI: (n_items,) how far the number of an item's labels is from the usual one."""
    return np.abs(n_present - mean_cardinality)


def query_cardinality_inconsistency(inconsistency: Floats, n_queried: Floats) -> Floats:
    """QCI: LCI per question asked so far; an item that nobody was asked about counts as half asked."""
    return inconsistency / np.maximum(0.5, n_queried)


def record_among_neighbors(
    pair: Ints, worker: AnyInts, similar: Floats, right: Mask, shape: tuple[int, int], k: int
) -> Floats:
    """CEAL's q: (n_pairs, n_workers), (1 / k) Σ similarity · [the worker was right there] over k neighbours.

    pair, worker, similar, right : (n,) the votes on the neighbours of each pair: who, how near, and rightly or not.
    """
    place = pair * shape[1] + worker
    return weight_per_code(place, similar * right, shape[0] * shape[1]).reshape(shape) / max(k, 1)


def ceal_utility(proba: Floats, record: Floats, cost: Floats) -> Floats:
    """CEAL: uncertainty 1 − |2p − 1|, times q, per price."""
    return per_price((1.0 - np.abs(2.0 * proba - 1.0)) * record, cost)


# -- knowledge gradient ----------------------------------------------------------------------------------------------


def decision_accuracy(yes: Floats, no: Floats) -> Floats:
    """h(a, b): chance that the better guess about "θ ≥ ½" is right when θ has a Beta(a, b) distribution."""
    above = betainc(no, yes, 0.5)  # P(θ ≥ ½) = 1 − I½(yes, no) = I½(no, yes)
    return np.asarray(np.maximum(above, 1.0 - above))


def answer_gains(yes: Floats, no: Floats) -> tuple[Floats, Floats]:
    """R₊ and R₋: what a yes and a no of a perfect worker add to `decision_accuracy`."""
    now = decision_accuracy(yes, no)
    return decision_accuracy(yes + 1.0, no) - now, decision_accuracy(yes, no + 1.0) - now


def optimistic_gradient(yes: Floats, no: Floats) -> Floats:
    """OKG: the gain if the better answer comes."""
    return np.maximum(*answer_gains(yes, no))


def matched_update(yes: Floats, no: Floats, reliability: Floats) -> tuple[Floats, Floats]:
    """Beta distribution nearest to Beta(yes, no) after a yes: it has the true mean and variance.

    The yes comes from a worker who is right with this chance m: its likelihood is θ m + (1 − θ)(1 − m). A no is the yes
    of one who is right with chance 1 − m. Their own distribution follows in the same way, with θ and ρ exchanged.
    """
    total = yes + no
    first = yes / total
    second = first * (yes + 1.0) / (total + 1.0)
    third = second * (yes + 2.0) / (total + 2.0)
    weight = reliability * first + (1.0 - reliability) * (1.0 - first)
    mean = (reliability * second + (1.0 - reliability) * (first - second)) / weight
    square = (reliability * third + (1.0 - reliability) * (second - third)) / weight
    strength = mean * (1.0 - mean) / (square - mean**2) - 1.0  # a + b of the Beta(a, b) with these two moments
    return mean * strength, (1.0 - mean) * strength


def optimistic_gain(yes: Floats, no: Floats, reliability: Floats) -> Floats:
    """OKG of asking a worker who is right with this chance."""
    after_yes = decision_accuracy(*matched_update(yes, no, reliability))
    after_no = decision_accuracy(*matched_update(yes, no, 1.0 - reliability))
    return np.maximum(after_yes, after_no) - decision_accuracy(yes, no)


def reliability_of_workers(votes: Votes, proba: Floats) -> Floats:
    """(n_workers,) mean of each worker's Beta distribution of being right: the prior and what the beliefs say."""
    present = proba[votes.item, votes.label]
    n_right = weight_per_code(votes.worker, np.where(votes.value > 0, present, 1.0 - present), votes.n_workers)
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    return (STRANGER[0] + n_right) / (sum(STRANGER) + n_votes)


# -- CROWDLAB, ActiveLab ---------------------------------------------------------------------------------------------


def best_temperature(share: Floats, model: Floats) -> float:
    """Temperature at which the model's cross-entropy with the shares of yeses is least: a grid, then a finer one."""
    log_odds = logit(np.clip(model, NEAREST_RATE, 1.0 - NEAREST_RATE))

    def cross_entropy(temperature: float) -> float:
        scaled = log_odds / temperature
        return float((np.logaddexp(0.0, scaled) - share * scaled).mean())

    if len(share) == 0:
        return 1.0
    grid = np.array(TEMPERATURES)
    best = int(np.argmin([cross_entropy(each) for each in grid]))
    below, above = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    finer = np.append(np.linspace(below, grid[best], 4, endpoint=False), np.linspace(grid[best], above, 5))
    return float(min(finer, key=cross_entropy))


def at_temperature(model: Floats, temperature: float) -> Floats:
    """Probabilities made less sure (above 1) or surer (below)."""
    return np.asarray(expit(logit(np.clip(model, NEAREST_RATE, 1.0 - NEAREST_RATE)) / temperature))


class CrowdLab(NamedTuple):
    """What CROWDLAB believes about one label.

    posterior : (n_items,) probability that the label is present.
    weight : (n_items,) of all that speaks about an item: the model and the item's workers.
    worker_weight : (n_workers,); model_weight : of the model.
    """

    posterior: Floats
    weight: Floats
    worker_weight: Floats
    model_weight: float


def crowdlab(item: Ints, worker: Ints, yes: Mask, model: Floats, n_workers: int, error_floor: float = 0.1) -> CrowdLab:
    """CROWDLAB for the votes on one label.

    The model and the workers have weights by how much less they err than somebody who always names the commoner class.
    A rare label would make that error tiny and everybody worthless, so that it counts as at least `error_floor`.

    item, worker, yes : (n_votes,); model : (n_items,) probabilities that the label is present.
    """
    n_votes, n_yes = np.bincount(item, minlength=len(model)), weight_per_code(item, yes, len(model))
    share = n_yes / np.maximum(n_votes, 1)
    undecided = (n_votes == 0) | (share == 0.5)  # there, the model decides
    consensus = np.where(undecided, model, share) > 0.5
    several = n_votes >= 2
    agreeing, base_error, model_error = _agreement_of_items(
        np.where(consensus, share, 1 - share)[several], consensus[several], (model > 0.5)[several]
    )
    base_error = max(base_error, error_floor)

    # How often a worker agrees with the others on the same items; their own vote does not count on either side.
    others = weight_per_code(worker, n_votes[item] - 1, n_workers)
    alike = weight_per_code(worker, np.where(yes, n_yes[item], n_votes[item] - n_yes[item]) - 1, n_workers)
    usual = alike.sum() / others.sum() if others.any() else agreeing
    agreement_with_others = np.divide(alike, others, out=np.full(n_workers, usual), where=others > 0)
    # Whoever is no better than the base error keeps a trace of weight, so that no sum of weights is 0.
    worker_weight = np.maximum(1.0 - (1.0 - agreement_with_others) / base_error, 1e-6)
    votes_per_item = n_votes[n_votes > 0].mean() if len(item) else 1.0
    model_weight = max(1.0 - model_error / base_error, 1e-6) * float(np.sqrt(votes_per_item))

    weight = model_weight + weight_per_code(item, worker_weight[worker], len(model))
    said = worker_weight[worker] * np.where(yes, agreeing, 1.0 - agreeing)
    posterior = (model_weight * model + weight_per_code(item, said, len(model))) / weight
    return CrowdLab(posterior, weight, worker_weight, model_weight)


def _agreement_of_items(agreeing: Floats, consensus: Mask, model: Mask) -> tuple[float, float, float]:
    """Mean share that agrees with the consensus, error of always naming the commoner class, error of the model.

    Over items with several votes. Without any, votes and model are as right as a stranger, and classes equally common.
    """
    if len(agreeing) == 0:
        right = STRANGER[0] / sum(STRANGER)
        return right, 0.5, 1.0 - right
    common = consensus.mean()
    return float(agreeing.mean()), float(min(common, 1.0 - common)), float((model != consensus).mean())


def activelab_quality(known: CrowdLab) -> Floats:
    """ActiveLab's score: (n_items,) how sure the consensus would be after one more vote of an average worker.

    The lower, the more an answer is needed.
    """
    quality = np.maximum(known.posterior, 1.0 - known.posterior)
    average = known.worker_weight.mean()
    return np.asarray((quality * known.weight + average / 2.0) / (known.weight + average))
