"""What to ask next: scores, strategies, crowds and requesters to ask, and campaigns that spend a budget."""

from amcc.active.campaign import Campaign
from amcc.active.crowd import ReplayCrowd, SimulatedCrowd
from amcc.active.expert import questions_for_expert
from amcc.active.prices import Prices
from amcc.active.strategies import STRATEGIES

__all__ = ["STRATEGIES", "Campaign", "Prices", "ReplayCrowd", "SimulatedCrowd", "questions_for_expert"]
