"""What makes the votes of a simulated crowd dependent given presence, and makes truth differ from presence.

Pairs      everybody misses some labels that are there, and ticks some that are not (`pair_offsets`)
Taste      groups of workers lean the same way on an item's label (`taste_offsets`)
Families   language models of one family share their luck, and so their errors (`family_luck`, `shared_luck`)
Experts    keep what a given share of careful workers sees (`share_seen`), which is not what is there

Functions take a generator and plain arrays; `amcc.data.simulate.votes` calls them where a `CrowdSpec` asks for it.
"""

from __future__ import annotations

import numpy as np

from amcc.arrays import ROUNDING, Codes, Floats, Floats32, Ints, Mask

__all__ = [
    "FAINT_SHIFT",
    "TEMPTING_SHIFT",
    "covered_items",
    "family_luck",
    "n_covered",
    "pair_offsets",
    "share_seen",
    "shared_luck",
    "taste_offsets",
]


# In log-odds, so that the usual honest worker (hits .78, false alarms .05) sees .23 of the faint labels and ticks .74
# of the tempting ones; even reliable workers (.92, .02) are as likely wrong as right.
FAINT_SHIFT = -2.5
TEMPTING_SHIFT = 4.0


def pair_offsets(rng: np.random.Generator, present: Mask, *, faint: float, tempting: float, spread: float) -> Floats32:
    """Log-odds that each pair adds to the yes of everybody who looks, (items, n_labels).

    A share `faint` of the present pairs is shifted down, a share `tempting` of the absent ones up. In addition, all
    have a normal offset of standard deviation `spread`.
    """
    # Both at once: a pair is either present and may be faint, or absent and may be tempting.
    chosen = rng.random(present.shape, dtype=np.float32) < np.where(present, faint, tempting)
    offset = np.where(chosen, np.where(present, FAINT_SHIFT, TEMPTING_SHIFT), 0.0)
    total: Floats32 = (offset + spread * rng.standard_normal(present.shape, dtype=np.float32)).astype(np.float32)
    return total


def taste_offsets(rng: np.random.Generator, n_items: int, concerned: Mask, n_tastes: int, strength: float) -> Floats32:
    """Log-odds that a group's taste adds on each pair, (items, n_labels, n_tastes); 0 for labels not `concerned`."""
    # Drawn for all labels, so that the leanings on one do not depend on which others are a matter of taste.
    leaning = rng.standard_normal((n_items, concerned.size, n_tastes), dtype=np.float32)
    return leaning * np.float32(strength) * concerned[:, None].astype(np.float32)


def family_luck(
    rng: np.random.Generator, n_items: int, n_labels: int, n_families: int, *, within: float, between: float
) -> Floats32:
    """What the members of each family have in common on each pair, uniform in [0, 1), (items, n_labels, n_families).

    Members copy it with chance √within (see `shared_luck`). For a correlation of `between` across families, a family's
    luck is in turn that of all models with chance √(between / within).
    """
    own = rng.random((n_items, n_labels, n_families), dtype=np.float32)
    if between == 0:
        return own
    of_all = rng.random((n_items, n_labels, 1), dtype=np.float32)
    follows = rng.random(own.shape, dtype=np.float32) < np.sqrt(between / within)
    return np.where(follows, of_all, own)


def shared_luck(rng: np.random.Generator, common: Floats32, correlation: float) -> Floats32:
    """Luck of each vote, uniform in [0, 1): the `common` one with chance √correlation, else its own.

    Two votes both have the common luck with chance `correlation`. Whoever says yes when the luck falls below their
    rate is then right or wrong together with others of the same rate at just this correlation; where rates differ it is
    lower, because the better one cannot make all the errors of the other.
    """
    own = rng.random(common.shape, dtype=np.float32)
    copies = rng.random(common.shape, dtype=np.float32) < np.sqrt(correlation)
    return np.where(copies, common, own)


def share_seen(log_odds: Floats, shift: Floats32, weight: Floats) -> Floats32:
    """Share of the workers who would say yes, same shape as `shift`.

    log_odds : (n_kinds, ...) of a yes by each kind of worker, weight : (n_kinds,) how many they are, sums to 1.
    """
    seen: Floats32 = np.zeros(shift.shape, dtype=np.float32)
    for usual, share in zip(log_odds, weight, strict=True):
        seen += np.float32(share) / (1 + np.exp(-(usual.astype(np.float32) + shift)))
    return seen


def n_covered(n_items: Ints, share: float) -> Ints:
    """How many of the first `n_items` items people answer, same shape: ⌊n · share⌋.

    >>> n_covered(np.array([3, 4, 100]), 0.29).tolist()
    [0, 1, 29]
    """
    # A share of 0.29 of 100 items is 29 of them, yet 100 · 0.29 is 28.999999999999996.
    return np.asarray(np.floor(n_items * share + ROUNDING), dtype=np.int64)


def covered_items(items: range, share: float) -> Codes:
    """Places in `items` of those that people answer, evenly spread; items are alike, so no luck is needed.

    >>> covered_items(range(4, 10), 0.5).tolist()
    [1, 3, 5]
    """
    before = n_covered(np.arange(items.start, items.stop + 1), share)
    return np.flatnonzero(np.diff(before)).astype(np.int32)
