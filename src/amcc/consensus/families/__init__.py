"""What workers share beside the truth, and how many independent votes they are worth together.

Language models resemble each other: they have read the same texts. Where six of them agree, the label is not six times
as certain as where one of them says so. Here, votes follow the truth through *views*:

    truth ── validity τ ──▶ what models see ── φ ──▶ what a family sees ── loading κ ──▶ vote of a worker

People look for themselves (no view between truth and vote), unless a roster puts them into a family. Two votes on a
pair correlate, within labels, by the product of all that lies between them:

    two models of different families       κ κ' φ φ'
    two models of one family               κ κ'
    a model and a person                   κ φ τ λ            λ: correlation of the person's votes with truth
    two people                             λ λ'

The loadings come from how far models agree. Their votes cannot show τ: whether what they agree on is true. People who
vote on the same pairs show it (several people, since they must be checked by each other), and known truth does (it is a
voter of validity 1). Where neither is there, the prior decides, `views.MODELS_VIEW`.

Votes of a family are not independent given truth. Fisher's discriminant is the best linear reading of them all, and the
tree of views gives its inverse covariance in closed form. It takes from each vote the share that
`weights.design_weights` returns: about n_eff / n for each of n votes that are worth n_eff. With equal loadings,
n_eff = n / (1 + (n − 1) ρ), where ρ is the correlation of their errors.

On three sets with language models and known truth the ratio λ / κ is nearly the same for all models of a set
(0.52, 0.67, 0.80). A view that all models share implies this. The tree assumes that they share errors *in proportion to
what they see*.

Where to read: `tree` (who shares which view), `correlations` (what the votes show), `views` (the fitted numbers),
`weights` (what a vote is worth), `description` (families in tables and words). `amcc.consensus.undeclared` looks for
families that nobody declared.
"""

from __future__ import annotations

from amcc.consensus.families.description import Families, describe_families, no_families
from amcc.consensus.families.weights import (
    Sharing,
    effective_counts,
    families_behind,
    samples_per_pair,
    shared_errors,
    voices,
)

__all__ = [
    "Families", "Sharing", "describe_families", "effective_counts", "families_behind", "no_families",
    "samples_per_pair", "shared_errors", "voices",
]  # fmt: skip
