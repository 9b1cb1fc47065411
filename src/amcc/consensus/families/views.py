"""The fitted tree: how far each source follows its view, and each view the truth.

Loadings κ are fitted in Fisher's z = artanh κ, validities τ and φ in log-odds: both are then free of bounds, and a
prior of normal shape makes sense for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from amcc.arrays import Floats, sigmoid
from amcc.consensus.families.correlations import VoteCorrelations
from amcc.consensus.families.tree import ViewTree
from amcc.roster import CODE, HUMAN, MODEL
from amcc.special import logit

# Pairs that two sources must share before their correlation is looked at: its standard error, 1/√n, is about 0.3 there.
FEWEST = 10

# Correlations differ from the tree by about this much, however many votes there are: the tree is a simplification, and
# with millions of votes it would otherwise have to explain every digit.
MISFIT = 0.03

# Loading of a vote on what its worker sees, and its spread in z: 95 % of loadings lie between −0.4 and 0.96.
LOADING, LOADING_SPREAD = 0.65, 0.6

# The same for a person and the truth, a little narrower: a person's votes are about the truth itself.
PERSON, PERSON_SPREAD = 0.65, 0.5

# Mean correlation of models is held to this range, so that the prior of their view and of their loadings is finite.
LEAST_AGREEMENT, MOST_AGREEMENT = 0.05, 0.95

# Validity of what models see together is MODELS_VIEW + MODELS_VIEW_SLOPE · their mean correlation: models that
# contradict each other do not see well together either. That is 0.6 to 0.8 on most tasks, and makes nine models worth
# two or three votes, as others have found. The spread is in log-odds; several people, or ten known items, overrule it.
MODELS_VIEW, MODELS_VIEW_SLOPE, MODELS_VIEW_SPREAD = 0.45, 0.4, 0.6

# Validity of the view of a family within its kind, by kind. Versions of one model are hardly more alike than models are
# anyway; people who were trained together share little; rules by one author share much. The spread, in log-odds, is
# wide, since families differ: 0.97 may as well be 0.8 or 0.995.
FAMILY_VIEW = {HUMAN: 0.95, MODEL: 0.97, CODE: 0.8}
FAMILY_VIEW_SPREAD = 1.0


@dataclass(frozen=True)
class Views:
    """A fitted tree.

    loading : (n_sources,) κ, correlation of a vote with what its worker sees
    validity : (n_views,) correlation of what a view sees with what lies above it
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
        """(n_sources, n_sources) correlation of two votes on a pair, as the tree predicts it.

        Views above both of two sources are common to them and do not separate their votes: their logs, which stand
        twice in the sum of both, are taken out.
        """
        weighted = self.tree.seen_by * np.log(self.validity)
        above = weighted.sum(axis=1)
        between = np.exp(above[:, None] + above[None, :] - 2 * weighted @ self.tree.seen_by.astype(np.float64).T)
        return np.asarray(np.outer(self.loading, self.loading) * between)


def view_priors(tree: ViewTree, correlations: VoteCorrelations) -> tuple[Floats, Floats]:
    """Centres and spreads before the data speak: of z of each source but truth, then of the log-odds of each view."""
    machine = (tree.source_kind != HUMAN)[~tree.is_truth]
    weight = correlations.shared * np.outer(tree.is_model, tree.is_model)
    models_meet = weight.sum() > 0
    agreement = float((correlations.correlation * weight).sum() / weight.sum()) if models_meet else LOADING**2
    agreement = float(np.clip(agreement, LEAST_AGREEMENT, MOST_AGREEMENT))
    # Two models of one family correlate by κ², so that the root of what they agree is a first guess of κ.
    loading = np.where(machine, np.sqrt(agreement) if models_meet else LOADING, PERSON)
    of_all, kinds = tree.view_family < 0, tree.view_kind.tolist()
    validity = np.where(of_all, MODELS_VIEW + MODELS_VIEW_SLOPE * agreement, [FAMILY_VIEW[kind] for kind in kinds])
    centre = np.concatenate([np.arctanh(loading), logit(validity)])
    spread = np.where(machine, LOADING_SPREAD, PERSON_SPREAD), np.where(of_all, MODELS_VIEW_SPREAD, FAMILY_VIEW_SPREAD)
    return centre, np.concatenate(spread)


def fit_views(tree: ViewTree, correlations: VoteCorrelations) -> Views:
    """Loadings and validities that explain the correlations best, held to the prior: least squares.

    Each correlation r of n pairs of votes has the standard error (1 − r²) / √n, beside `MISFIT`.
    """
    n_free = int((~tree.is_truth).sum())  # truth, if it is there, is the last source, and its loading is 1
    first, second = np.triu_indices(tree.n_sources)
    enough = correlations.shared[first, second] >= FEWEST
    first, second = first[enough], second[enough]
    seen = correlations.correlation[first, second]
    error = np.sqrt((1 - seen**2) ** 2 / correlations.shared[first, second] + MISFIT**2)
    differ = tree.seen_by[first] != tree.seen_by[second]  # the views that lie between two sources
    centre, spread = view_priors(tree, correlations)

    def unpacked(x: Floats) -> tuple[Floats, Floats]:
        return np.append(np.tanh(x[:n_free]), np.ones(tree.n_sources - n_free)), sigmoid(x[n_free:])

    def residuals(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        expected = loading[first] * loading[second] * np.exp(differ @ np.log(validity))
        return np.concatenate([(seen - expected) / error, (x - centre) / spread])

    def jacobian(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        between = np.exp(differ @ np.log(validity))
        by_loading = np.zeros((len(first), tree.n_sources))
        for one, other in ((first, second), (second, first)):  # a source beside itself counts twice, as κ² does
            by_loading[np.arange(len(first)), one] += (1 - loading[one] ** 2) * loading[other] * between
        by_validity = (loading[first] * loading[second] * between)[:, None] * differ * (1 - validity)
        slope = np.hstack([by_loading[:, :n_free], by_validity])
        return np.concatenate([-slope / error[:, None], np.diag(1 / spread)])

    from scipy.optimize import least_squares  # a third of a second that only fits with a roster need to wait for

    # The prior gives as many residuals as there are parameters, so "lm" has enough of them; with none it would refuse.
    found = least_squares(residuals, centre, jacobian, method="lm" if len(centre) else "trf")
    return Views(tree, *unpacked(found.x))
