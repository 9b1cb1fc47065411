"""What workers share beside the truth, and how many independent votes they are worth together.

Language models resemble each other: they have read the same texts. Where six of them agree, it is rarely because the
label is there six times over. Here, votes follow the truth through *views*:

    truth ── validity τ ──▶ what models see ── φ ──▶ what a family sees ── loading κ ──▶ vote of a worker

People look for themselves (no view between truth and vote), unless a roster puts them into a family. Two votes on a
pair correlate, within labels, by the product of all that lies between them:

    two models of different families       κ κ' φ φ'
    two models of one family               κ κ'
    a model and a person                   κ φ τ λ            λ: correlation of the person's votes with truth
    two people                             λ λ'

The loadings come from how far models agree. What nobody can see in their votes is τ: whether that on which they agree
is true. People who vote on the same pairs say it (if there are several, since they must be checked by each other), and
known truth does (it is a voter of validity 1). As far as they do not, the prior decides, `MODELS_VIEW`.

Votes of a family are not independent given truth. The best linear reading of them all (Fisher's discriminant, whose
inverse covariance the tree of views gives in closed form) takes from each vote the share that `vote_weights` returns:
about n_eff / n for each of n votes that are worth n_eff. With equal loadings, n_eff = n / (1 + (n − 1) ρ), where ρ is
the correlation of their errors.

On three sets with language models and known truth the ratio λ / κ is nearly the same for all models of a set
(0.52, 0.67, 0.80), as a view that all models share implies; that they share errors *in proportion to what they see* is
what the tree assumes.
"""

from __future__ import annotations

from amcc.consensus.families.description import Families, describe_families
from amcc.consensus.families.weights import effective_counts, families_behind, samples_per_pair, shared_errors

__all__ = [
    "Families", "describe_families", "effective_counts", "families_behind", "samples_per_pair", "shared_errors",
]  # fmt: skip
