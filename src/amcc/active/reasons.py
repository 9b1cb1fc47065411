"""Why a question was chosen, in words: how open the pair is, and what is known of the worker."""

from __future__ import annotations

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.questions import Questions
from amcc.active.strategies.common import votes_on_pairs

# How much more often a worker says yes where the label is present than where it is absent, to be called so. Half is
# what is expected of a newcomer; below a fifth, several such workers together still say little.
INFORMATIVE, FAIRLY_INFORMATIVE = 0.5, 0.2

# Chance chose where the skill that it drew makes an answer worth this many times what the expected skill does: from
# here on, half of the worth or more is not expected, so that the draw is the reason. The worth of an answer goes with
# the square of the skill.
MOSTLY_LUCK = 2.0


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
    if "drawn_skill" not in chosen.parts:
        return told
    skills = (chosen.parts[name].tolist() for name in ("skill", "drawn_skill"))
    return [text + by_skill(*of_worker) for text, of_worker in zip(told, zip(*skills, strict=True), strict=True)]


def by_skill(skill: float, drawn: float) -> str:
    """What the strategy itself went by, and whether that was mainly chance.

    >>> by_skill(0.6, 0.62)
    ', skill on all labels 0.60'
    >>> by_skill(0.08, 0.62)
    ', tried by chance: skill on all labels 0.08, drawn as 0.62'
    """
    expected = f"skill on all labels {skill:.2f}"
    if drawn**2 <= MOSTLY_LUCK * max(skill, 0.0) ** 2:
        return f", {expected}"
    return f", tried by chance: {expected}, drawn as {drawn:.2f}"


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
