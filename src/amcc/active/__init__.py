"""What to ask next.

| file | what it knows |
|---|---|
| `buying` | `next_questions`: what to ask now, for this much money |
| `basket` | what fits in a budget: the one place where money is reserved |
| `prices`, `given_prices` | money in whole minor units, price lists; prices as people give them |
| `pages`, `page_picking` | what else to ask on a page that is paid; pages valued as pages |
| `campaign`, `ledger` | ask, pay, record, repeat; what was asked and paid |
| `accounts`, `bookkeeping` | one budget over many calls: what was asked, answered and paid; its sums |
| `journal`, `chain` | files that only grow, of one process at a time; hashes that show changes |
| `replay`, `curves` | what would it have cost? quality against money, and whose is better |
| `replay_plot` | replays as a picture |
| `pool` | what a replay cannot buy |
| `stopping` | when there is no progress any more |
| `forecast` | what a smaller error will cost, and what the next money buys |
| `questions`, `candidates`, `beliefs` | what is asked, what may be asked, what is believed |
| `strategy`, `strategies/` | whom to ask about what: the protocol with its registry; one file for each kind |
| `value`, `skills` | what an answer is expected to be worth; how good workers are, and what asking teaches |
| `assignment` | one worker's next page, in milliseconds |
| `scores`, `commonality`, `classifier` | equations of the strategies; the matrix of eq8; the classifier of eq7 |
| `picking`, `search` | the best questions of many; the best of all, without a list of them |
| `crowd` | who can be asked: recorded votes, simulated workers |
| `expert` | what the requester should answer themselves |
| `yourself` | the requester as one of those who can be asked, with a price |
| `plan`, `reasons` | what was chosen and why, in words: by pair, by question |

Names are imported when they are first used: a server of a live campaign needs prices and pages, but no replays.
"""

from typing import TYPE_CHECKING

from amcc.lazy import lazy_names

# What users and studies need; all else is imported from where it is.
if TYPE_CHECKING:
    from amcc.active.accounts import Account
    from amcc.active.assignment import Outlook
    from amcc.active.basket import Basket
    from amcc.active.beliefs import GROWTH, CurrentBeliefs, Learner, cold_beliefs
    from amcc.active.buying import NextQuestions, next_questions
    from amcc.active.campaign import Campaign
    from amcc.active.crowd import ReplayCrowd, SimulatedCrowd
    from amcc.active.curves import (
        GOALS,
        SAME_QUALITY,
        SPENT_ALREADY,
        Curve,
        Replay,
        compared,
        cost_of_goals,
        cost_of_quality,
        largest_lead,
        mean_curve,
    )
    from amcc.active.expert import questions_for_expert
    from amcc.active.forecast import Forecast, NextMoney, next_money
    from amcc.active.prices import Prices
    from amcc.active.replay import first_votes, purchases, usual_batch
    from amcc.active.replay_plot import plot_replay
    from amcc.active.scores import paper_prices
    from amcc.active.strategies import STRATEGIES
    from amcc.active.strategy import Strategy
    from amcc.consensus.worth import worker_costs

__all__ = [
    "GOALS",
    "GROWTH",
    "SAME_QUALITY",
    "SPENT_ALREADY",
    "STRATEGIES",
    "Account",
    "Basket",
    "Campaign",
    "CurrentBeliefs",
    "Curve",
    "Forecast",
    "Learner",
    "NextMoney",
    "NextQuestions",
    "Outlook",
    "Prices",
    "Replay",
    "ReplayCrowd",
    "SimulatedCrowd",
    "Strategy",
    "cold_beliefs",
    "compared",
    "cost_of_goals",
    "cost_of_quality",
    "first_votes",
    "largest_lead",
    "mean_curve",
    "next_money",
    "next_questions",
    "paper_prices",
    "plot_replay",
    "purchases",
    "questions_for_expert",
    "usual_batch",
    "worker_costs",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "accounts": ("Account",),
        "assignment": ("Outlook",),
        "basket": ("Basket",),
        "beliefs": ("GROWTH", "CurrentBeliefs", "Learner", "cold_beliefs"),
        "buying": ("NextQuestions", "next_questions"),
        "campaign": ("Campaign",),
        "crowd": ("ReplayCrowd", "SimulatedCrowd"),
        "curves": (
            "GOALS",
            "SAME_QUALITY",
            "SPENT_ALREADY",
            "Curve",
            "Replay",
            "compared",
            "cost_of_goals",
            "cost_of_quality",
            "largest_lead",
            "mean_curve",
        ),
        "expert": ("questions_for_expert",),
        "forecast": ("Forecast", "NextMoney", "next_money"),
        "prices": ("Prices", "worker_costs"),
        "replay": ("first_votes", "purchases", "usual_batch"),
        "replay_plot": ("plot_replay",),
        "scores": ("paper_prices",),
        "strategies": ("STRATEGIES",),
        "strategy": ("Strategy",),
    },
)
