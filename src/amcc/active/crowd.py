"""Who can be asked: recorded votes, or simulated workers; live crowds need only follow the same protocol.

A `ReplayCrowd` knows only the votes that were recorded. A `SimulatedCrowd` answers anything, by what is known of its
world. Both give one answer to one question, whenever it is asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from amcc.active.candidates import Anything, Candidates, Recorded
from amcc.active.questions import Triplets
from amcc.arrays import Floats, Ints, Mask, Signs, find_sorted
from amcc.data import simulate
from amcc.errors import InputError, ParameterError
from amcc.votes import Votes

__all__ = ["AskableCrowd", "ReplayCrowd", "SimulatedCrowd"]

Keys = npt.NDArray[np.uint64]


class AskableCrowd(Protocol):
    """Workers who can be asked about items.

    What a crowd answers may depend on the question, but not on when it is asked: a campaign that was interrupted before
    it could record an answer asks again, and the worker must not be paid twice for it.
    """

    @property
    def nobody_asked(self) -> Votes:
        """No votes, but the vocabularies: all items, labels and workers there are, those who join later included."""

    def candidates(self, asked: Triplets, workers: Mask, round_number: int) -> Candidates:
        """What may be asked in this round of these `workers` (n_workers,), without what was `asked` before."""

    def ask(self, questions: Triplets) -> Signs:
        """(n,) +1 for yes, −1 for no, 0 where nobody answered."""


class ReplayCrowd:
    """Recorded votes: only they can be asked for, each once. To resume a campaign, make a new one."""

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self._keys = Triplets.of_votes(votes).keys(votes)
        self._asked = np.zeros(len(votes), dtype=bool)

    @property
    def nobody_asked(self) -> Votes:
        """See `AskableCrowd`."""
        return without_votes(self._votes)

    def candidates(self, asked: Triplets, workers: Mask, round_number: int) -> Candidates:
        """See `AskableCrowd`."""
        closed = ~workers[self._votes.worker]
        place, recorded = self._find(asked)
        closed[place[recorded]] = True
        return Recorded(self._votes, closed)

    def ask(self, questions: Triplets) -> Signs:
        """See `AskableCrowd`."""
        check_known(questions, self._votes)
        place, recorded = self._find(questions)
        self._refuse(questions, ~recorded, "was never recorded")
        # All is checked before anything is marked as asked: a batch is answered whole or not at all.
        first = np.zeros(len(place), dtype=bool)
        first[np.unique(place, return_index=True)[1]] = True
        self._refuse(questions, self._asked[place] | ~first, "was asked before")
        self._asked[place] = True
        return self._votes.value[place]

    def _refuse(self, questions: Triplets, wrong: Mask, problem: str) -> None:
        """Raise InputError about the first question that is wrong."""
        if wrong.any():
            first = questions.take(np.flatnonzero(wrong)[:1]).named(self._votes)
            question = ", ".join(f"{role} {name[0].as_py()!r}" for role, name in first.items())
            raise InputError(f"a replay can ask for recorded votes only, each once; {question} {problem}.")

    def _find(self, questions: Triplets) -> tuple[Ints, Mask]:
        """Place of each question among the votes, and whether it is there."""
        return find_sorted(self._keys, questions.keys(self._votes))


class SimulatedCrowd:
    """Workers of a simulated world, who answer any question by their rates, the truth and the item's difficulty.

    Parameters
    ----------
    world : what `amcc.data.simulate.simulate_crowd` gives. Its votes are not used, only their vocabularies.
    seed : fixes all answers. Each is drawn from the seed and the question alone.
    answer_rate : chance that a question is answered at all.
    joins, leaves : (n_workers,) first round in which each worker is there, and first in which they no longer are.
    """

    def __init__(
        self,
        world: simulate.SimulatedWorld,
        *,
        seed: int = 0,
        answer_rate: float = 1.0,
        joins: npt.ArrayLike | None = None,
        leaves: npt.ArrayLike | None = None,
    ) -> None:
        if not 0 <= answer_rate <= 1:
            raise ParameterError(f"answer_rate must lie in 0 … 1; got {answer_rate!r}.")
        if not world.independent:
            raise ParameterError(
                "a world whose workers are asked must have independent votes; this one has faint or tempting pairs, "
                "taste, families or a convention. Replay its recorded votes instead."
            )
        self._world, self._seed, self._answer_rate = world, seed, answer_rate
        # Infinite where nothing is given, so that one comparison serves all.
        self._joins = _per_worker(joins, "joins", world, otherwise=-np.inf)
        self._leaves = _per_worker(leaves, "leaves", world, otherwise=np.inf)

    @property
    def nobody_asked(self) -> Votes:
        """See `AskableCrowd`."""
        return without_votes(self._world.votes)

    def candidates(self, asked: Triplets, workers: Mask, round_number: int) -> Candidates:
        """See `AskableCrowd`."""
        there = (self._joins <= round_number) & (round_number < self._leaves)
        return Anything(_as_votes(asked, self._world.votes), workers & there)

    def ask(self, questions: Triplets) -> Signs:
        """See `AskableCrowd`."""
        check_known(questions, self._world.votes)
        # Two streams: whether somebody answers at all must not depend on what they would say.
        yes = question_luck(questions, self._seed, stream=0) < yes_chance(self._world, questions)
        answered = question_luck(questions, self._seed, stream=1) < self._answer_rate
        return np.where(answered, np.where(yes, 1, -1), 0).astype(np.int8)


def yes_chance(world: simulate.SimulatedWorld, questions: Triplets) -> Floats:
    """(n,) chance of a yes to each question; difficulty counts for those who look, as in `amcc.data.simulate`."""
    item, label, worker = questions.item, questions.label, questions.worker
    present = world.truth[item, label]
    rate = np.where(present, world.hit_rate[worker, label], world.false_alarm_rate[worker, label])
    # Spammers do not look, so that no item is hard for them.
    honest = np.isin(world.worker_kind[worker], list(simulate.HONEST_RATES))
    shift = simulate.DIFFICULTY_SHIFT[present.astype(np.int8)] * np.where(
        honest, world.difficulty[item].astype(np.float64), 0.0
    )
    # sigmoid(logit(rate) + shift), without the logarithm of 0
    return np.asarray(rate / (rate + (1 - rate) * np.exp(-shift)))


def question_luck(questions: Triplets, seed: int, stream: int) -> Floats:
    """(n,) numbers as if drawn evenly from 0 … 1, each from its question, the seed and the stream alone."""
    # No generator that is drawn from in turn: the answer would depend on what was asked before.
    keys = np.asarray(np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(1, np.uint64), np.uint64)
    for codes in (questions.item, questions.label, questions.worker):
        keys = _scrambled(keys ^ codes.astype(np.uint64))
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53  # the 53 bits that a float can hold


def _scrambled(keys: Keys) -> Keys:
    """The finalizer of the SplitMix64 generator: every bit of the input moves every bit of the output."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def check_known(questions: Triplets, votes: Votes) -> None:
    """Raise InputError unless all questions are about items, labels and workers there are."""
    sizes = {"item": votes.n_items, "label": votes.n_labels, "worker": votes.n_workers}
    for role, size in sizes.items():
        code = getattr(questions, role)
        if ((code < 0) | (code >= size)).any():
            wrong = code[(code < 0) | (code >= size)][0]
            raise InputError(f"a question must be about a known {role}, a code in 0..{size - 1}; got {wrong}.")


def without_votes(votes: Votes) -> Votes:
    """The vocabularies alone."""
    return votes.select(np.zeros(len(votes), dtype=bool))


def _as_votes(asked: Triplets, vocabularies: Votes) -> Votes:
    """Questions as if they had been answered: to know what was asked, the answer does not matter."""
    # Votes are sorted by item, label and worker; whatever reads them relies on it.
    ordered = asked.take(np.argsort(asked.keys(vocabularies)))
    item, label, worker = (code.astype(np.int32) for code in (ordered.item, ordered.label, ordered.worker))
    return replace(vocabularies, item=item, label=label, worker=worker, value=np.ones(len(asked), dtype=np.int8))


def _per_worker(rounds: npt.ArrayLike | None, name: str, world: simulate.SimulatedWorld, otherwise: float) -> Floats:
    """(n_workers,) rounds as they were given, or otherwise the same for everybody."""
    if rounds is None:
        return np.full(world.votes.n_workers, otherwise)
    given = np.asarray(rounds, dtype=np.float64)
    if given.shape != (world.votes.n_workers,) or np.isnan(given).any():
        raise ParameterError(f"{name} must hold a round for each of {world.votes.n_workers} workers; got {given}.")
    return given
