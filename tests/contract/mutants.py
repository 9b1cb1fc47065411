"""Small wrong models, strategies and engines: the contract must catch each, or it promises more than it checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from amcc import Truth, Votes
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies.amcc import PaperCriterion
from amcc.active.strategies.baselines import Uniform
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats
from amcc.consensus import NAM, DawidSkene, MajorityVote
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.settling import SETTLED_ERROR
from amcc.engine.base import Engine, InMemory, added
from amcc.engine.local import LocalEngine

# -- models ----------------------------------------------------------------------------------------------------------


def denied(votes: Votes) -> Votes:
    """Votes in which a worker who answered an item denies every label that they were not asked about."""
    dense = votes.to_dense()
    answered = (dense != 0).any(axis=2, keepdims=True)
    dense = np.where((dense == 0) & answered, -1, dense)
    names = {f"{role}_names": getattr(votes, f"{role}_names") for role in ("worker", "item", "label")}
    return Votes.from_dense(dense, **names)


class UnaskedIsNo(DawidSkene):
    """Reads what was not asked as a no."""

    def fit(self, votes: Any, features: Any = None, truth: Truth | None = None) -> UnaskedIsNo:
        return super().fit(denied(votes), features, truth)


class UnaskedIsNoInConsensus(DawidSkene):
    """Judges workers by what they were asked, yet counts their silence against the labels."""

    def _learn(self, engine: Engine) -> Learned:
        votes, _ = in_memory(engine)
        dense = denied(votes)
        proba = np.zeros((votes.n_items, votes.n_labels))
        proba[dense.pairs.item, dense.pairs.label] = DawidSkene().fit(dense).pair_proba_
        return super()._learn(engine)._replace(items=Inferred(proba[votes.pairs.item, votes.pairs.label]))


class UnaskedIsNoMajority(MajorityVote):
    """Takes the share of yes among all who answered the item, asked or not."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(votes.n_yes / votes.answers_per_item[votes.pairs.item])


class IgnoresTruth(DawidSkene):
    """Does not learn from known truth; the base class writes it in afterwards."""

    def _learn(self, engine: Engine) -> Learned:
        return super()._learn(InMemory(in_memory(engine)[0]))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return super()._infer(votes, prior, Gold.nothing(len(votes.pairs)))


class SharesState(DawidSkene):
    """What one object learned about the average worker is in all objects."""

    average_hit_rate_: ClassVar[Floats]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "average_hit_rate_":
            setattr(type(self), name, value)
        else:
            super().__setattr__(name, value)


class RemembersTheLastFit(DawidSkene):
    """A second fit leans on the first."""

    def _learn(self, engine: Engine) -> Learned:
        before = float(self.label_prior_.mean()) if hasattr(self, "label_prior_") else None
        self.before = before
        return super()._learn(engine)

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        found = super()._infer(votes, prior, gold).pair
        return Inferred(found if self.before is None else 0.9 * found + 0.1 * self.before)


class IgnoresTheSeed(DawidSkene):
    """Draws from a generator that no seed fixes."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        found = super()._infer(votes, prior, gold).pair
        return Inferred(found * np.random.default_rng().uniform(0.99, 1, len(found)))


class SeedsEverybody(DawidSkene):
    """Seeds numpy's global generator, and so what the rest of the user's program draws."""

    def _learn(self, engine: Engine) -> Learned:
        np.random.seed(0)  # noqa: NPY002
        return super()._learn(engine)


class DependsOnRowOrder(DawidSkene):
    """Believes that the first row of a table is an example, and leaves it out."""

    def fit(self, votes: Any, features: Any = None, truth: Truth | None = None) -> DependsOnRowOrder:
        return super().fit(votes.slice(1) if isinstance(votes, pa.Table) else votes, features, truth)


class TrustsTheFirst(DawidSkene):
    """Counts the votes of whoever comes first in the alphabet, and the label that does, more than others."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        found = super()._infer(votes, prior, gold).pair
        first = np.bincount(votes.item[votes.worker == 0], minlength=votes.n_items) > 0
        lead = first[votes.pairs.item] | (votes.pairs.item == 0) | (votes.pairs.label == 0)
        return Inferred(np.where(lead, found**2, found))


