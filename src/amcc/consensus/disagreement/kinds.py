"""Kinds of disagreement: which kind a pair is of, why, and what to do about it.

    clear           most people would say the same
    too few votes   nothing is sure yet
    split crowd     the same people against the same people: a question of what the label means
    hard item       people disagree like tossed coins: nobody sees clearly
    likely slip     clear, except for a vote of somebody who is usually right

Kinds are stored as places in `KINDS`; words are for people and files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from amcc.arrays import Floats, Mask, Signs
from amcc.consensus.disagreement.asked import AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations
from amcc.passes import sum_over_votes
from amcc.special import betainc

Kind = Literal["clear", "too few votes", "split crowd", "hard item", "likely slip"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CLEAR, TOO_FEW, SPLIT_CROWD, HARD_ITEM, LIKELY_SLIP = range(len(KINDS))

# In tables of all labels, the kind of a pair that has no votes.
NOT_ASKED = "not asked"

# An explanation is named where it is at least four times as likely as all others together; else votes are too few.
SURE_OF_KIND = 0.8

# Clear pairs: if workers were equals, most of all people would side with the decision except with this probability, as
# for settled pairs (`settling.SETTLED_ERROR`).
STANDING_ERROR = 0.05

# Who errs no more often than this in such a case is usually right, so that an error of theirs is likely a slip.
# Those who err more often would as likely err again when asked again.
SLIP_ERROR = 0.15

# How far from 1/2 a side must be to say that somebody takes it: seven in ten of their votes on split pairs.
TAKES_SIDES = 0.2

ADVICE: dict[Kind, str] = {
    "clear": "Nothing to do.",
    "too few votes": "Ask more people (amcc next says whom, about which pairs first).",
    "split crowd": "More votes will not settle it: decide what the label shall mean here, write it into the guideline, "
    "or keep both views (soft labels).",
    "hard item": "Ask an expert, or look at the item: it may be unreadable or on the border of the label. Keep the "
    "soft label where the border itself is real.",
    "likely slip": "Ask whoever gave the vote again, if it matters: the decision stands without it.",
}


def kinds_of(asked: AskedPairs, explanations: Explanations, proba: Floats) -> Signs:
    """(n_pairs,) places in `KINDS`, from what explains the votes and the probabilities that the model gives.

    Later kinds overwrite earlier ones: a pair that disagreement explains is hard or split, whatever was decided.
    """
    here = explanations.known_to(asked)
    member = here.posterior(asked)
    present = member[:, PRESENT] > member[:, ABSENT]
    # A pair is not called clear where the model decides the other way: then one of both is wrong.
    decided = (np.maximum(member[:, PRESENT], member[:, ABSENT]) >= SURE_OF_KIND) & (present == (proba > 0.5))
    decided &= stands_by_votes(asked, here, present)
    kind = np.full(len(proba), TOO_FEW, np.int8)
    kind[decided] = CLEAR
    kind[decided & (slips(asked, here, present) > 0)] = LIKELY_SLIP
    kind[member[:, HARD] + member[:, SPLIT] >= SURE_OF_KIND] = HARD_ITEM  # unless sides explain it
    kind[member[:, SPLIT] >= SURE_OF_KIND] = SPLIT_CROWD
    return kind


def why(asked: AskedPairs, explanations: Explanations, pair: int, kind: int, worker: Callable[[int], str]) -> str:
    """What in the votes on a pair makes it of this kind, in words.

    pair, kind : place of the pair in `asked`, and of its kind in `KINDS`; worker : gives the name of a worker code
    """
    here = explanations.known_to(asked)
    own = slice(asked.start[pair], asked.start[pair + 1])
    coin, yes = asked.slot[own] >> 1, (asked.slot[own] & 1) > 0
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    told = f"{n_yes}\u00a0yes, {n_no}\u00a0no"
    if kind == SPLIT_CROWD:
        side = here.side[asked.fold[pair], coin] - 0.5
        takes = np.abs(side) >= TAKES_SIDES
        along, n_sides = int(((side > 0) == yes)[takes].sum()), int(takes.sum())
        return f"{told}; {max(along, n_sides - along)} of {n_sides} who take sides on other items vote with their side"
    if kind == HARD_ITEM:
        right = float((0.5 * (here.hit[coin] + 1 - here.false_alarm[coin])).mean())
        return f"{told}, by people who are right about this label {100 * right:.0f}\u00a0% of the time"
    if kind == LIKELY_SLIP:
        error = here.false_alarm[coin] if n_yes < n_no else 1 - here.hit[coin]
        slipped = np.flatnonzero((yes == (n_yes < n_no)) & (error <= SLIP_ERROR)).tolist()
        who = [worker(int(asked.coin_worker[coin[vote]])) for vote in slipped]
        often = [f"who errs this way {100 * error[vote]:.0f}\u00a0% of the time" for vote in slipped]
        names = " and ".join(f"{name}, {how_often}" for name, how_often in zip(who, often, strict=True))
        return f"{told}; {'yes' if n_yes < n_no else 'no'} from {names}"
    return told


def stands_by_votes(asked: AskedPairs, explanations: Explanations, present: Mask) -> Mask:
    """(n_pairs,) where the votes by themselves stand behind the decision, as in `settling`, spammers left out.

    A vote weighs what its worker tells on the label, hit rate − false-alarm rate, at most as much as the crowd's.
    """
    tells = explanations.hit - explanations.false_alarm
    usual = np.maximum(explanations.usual[0] - explanations.usual[1], SURELY)[asked.coin_label]
    weight = np.clip(tells / usual, 0.0, 1.0)
    no, yes = (_votes_weighted(asked, *columns) for columns in ((weight, 0.0), (0.0, weight)))
    agree, differ = np.where(present, yes, no), np.where(present, no, yes)
    return np.asarray(betainc(agree + 0.5, differ + 0.5, 0.5) <= STANDING_ERROR)


def slips(asked: AskedPairs, explanations: Explanations, present: Mask) -> Floats:
    """(n_pairs,) votes against the decision by workers who, on such pairs, are usually right."""
    missed = _votes_weighted(asked, 1 - explanations.hit <= SLIP_ERROR, 0.0)
    invented = _votes_weighted(asked, 0.0, explanations.false_alarm <= SLIP_ERROR)
    return np.where(present, missed, invented)


def _votes_weighted(asked: AskedPairs, no: Floats | Mask | float, yes: Floats | Mask | float) -> Floats:
    """(n_pairs,) sum over the votes on each pair, where a no and a yes of each coin count as much as this."""
    of_slot = np.empty((len(asked.coin_worker), 2))
    of_slot[:, 0], of_slot[:, 1] = no, yes
    return sum_over_votes(asked.slot, asked.start, of_slot.ravel())
