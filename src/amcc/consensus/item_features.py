"""Features of items as a second opinion: what similar items turned out to be, where few or nobody answered.

The votes give pair (i, l) the log-odds  logit π_l + E_il,  of which π_l is how frequent the label is and E_il what the
votes say. Features give every item a prior of its own:

    log-odds of presence = logit π_l + w (b_l + c_l s_il) + E_il                                                (1)

- s_il, the score: a ridge regression of the probabilities by the votes on the features, closed form, *cross-fitted*:
  the regression that scores an item has seen the items of the other folds only, so no item vouches for itself.
- c_l, the scale of a label: with it, the priors of items come nearest to their probabilities (`choose_weight`).
- b_l keeps the label as frequent as it was: features move presence between items, they do not add to it.
- w, the weight of the features, from how much better they predict the votes of items that their scores have not seen.
  With L1 and L0 the probabilities of the votes on a pair if the label is present or absent, log L1/L0 = E, and η the
  log-odds before the votes,

      log P(votes) = log L0 + log(1 + exp(η + E)) − log(1 + exp(η)).                                            (2)

  w = 1 − (SE / gain)², and 0 where the gain of (2) is not above SE, its standard error clustered by item.

A pair with many votes has a large E, and hardly moves; a pair without any has E = 0, and the features decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy

from amcc.arrays import AnyInts, Codes, Floats, Ints, find_sorted, weight_per_code
from amcc.errors import MissingExtraError
from amcc.fields import Each
from amcc.memory import check_size
from amcc.special import expit, logit
from amcc.votes import Votes

# Parts of the items. Each is scored by regressions on the others, so more folds waste less; ten waste a tenth.
N_FOLDS = 10

# Answered items below which nothing is learned from features: a fold would hold one.
FEWEST_ITEMS = 20

# Features beyond this number are condensed to as many principal directions: regressions stay a matter of seconds.
MOST_COMPONENTS = 256

# Penalties to choose from, in units of the features' mean variance times the number of items: from next to none to one
# that leaves nothing. Steps of √10 are fine enough, since the loss is flat around its least.
RIDGES = tuple(10.0 ** np.arange(-3.0, 3.5, 0.5))

# Scales c to choose from. A score is a small step's worth of log-odds, so 1 is what it says; strong features need more.
SCALES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)

# Below this, votes on an item say too little to learn from: dividing by it would only carry in noise.
LEAST_RELIABILITY = 0.02

# Asked pairs that suffice to choose scales and weight: a few numbers for each label.
ENOUGH_PAIRS = 400_000

# Probabilities nearer to 0 and 1 count as this: log-odds stay finite. Also what a denominator is at least, and a step
# that is not worth taking.
NEAREST_PROBA = 1e-6

# A column that deviates by less than this share of its size is constant, except for rounding.
CONSTANT = 1e-12

# Items by which principal directions are found, and rounds of their randomised search: more change nothing to see.
ENOUGH_ROWS, POWER_STEPS = 10_000, 3

# Newton's steps for b, each from where the next smaller scale left it; three or four are usual.
INTERCEPT_STEPS = 12

# The slope in Newton's method counts as this at least, and a step goes no farther: where all items are nearly certain
# the curve is flat, and a whole step would leap away.
LEAST_SLOPE, LONGEST_SHIFT = 0.1, 2.0


@dataclass(frozen=True)
class ItemPrior:
    """What features say about items beyond the labels' frequencies.

    weight : w of (1), 0 where features were of no use
    gain, error : held-out gain of (2) per item, in nats, and its standard error
    n_items : items whose votes were predicted, 0 where they are too few to learn from
    label : (n_used,) labels about which features say something
    shift : (n_items, n_used) what they add to the log-odds, w (b + c s)
    """

    weight: float
    gain: float
    error: float
    n_items: int
    label: Annotated[Codes, Each("feature label", code="label")]
    shift: Annotated[Floats, Each("item", "feature label")]

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"must have a weight from 0 to 1; it has {self.weight!r}")

    def known_to(self, item: Ints, label: Ints) -> ItemPrior:
        """The same for other votes: their items and labels by the codes that they had here, −1 for new ones."""
        column, said = find_sorted(self.label, label)
        shift = np.where(item[:, None] >= 0, self.shift[item][:, column[said]], 0.0)  # of new items nothing is known
        return replace(self, label=np.flatnonzero(said).astype(np.int32), shift=shift)

    def on_pairs(self, proba: Floats, item: AnyInts, label: AnyInts) -> Floats:
        """Probabilities of pairs, by the votes, with the features' opinion added (1)."""
        column, said = find_sorted(self.label, label)
        result = proba.copy()
        result[said] = shifted(proba[said], self.shift[item[said], column[said]])
        return result

    def on_all(self, proba: Floats) -> Floats:
        """The same for a table of all items and labels."""
        result = proba.copy()
        result[:, self.label] = shifted(proba[:, self.label], self.shift)
        return result

    def summary(self) -> dict[str, float]:
        """What became of the features, in numbers."""
        return {"weight": self.weight, "gain_per_item": self.gain, "standard_error": self.error, "items": self.n_items}

    def sentence(self) -> str:
        """What became of the features, in words.

        >>> ItemPrior(0.0, -0.01, 0.02, 90, np.zeros(0, np.int32), np.zeros((90, 0))).sentence()
        'Item features are not used: they do not predict held-out votes better (gain -0.010 ± 0.020 nats per item)'
        """
        if not self.n_items:
            return f"Item features are not used: fewer than {FEWEST_ITEMS} items have votes to learn from"
        measured = f"{self.gain:.3f} ± {self.error:.3f} nats per item"
        if not self.weight:
            return f"Item features are not used: they do not predict held-out votes better (gain {measured})"
        return (
            f"Item features are used with weight {self.weight:.2f}, for {len(self.label):,} labels: held-out votes "
            f"are predicted better by {measured}"
        )


