"""What a user may choose about a simulated crowd, and which choices fit together.

A new choice is a field of `CrowdSpec` with its limits beside it, a line in its docstring and, for the command line, a
line in `amcc.cli.simulate_crowd.FIELDS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from amcc.arrays import Floats
from amcc.data.simulate.kinds import HONEST_RATES, IS_SPAMMER, KIND_WEIGHTS, KINDS
from amcc.data.simulate.troubles import n_covered
from amcc.errors import ParameterError

# Items, workers and labels are int32 codes.
MOST_CODES = 2**31 - 1


def _within(default: float, low: float, high: float) -> Any:
    """Field of a number from `low` to `high`; it must be a whole number where its default is one."""
    return field(default=default, metadata={"limits": (type(default), low, high)})


def _check_number(name: str, value: Any, kind: type, low: float, high: float) -> None:
    """Raise ParameterError unless `value` is a finite number of this kind, int or float, from `low` to `high`."""
    # True counts as 1 in Python, but whoever writes n_items=True has mixed up two fields.
    is_number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if not (is_number and isfinite(value) and low <= value <= high):
        noun = "a whole number" if kind is int else "a number"
        limits = f"of at least {low}" if high == inf else f"from {low} to {high}"
        raise ParameterError(f"{name} must be {noun} {limits}; got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class CrowdSpec:
    """Everything that fixes a simulated crowd.

    Parameters
    ----------
    n_items, n_workers, n_labels : int
    answers_per_item : int. How many different workers answer each item; at most `n_workers`.
    labels_per_item : float. Mean number of true labels; above 0, below `n_labels`. An item may have none.
    correlation : float in [0, 1]. Share of the label scores' variance that comes from common factors.
    spammers : float in [0, 1]. Share of the workers who spam.
    kind_weights : mapping from kind to weight. How the honest workers split among the honest kinds, and the
        spammers among theirs. A kind left out keeps its weight in `KIND_WEIGHTS`.
    n_specialties : int. Clusters of related labels; an honest worker is better on one of them and worse on
        the others. 1 means no specialists; at most `n_labels`.
    activity_exponent : float. Activity falls with a worker's rank to this power; 0 makes all equally active.
    difficulty : float. Spread of the items' difficulty, in log-odds; on hard items most labels are missed.
    asked_share : float in (0, 1]. Share of the labels asked in an answer, chosen again for each answer.
    n_features : int. Item features: a noisy linear view of the factors behind the labels.
    seed : int

    Troubles, all off by default: with them, votes are no longer independent given what is present.

    faint, tempting : float in [0, 1]. Share of the present pairs that most workers miss, and of the absent pairs
        that most tick.
    pair_spread : float. Spread of an offset of each pair, in log-odds, common to all workers.
    taste : float. Spread of the leanings, in log-odds, that a group of workers shares on a label of an item.
    n_tastes : int. Such groups. taste_labels : float in (0, 1]. Share of the labels that are a matter of taste.
    n_models : int. How many of the workers, the last ones, are language models: each answers every item.
    n_families : int. Families of models, equally large up to one; at most `n_models`.
    family_correlation : float in [0, 1]. Correlation of the errors of models of one family and equal rates.
    model_correlation : float in [0, 1]. The same for models of different families; at most `family_correlation`.
    people_share : float in (0, 1]. Share of the items that people answer, `answers_per_item` each; below 1, there
        must be models.
    convention : float in [0, 1). Experts call true what at least this share of the honest workers would see: 1/3 is
        lenient, 0.8 strict. 0: what is present is true. Matters where pairs differ (`faint`, `tempting`,
        `pair_spread`).
    convention_spread : float. Log-odds by which that share differs between labels.

    Examples
    --------
    >>> CrowdSpec.for_votes(10**7).n_items
    100000
    >>> CrowdSpec(n_labels=20, asked_share=0.3).n_votes
    30000
    """

    n_items: int = _within(1000, 1, MOST_CODES)
    n_workers: int = _within(50, 1, MOST_CODES)
    n_labels: int = _within(10, 1, MOST_CODES)
    answers_per_item: int = _within(5, 1, inf)
    labels_per_item: float = _within(2.0, 0, inf)
    correlation: float = _within(0.9, 0, 1)
    spammers: float = _within(0.2, 0, 1)
    kind_weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    n_specialties: int = _within(3, 1, inf)
    # At 3 the most active worker of many is already drawn first for four items of five: no crowd any more.
    activity_exponent: float = _within(0.7, 0, 3)
    # This and other spreads are in log-odds: at 10 hardly a vote is left to chance.
    difficulty: float = _within(0.5, 0, 10)
    asked_share: float = _within(1.0, 0, 1)
    n_features: int = _within(0, 0, inf)
    seed: int = _within(0, 0, inf)
    faint: float = _within(0.0, 0, 1)
    tempting: float = _within(0.0, 0, 1)
    pair_spread: float = _within(0.0, 0, 10)
    taste: float = _within(0.0, 0, 10)
    # Each taste and each family adds a table of items × labels to a block, and makes blocks smaller.
    n_tastes: int = _within(2, 1, 1000)
    taste_labels: float = _within(0.5, 0, 1)
    n_models: int = _within(0, 0, MOST_CODES)
    n_families: int = _within(1, 1, 1000)
    family_correlation: float = _within(0.0, 0, 1)
    model_correlation: float = _within(0.0, 0, 1)
    people_share: float = _within(1.0, 0, 1)
    convention: float = _within(0.0, 0, 1)
    convention_spread: float = _within(0.0, 0, 10)

    def __post_init__(self) -> None:
        # First each number by itself: the rules between fields compare and divide them.
        for each in fields(self):
            if "limits" in each.metadata:
                _check_number(each.name, getattr(self, each.name), *each.metadata["limits"])
        for kind, weight in self.kind_weights.items():
            _check_number(f"kind_weights[{kind!r}]", weight, float, 0, inf)
        for name, holds, what in (*self._size_rules(), *self._trouble_rules()):
            if not holds:
                raise ParameterError(f"{name} must be {what}; got {getattr(self, name)!r}.")

    def _size_rules(self) -> Iterator[tuple[str, bool, str]]:
        """(field, whether it fits the others, what it must be)."""
        n_labels, n_workers, n_models = f"n_labels={self.n_labels}", f"n_workers={self.n_workers}", self.n_models
        yield "kind_weights", set(self.kind_weights) <= set(KINDS), f"weights of {', '.join(KINDS)}"
        yield "labels_per_item", 0 < self.labels_per_item < self.n_labels, f"above 0 and below {n_labels}"
        yield "n_specialties", self.n_specialties <= self.n_labels, f"at most {n_labels}"
        yield "n_models", n_models <= self.n_workers, f"at most {n_workers}"
        people = f"the {self.n_people} people ({n_workers} less {n_models=})" if n_models else n_workers
        # Where all workers are models nobody else answers, and the number of answers does not matter.
        yield "answers_per_item", self.answers_per_item <= self.n_people or self.n_people == 0, f"at most {people}"
        yield "asked_share", self.asked_share > 0, "above 0"
        placed = bool(np.isclose(self.kind_shares.sum(), 1))
        yield "kind_weights", placed, f"positive for some honest and some spammer kind when spammers={self.spammers}"

    def _trouble_rules(self) -> Iterator[tuple[str, bool, str]]:
        """As `_size_rules`: where troubles would contradict each other, or do nothing."""
        models = self.n_models > 0
        yield "taste_labels", self.taste_labels > 0, "above 0"
        yield "people_share", self.people_share > 0, "above 0; for models alone, make all workers models"
        yield "people_share", models or self.people_share == 1, "1 where there are no models (n_models=0)"
        yield "family_correlation", models or self.family_correlation == 0, "0 without models (n_models=0)"
        yield "n_families", self.n_families <= max(1, self.n_models), f"at most n_models={self.n_models}"
        within = f"at most family_correlation={self.family_correlation}"
        yield "model_correlation", self.model_correlation <= self.family_correlation, within
        yield "convention", self.convention < 1, "below 1: nothing is seen by all"
        shifted = self.convention > 0 or self.convention_spread == 0
        yield "convention_spread", shifted, "0 without a convention (convention=0)"
        honest_needed = (models or self.convention > 0) and not self.honest_shares.sum() > 0
        yield "kind_weights", not honest_needed, "positive for some honest kind, as models and experts are"

    @property
    def _weights(self) -> Floats:
        """(n_kinds,) in the order of `KINDS`."""
        return np.array([self.kind_weights.get(kind, usual) for kind, usual in KIND_WEIGHTS.items()])

    @property
    def kind_shares(self) -> Floats:
        """Share of the workers of each kind, in the order of `KINDS`; they sum to 1 where every camp has a weight."""
        weights, shares = self._weights, np.zeros(len(KINDS))
        for camp, camp_share in ((IS_SPAMMER, self.spammers), (~IS_SPAMMER, 1 - self.spammers)):
            shares[camp] = camp_share * weights[camp] / (weights[camp].sum() or 1)
        return shares

    @property
    def honest_shares(self) -> Floats:
        """Share of each honest kind among the honest, in the order of `HONEST_RATES`; zeros where none has weight."""
        weights = self._weights[: len(HONEST_RATES)]
        return np.asarray(weights / (weights.sum() or 1))

    @property
    def n_people(self) -> int:
        """Workers who are not models."""
        return self.n_workers - self.n_models

    @property
    def has_shared_offsets(self) -> bool:
        """Whether pairs differ for everybody."""
        return max(self.faint, self.tempting, self.pair_spread) > 0

    @property
    def is_independent(self) -> bool:
        """Whether votes are independent given the truth and the item's difficulty."""
        return not (self.has_shared_offsets or self.taste > 0 or self.family_correlation > 0 or self.convention > 0)

    @property
    def labels_per_answer(self) -> int:
        """Labels asked in one answer, at least one."""
        return max(1, round(self.asked_share * self.n_labels))

    @property
    def votes_per_item(self) -> int:
        """Votes on one item that people answer; without people, the models' alone."""
        return (self.n_models + (self.answers_per_item if self.n_people else 0)) * self.labels_per_answer

    @property
    def n_votes(self) -> int:
        """Votes of the whole crowd."""
        n_by_people = int(n_covered(np.array(self.n_items), self.covered_share))
        return (self.n_items * self.n_models + n_by_people * self.answers_per_item) * self.labels_per_answer

    @property
    def covered_share(self) -> float:
        """Share of the items that people answer; 0 where there are only models."""
        return self.people_share if self.n_people else 0.0

    @property
    def numbers_per_pair(self) -> int:
        """Numbers that a block holds for each of its pairs: presence, and what tastes and families share."""
        return 1 + self.n_tastes * (self.taste > 0) + self.n_families * (self.family_correlation > 0)

    @classmethod
    def for_votes(cls, n_votes: int, **changes: Any) -> CrowdSpec:
        """Spec of about `n_votes` votes: more votes come from more items, workers and (up to 20) labels.

        `changes` are any fields but `n_items`, which follows from them.

        >>> spec = CrowdSpec.for_votes(1000, spammers=0.6)
        >>> spec.n_items, spec.n_workers, spec.n_labels, spec.answers_per_item
        (40, 13, 5, 5)
        """
        _check_number("n_votes", n_votes, int, 1, inf)
        if "n_items" in changes:
            raise ParameterError(f"n_items must be left to for_votes; got {changes['n_items']!r}. Use CrowdSpec().")
        # The scale is a crowd of ten million votes: 100,000 items, 5000 workers with 100 answers each, 20 labels.
        # Workers grow more slowly than votes, so that larger crowds also know more about each worker (15 answers at a
        # thousand votes). Labels hardly grow; with fewer than 5 there would be little to correlate.
        size = n_votes / 10**7
        needed = changes.get("answers_per_item", cls.answers_per_item) + changes.get("n_models", 0)
        sizes = {
            "n_labels": int(np.clip(round(20 * size**0.15), 5, 20)),
            "n_workers": max(needed, round(5000 * size**0.65)),
        }
        spec = cls(n_items=1, **(sizes | changes))
        answers = spec.n_models + spec.covered_share * spec.answers_per_item
        return replace(spec, n_items=max(1, round(n_votes / (answers * spec.labels_per_answer))))