class SettlesOnOneVote(DawidSkene):
    """Calls a pair settled whenever the model is sure."""

    def __init__(self) -> None:
        super().__init__(hit_prior=(99.0, 1.0), false_alarm_prior=(1.0, 99.0))

    def fit(self, votes: Any, features: Any = None, truth: Truth | None = None) -> SettlesOnOneVote:
        super().fit(votes, features, truth)
        sure = np.abs(self.pair_proba_ - 0.5) >= 0.5 - SETTLED_ERROR
        self.results_ = replace(self.item_results(), pair_settled=sure)
        return self


class NoIsYes(MajorityVote):
    """Takes every vote as support."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(np.ones(len(votes.pairs)))


class OverwritesArguments(DawidSkene):
    """Changes a constructor argument."""

    def _learn(self, engine: Engine) -> Learned:
        self.max_iter += 1
        return super()._learn(engine)


class ModifiesVotes(MajorityVote):
    """Writes into the arrays of its input."""

    def _learn(self, engine: Engine) -> Learned:
        learned, (votes, _) = super()._learn(engine), in_memory(engine)
        votes.value.setflags(write=True)
        votes.value[votes.value < 0] = 0
        return learned


class NeedsText(MajorityVote):
    """Takes it for granted that names are text."""

    def fit(self, votes: Votes, features: Any = None, truth: Truth | None = None) -> NeedsText:
        self.names = [name.lower() for name in votes.item_names.to_pylist()]
        return super().fit(votes, features, truth)


class IgnoresFeatures(NAM):
    """Takes features, and does not look at them."""

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        return super()._learn(InMemory(votes, gold.signs))


class ForgetsTheWorkers(DawidSkene):
    """Judges new votes as if nobody had been seen before."""

    def applied_to(self, votes: Votes) -> ForgetsTheWorkers:
        model = super().applied_to(votes)
        model.results_ = replace(model.item_results(), pair_proba=votes.n_yes / votes.pairs.n_votes)
        return model


class KnowsNothing(MajorityVote):
    """Says the same of every item."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(prior[votes.pairs.label])


# -- models without common sense -------------------------------------------------------------------------------------


class ReversesTheUnanimous(MajorityVote):
    """Does not believe what all say of every second pair."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        share = super()._infer(votes, prior, gold).pair
        doubted = (np.arange(len(share)) % 2 == 0) & np.isin(share, (0, 1))
        return Inferred(np.where(doubted, 1 - share, share))


class AlwaysNo(MajorityVote):
    """Nothing is there."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(np.zeros(len(votes.pairs)))


class WantsMoreYes(MajorityVote):
    """More than seven of ten must say yes, and three that say no are enough."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(super()._infer(votes, prior, gold).pair ** 2)


class FollowsTheBusiest(MajorityVote):
    """Believes whoever gave most votes; of several, who came last."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        n_votes = np.bincount(votes.worker)
        theirs = votes.worker == np.flatnonzero(n_votes == n_votes.max())[-1]
        proba = super()._infer(votes, prior, gold).pair.copy()
        pair = np.repeat(np.arange(len(proba)), votes.pairs.n_votes)
        proba[pair[theirs]] = votes.value[theirs] > 0
        return Inferred(proba)


class CountsSamples(DawidSkene):
    """Takes every sample of a worker for another vote."""

    def _as_it_counts(self, votes: Any) -> Votes:
        return votes if isinstance(votes, Votes) else Votes.from_frame(votes)


class CountsCopies(MajorityVote):
    """Takes a roster, and counts every model of a family in full."""

    uses_roster = True


class JumpsWithTheCrowd(MajorityVote):
    """Decides by one number of the whole crowd how it reads votes: here, whether the number of yes is even."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        share = super()._infer(votes, prior, gold).pair
        return Inferred(share if votes.n_yes.sum() % 2 else share**2)


class AnyRosterMatters(MajorityVote):
    """Reads votes in another way as soon as there is a roster."""

    uses_roster = True

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        share = super()._infer(votes, prior, gold).pair
        return Inferred(share**2 if self._roster is not None else share)


class CountsTheSilent(MajorityVote):
    """Takes the share of yes among all workers that it has heard of."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(votes.n_yes / votes.n_workers)