def shifted(proba: Floats, shift: Floats) -> Floats:
    """Probabilities whose log-odds are moved by this much."""
    return np.asarray(expit(logit(np.clip(proba, NEAREST_PROBA, 1 - NEAREST_PROBA)) + shift))


def fit_item_prior(votes: Votes, proba: Floats, prior: Floats, features: Any) -> ItemPrior:
    """What features add to a consensus of votes.

    proba : (n_pairs,) probabilities of the asked pairs by their votes (known truth: 0 and 1)
    prior : (n_labels,) those of pairs without votes; π of (1) is the mean of the asked pairs where there are some, for
        a cautious consensus need not agree with itself
    features : (n_items, n_features), an array or a sparse matrix of scipy
    """
    check_size("scores of all items and labels", "Leave the features out.", votes.n_items, votes.n_labels)
    item, label, fold = votes.pairs.item, votes.pairs.label, item_folds(votes.n_items)
    frequency = frequencies(label, proba, prior)
    reliability = reliabilities(item, label, proba, frequency, votes.n_items)
    if (reliability > 0).sum() < FEWEST_ITEMS:
        return nothing(votes.n_items)
    response = responses(item, label, proba, frequency, votes.n_items)
    scores = cross_fitted_scores(components(features), response, reliability, fold) / (frequency * (1 - frequency))
    # What the votes add to the label's frequency; known truth, 0 or 1, counts as very much.
    evidence = logit(np.clip(proba, NEAREST_PROBA, 1 - NEAREST_PROBA)) - logit(frequency)[label]
    choice = choose_weight(scores, frequency, evidence, item, label, fold)
    if not choice.weight:
        return nothing(votes.n_items, choice)
    used = np.flatnonzero(choice.scale > 0)
    own = feature_log_odds(scores[:, used], frequency[used], choice.scale[used])
    return ItemPrior(choice.weight, *choice[2:], used.astype(np.int32), choice.weight * own)


