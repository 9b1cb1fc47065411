"""Votes: the one input type of every model, strategy and report.

A *vote* is one worker's yes (+1) or no (−1) to "does this item have this label?". An *answer* is all votes of one
worker on one item. A question that nobody asked has no vote: it is never a "no".

Where to find what:

* `votes` is the type `Votes`, with its pairs (item, label) and coins (worker, label);
* `rows_to_codes` is the place where a vote becomes codes: it reads a table row by row. Tables that only record what was
  ticked are expanded in `ticks`; arrays and one frame per label are read in `other_layouts`;
* `vote_keys` packs the codes of a vote into one integer, `merging` sorts those integers, drops duplicates and finds
  contradictions;
* `from_tools` has a constructor for each tool whose exports are read;
* `reading` notes what was decided on the way; `description` counts votes and measures agreement.

Names become codes in `amcc.tables.ids_to_codes`, cells become yes and no in `amcc.tables.yes_no`.
"""

from __future__ import annotations

from amcc.votes.description import Description, Interval, LabelDescription
from amcc.votes.from_tools import Decided, Empty, Given, Rejected
from amcc.votes.reading import OnConflict, Reading, Terms, Unmentioned, roles_read
from amcc.votes.votes import Coins, Pairs, Votes

__all__ = [
    "Coins", "Decided", "Description", "Empty", "Given", "Interval", "LabelDescription", "OnConflict", "Pairs",
    "Reading", "Rejected", "Terms", "Unmentioned", "Votes", "roles_read",
]  # fmt: skip
