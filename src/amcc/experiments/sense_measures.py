"""What common sense asks of a consensus, one measure each: a case gives one number.

A measure gives None where the case cannot tell: no person among the models, no worker of a family. Which numbers are
allowed is said in `sense.POINTS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import Roster, Votes
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus import ConsensusModel
from amcc.experiments.cells import Draw
from amcc.experiments.sense_draws import part_of
from amcc.metrics import NEVER
from amcc.votes import OnConflict

Make = Callable[[], ConsensusModel]

# Votes that agree before a reversal is against sense: two may be wrong together by chance.
UNANIMOUS = 3
# Share of the votes that is taken away.
TAKEN = 0.01
# Of all votes, in steps: what `learning_curve` has seen when it is scored.
STEPS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
# How often every answer is given where it is repeated.
N_SAMPLES = 3


class Moves(NamedTuple):
    """Changes of probabilities: of all pairs, and of those that lost no vote."""

    all: Floats
    untouched: Floats


@dataclass(frozen=True)
class Case:
    """A draw and who makes models for it; the fit to all votes is made once."""

    make: Make
    draw: Draw
    seed: int = 0

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers of its own for each purpose, so that a measure can be asked alone."""
        return np.random.default_rng((self.seed, zlib.crc32(purpose.encode())))

    def fitted(self, votes: Votes, roster: Roster | None = None) -> ConsensusModel:
        """A fresh model of these votes, with the roster of the draw or another one."""
        roster = self.draw.roster if roster is None else roster
        # Methods without a use for a roster need not know the argument.
        return self.make().fit(votes) if roster is None else self.make().fit(votes, roster=roster)

    def proba(self, votes: Votes, roster: Roster | None = None) -> Floats:
        """(n_pairs,) probabilities by such a model."""
        return self.fitted(votes, roster).pair_proba_

    @cached_property
    def base(self) -> Floats:
        """(n_pairs,) probabilities of the votes as they are."""
        return self.proba(self.draw.votes)

    @cached_property
    def known(self) -> Mask:
        """(n_pairs,) where the truth is known."""
        return self.draw.known[self.draw.votes.pairs.item, self.draw.votes.pairs.label]

    @cached_property
    def truth(self) -> Mask:
        """(n_pairs,) what is true, where that is known."""
        return self.draw.truth[self.draw.votes.pairs.item, self.draw.votes.pairs.label]

    @cached_property
    def moves(self) -> Moves:
        """What happens where one vote of a hundred is taken away; pairs without a vote are left out."""
        votes, keep = self.draw.votes, np.ones(len(self.draw.votes), dtype=bool)
        keep[self.rng("moves").permutation(len(votes))[: max(1, round(TAKEN * len(votes)))]] = False
        fewer = votes.select(keep)
        left = np.isin(keys(votes), keys(fewer))
        move = self.proba(fewer) - self.base[left]
        return Moves(move, move[np.add.reduceat(~keep, votes.pairs.start[:-1], dtype=np.int64)[left] == 0])

    def accuracy(self, proba: Floats) -> float:
        """Share of the known pairs that are right; what is exactly between yes and no is right by half."""
        right = np.where(np.abs(proba - 0.5) < 1e-9, 0.5, (proba > 0.5) == self.truth)
        return float(right[self.known].mean())


def unanimous(case: Case) -> Floats | None:
    """Of the pairs with three or more votes that agree, from every declared kind: which are called the other way."""
    votes, pairs = case.draw.votes, case.draw.votes.pairs
    agree = ((votes.n_yes == 0) | (votes.n_yes == pairs.n_votes)) & (pairs.n_votes >= UNANIMOUS)
    if case.draw.roster is not None:
        kind = case.draw.roster.seats(votes.worker_names).kind
        pair = np.repeat(np.arange(len(pairs)), pairs.n_votes)
        for each in np.unique(kind):
            agree &= np.bincount(pair, kind[votes.worker] == each, len(pairs)) > 0
    reversed_ = (case.base > 0.5) != (votes.n_yes > 0)
    return reversed_[agree].astype(float) if agree.any() else None


def majority(case: Case) -> float:
    """Accuracy less that of majority; a tie of votes is a no, as `amcc consensus -m majority` decides."""
    votes = case.draw.votes
    decided = 2 * votes.n_yes > votes.pairs.n_votes
    right = [(said == case.truth)[case.known].mean() for said in (case.base > 0.5, decided)]
    return float(right[0] - right[1])


