"""What to doubt about an audit: a slice that is small, not random, or partly left out.

An audit holds for random slices only, and nobody can prove that a slice is random. But much of what goes wrong shows:
easy items, the first items of a file, answers that the consensus has seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Floats
from amcc.audit.slices import ConsensusPairs, People, PeopleAnswers, Slice
from amcc.errors import InputError
from amcc.inference import unseen
from amcc.truth import Truth, positions
from amcc.votes import Votes

# Standard errors from which on a slice has more pairs of certain probability than a consensus without truth gives. The
# audit is refused then, so chance must be out of the question.
TOLD = 5.0

# Standard errors from which on a slice differs from the rest by more than chance. Five things are compared, so a random
# slice is suspected in about one of a hundred audits.
STRANGE = 3.0

# Items below which a slice is called small: its intervals hold, and are wide.
FEW_ITEMS = 20


def refuse_told(pairs: ConsensusPairs, answers: PeopleAnswers) -> None:
    """Raise InputError where the consensus seems to have been given these answers as known truth.

    This is for tables that do not say what was told: others lose those pairs before (`slices.without_told`). A told
    consensus repeats the answers, with probabilities of exactly 0 and 1. Others have such probabilities, too, when
    votes are counted; but they have them everywhere, and not always right.
    """
    asked, said = answers.n > 0, answers.said("majority")
    certain = (pairs.probability == 0) | (pairs.probability == 1)
    by_item = np.bincount(pairs.item, certain, pairs.n_items) / np.bincount(pairs.item, minlength=pairs.n_items)
    more = standard_errors_apart(by_item[np.unique(pairs.item[asked])], by_item)
    told = asked & certain
    if more > TOLD and (pairs.probability[told] == said[told]).all():
        raise InputError(
            f"the consensus must not have seen the answers it is measured by; it repeats {int(told.sum()):,} of "
            f"{int(asked.sum()):,} with certainty, as after --truth. Use one that was made without them; what they "
            "teach can be measured, too: --cross-fit (in Python cross_fitted)."
        )


def left_out(pairs: ConsensusPairs, answers: PeopleAnswers, people: People) -> list[str]:
    """What people answered that the consensus does not have, in a sentence; nothing where it has all of it."""
    named = pa.concat_arrays(people.items()).unique() if isinstance(people, Truth) else people.item_names
    # Items first: who gave the wrong file must not read about single pairs.
    strange = int((positions(named, pairs.item_names) < 0).sum())
    if strange:
        return [f"{strange:,} of {len(named):,} items of the slice are not in the consensus; they are left out"]
    if isinstance(people, Truth):
        n_said = 0 if people.known_pairs is None else len(people.known_pairs.item)
    else:
        n_said = len(people.pairs)
    n_there = int((answers.n > 0).sum())
    if n_said > n_there:
        return [
            f"{n_said - n_there:,} of {n_said:,} answered pairs are not in the consensus, because no worker "
            "was asked about them; they are left out. To count them in, give every pair a probability (--all-labels)"
        ]
    return []


def warnings_about(slice_: Slice, votes: Votes) -> list[str]:
    """What can be seen of a slice that is not random, or too small; the sentences of an audit."""
    found = _differences(slice_, votes)
    warnings = []
    if found:
        warnings.append(
            f"the slice is not like the rest, so it was hardly drawn at random: {'; '.join(found)}. The numbers of "
            "this audit hold for random slices only; draw one"
        )
    if slice_.n_items < FEW_ITEMS:
        warnings.append(f"{slice_.n_items:,} items are a small slice: intervals are wide, and for rare labels wider")
    return warnings


def _differences(slice_: Slice, votes: Votes) -> list[str]:
    """What of the items of the slice differs from all items by more than `STRANGE` standard errors.

    Traits are means by item: pairs of an item are alike, and to count them one by one would suspect random slices.
    """
    pairs, inside = slice_.pairs, np.unique(slice_.item)
    per_item = np.bincount(pairs.item, minlength=pairs.n_items)

    def mean(values: npt.NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(pairs.item, values, pairs.n_items) / per_item)

    # Votes on items that the consensus does not have count nowhere.
    code = positions(votes.item_names, pairs.item_names)
    n_votes = np.bincount(code[votes.item][code[votes.item] >= 0], minlength=pairs.n_items)
    traits = {
        "mean probability": mean(pairs.probability),
        "mean doubt": mean(np.minimum(pairs.probability, 1 - pairs.probability)),
        "votes per item": n_votes.astype(np.float64),
        # The first rows of a file are what people take who do not draw.
        "place in the file, from 0 to 1": np.arange(pairs.n_items) / max(pairs.n_items - 1, 1),
    }
    if pairs.settled is not None:
        traits["share settled"] = mean(pairs.settled)
    told = []
    for name, values in traits.items():
        z = standard_errors_apart(values[inside], values)
        if abs(z) > STRANGE:
            told.append(
                f"{name} {values[inside].mean():.2f} against {values.mean():.2f} of all ({abs(z):.1f} standard errors)"
            )
    return told


def standard_errors_apart(part: Floats, everything: Floats) -> float:
    """How far the mean of a part drawn at random is from that of everything, in its standard errors.

    The error shrinks as the part becomes everything (Cochran 1977, §2.6), as in `inference.unseen`. 0 where there is
    nothing to compare.

    >>> round(standard_errors_apart(np.array([9.0, 8.0]), np.arange(10.0)), 1)
    2.1
    """
    n, n_all = len(part), len(everything)
    if n < 2 or n == n_all or everything.std() == 0:
        return 0.0
    error = everything.std(ddof=1) * np.sqrt(unseen(n, n_all) / n)
    return float((part.mean() - everything.mean()) / error)


def own_votes(votes: Votes, people: People, n_own: int) -> list[str]:
    """Warn about people of the slice who voted as well: they agree with the consensus because they made it.

    n_own : answers that were left out because they are among the votes, see `slices.without_own`.
    """
    if isinstance(people, Truth):
        return []
    if n_own:
        return [f"{n_own:,} answers are left out: the same people voted so, and the consensus has seen it"]
    both = np.flatnonzero(positions(people.worker_names, votes.worker_names) >= 0)
    if not both.size:
        return []
    who = people.worker_names[int(both[0])].as_py()
    more = f" and {both.size - 1:,} more" if both.size > 1 else ""
    return [
        f"{who!r}{more} of the slice also voted: if those are the same answers, the consensus has seen them and looks "
        "better than it is. Leave them out of the votes"
    ]