class OnePersonTurnsAll(MajorityVote):
    """Reads votes of models in another way as soon as one person voted on one pair."""

    uses_roster = True

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        share, roster = super()._infer(votes, prior, gold).pair, self._roster
        person = roster is not None and (roster.seats(votes.worker_names).kind == 0)[votes.worker].any()
        return Inferred(share**2 if person else share)


class LikesTheFrequent(MajorityVote):
    """Takes the share of a label among all items for as good as the votes on this one."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred((super()._infer(votes, prior, gold).pair + prior[votes.pairs.label]) / 2)


class SureOfAll(MajorityVote):
    """More votes for than against, and there is no doubt left."""

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred((super()._infer(votes, prior, gold).pair > 0.5).astype(float))


class SeedDecides(MajorityVote):
    """Adds to every share what its seed says."""

    def __init__(self, *, random_state: int = 0) -> None:
        super().__init__()
        self.random_state = random_state

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        share = super()._infer(votes, prior, gold).pair
        return Inferred(0.99 * share + 0.01 * np.random.default_rng(self.random_state).random(len(share)))


# -- strategies ------------------------------------------------------------------------------------------------------

Generator = np.random.Generator


@dataclass(frozen=True)
class AsksTwice(Uniform):
    """The same question twice in a batch."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        asked = super().select(beliefs, candidates, prices, batch, rng).asked
        asked = asked.take(np.append(np.arange(len(asked) - 1), 0)[: len(asked)])
        return Questions(asked, np.zeros(len(asked)))


@dataclass(frozen=True)
class AsksAnybodyAnything(Uniform):
    """Also questions that were answered, of workers who are not there."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        shape = (*beliefs.proba.shape, len(prices))
        asked = Triplets(*np.unravel_index(rng.permutation(np.prod(shape))[:batch], shape))
        return Questions(asked, np.zeros(len(asked)))


@dataclass(frozen=True)
class IgnoresPrices(PaperCriterion):
    """As if everybody cost the same."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        return super().select(beliefs, candidates, np.ones_like(prices), batch, rng)


@dataclass(frozen=True)
class PrefersTheExpensive(PaperCriterion):
    """Takes what workers cost for what they are worth."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        return super().select(beliefs, candidates, 1 / prices, batch, rng)


@dataclass(frozen=True)
class DrawsByItself(Uniform):
    """Draws from a generator of its own."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        return super().select(beliefs, candidates, prices, batch, np.random.default_rng())


@dataclass(frozen=True)
class ChangesBeliefs(Uniform):
    """Writes into what others believe, too."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        chosen = super().select(beliefs, candidates, prices, batch, rng)
        beliefs.proba[chosen.asked.item, chosen.asked.label] += 1e-9
        return chosen


@dataclass(frozen=True)
class WorstFirst(PaperCriterion):
    """The best question comes last."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: Generator
    ) -> Questions:
        chosen = super().select(beliefs, candidates, prices, batch, rng)
        back = np.arange(len(chosen))[::-1]
        parts = {name: part[back] for name, part in chosen.parts.items()}
        return Questions(chosen.asked.take(back), chosen.utility[back], parts)


@dataclass(frozen=True)
class TakesFeaturesInVain(ValueOfInformation):
    """Says that it uses features of items, and does not look at them."""

    uses_features: ClassVar[bool] = True


@dataclass(frozen=True)
class HidesThatItUsesFeatures(PaperCriterion):
    """Looks at features of items, and says that it does not."""

    uses_features: ClassVar[bool] = False


# -- engines ---------------------------------------------------------------------------------------------------------


class LosesABlock(LocalEngine):
    """Does not wait for the last block."""

    def total(self, function: Callable[..., Any], *shared: Any) -> Any:
        return self.total_of(range(len(self.packed.entries) - 1), function, *shared)


class CountsABlockTwice(LocalEngine):
    """Adds the result of a task that was run again to that of its first run."""

    def total(self, function: Callable[..., Any], *shared: Any) -> Any:
        again = self.total_of(range(1), function, *shared)
        return added([super().total(function, *shared), again])


class GivesBlocksAsTheyCome(LocalEngine):
    """Results in the order in which they are ready."""

    def each(self, function: Callable[..., Any], *shared: Any) -> Iterator[Any]:
        yield from reversed(list(super().each(function, *shared)))