def mirror(case: Case) -> float:
    """Change of accuracy where every yes is a no, and the other way round."""
    votes = case.draw.votes
    mirrored = 1 - case.proba(replace(votes, value=-votes.value))
    return case.accuracy(mirrored) - case.accuracy(case.base)


def stranger(case: Case) -> float:
    """Change of accuracy where one worker joins who answers every asked pair at random."""
    rng = case.rng("stranger")
    n_pairs = len(case.draw.votes.pairs)
    joined = with_worker(case.draw.votes, "stranger", np.arange(n_pairs), rng.choice([-1, 1], n_pairs))
    return case.accuracy(case.proba(joined)) - case.accuracy(case.base)


def repeat(case: Case) -> float:
    """Change of accuracy where every answer is given three times, as samples."""
    votes = case.draw.votes
    codes = [np.tile(code, N_SAMPLES) for code in (votes.item, votes.worker, votes.label, votes.value)]
    sampled = votes_like(votes, codes, votes.worker_names, on_conflict="samples")
    return case.accuracy(case.proba(sampled)) - case.accuracy(case.base)


def twins(case: Case) -> float | None:
    """How much accuracy changes, either way, where one more model joins a family and copies another one."""
    rng = case.rng("twins")
    votes, roster = case.draw.votes, case.draw.roster
    if roster is None or not (families := roster.seats(votes.worker_names)).family.max(initial=-1) + 1:
        return None
    first = int(rng.choice(np.flatnonzero(families.family >= 0)))
    theirs = votes.worker == first
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)[theirs]
    joined = with_worker(votes, "twin", pair, votes.value[theirs])
    table, name = roster.to_arrow(), str(votes.worker_names[first])
    row = table.filter(pc.equal(table["worker"], name))
    column = pa.array(["twin"], row["worker"].type)
    twin = row.set_column(0, "worker", column)
    extended = Roster.from_frame(pa.concat_tables([table, twin]))
    return abs(case.accuracy(case.proba(joined, extended)) - case.accuracy(case.base))


def smooth(case: Case) -> float:
    """How far all probabilities move, root mean square, where one vote of a hundred is taken away."""
    return rms(case.moves.all)


def smooth_elsewhere(case: Case) -> float | None:
    """The same of the pairs that lost no vote."""
    return rms(case.moves.untouched) if len(case.moves.untouched) else None


def silent_roster(case: Case) -> float | None:
    """Largest change by a roster that says nothing: all are people, nobody has a family."""
    if case.draw.roster is not None or not case.make().uses_roster:
        return None
    votes, none = case.draw.votes, pa.nulls(case.draw.votes.n_workers, pa.string())
    kind = ["human"] * votes.n_workers
    roster = Roster.from_frame(pa.table({"worker": votes.worker_names.cast(pa.string()), "kind": kind, "family": none}))
    return float(np.abs(case.proba(votes, roster) - case.base).max())


def first_vote(case: Case) -> float | None:
    """How far the other probabilities move, root mean square, by the first vote of a person among models."""
    rng = case.rng("first_vote")
    votes, roster = case.draw.votes, case.draw.roster
    person = None if roster is None else (roster.seats(votes.worker_names).kind == 0)[votes.worker]
    if person is None or not person.any() or person.all():
        return None
    one = ~person
    one[rng.choice(np.flatnonzero(person))] = True
    # As in files: before, nobody has heard of the person.
    before, after = votes.select(~person), votes.select(one)
    both = [case.proba(part_of(case.draw, keep).votes) for keep in (~person, one)]
    # The pair of the vote is left out: it may move, or had no vote before.
    same = np.isin(keys(after), keys(before))
    same[same] = after.pairs.n_votes[same] == before.pairs.n_votes
    return rms(both[1][same] - both[0][np.isin(keys(before), keys(after)[same])])


def idle(case: Case) -> float:
    """Largest change by a worker who is known by name and never voted."""
    votes = case.draw.votes
    more = pa.array([*votes.worker_names.cast(pa.string()).to_pylist(), "idle"])
    return float(np.abs(case.proba(replace(votes, worker_names=more)) - case.base).max())


