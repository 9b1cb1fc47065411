"""The reference: where a workers file names people and models, the question is what people would say.

Models may all be wrong in the same way, and their votes alone cannot show it. So what models say is calibrated to what
the reference said where both voted; the reference's own votes on a pair count with their own noise:

    log-odds = calibrated log-odds by the others + `VOTE` · (sum of the reference's votes) / √(their number)

A reference may be poor or answer at random, and must not turn the panel around. How much it has to say, from 0 to 1,
follows from how far the other workers find it informative (`say_of`); the rest is the consensus of all as equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Mask, sigmoid, weight_per_code
from amcc.consensus.calibration import Calibration, Spreads, fit_calibration, log_odds
from amcc.consensus.workers import Z_95, WorkerRates
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.roster import HUMAN, Seats
from amcc.tables import a_few, text_of
from amcc.truth import positions
from amcc.votes import Votes

# The parameter `reference`: who it is, by name, or nobody; None for what the roster says.
Reference = Sequence[str] | str | None
NOBODY = "none"

# Log-odds that one vote of the reference adds: those of somebody who is wrong on a quarter of the pairs. For people who
# are wrong on 8 % it should be 2.4, and half of that costs little, for the others are calibrated to them.
VOTE = 1.1

# What is believed of the informativeness of a reference before its votes are compared: about a half, and between 0 and
# 1. With a spread of .15, people who answer at random turn small panels around; with .5, good people are not heard
# where the models are poor.
USUAL, SPREAD = 0.5, 0.25

# Informativeness up to which a reference has nothing to say, and how much more it needs to have all.
NOTHING_BELOW, FULL_RANGE = 0.1, 0.3

# Pairs with which the reference has half of its say: one vote alone must not change what all others mean.
FEW_PAIRS = 2

# Members of the reference on a pair, beside the first, with which half of the result is that of all workers as equals:
# people who are many need no panel that is calibrated to them, and their sum is too sure where they share errors.
MANY_MEMBERS = 3.0

# Share of the most that the reference could say on a pair from which on the others are calibrated to it: a pair on
# which its members contradict each other says nothing.
CLEAR = 0.5

# Say from which on it is all, as far as words go; and what its two factors, how informative the others find the
# reference and how many pairs it voted on, need to be so that neither is named as the reason for less.
ALL = 0.9
ALL_OF_FACTOR = ALL**0.5

# No standard error of a rate is taken for less: it is divided by.
LEAST_ERROR = 0.02


@dataclass(frozen=True)
class LearnedReference:
    """The reference, as a fit learned it.

    say : (n_workers,) how much each worker has to say as the reference, 0 for all others
    calibration : what the others' probabilities mean by the reference
    """

    say: Annotated[Floats, Each("worker", share=True)]
    calibration: Calibration

    @property
    def most(self) -> float:
        """What the member of the reference who has most to say has to say."""
        return float(self.say.max(initial=0.0))


class Said(NamedTuple):
    """(n_pairs,) sum of the votes of the reference, and how many it gave, both in votes of its most trusted member."""

    votes: Floats
    number: Floats

    @property
    def told(self) -> Mask:
        """(n_pairs,) on which pairs it is clear what the reference says."""
        return np.asarray(np.abs(self.votes) >= CLEAR)


def members_of(reference: Reference, seats: Seats, worker_names: pa.Array) -> Mask:
    """(n_workers,) who is the reference: who is named, or marked in the roster, or people where there are others too.

    Raises ParameterError where the reference names somebody who did not vote.
    """
    if reference == NOBODY:
        return np.zeros(len(seats.kind), dtype=bool)
    if reference is not None:
        named = pa.array([reference] if isinstance(reference, str) else list(map(str, reference)), pa.string())
        place = positions(named, text_of(worker_names))
        if (place < 0).any() or not len(place):
            absent = named.filter(pa.array(place < 0))
            raise ParameterError(
                f"reference must name workers who voted, or be {NOBODY!r} (command line: --reference); got "
                f"{a_few(absent) if len(absent) else '[]'}. There are {a_few(text_of(worker_names))}."
            )
        members = np.zeros(len(seats.kind), dtype=bool)
        members[place] = True
    else:
        members = seats.reference
    # Where all are the reference, or nobody is, there is nobody whose votes could be calibrated to it.
    return members if not members.all() else np.zeros_like(members)


def say_of(members: Mask, rates: WorkerRates) -> Floats:
    """(n_workers,) how much each member has to say, from 0 to 1: as informative as the other workers find them."""
    found = rates.informativeness
    error = np.maximum((rates.informativeness_high - found) / Z_95, LEAST_ERROR)
    precision = 1 / error**2
    expected = (precision * found + USUAL / SPREAD**2) / (precision + 1 / SPREAD**2)
    return np.where(members, np.clip((expected - NOTHING_BELOW) / FULL_RANGE, 0.0, 1.0), 0.0)


def said_by(say: Floats, votes: Votes) -> Said:
    """What the reference says about each pair; several samples of a worker count as one vote."""
    votes = votes.one_per_worker()
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    each = say[votes.worker] / max(float(say.max(initial=0.0)), LEAST_ERROR)
    total, number = (weight_per_code(pair, weight, len(votes.pairs)) for weight in (each * votes.value, each))
    return Said(total, number)


def learn_reference(say: Floats, votes: Votes, others: Floats, spreads: Spreads) -> LearnedReference | None:
    """Calibrate the others, (n_pairs,) probabilities, to what the reference said; None where it said nothing clear."""
    if not say.any():  # the others find it no better than chance: nobody is calibrated to that
        return LearnedReference(say, Calibration(0.0, 1.0, np.zeros(votes.n_labels), 0))
    said = said_by(say, votes)
    told = said.told & (said.number > 0)
    if not told.any():
        return None
    label, n_told = votes.pairs.label, int(told.sum())
    calibration = fit_calibration(others[told], label[told], said.votes[told] > 0, votes.n_labels, spreads)
    return LearnedReference(say * _by_pairs(n_told), calibration)


def _by_pairs(n_told: int) -> float:
    """How much of its say a reference has that told so many pairs."""
    return n_told / (n_told + FEW_PAIRS)


def with_reference(proba: Floats, others: Floats, said: Said, most: float) -> Floats:
    """(n_pairs,) probabilities as the reference has it, the rest as all workers as equals have it.

    proba : by all workers; others : by all but the reference, calibrated; most : how much the reference has to say
    """
    number = np.maximum(said.number, 1.0)
    by_reference = log_odds(others) + VOTE * said.votes / np.sqrt(number)
    weight = most * MANY_MEMBERS / (MANY_MEMBERS + number - 1)
    return np.asarray(weight * sigmoid(by_reference) + (1 - weight) * proba)


def check_reference(reference: Reference) -> None:
    """Raise ParameterError unless this is None, a name, or names."""
    if reference is None or isinstance(reference, str):
        return
    if not isinstance(reference, Sequence) or not all(isinstance(name, str) for name in reference):
        raise ParameterError(f"reference must be None, {NOBODY!r}, or names of workers; got {reference!r}.")


def sentence(learned: LearnedReference | None, members: Mask, seats: Seats, worker_names: pa.Array) -> str:
    """Who the reference is, how much it has to say, and on how many pairs, in words; empty where there is none."""
    if not members.any():
        return ""
    who = "people are" if (seats.kind[members] == HUMAN).all() else "named workers are"
    who = f"{who} the reference ({int(members.sum())}: {a_few(text_of(worker_names).filter(pa.array(members)))})"
    if learned is None:
        return f"{who}, but voted on nothing yet"
    if learned.most == 0:
        return f"{who}, but the other workers find them no better than chance, so all count as equals"
    n_told = learned.calibration.n_pairs
    if learned.most > ALL:
        return f"{who}; {n_told:,} pairs are taken from them, and the others are calibrated to these"
    return f"{who} by {100 * learned.most:.0f} %, since {_why_not_all(learned.most, n_told)}"


def _why_not_all(most: float, n_told: int) -> str:
    """What keeps a reference from having all to say: few pairs, the others' opinion of it, or both."""
    theirs = "1 pair is theirs" if n_told == 1 else f"{n_told:,} pairs are theirs"
    by_pairs = _by_pairs(n_told)
    few, doubted = by_pairs < ALL_OF_FACTOR, most / by_pairs < ALL_OF_FACTOR
    if few and doubted:
        return f"only {theirs} and the others find them not very informative"
    return f"only {theirs}" if few else f"the others find them no more informative than that; {theirs}"
