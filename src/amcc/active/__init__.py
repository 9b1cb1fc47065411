"""What to ask next: scores, strategies, crowds and requesters to ask, campaigns that spend a budget, and replays.

Studies need no more than what this file names: a `Learner` keeps beliefs about growing votes, a strategy chooses,
`purchases` buys recorded votes batch by batch, and a `Curve` says what quality cost.
"""

from amcc.active.base import GROWTH, Learner, Strategy, cold_beliefs
from amcc.active.campaign import Campaign
from amcc.active.crowd import ReplayCrowd, SimulatedCrowd
from amcc.active.expert import questions_for_expert
from amcc.active.prices import Prices
from amcc.active.replay import (
    GOALS,
    SAME_QUALITY,
    Curve,
    cost_of_goals,
    first_votes,
    mean_curve,
    purchases,
    usual_batch,
)
from amcc.active.scores import paper_prices
from amcc.active.strategies import STRATEGIES

__all__ = [
    "GOALS",
    "GROWTH",
    "SAME_QUALITY",
    "STRATEGIES",
    "Campaign",
    "Curve",
    "Learner",
    "Prices",
    "ReplayCrowd",
    "SimulatedCrowd",
    "Strategy",
    "cold_beliefs",
    "cost_of_goals",
    "first_votes",
    "mean_curve",
    "paper_prices",
    "purchases",
    "questions_for_expert",
    "usual_batch",
]
