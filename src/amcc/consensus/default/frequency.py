"""How often labels are present: each label for itself, held to the common frequency of all labels.

    frequency[l] ~ Beta(lent · usual, lent · (1 − usual)),    usual ~ Beta, around `usual_yes`

with `pseudo_votes` as what is lent. The frequencies are integrated out, `usual` is the most probable one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from amcc.arrays import Floats
from amcc.consensus.default.bayes import effective_votes_of, log_evidence
from amcc.consensus.default.settings import Settings
from amcc.fields import Each
from amcc.special import digamma


@dataclass(frozen=True)
class LabelFrequency:
    """How often labels are present.

    present, absent : (n_labels,) expected pairs of each label
    usual : common frequency of all labels
    lent : pairs that all labels together lend to each
    """

    present: Annotated[Floats, Each("label")]
    absent: Annotated[Floats, Each("label")]
    usual: float
    lent: float

    @property
    def prior(self) -> tuple[float, float]:
        """Pairs lent to each label, present and absent."""
        return self.lent * self.usual, self.lent * (1 - self.usual)

    @property
    def posterior(self) -> tuple[Floats, Floats]:
        """Beta posterior of each label's frequency."""
        present, absent = self.prior
        return self.present + present, self.absent + absent

    @property
    def log_odds(self) -> Floats:
        """(n_labels,) expected log-odds of a pair before its votes."""
        # E[log f] − E[log(1 − f)], as the bound has it; the mean's own log-odds would be too sure of labels seldom met.
        present, absent = self.posterior
        return np.asarray(digamma(present) - digamma(absent))

    @property
    def mean(self) -> Floats:
        """(n_labels,) probability of a pair that nobody was asked about."""
        present, absent = self.posterior
        return present / (present + absent)

    def bound(self, settings: Settings) -> float:
        """The labels' share of the bound: their frequencies integrated out, and the prior of the common one."""
        present, absent = lent_to_all(settings)
        of_usual = present * np.log(self.usual) + absent * np.log1p(-self.usual)
        lent = np.array(self.prior)
        return float(log_evidence(lent[0], lent[1], self.present, self.absent).sum() + of_usual)


def lent_to_all(settings: Settings) -> tuple[float, float]:
    """Pairs, present and absent, by which the common frequency is held to the usual one."""
    # As many as all labels lend to one: a single label can then move the common frequency, and two hundred outweigh it.
    return settings.pseudo_votes * settings.usual_yes, settings.pseudo_votes * (1 - settings.usual_yes)


def update_usual(frequency: LabelFrequency, settings: Settings) -> LabelFrequency:
    """The common frequency of labels: the maximum of Minka's function (`effective_votes_of`), which is a share."""
    pairs = zip(frequency.prior, (frequency.present, frequency.absent), lent_to_all(settings), strict=True)
    # With shares as unknowns the function is a · log usual + b · log(1 − usual): its maximum needs no steps.
    yes, no = (effective_votes_of(np.asarray(lent), met).sum() + to_all for lent, met, to_all in pairs)
    return replace(frequency, usual=float(yes / (yes + no)))
