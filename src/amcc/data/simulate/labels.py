"""How items come to have labels: a probit factor model with Zipf's frequencies.

Each item has `N_FACTORS` normal factors, each label a direction among them. An item's score on a label is its factors
along that direction, plus noise; the label is present where the score passes the label's threshold. Labels of similar
direction occur together, and the thresholds decide how often each occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from amcc.arrays import Codes, Floats, Floats32, Mask
from amcc.data.simulate.kinds import logit, sigmoid
from amcc.data.simulate.spec import CrowdSpec

# Few, so that many pairs of labels point in similar directions.
N_FACTORS = 3
# Of a label's odds against its rank. Below the 1 of words in texts: of ten labels the first has 6 times the odds of
# the last, so that rare labels still occur in small crowds.
ZIPF_EXPONENT = 0.8
# A frequency of 0 or 1 would have an infinite threshold; no crowd is large enough to tell this one from them.
LEAST_FREQUENCY = 1e-12


@dataclass(frozen=True)
class Labels:
    """How items come to have labels and features.

    loading : (N_FACTORS, n_labels) unit columns; threshold, cluster : (n_labels,);
    feature_loading : (N_FACTORS, n_features); tasteful : (n_labels,) whether a label is a matter of taste;
    convention : (n_labels,) share of honest workers who must see it for experts to keep it.
    """

    loading: Floats32
    threshold: Floats32
    cluster: Codes
    feature_loading: Floats32
    tasteful: Mask
    convention: Floats32


def draw_labels(rng: np.random.Generator, trouble_rng: np.random.Generator, spec: CrowdSpec) -> Labels:
    """The labels of a crowd; tastes and conventions come from `trouble_rng`, all else from `rng`."""
    loading = rng.standard_normal((N_FACTORS, spec.n_labels), dtype=np.float32)
    loading /= np.linalg.norm(loading, axis=0)
    frequency = rng.permutation(zipf_frequencies(spec.n_labels, spec.labels_per_item))
    threshold = [-NormalDist().inv_cdf(share) for share in frequency.clip(LEAST_FREQUENCY, 1 - LEAST_FREQUENCY)]
    n_tasteful = max(1, round(spec.taste_labels * spec.n_labels)) if spec.taste > 0 else 0
    # Drawn even where the spread is 0: a change of one trouble must not shift what is drawn for the next.
    convention_shift = spec.convention_spread * trouble_rng.standard_normal(spec.n_labels)
    return Labels(
        loading=loading,
        threshold=np.array(threshold, dtype=np.float32),
        cluster=_cluster_by_first_factor(loading, spec.n_specialties),
        feature_loading=rng.standard_normal((N_FACTORS, spec.n_features), dtype=np.float32),
        tasteful=trouble_rng.permutation(spec.n_labels) < n_tasteful,
        convention=sigmoid(logit(spec.convention) + convention_shift).astype(np.float32),
    )


def zipf_frequencies(n_labels: int, total: float) -> Floats:
    """Falling label frequencies, (n_labels,), that add up to `total`; their odds follow Zipf's law.

    Odds and not frequencies, for these could pass 1 where items have many labels.

    >>> zipf_frequencies(3, total=1.5).round(2).tolist()
    [0.62, 0.48, 0.4]
    """
    log_odds = -ZIPF_EXPONENT * np.log(np.arange(1, n_labels + 1))
    # All frequencies are below e⁻⁵⁰ at the lower end, and within e⁻⁵⁰ of 1 at the upper: the sum lies between.
    low, high = -50.0, 50.0 - log_odds[-1]
    for _ in range(100):  # halving 100 times leaves no gap between two neighbouring floats
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(log_odds + middle).sum() < total else (low, middle)
    frequency: Floats = sigmoid(log_odds + low)
    return frequency


def _cluster_by_first_factor(loading: Floats32, n_clusters: int) -> Codes:
    """Cluster of each label, (n_labels,): equal slices of the labels in the order of their first loading."""
    rank = loading[0].argsort().argsort()
    cluster: Codes = (rank * n_clusters // rank.size).astype(np.int32)
    return cluster


def draw_presence(rng: np.random.Generator, spec: CrowdSpec, labels: Labels, factors: Floats32) -> Mask:
    """Whether each label's score passes its threshold on each item, (items, n_labels)."""
    noise = rng.standard_normal((len(factors), spec.n_labels), dtype=np.float32)
    # Shares of a variance of 1, so that the thresholds give the wanted frequencies at any correlation.
    common, own = np.sqrt([spec.correlation, 1 - spec.correlation], dtype=np.float32)
    present: Mask = common * (factors @ labels.loading) + own * noise > labels.threshold
    return present