def frequencies(label: Codes, proba: Floats, prior: Floats) -> Floats:
    """(n_labels,) mean probability of the asked pairs; one more pair has the prior."""
    n_labels = len(prior)
    mean = (weight_per_code(label, proba, n_labels) + prior) / (np.bincount(label, minlength=n_labels) + 1)
    return np.clip(mean, NEAREST_PROBA, 1 - NEAREST_PROBA)


# -- features --------------------------------------------------------------------------------------------------------


def components(features: Any) -> Floats:
    """(n_items, n) dense features of mean 0: as they are, standardised, or condensed where there are many.

    Columns of an array count alike, whatever their units. Sparse features (words) have one unit, which is kept.
    """
    n_features = features.shape[1]
    if not scipy.sparse.issparse(features):
        table = standardised(np.asarray(features, dtype=np.float64))
        return table if n_features <= MOST_COMPONENTS else np.asarray(table @ directions(table).T)
    if n_features <= MOST_COMPONENTS:
        return centred(features.toarray())
    return centred(np.asarray(features @ directions(features).T))


def directions(features: Any) -> Floats:
    """(n, n_features) principal directions of some of the rows, by a randomised decomposition."""
    n_items, n_features = features.shape
    rows = np.random.default_rng(0).permutation(n_items)[:ENOUGH_ROWS]
    number = min(MOST_COMPONENTS, len(rows) - 1, n_features - 1)
    svd = _decomposition().TruncatedSVD(number, n_iter=POWER_STEPS, random_state=0).fit(features[rows])
    return np.asarray(svd.components_, dtype=np.float64)


def centred(table: Floats) -> Floats:
    """Columns with mean 0."""
    return np.asarray(table - table.mean(axis=0))


def standardised(table: Floats) -> Floats:
    """Columns with mean 0 and deviation 1; those that are constant become 0."""
    size = np.abs(table.mean(axis=0))
    table = centred(table)
    spread = np.sqrt(np.einsum("ij,ij->j", table, table) / max(len(table), 1))
    table /= np.where(spread > CONSTANT * (size + spread), spread, np.inf)
    return table


def _decomposition() -> Any:
    """scikit-learn's module, which is loaded only where features are many."""
    try:
        from sklearn import decomposition
    except ImportError as error:
        raise MissingExtraError(
            f"more than {MOST_COMPONENTS} features, or sparse ones, need scikit-learn, which cannot be imported "
            f"({error}). Install it: pip install 'amcc[features]'"
        ) from None
    return decomposition


# -- regression ------------------------------------------------------------------------------------------------------


def item_folds(n_items: int) -> Ints:
    """(n_items,) fold of each item: chance decides, votes do not, and folds are of equal size."""
    return np.random.default_rng(0).permutation(n_items) % N_FOLDS


def responses(item: Codes, label: Codes, proba: Floats, prior: Floats, n_items: int) -> Floats:
    """(n_items, n_labels) how far votes carry a pair from its label's frequency; 0 where nobody was asked."""
    response = np.zeros((n_items, len(prior)))
    response[item, label] = proba - prior[label]
    return response


def reliabilities(item: Codes, label: Codes, proba: Floats, prior: Floats, n_items: int) -> Floats:
    """(n_items,) share of the uncertainty about an item that its votes resolve: 1 − Σ p (1 − p) / Σ π (1 − π).

    What features say about the truth shows in the probabilities reduced by this share, for votes that resolve little
    leave a pair at its prior. A regression of (p − π) / R with weight R corrects that; an item without votes has R = 0
    and no say.
    """
    before = prior * (1 - prior)
    left = weight_per_code(item, proba * (1 - proba) - before[label], n_items)
    resolved = np.clip(-left / before.sum(), 0.0, 1.0)
    return np.where(resolved < LEAST_RELIABILITY, 0.0, resolved)


