"""p(y_il = 1 | x_i) of eq7 by a classifier: a logistic regression per label on features, taught by the consensus.

The log-odds of a label are b + β·x, with features x of mean 0 and deviation 1. Every pair (item, label) that somebody
was asked about teaches with the probability p that the consensus gives it: it is present with weight p and absent with
weight 1 − p. The regressions minimise

    Σ over asked pairs  log(1 + exp(b + β·x)) − p (b + β·x)    +    λ / 2 ‖β‖².

- λ = number of features / `FEATURE_VARIANCE`: before any answer, β·x is expected to vary by that much between items,
  however many features there are. So few answers, or features that say nothing, leave an item near its label's
  frequency, and nothing needs to be chosen by trying, at every choice of questions.
- One more pair with x = 0 stands for the pairs that nobody was asked about, with their mean probability. A label that
  nobody was asked about, or that all items have, or none, thus has a finite frequency b, and β = 0.
- *Cross-fitted*: an asked pair is predicted by a regression on other items only, any other pair by one on all asked
  ones. An item whose votes vouch for themselves would look certain.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.item_features import NEAREST_PROBA, standardised
from amcc.errors import ParameterError
from amcc.special import expit, logit

# Who says p of eq7, where items have features. "consensus": the votes, and of a pair that nobody was asked about how
# frequent its label is. "classifier": of such a pair the features, of any other the votes. "printed": the features, of
# all pairs, whatever was voted on them.
Predictor = Literal["consensus", "classifier", "printed"]

# Variance of β·x, in squared log-odds, that is expected before any answer: a deviation of 2 takes a label with even
# odds to 12 or 88 %. With 1, unanswered items were predicted worse after few answers; with 16, after many, where
# features say little (benchmarks/classifier.py --part alone).
FEATURE_VARIANCE = 4.0

# Parts of the items, each predicted by the others. A regression on four fifths is hardly worse than one on all, and
# every part costs a fit at every choice of questions.
N_FOLDS = 5

# Steps of L-BFGS at most. A dozen or two are usual in these coordinates.
MOST_STEPS = 100


def presence_of(beliefs: CurrentBeliefs, asked: Mask, predictor: Predictor) -> Floats:
    """(n_items, n_labels) p of eq7; without features, that of the consensus in any case."""
    if predictor == "consensus" or beliefs.features is None:
        return beliefs.proba
    by_features = presence_by_features(beliefs.features, beliefs.proba, asked)
    return by_features if predictor == "printed" else np.where(asked, beliefs.proba, by_features)


def presence_by_features(features: Floats, proba: Floats, asked: Mask, *, variance: float = FEATURE_VARIANCE) -> Floats:
    """(n_items, n_labels) probability that the label is present, as a logistic regression on the features predicts it.

    features : (n_items, n_features)
    proba : (n_items, n_labels) probabilities by the consensus
    asked : (n_items, n_labels) the pairs that anybody was asked about; those teach
    variance : of the log-odds β·x, as expected before any answer

    Examples
    --------
    >>> features = np.array([[1.0], [2.0], [5.0], [6.0], [0.0], [7.0]])
    >>> proba = np.array([[0.1], [0.1], [0.9], [0.9], [0.5], [0.5]])
    >>> asked = np.array([[True], [True], [True], [True], [False], [False]])
    >>> presence_by_features(features, proba, asked)[4:].round(1).tolist()
    [[0.1], [0.9]]
    """
    if features.ndim != 2 or len(features) != len(proba):
        raise ParameterError(f"features must have one row per item ({len(proba)}); got shape {features.shape}.")
    answered = np.flatnonzero(asked.any(axis=1))
    unasked = mean_of_unasked(proba, asked)
    place, penalty = coordinates(standardised(features), answered, variance)

    def log_odds(item: Ints, learned: Ints) -> Floats:
        """Of these items, by a regression on those."""
        return predicted(place[item], *fitted(place[learned], proba[learned], asked[learned], unasked, penalty))

    result = log_odds(np.arange(len(proba)), answered)
    fold = item_folds(features[answered])
    for number in range(N_FOLDS):
        out = answered[fold == number]
        result[out] = np.where(asked[out], log_odds(out, answered[fold != number]), result[out])
    return np.asarray(expit(result))


def mean_of_unasked(proba: Floats, asked: Mask) -> Floats:
    """(n_labels,) mean probability of the pairs that nobody was asked about, ½ where there is none.

    What asked pairs say has no part in it, so that no pair teaches its own prediction in this way.
    """
    number = (~asked).sum(axis=0)
    mean = np.where(asked, 0.0, proba).sum(axis=0) / np.maximum(number, 1)
    return np.where(number > 0, np.clip(mean, NEAREST_PROBA, 1 - NEAREST_PROBA), 0.5)


def item_folds(features: Floats) -> Ints:
    """(n_items,) fold of each item. Neighbours in the order of their features part: no matter in which order they come.

    >>> item_folds(np.array([[7.0], [3.0], [5.0]])).tolist()
    [2, 0, 1]
    """
    rank = np.empty(len(features), dtype=np.int64)
    rank[np.lexsort(features.T) if features.shape[1] else np.arange(len(features))] = np.arange(len(features))
    return rank % N_FOLDS


# -- regression ------------------------------------------------------------------------------------------------------


def coordinates(features: Floats, answered: Ints, variance: float) -> tuple[Floats, Floats]:
    """(n_items, n) other coordinates of standardised features, and (n,) the penalty of each.

    Principal directions of the answered items, scaled so that the loss is about equally curved in all of them: L-BFGS
    then needs few steps. They are no more than the answered items, and what lies beside them no regression can use.
    """
    penalty = max(int(features.any(axis=0).sum()), 1) / variance
    _, size, direction = np.linalg.svd(features[answered], full_matrices=False)
    scale = np.sqrt(size**2 / 4 + penalty)  # p (1 − p) is at most ¼
    return features @ (direction.T / scale), penalty / scale**2


def fitted(place: Floats, proba: Floats, asked: Mask, unasked: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Constants (n_labels,) and coefficients (n, n_labels) of all labels' regressions, by L-BFGS."""
    shape = len(penalty) + 1, len(unasked)
    weight = asked.astype(np.float64)
    total = weight.sum(axis=0) + 1.0
    start = np.zeros(shape)
    start[0] = logit(((weight * proba).sum(axis=0) + unasked) / total)
    # The constant is scaled as the other coordinates are.
    scale = np.sqrt(total.mean() / 4)

    def loss(flat: Floats) -> tuple[float, Floats]:
        """The sum of the module's docstring, and its gradient."""
        constant, slope = flat.reshape(shape)[0] / scale, flat.reshape(shape)[1:]
        log_odds = predicted(place, constant, slope)
        value = (weight * (np.logaddexp(0.0, log_odds) - proba * log_odds)).sum()
        value += (np.logaddexp(0.0, constant) - unasked * constant).sum() + (penalty @ slope**2).sum() / 2
        error, error_of_unasked = weight * (expit(log_odds) - proba), expit(constant) - unasked
        gradient = np.vstack(
            [(error.sum(axis=0) + error_of_unasked) / scale, place.T @ error + penalty[:, None] * slope]
        )
        return float(value), gradient.ravel()

    start[0] *= scale
    # Here, for it takes a second to import and only strategies with features need it.
    from scipy.optimize import minimize

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}).x.reshape(shape)
    return best[0] / scale, best[1:]


def predicted(place: Floats, constant: Floats, slope: Floats) -> Floats:
    """(n_items, n_labels) log-odds b + β·x."""
    return np.asarray(constant + place @ slope)
