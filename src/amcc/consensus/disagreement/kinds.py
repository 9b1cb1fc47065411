"""Kinds of disagreement: which kind a pair is of, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from scipy.special import betainc

from amcc.arrays import Floats, Mask, Signs
from amcc.consensus.disagreement.asked import AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations
from amcc.passes import sum_over_votes

Kind = Literal["clear", "too few votes", "split crowd", "hard item", "likely slip"]

KINDS: tuple[Kind, ...] = get_args(Kind)

NOT_ASKED = "not asked"
"""In tables of all labels, the kind of a pair that has no votes."""

CLEAR, TOO_FEW, SPLIT_CROWD, HARD_ITEM, LIKELY_SLIP = range(len(KINDS))

SURE = 0.8
"""An explanation is named where it is at least four times as likely as all others together; else votes are too few."""

STANDING_ERROR = 0.05
"""Clear pairs: if workers were equals, most of all people would side with the decision but for this probability."""

SLIP_ERROR = 0.15
"""Who errs no more often than this in such a case is usually right, so that an error of theirs is likely a slip."""

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
    """(n_pairs,) places in `KINDS`, from what explains the votes and the probabilities that the model gives."""
    here = explanations.known_to(asked)
    member = here.posterior(asked)
    present = member[:, PRESENT] > member[:, ABSENT]
    stands = stands_by_votes(asked, here, present)
    decided = (np.maximum(member[:, PRESENT], member[:, ABSENT]) >= SURE) & (present == (proba > 0.5))
    kind = np.full(len(proba), TOO_FEW, np.int8)
    kind[decided & stands] = CLEAR
    kind[decided & stands & (slips(asked, here, present) > 0)] = LIKELY_SLIP
    kind[member[:, HARD] + member[:, SPLIT] >= SURE] = HARD_ITEM  # unless sides explain it
    kind[member[:, SPLIT] >= SURE] = SPLIT_CROWD
    return kind


TAKES_SIDES = 0.2
"""How far from 1/2 a side must be to call it one."""


def why(asked: AskedPairs, explanations: Explanations, pair: int, kind: int, worker: Callable[[int], str]) -> str:
    """What in the votes on a pair makes it of this kind, in words; `worker` gives names."""
    here = explanations.known_to(asked)
    own = slice(asked.start[pair], asked.start[pair + 1])
    coin, yes = asked.slot[own] >> 1, (asked.slot[own] & 1) > 0
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    told = f"{n_yes}\u00a0yes, {n_no}\u00a0no"
    if kind == SPLIT_CROWD:
        side = here.side[asked.fold[pair], coin] - 0.5
        takes = np.abs(side) >= TAKES_SIDES
        along = int(((side > 0) == yes)[takes].sum())
        n_sides = int(takes.sum())
        return f"{told}; {max(along, n_sides - along)} of {n_sides} who take sides on other items vote with their side"
    if kind == HARD_ITEM:
        right = float((0.5 * (here.hit[coin] + 1 - here.false_alarm[coin])).mean())
        return f"{told}, by people who are right about this label {100 * right:.0f}\u00a0% of the time"
    if kind == LIKELY_SLIP:
        error = here.false_alarm[coin] if n_yes < n_no else 1 - here.hit[coin]
        slipped = np.flatnonzero((yes == (n_yes < n_no)) & (error <= SLIP_ERROR))
        often = [f"who errs this way {100 * error[vote]:.0f}\u00a0% of the time" for vote in slipped.tolist()]
        said = zip(asked.coin_worker[coin[slipped]].tolist(), often, strict=True)
        names = " and ".join(f"{worker(code)}, {how_often}" for code, how_often in said)
        return f"{told}; {'yes' if n_yes < n_no else 'no'} from {names}"
    return told


def stands_by_votes(asked: AskedPairs, explanations: Explanations, present: Mask) -> Mask:
    """(n_pairs,) where the votes by themselves stand behind the decision, as in `base.settled`, spammers left out.

    A vote weighs what its worker tells on the label, hit rate − false-alarm rate, at most as much as the crowd's.
    """
    tells = explanations.hit - explanations.false_alarm
    usual = np.maximum(explanations.usual[0] - explanations.usual[1], SURELY)[asked.coin_label]
    weight = np.zeros((len(tells), 2))
    weight[:, 1] = np.clip(tells / usual, 0.0, 1.0)
    yes = sum_over_votes(asked.slot, asked.start, weight.ravel())
    no = sum_over_votes(asked.slot, asked.start, weight[:, ::-1].ravel())
    agree, differ = np.where(present, yes, no), np.where(present, no, yes)
    return np.asarray(betainc(agree + 0.5, differ + 0.5, 0.5) <= STANDING_ERROR)


def slips(asked: AskedPairs, explanations: Explanations, present: Mask) -> Floats:
    """(n_pairs,) votes against the decision by workers who, on such pairs, are usually right."""
    missed, invented = np.zeros((2, len(explanations.hit), 2))
    missed[:, 0] = 1 - explanations.hit <= SLIP_ERROR
    invented[:, 1] = explanations.false_alarm <= SLIP_ERROR
    return np.where(
        present,
        sum_over_votes(asked.slot, asked.start, missed.ravel()),
        sum_over_votes(asked.slot, asked.start, invented.ravel()),
    )