class RegressionSums(NamedTuple):
    """Sums over the items of a fold, from which a regression is computed.

    squares : (n, n) Σ R x x'; products : (n, n_labels) Σ x r'; features : (n,) Σ R x; responses : (n_labels,) Σ r
    power : (n_labels,) Σ r² / R; weight : Σ R; number of items
    """

    squares: Floats
    products: Floats
    features: Floats
    responses: Floats
    power: Floats
    weight: float
    number: int

    @classmethod
    def of(cls, features: Floats, response: Floats, weight: Floats) -> RegressionSums:
        """Of these items, x, r and R."""
        weighted = weight[:, None] * features
        return cls(
            features.T @ weighted, features.T @ response, weighted.sum(axis=0), response.sum(axis=0),
            (response**2 / weight[:, None]).sum(axis=0), float(weight.sum()), len(features),
        )  # fmt: skip


def cross_fitted_scores(features: Floats, response: Floats, reliability: Floats, fold: Ints) -> Floats:
    """(n_items, n_labels) ridge regression of response / reliability, for each fold by the items of the others."""
    learned = [np.flatnonzero((fold == number) & (reliability > 0)) for number in range(N_FOLDS)]
    sums = [RegressionSums.of(features[items], response[items], reliability[items]) for items in learned]
    scores = np.zeros_like(response)
    for number in range(N_FOLDS):
        others = [each for place, each in enumerate(sums) if place != number]
        total = RegressionSums(*(sum(parts) for parts in zip(*others, strict=True)))
        out = fold == number
        scores[out] = (features[out] - total.features / total.weight) @ ridge(total)
    return scores


def ridge(sums: RegressionSums) -> Floats:
    """(n_features, n_labels) coefficients of response / weight, with a penalty for each label by cross-validation.

    Around the weighted means, (X' W X + λ) β = X' r. Of the penalties λ in `RIDGES`, in units of the mean eigenvalue,
    each label has the one with the least  RSS / (1 − (trace + 1) / n)²  (generalised cross-validation; one more for
    the constant), of which all parts follow from one eigendecomposition.
    """
    centre = sums.features / sums.weight
    eigenvalue, direction = np.linalg.eigh(sums.squares - sums.weight * np.outer(centre, centre))
    eigenvalue = np.maximum(eigenvalue, 0.0)  # rounding may leave some just below
    along = direction.T @ (sums.products - np.outer(centre, sums.responses))
    total = sums.power - sums.responses**2 / sums.weight
    unit = max(float(eigenvalue.mean()), NEAREST_PROBA)  # features that are all constant have no unit
    best, least = np.zeros_like(along), np.full(len(total), np.inf)
    for penalty in RIDGES:
        inverse = 1 / (eigenvalue + penalty * unit)
        fitted = 2 * inverse - eigenvalue * inverse**2
        residual = total - (fitted[:, None] * along**2).sum(axis=0)
        loss = residual / max(1 - float(eigenvalue @ inverse + 1) / sums.number, NEAREST_PROBA) ** 2
        better = loss < least
        least = np.where(better, loss, least)
        best = np.where(better, inverse[:, None] * along, best)
    return np.asarray(direction @ best)


# -- how far features are trusted ------------------------------------------------------------------------------------


class FeatureTrust(NamedTuple):
    """Weight w of the features, (n_labels,) scales, held-out gain per item with its error, number of items."""

    weight: float
    scale: Floats
    gain: float
    error: float
    n_items: int


def nothing(n_items: int, choice: FeatureTrust | None = None) -> ItemPrior:
    """No opinion; `choice` says why, None that there were too few items to choose by."""
    gain, error, n_scored = choice[2:] if choice else (0.0, 0.0, 0)
    return ItemPrior(0.0, gain, error, n_scored, np.zeros(0, np.int32), np.zeros((n_items, 0)))


def feature_log_odds(scores: Floats, prior: Floats, scale: Floats) -> Floats:
    """(n_items, n_labels) b + c s of (1)."""
    return np.asarray(intercepts(scores, prior, scale) + scale * scores)


