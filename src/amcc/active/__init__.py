"""What to ask next.

| file | what it knows |
|---|---|
| `buying` | `next_questions`: what to ask now, for this much money |
| `basket` | what fits in a budget: the one place where money is reserved |
| `prices` | money in whole minor units, price lists |
| `campaign`, `ledger`, `chain` | ask, pay, record, repeat; what was asked and paid; hashes that show changes |
| `replay` | what would it have cost? |
| `stopping` | when there is no progress any more |
| `forecast` | what a smaller error will cost, and what the next money buys |
| `questions`, `candidates`, `beliefs` | what is asked, what may be asked, what is believed |
| `strategy`, `strategies/` | whom to ask about what: the protocol with its registry; one file for each kind |
| `value` | what an answer is expected to be worth |
| `scores`, `commonality` | equations of the strategies; the matrix of eq8 |
| `picking`, `search` | the best questions of many; the best of all, without a list of them |
| `crowd` | who can be asked: recorded votes, simulated workers |
| `expert` | what the requester should answer themselves |
"""

# What users and studies need; all else is imported from where it is.
from amcc.active.basket import Basket
from amcc.active.beliefs import GROWTH, CurrentBeliefs, Learner, cold_beliefs
from amcc.active.buying import NextQuestions, next_questions
from amcc.active.campaign import Campaign
from amcc.active.crowd import ReplayCrowd, SimulatedCrowd
from amcc.active.expert import questions_for_expert
from amcc.active.forecast import Forecast, NextMoney, next_money
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
from amcc.active.strategy import Strategy
from amcc.consensus.worth import worker_costs

__all__ = [
    "GOALS",
    "GROWTH",
    "SAME_QUALITY",
    "STRATEGIES",
    "Basket",
    "Campaign",
    "CurrentBeliefs",
    "Curve",
    "Forecast",
    "Learner",
    "NextMoney",
    "NextQuestions",
    "Prices",
    "ReplayCrowd",
    "SimulatedCrowd",
    "Strategy",
    "cold_beliefs",
    "cost_of_goals",
    "first_votes",
    "mean_curve",
    "next_money",
    "next_questions",
    "paper_prices",
    "purchases",
    "questions_for_expert",
    "usual_batch",
    "worker_costs",
]
