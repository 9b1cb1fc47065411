"""What counts as present: our guess from the share of people who would say yes, where no truth is known.

Votes cannot say it. An expert may keep what one worker in three saw, or only what most see. The guess rises with the
share of yes, and comes near 0 or 1 only where nearly everybody agrees. Known truth corrects it (`AMCC.fit(truth=…)`).

    log-odds of presence = steepness · (log-odds of a yes + lean)
"""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, clipped, sigmoid
from amcc.consensus.default.settings import Settings
from amcc.special import logit

# No share of yes counts as nearer to 0 or 1: nobody knows what the next hundred people would say.
NEAREST_SHARE = 0.01


def presence_at(share_of_yes: Floats, settings: Settings, *, lean: float | None = None) -> Floats:
    """Probability that a label counts as present, by the share of competent people who would say yes.

    lean : another one than that of the settings; counts take none, so that they decide as majority does

    >>> presence_at(np.array([0.1, 0.43, 0.6, 0.95]), Settings()).round(2).tolist()
    [0.05, 0.51, 0.76, 0.99]
    """
    # Without the clip, unanimous votes of three would be infinite log-odds.
    share = clipped(share_of_yes, NEAREST_SHARE, 1 - NEAREST_SHARE)
    return sigmoid(settings.steepness * (logit(share) + (settings.lean if lean is None else lean)))


def expected_share_of_yes(n_yes: Floats, n_votes: Floats) -> Floats:
    """Expected share with half a yes and half a no beforehand (Jeffreys' prior): nobody is certain after one vote."""
    return np.asarray((n_yes + 0.5) / (n_votes + 1))


def presence_by_counts(n_yes: Floats, n_votes: Floats, settings: Settings) -> Floats:
    """Probability that the label is present, by votes alone: one half where they are tied, so it decides as majority.

    >>> presence_by_counts(np.array([3.0, 1.0, 1.0]), np.array([3.0, 2.0, 5.0]), Settings()).round(2).tolist()
    [0.96, 0.5, 0.15]
    """
    return presence_at(expected_share_of_yes(n_yes, n_votes), settings, lean=0.0)