def intercepts(scores: Floats, prior: Floats, scale: Floats, start: Floats | None = None) -> Floats:
    """(n_labels,) b, with which the mean of the priors of all items is the label's frequency.

    Newton's method on the log-odds of the mean, which is nearly linear in b; steps are bounded, so it cannot escape.
    """
    shift = np.zeros(len(prior)) if start is None else start.copy()
    wanted, moved = logit(prior), scale * scores
    for _ in range(INTERCEPT_STEPS):
        each = expit(wanted + shift + moved)
        mean = np.clip(each.mean(axis=0), NEAREST_PROBA * prior, 1 - NEAREST_PROBA * (1 - prior))
        slope = (each * (1 - each)).mean(axis=0) / (mean * (1 - mean))
        step = np.clip((wanted - logit(mean)) / np.maximum(slope, LEAST_SLOPE), -LONGEST_SHIFT, LONGEST_SHIFT)
        shift += step
        if np.abs(step).max(initial=0.0) < NEAREST_PROBA:
            break
    return shift


def votes_gain(own: Floats, prior: Floats, evidence: Floats) -> Floats:
    """(n_pairs,) by how much log P(votes) of (2) grows when the log-odds before the votes go from prior to own."""
    return np.asarray(
        np.logaddexp(0.0, own + evidence)
        - np.logaddexp(0.0, own)
        - np.logaddexp(0.0, prior + evidence)
        + np.logaddexp(0.0, prior)
    )


def nearness(own: Floats, prior: Floats, proba: Floats) -> Floats:
    """(n_pairs,) by how much the expected log-probability of presence grows from log-odds prior to own; p: `proba`."""
    return np.asarray(proba * (own - prior) - np.logaddexp(0.0, own) + np.logaddexp(0.0, prior))


def choose_weight(
    scores: Floats, prior: Floats, evidence: Floats, item: Codes, label: Codes, fold: Ints
) -> FeatureTrust:
    """How far features are trusted, label by label and as a whole, by votes that their scores have not seen.

    Scales are chosen twice: first the priors of items shall come near to the probabilities by votes alone, then to
    those by votes and features, since few votes leave a pair near its label's frequency, whatever its item is like. To
    go on like this would maximise (2), and that takes what features and votes have in common for the truth, also where
    workers err as the features suggest; it makes probabilities too sure (benchmarks/features.py).

    scores : (n_items, n_labels); evidence, item, label : (n_pairs,); fold : (n_items,)
    """
    n_items, n_labels = scores.shape
    # Whole items are drawn: the standard error is clustered by item.
    some = np.asarray(np.random.default_rng(0).random(n_items) < ENOUGH_PAIRS / max(len(item), 1))
    asked = some[item]
    item, label, evidence = item[asked], label[asked], evidence[asked]
    base, pair = logit(prior)[label], np.arange(len(item))
    own, shift = np.tile(base, (len(SCALES), 1)), np.zeros(n_labels)
    for row, scale in enumerate(SCALES[1:], start=1):
        shift = intercepts(scores[some], prior, np.full(n_labels, scale), shift)
        own[row] += shift[label] + scale * scores[item, label]
    cell = fold[item] * n_labels + label

    # A fold never chooses the scale by which it is judged itself: it would always like the features.
    def by_fold(proba: Floats) -> Floats:
        """(n_scales, n_folds, n_labels) nearness to these probabilities."""
        sums = [weight_per_code(cell, nearness(each, base, proba), N_FOLDS * n_labels) for each in own]
        return np.stack(sums).reshape(len(SCALES), N_FOLDS, n_labels)

    def as_others_choose(near: Floats) -> Floats:
        """(n_pairs,) log-odds before the votes, by the scales that are best in the other folds."""
        return np.asarray(own[(near.sum(axis=1, keepdims=True) - near).argmax(axis=0).ravel()[cell], pair])

    near = by_fold(expit(base + evidence))
    near = by_fold(expit(as_others_choose(near) + evidence))
    answered = np.unique(item)
    gains = weight_per_code(item, votes_gain(as_others_choose(near), base, evidence), n_items)[answered]
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    weight = 1 - (error / gain) ** 2 if gain > error else 0.0
    return FeatureTrust(weight, np.asarray(SCALES)[near.sum(axis=1).argmax(axis=0)], gain, error, len(answered))
