"""Why a question was chosen, in words: how open the pair is, and what is known of the worker."""

from __future__ import annotations

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.plan import WORKER, YOURSELF, kinds_of
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies.common import votes_on_pairs
from amcc.roster import Seats
from amcc.votes import Votes

# What is said of a worker of each kind.
NOUNS = {"human": "person", "model": "model", "code": "program", WORKER: "worker", YOURSELF: "you, as an expert"}

# Votes of a family on a pair from which on one more of it adds little: six models count for two or three votes
# (docs/judges.md), so that the third counts for less than half of one.
FAMILY_HAS_SPOKEN = 2

# How much more often a worker says yes where the label is present than where it is absent, to be called so. Half is
# what is expected of a newcomer; below a fifth, several such workers together still say little.
INFORMATIVE, FAIRLY_INFORMATIVE = 0.5, 0.2

# Somebody is asked to get to know them where more than this share of the worth is what asking teaches about them: from
# here on, the answer itself is the smaller part.
MOSTLY_TO_KNOW = 0.5

# An answer of which less than half is new mostly repeats what others of the family said.
MOSTLY_NEW = 0.5


def reasons(chosen: Questions, beliefs: CurrentBeliefs, seats: Seats | None = None, *, drawn: bool) -> list[str]:
    """Why each question was chosen, in words; `drawn`: by chance. `seats` says who the workers are."""
    asked = chosen.asked
    columns = (
        beliefs.proba[asked.item, asked.label],
        votes_on_pairs(beliefs.votes, asked.item, asked.label)[1],
        beliefs.experience[asked.worker],
        beliefs.hit[asked.worker, asked.label],
        beliefs.false_alarm[asked.worker, asked.label],
    )
    kinds = kinds_of(beliefs, seats)
    whose = [NOUNS[kinds[worker]] for worker in asked.worker.tolist()]
    prefix = "drawn at random: " if drawn else ""
    rows = zip(*(column.tolist() for column in columns), whose, strict=True)
    told = [prefix + reason(*row) for row in rows]
    if "to_know" in chosen.parts:
        of_value = zip(*(chosen.parts[name].tolist() for name in ("skill", "to_know", "new", "ahead")), strict=True)
        # An expert's skill is not learned from votes.
        told = [
            text if who == NOUNS[YOURSELF] else text + by_value(*row)
            for text, who, row in zip(told, whose, of_value, strict=True)
        ]
    if seats is None:
        return told
    return [text + by_family(*each) for text, each in zip(told, family_votes(asked, beliefs.votes, seats), strict=True)]


def family_votes(asked: Triplets, votes: Votes, seats: Seats) -> list[tuple[str | None, int]]:
    """Family of the worker of each question, None where they have none, and how many votes of it the pair has."""
    start, n_votes = votes_on_pairs(votes, asked.item, asked.label)
    families = seats.families().to_pylist()
    found: list[tuple[str | None, int]] = []
    for worker, first, n in zip(asked.worker.tolist(), start.tolist(), n_votes.tolist(), strict=True):
        family = seats.family[worker]
        same = (seats.family[votes.worker[first : first + n]] == family) & (family >= 0)
        found.append((families[worker], int(same.sum())))
    return found


def by_family(family: str | None, n_votes: int) -> str:
    """What the family of a worker has said about the pair, if they have one and it has.

    >>> by_family("gpt", 3), by_family("gpt", 1), by_family(None, 0)
    ('; its family gpt has 3 votes here: adds little', '; its family gpt has 1 vote here', '')
    """
    if family is None or not n_votes:
        return ""
    little = ": adds little" * (n_votes >= FAMILY_HAS_SPOKEN)
    return f"; its family {family} has {n_votes} vote{'s' * (n_votes > 1)} here{little}"


def by_value(skill: float, to_know: float, new: float, ahead: float) -> str:
    """What the value of the answer rests on: the worker, others like them, and how many answers change a decision.

    >>> by_value(0.6, 0.1, 1.0, 1.0)
    ', skill on all labels 0.60'
    >>> by_value(0.3, 0.6, 0.2, 3.0)
    ', skill on all labels 0.30, asked to get to know them; 20 % new beside their family; 3 such answers may decide it'
    """
    told = f", skill on all labels {skill:.2f}"
    if to_know > MOSTLY_TO_KNOW:
        told += ", asked to get to know them"
    if new < MOSTLY_NEW:
        told += f"; {100 * new:.0f} % new beside their family"
    return told + (f"; {ahead:.0f} such answers may decide it" if ahead > 1 else "")


def reason(proba: float, n_votes: int, experience: int, hit: float, false_alarm: float, who: str = "worker") -> str:
    """How open a pair is and what the worker is worth, in one line.

    >>> reason(0.52, 3, 40, 0.81, 0.04)
    'probability 0.52 after 3 votes; informative worker (hit 0.81, false alarm 0.04)'
    >>> reason(0.52, 3, 0, 0.99, 0.01, NOUNS[YOURSELF])
    'probability 0.52 after 3 votes; you, as an expert'
    """
    so_far = f"after {n_votes} vote{'s' * (n_votes > 1)}" if n_votes else "before the first vote"
    if who == NOUNS[YOURSELF]:
        return f"probability {proba:.2f} {so_far}; {who}"
    rates = f"(hit {hit:.2f}, false alarm {false_alarm:.2f})"
    return f"probability {proba:.2f} {so_far}; {_worth(experience, hit - false_alarm)} {who} {rates}"


def _worth(experience: int, informativeness: float) -> str:
    """What is known of a worker, in a word or two."""
    if not experience:
        return "new"
    if informativeness >= INFORMATIVE:
        return "informative"
    return "fairly informative" if informativeness >= FAIRLY_INFORMATIVE else "hardly informative"
