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


def presence_at(share_of_yes: Floats, settings: Settings, *, lean: float | None = None) -> Floats:
    """Probability that a label counts as present, by the share of competent people who would say yes.

    lean : another one than that of the settings; counts take none, so that they decide as majority does

    >>> presence_at(np.array([0.1, 0.43, 0.6, 0.95]), Settings()).round(2).tolist()
    [0.05, 0.51, 0.76, 0.99]
    """
    # Without the clip, unanimous votes of three would be infinite log-odds.
    share = clipped(share_of_yes, settings.nearest_share, 1 - settings.nearest_share)
    return sigmoid(settings.steepness * (logit(share) + (settings.lean if lean is None else lean)))


def expected_share_of_yes(n_yes: Floats, n_votes: Floats) -> Floats:
    """Expected share with half a yes and half a no beforehand (Jeffreys' prior): nobody is certain after one vote."""
    return np.asarray((n_yes + 0.5) / (n_votes + 1))
