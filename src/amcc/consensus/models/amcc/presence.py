"""What counts as present: our guess from the share of people who would say yes, where no truth is known.

Votes cannot say it. An expert may keep what one worker in three saw, or only what most see. The guess rises with the
share of yes, and comes near 0 or 1 only where nearly everybody agrees. Known truth corrects it (`AMCC.fit(truth=…)`).
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from amcc.arrays import Floats, sigmoid

STEEPNESS = 1.6
"""Log-odds of presence per log-odds of yes. Above 1: what most people say is more often right than one of them is."""

LEAN = 0.3
"""In log-odds of yes: workers miss more often than they invent, so presence is as likely as not at 43 % of yes."""

SURE = 0.01
"""No share of yes counts as nearer to 0 or 1 than this: nobody knows what the next hundred people would say."""


def presence_at(share_of_yes: Floats, lean: float = LEAN) -> Floats:
    """Probability that a label counts as present, by the share of competent people who would say yes.

    >>> presence_at(np.array([0.1, 0.43, 0.6, 0.95])).round(2).tolist()
    [0.05, 0.51, 0.76, 0.99]
    """
    return sigmoid(STEEPNESS * (logit(np.clip(share_of_yes, SURE, 1 - SURE)) + lean))