def names(case: Case) -> float:
    """Largest change where rows come in another order and items, workers and labels have other names."""
    rng = case.rng("names")
    votes, roster = case.draw.votes, case.draw.roster
    table = votes.to_arrow().take(pa.array(rng.permutation(len(votes))))
    new: dict[str, pa.Array] = {}
    for role in ("item", "worker", "label"):
        old = getattr(votes, f"{role}_names")
        new[role] = pa.array([f"{role} {place:06d}" for place in rng.permutation(len(old))])
        code = pc.index_in(table[role].cast(old.type), value_set=old)
        table = table.set_column(table.column_names.index(role), role, new[role].take(code.combine_chunks()))
    if roster is not None:
        place = pc.index_in(roster.worker, value_set=votes.worker_names.cast(pa.string()))
        rows = roster.to_arrow().filter(pc.is_valid(place))
        roster = Roster.from_frame(rows.set_column(0, "worker", new["worker"].take(place.drop_null())))
    renamed = Votes.from_frame(table)
    place = {role: np.asarray(pc.index_in(new[role], value_set=getattr(renamed, f"{role}_names"))) for role in new}
    wanted = place["item"][votes.pairs.item].astype(np.int64) * renamed.n_labels + place["label"][votes.pairs.label]
    found = case.proba(renamed, roster)[np.searchsorted(keys(renamed), wanted)]
    return float(np.abs(found - case.base).max())


def other_seed(case: Case) -> float | None:
    """Largest change with another `random_state`."""
    if "random_state" not in case.make().get_params():
        return None
    other = Case(lambda: case.make().set_params(random_state=1), case.draw)
    return float(np.abs(other.base - case.base).max())


def one_label(case: Case) -> float:
    """Share of items whose likeliest label is the true one, less that of plurality; ties count by their share."""
    votes = case.draw.votes
    shape, at = case.draw.truth.shape, (votes.pairs.item, votes.pairs.label)

    def right(score: Floats) -> float:
        scores = np.full(shape, -np.inf)
        scores[at] = score
        top = scores >= scores.max(axis=1, keepdims=True) - 1e-12
        return float(((top & case.draw.truth).sum(axis=1) / top.sum(axis=1)).mean())

    return right(case.base) - right(votes.n_yes / votes.pairs.n_votes)


def against_counts(case: Case) -> float:
    """Log-loss less that of smoothed counts, (yes + 1/2) / (votes + 1)."""
    votes = case.draw.votes
    counts = (votes.n_yes + 0.5) / (votes.pairs.n_votes + 1)
    return log_loss(case.base[case.known], case.truth[case.known]) - log_loss(
        counts[case.known], case.truth[case.known]
    )


def learning_curve(case: Case) -> Floats:
    """(n_steps,) log-loss of all known pairs after so many random votes; pairs without a vote have what is usual."""
    rng = case.rng("learning_curve")
    votes, pairs = case.draw.votes, case.draw.votes.pairs
    order, losses = rng.permutation(len(votes)), []
    for share in STEPS:
        seen = np.zeros(len(votes), dtype=bool)
        seen[order[: max(1, round(share * len(votes)))]] = True
        proba = case.fitted(votes.select(seen)).predict_proba()[pairs.item, pairs.label]
        losses.append(log_loss(proba[case.known], case.truth[case.known]))
    return np.array(losses)


# -- helpers ---------------------------------------------------------------------------------------------------------


def votes_like(
    votes: Votes, codes: Sequence[npt.NDArray[Any]], worker_names: pa.Array, on_conflict: OnConflict = "error"
) -> Votes:
    """Votes of these codes (item, worker, label, value) about the same items and labels."""
    item, worker, label, value = codes
    return Votes.from_codes(
        item, worker, label, value,
        item_names=votes.item_names, worker_names=worker_names, label_names=votes.label_names, on_conflict=on_conflict,
    )  # fmt: skip


def with_worker(votes: Votes, name: str, pair: Ints, value: Ints) -> Votes:
    """The votes and those of one worker more on these pairs."""
    own = np.full(len(pair), votes.n_workers)
    more: list[npt.NDArray[Any]] = [votes.pairs.item[pair], own, votes.pairs.label[pair], value]
    old: list[npt.NDArray[Any]] = [votes.item, votes.worker, votes.label, votes.value]
    worker_names = pa.array([*votes.worker_names.cast(pa.string()).to_pylist(), name])
    return votes_like(votes, [np.append(one, two) for one, two in zip(old, more, strict=True)], worker_names)


def keys(votes: Votes) -> Ints:
    """(n_pairs,) asked pairs as numbers, ascending; comparable where vocabularies are the same."""
    return votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label


def rms(move: Floats) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(move**2)))


def log_loss(proba: Floats, truth: Mask) -> float:
    """Mean of −log of what was given to the truth, clipped as in `amcc.metrics`."""
    given = np.clip(np.where(truth, proba, 1 - proba), NEVER, 1 - NEVER)
    return float(-np.log(given).mean())
