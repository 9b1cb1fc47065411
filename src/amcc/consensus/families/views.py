"""The fitted tree: how far each source follows its view, and each view the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.special import logit

from amcc.arrays import Floats, Mask, sigmoid
from amcc.consensus.families.correlations import VoteCorrelations
from amcc.consensus.families.tree import ViewTree
from amcc.roster import CODE, HUMAN, MODEL

FEWEST = 10
"""Pairs that two sources must share before their correlation is looked at."""

MISFIT = 0.03
"""Correlations differ from the tree by this much, however many votes there are: it is a simplification."""

LOADING, LOADING_SPREAD = 0.65, 0.6
"""Of a vote on what its worker sees, before the data speak; the spread is in Fisher's z."""

PERSON, PERSON_SPREAD = 0.65, 0.5
"""Correlation of a person's votes with truth, likewise."""

MODELS_VIEW, MODELS_VIEW_SLOPE, MODELS_VIEW_SPREAD = 0.45, 0.4, 0.6
"""Validity of what models see together: the first, and the second times their mean correlation (models that contradict
each other do not see well together either). 0.6 to 0.8 on most tasks: nine models are worth two or three votes, as
others have found. The spread is in log-odds: several people, or ten known items, overrule it."""

FAMILY_VIEW = {HUMAN: 0.95, MODEL: 0.97, CODE: 0.8}

FAMILY_VIEW_SPREAD = 1.0
"""Of a family within its kind. Versions of one model are hardly more alike than models are anyway; people who were
trained together share little; rules by one author share much."""


@dataclass(frozen=True)
class Views:
    """A fitted tree.

    loading : (n_sources,) κ, of a vote on what its worker sees; validity : (n_views,) of a view for the one above it
    """

    tree: ViewTree
    loading: Floats
    validity: Floats

    @property
    def to_truth(self) -> Floats:
        """(n_sources,) product of the validities between what a source sees and the truth."""
        return np.asarray(np.exp(self.tree.seen_by @ np.log(self.validity)))

    @property
    def skill(self) -> Floats:
        """(n_sources,) λ, correlation of a vote with truth."""
        return self.loading * self.to_truth

    def correlation(self) -> Floats:
        """(n_sources, n_sources) of two votes on a pair, as the tree has it."""
        return np.outer(self.loading, self.loading) * _between(self.tree.seen_by, self.validity)


def _between(seen_by: Mask, validity: Floats) -> Floats:
    """(n_sources, n_sources) product of the validities of all views above one of two sources and not above both."""
    seen, weighted = seen_by.astype(np.float64), seen_by * np.log(validity)
    above = weighted.sum(axis=1)
    return np.asarray(np.exp(above[:, None] + above[None, :] - 2 * weighted @ seen.T))


@dataclass(frozen=True)
class ViewPriors:
    """Centres and spreads of loadings (Fisher's z) and validities (log-odds), before the data speak."""

    loading: Floats
    loading_spread: Floats
    validity: Floats
    validity_spread: Floats


def view_priors(tree: ViewTree, correlations: VoteCorrelations) -> ViewPriors:
    """See the constants above."""
    machine = tree.source_kind != HUMAN
    models = (tree.source_kind == MODEL) & ~tree.is_truth
    both = np.outer(models, models)
    weight = (correlations.shared * both).sum()
    agree = float((correlations.correlation * correlations.shared * both).sum() / weight) if weight else LOADING**2
    agree = float(np.clip(agree, 0.05, 0.95))
    loading = np.where(machine, np.sqrt(agree) if weight else LOADING, PERSON)
    spread = np.where(machine, LOADING_SPREAD, PERSON_SPREAD)
    of_models = logit(MODELS_VIEW + MODELS_VIEW_SLOPE * agree)
    validity = np.array(
        [
            of_models if family < 0 else logit(FAMILY_VIEW[kind])
            for kind, family in zip(tree.view_kind.tolist(), tree.view_family.tolist(), strict=True)
        ]
    )
    validity_spread = np.where(tree.view_family < 0, MODELS_VIEW_SPREAD, FAMILY_VIEW_SPREAD)
    return ViewPriors(np.arctanh(loading), spread, validity, validity_spread)


def fit_views(tree: ViewTree, correlations: VoteCorrelations) -> Views:
    """Loadings and validities that explain the correlations best, held to the prior: least squares."""
    prior = view_priors(tree, correlations)
    free = np.flatnonzero(~tree.is_truth)
    first, second = np.triu_indices(tree.n_sources)
    enough = correlations.shared[first, second] >= FEWEST
    first, second = first[enough], second[enough]
    seen = correlations.correlation[first, second]
    error = np.sqrt((1 - seen**2) ** 2 / correlations.shared[first, second] + MISFIT**2)
    differ = tree.seen_by[first] != tree.seen_by[second]
    rows = np.arange(len(first))
    at = np.full(tree.n_sources, -1)
    at[free] = np.arange(len(free))

    def unpacked(x: Floats) -> tuple[Floats, Floats]:
        loading = np.ones(tree.n_sources)
        loading[free] = np.tanh(x[: len(free)])
        return loading, sigmoid(x[len(free) :])

    centre = np.concatenate([prior.loading[free], prior.validity])
    spread = np.concatenate([prior.loading_spread[free], prior.validity_spread])

    def residuals(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        expected = loading[first] * loading[second] * np.exp(differ @ np.log(validity))
        return np.concatenate([(seen - expected) / error, (x - centre) / spread])

    def jacobian(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        between = np.exp(differ @ np.log(validity))
        slope = np.zeros((len(first), len(x)))
        for one, other in ((first, second), (second, first)):
            mine = at[one] >= 0
            slope[rows[mine], at[one][mine]] += ((1 - loading[one] ** 2) * loading[other] * between)[mine]
        slope[:, len(free) :] = (loading[first] * loading[second] * between)[:, None] * differ * (1 - validity)
        return np.concatenate([-slope / error[:, None], np.diag(1 / spread)])

    found = least_squares(residuals, centre, jacobian, method="lm" if len(centre) else "trf")
    return Views(tree, *unpacked(found.x))
