"""Why a question was chosen, in words: how open the pair is, and what is known of the worker."""

from __future__ import annotations

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.questions import Questions
from amcc.active.strategies.common import votes_on_pairs

# How much more often a worker says yes where the label is present than where it is absent, to be called so. Half is
# what is expected of a newcomer; below a fifth, several such workers together still say little.
INFORMATIVE, FAIRLY_INFORMATIVE = 0.5, 0.2

# Somebody is asked to get to know them where what asking teaches makes an answer worth this many times what is expected
# of it: from here on, half of the worth or more is not the answer itself. The worth goes with the square of the skill.
MOSTLY_TO_LEARN = 2.0

# An answer of which less than half is new mostly repeats what others of the family said.
MOSTLY_NEW = 0.5


def reasons(chosen: Questions, beliefs: CurrentBeliefs, *, drawn: bool) -> list[str]:
    """Why each question was chosen, in words; `drawn`: by chance."""
    asked = chosen.asked
    columns = (
        beliefs.proba[asked.item, asked.label],
        votes_on_pairs(beliefs.votes, asked.item, asked.label)[1],
        beliefs.experience[asked.worker],
        beliefs.hit[asked.worker, asked.label],
        beliefs.false_alarm[asked.worker, asked.label],
    )
    prefix = "drawn at random: " if drawn else ""
    told = [prefix + reason(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    if "skill_to_ask" not in chosen.parts:
        return told
    of_value = (chosen.parts[name].tolist() for name in ("skill", "skill_to_ask", "new", "ahead"))
    return [text + by_value(*row) for text, row in zip(told, zip(*of_value, strict=True), strict=True)]


def by_value(skill: float, skill_to_ask: float, new: float, ahead: float) -> str:
    """What the value of the answer rests on: the worker, others like them, and how many answers change a decision.

    >>> by_value(0.6, 0.62, 1.0, 1.0)
    ', skill on all labels 0.60'
    >>> by_value(0.3, 0.62, 0.2, 3.0)
    ', skill on all labels 0.30, asked to get to know them; 20 % new beside their family; 3 such answers may decide it'
    """
    told = f", skill on all labels {skill:.2f}"
    if skill_to_ask**2 > MOSTLY_TO_LEARN * max(skill, 0.0) ** 2:
        told += ", asked to get to know them"
    if new < MOSTLY_NEW:
        told += f"; {100 * new:.0f} % new beside their family"
    return told + (f"; {ahead:.0f} such answers may decide it" if ahead > 1 else "")


def reason(proba: float, n_votes: int, experience: int, hit: float, false_alarm: float) -> str:
    """How open a pair is and what the worker is worth, in one line.

    >>> reason(0.52, 3, 40, 0.81, 0.04)
    'probability 0.52 after 3 votes; informative worker (hit 0.81, false alarm 0.04)'
    """
    so_far = f"after {n_votes} vote{'s' * (n_votes > 1)}" if n_votes else "before the first vote"
    return (
        f"probability {proba:.2f} {so_far}; {_kind(experience, hit - false_alarm)} "
        f"(hit {hit:.2f}, false alarm {false_alarm:.2f})"
    )


def _kind(experience: int, informativeness: float) -> str:
    if not experience:
        return "new worker"
    if informativeness >= INFORMATIVE:
        return "informative worker"
    return "fairly informative worker" if informativeness >= FAIRLY_INFORMATIVE else "hardly informative worker"
