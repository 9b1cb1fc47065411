"""Our own strategy: by how much an answer is expected to lower the loss, for each unit of cost.

The value of asking a worker about a pair is made of six things, each a function of its own:

    what the answer may change          the expected drop in loss, several answers ahead  (`amcc.active.value`)
    how good the worker is              expected skill, and what asking teaches about it  (`amcc.active.skills`)
    how much they said already          a consensus must not be that of a few             (`said_by_few`)
    what others said already            votes of one family repeat each other             (`amcc.consensus.families`)
    what is left to learn of the pair   after many votes it is a matter of degree         (`still_to_learn`)
    what it tells about other labels    by their correlation, where that is wanted        (`carried_over`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.page_picking import pick_pages, promise_of_pages, worth_of_pages
from amcc.active.picking import distinct, in_groups, pick_batch, questions_about
from amcc.active.prices import Prices
from amcc.active.questions import NOTHING_ASKED, Questions, Triplets
from amcc.active.skills import Skills
from amcc.active.strategy import UsualStrategy, register
from amcc.active.value import LOSSES, answers_ahead, value_by_skill
from amcc.arrays import Floats, Ints
from amcc.errors import ParameterError
from amcc.votes import Votes

# Answers about one pair that are asked for at once. What the first says decides what the next is worth, so that more
# than three would be bought blindly.
MOST_TOGETHER = 3

# Utility from which on a further answer at once is worth anything: above rounding errors.
LEAST = 1e-12


def still_to_learn(n_votes: Floats) -> Floats:
    """How much of an answer's value is left after so many votes on the pair.

    Pairs are of several kinds. Some are clear, and a few votes settle them. What is still in doubt after many votes is
    a matter of degree: so many people would say yes, and more votes only tell that share better. The next of n votes
    lowers its variance by about 1 / n.
    """
    return 1.0 / (1.0 + n_votes)


def said_by_few(n_votes: Ints, usual: float) -> Floats:
    """(n,) what the value of an answer is divided by, given how many votes its worker gave, and how many are usual.

    Always to ask who seems best ends with a consensus that is mostly theirs, speaks for them, and so finds them best.
    Everybody has a taste of their own, and the larger a worker's share of all votes, the more of it is in the result:
    who gave as many votes as is usual is worth half of what a stranger of the same skill is, with three times as many a
    quarter.
    """
    return np.asarray(1.0 + n_votes / usual)


def places_among_own(worker: Ints, utility: Floats, of_page: Floats | None = None) -> Ints:
    """(n,) how many better questions there are to the same worker, for whom all cost the same.

    of_page : (n,) what the page of each question is worth, where a page costs something: then the worker's pages come
        one after the other, the best first, because labels of one page are asked together.

    >>> places_among_own(np.array([0, 1, 0, 0]), np.array([0.2, 0.9, 0.5, 0.1])).tolist()
    [1, 0, 0, 2]
    >>> places_among_own(np.zeros(3, int), np.array([0.9, 0.3, 0.5]), of_page=np.array([7.0, 7.0, 2.0])).tolist()
    [0, 1, 2]
    """
    order = in_groups(worker, *([] if of_page is None else [of_page]), utility)
    n_own = np.bincount(worker)
    place = np.empty(len(worker), dtype=np.int64)
    place[order] = np.arange(len(worker)) - (np.cumsum(n_own) - n_own)[worker[order]]  # less where their own begin
    return place


def carried_over(proba: Floats, correlation: Floats) -> Floats:
    """(n_items, n_labels) how much more an answer is worth since it also tells about other labels of the item.

    What lowers the variance of a label by a share lowers that of another by this share times their correlation squared.
    """
    doubt = proba * (1 - proba)
    shared = correlation**2  # a copy
    np.fill_diagonal(shared, 1.0)
    # Where there is no doubt nothing is gained either: any small divisor will do that is not 0.
    return np.asarray(doubt @ shared / np.maximum(doubt, 1e-12))


def not_heard_before(beliefs: CurrentBeliefs, asked: Triplets, coming: Triplets = NOTHING_ASKED) -> Floats:
    """(n,) share of each answer's information that the votes on its pair do not have yet; 1 where nobody is related.

    The votes of a family repeat each other, see `amcc.consensus.families`: the first judge of a family tells most, a
    seventh almost nothing. `coming` are questions whose answers count as if they were there.
    """
    if beliefs.sharing is None:
        return np.ones(len(asked))
    votes = beliefs.votes
    pair, row = distinct(asked.item * votes.n_labels + asked.label)
    place = np.full(votes.n_items * votes.n_labels, -1)
    place[pair] = np.arange(len(pair))
    all_asked = Triplets.of_votes(votes).joined(coming)
    of_vote = place[all_asked.item * votes.n_labels + all_asked.label]
    here = (of_vote >= 0) & (all_asked.worker < len(beliefs.sharing.source))
    heard = beliefs.sharing.votes_of_sources(of_vote[here], all_asked.worker[here], len(pair))
    new = beliefs.sharing.new_in_next(heard)
    source = beliefs.sharing.source
    learned = asked.worker < len(source)  # the requester was not there when it was learned, and has no family
    return np.where(learned, new[row, source[np.where(learned, asked.worker, 0)]], 1.0)


def _others(asked: Triplets, chosen: Triplets, votes: Votes) -> Triplets:
    """Those that were not chosen."""
    return asked.take(np.flatnonzero(~np.isin(asked.keys(votes), chosen.keys(votes))))


@register("voi")
@register("voi-decision", loss="decision", misread=0.1)
@dataclass(frozen=True)
class ValueOfInformation(UsualStrategy):
    """Asks where an answer is expected to lower the loss most per unit of cost.

    Parameters
    ----------
    loss : what it costs to be wrong: "log" (log-loss, in nats), "decision" (share of wrong decisions) or "squared".
        What your own answers teach about how to read the crowd is known in log-loss only (`amcc.active.yourself`).
    ahead : answers to look ahead. Where one cannot change a decision, several can, and are worth it together. Of
        log-loss every answer takes something, the first most of all, so that it never looks further than one.
    misread : chance that a pair is misread, whatever its votes say. A consensus is too sure of what few votes agree on,
        and a decision that seems settled would never be looked at again.
    correlated : whether answers also count for what they tell about other labels of the item.
    skill_share : share of what tells workers apart that is believed. With all of it, those who agree most with the
        consensus so far are asked most, and the quality of all votes is reached late (docs/active-results.md); with
        none, spammers are asked like everybody.
    answers_of_stranger : the skill of a worker is that of the crowd until they have given about as many answers.
    overhead : what any question costs beside its price, in usual prices (the median, which one expensive expert does
        not move): the place that it takes from a better one. With little of it, where prices follow quality, the
        cheapest workers are asked first, before it is known how bad they are, and their noise has to be undone.
    """

    loss: str = "log"
    ahead: int = 5
    misread: float = 0.0
    correlated: bool = False
    skill_share: float = 0.3
    answers_of_stranger: float = 1.0
    overhead: float = 3.0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(LOSSES)}; got {self.loss!r}.")
        if not isinstance(self.ahead, int) or self.ahead < 1:
            raise ParameterError(f"ahead must be a whole number of answers of at least 1; got {self.ahead!r}.")
        if not 0 <= self.misread < 1:
            raise ParameterError(f"misread must be a chance from 0 to below 1; got {self.misread!r}.")
        if not 0 <= self.skill_share <= 1:
            raise ParameterError(f"skill_share must lie in 0 … 1; got {self.skill_share!r}.")
        if not self.overhead >= 0:
            raise ParameterError(f"overhead must be 0 or more; got {self.overhead!r}.")
        if not self.answers_of_stranger > 0:
            raise ParameterError(f"answers_of_stranger must be above 0; got {self.answers_of_stranger!r}.")

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        return self._selected(beliefs, candidates, prices, None, batch, rng)

    def select_pages(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Prices, batch: int, rng: np.random.Generator
    ) -> Questions:
        """The same where pages cost something: an item and a worker are valued with all labels worth asking there."""
        vote, page = (each.astype(np.float64) for each in (prices.vote, prices.page_of_worker))
        return self._selected(beliefs, candidates, vote, page, batch, rng)

    def _selected(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, page: Floats | None, batch: int,
        rng: np.random.Generator,
    ) -> Questions:  # fmt: skip
        """The questions to ask; page : (n_workers,) what a page costs beside its votes, None where it costs nothing."""
        skills = Skills.of(beliefs, self.answers_of_stranger)
        skill, weight = self.skill_to_ask(beliefs, skills), self.weight_of_pairs(beliefs)
        usual = np.sqrt(np.mean(skill**2))
        promise = np.where(candidates.open_pairs(), weight * self.value(beliefs.proba, usual), np.nan)
        if page is not None:
            promise = promise_of_pages(promise, float(np.median(prices)), float(np.median(page)))
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        judged = partial(self._judged, beliefs, skills, prices, page)
        chosen = judged(weight, asked, batch, rng)
        for _ in range(MOST_TOGETHER - 1):
            if not 0 < len(chosen) < batch:
                break
            # All pairs are asked about, and there is room: more answers at once, where they are as good a buy.
            others, weight = _others(asked, chosen.asked, beliefs.votes), self.weight_of_pairs(beliefs, chosen.asked)
            more = judged(weight, others, batch - len(chosen), rng, chosen.asked)
            chosen = chosen.joined(more.take(np.flatnonzero(more.utility >= max(chosen.utility.min(), LEAST))))
        return chosen

    def _judged(
        self, beliefs: CurrentBeliefs, skills: Skills, prices: Floats, page: Floats | None, weight: Floats,
        asked: Triplets, batch: int, rng: np.random.Generator, coming: Triplets = NOTHING_ASKED,
    ) -> Questions:  # fmt: skip
        """The best of these questions, one about a pair; `coming` are those whose answers are on their way."""
        pair, cost = (asked.item, asked.label), prices[asked.worker]
        new = not_heard_before(beliefs, asked, coming)
        price = cost + self.overhead * np.median(prices)
        # A page takes its place as well as a question does.
        opening = None if page is None else page[asked.worker] + self.overhead * np.median(page)
        proba, weight, beside = beliefs.proba[pair], weight[pair], self.beside(beliefs, asked)

        def value_of(skill: Floats) -> Floats:
            # The value of an answer goes with the square of the skill, and so does the information in it.
            return np.asarray(weight * self.value(proba, skill * np.sqrt(new)) + beside)

        alone = self.skill_to_ask(beliefs, skills)[asked.worker]
        on_their_way = np.bincount(coming.worker, minlength=beliefs.votes.n_workers)[asked.worker]
        first_guess = value_of(alone)
        of_page = None if opening is None else worth_of_pages(asked, first_guess, price, opening, rng)
        before = places_among_own(asked.worker, first_guess, of_page) + on_their_way
        skill = self.skill_to_ask(beliefs, skills, asked.worker, before)
        value = value_of(skill)
        places = {"place": np.arange(len(asked), dtype=np.float64)}
        if opening is not None:
            chosen = pick_pages(asked, value, price, opening, batch, rng, parts=places)
        else:
            chosen = pick_batch(asked, value / price, batch, rng, parts=places)
        # What the utility was made of, only of those that are chosen.
        place = chosen.parts["place"].astype(np.int64)
        who, proba, skill, new = asked.worker[place], proba[place], skill[place], new[place]
        ahead = answers_ahead(self.loss, self.hedged(proba), skill * np.sqrt(new), self.ahead).astype(np.float64)
        option = self._option(beliefs, skills, who, before[place])
        to_know = option / np.maximum(option + skills.believed_square(self.skill_share)[who], LEAST)
        of_worker = {"skill": skills.mean[who], "skill_to_ask": skill, "to_know": to_know, "new": new}
        return replace(
            chosen, parts={"probability": proba, **of_worker, "ahead": ahead, "value": value[place], "c": cost[place]}
        )

    def skill_to_ask(
        self, beliefs: CurrentBeliefs, skills: Skills, worker: Ints | None = None, before: Ints | None = None
    ) -> Floats:
        """By which workers are compared: with what asking teaches, and less for those who said most.

        worker, before : (n,) of questions, and how many better ones there are to the same worker. These count as said,
            and after about an answer a stranger is none any more. Without them, (n_workers,) for a first question.
        """
        n_votes = np.bincount(beliefs.votes.worker, minlength=beliefs.votes.n_workers)
        worker = np.arange(len(n_votes)) if worker is None else worker
        before = np.zeros(len(worker), dtype=np.int64) if before is None else before
        square = skills.believed_square(self.skill_share)[worker] + self._option(beliefs, skills, worker, before)
        usual = max(float(n_votes.mean()), beliefs.votes.n_labels)  # at first, one answer
        return np.asarray(np.sqrt(square / said_by_few(n_votes[worker] + before, usual)))

    def _option(self, beliefs: CurrentBeliefs, skills: Skills, worker: Ints, before: Ints) -> Floats:
        """(n,) what asking teaches about the worker, in squares of skill, until about an answer of theirs is there."""
        to_learn = before < max(1, round(self.answers_of_stranger * beliefs.votes.n_labels))
        return np.where(to_learn, skills.option[worker], 0.0)

    def beside(self, beliefs: CurrentBeliefs, asked: Triplets) -> Floats | float:
        """(n,) what answers are worth beside their own pair, as far as it can be said in the unit of the loss."""
        return beliefs.gain_beside(asked) if self.loss == "log" else 0.0

    def weight_of_pairs(self, beliefs: CurrentBeliefs, coming: Triplets = NOTHING_ASKED) -> Floats:
        """(n_items, n_labels) what the value of an answer about each pair is multiplied by.

        `coming` are questions whose answers count as if they were there.
        """
        n_votes = beliefs.vote_counts()[1].astype(np.float64)
        np.add.at(n_votes, (coming.item, coming.label), 1.0)
        weight = still_to_learn(n_votes)
        # The doubt is that by which answers are valued: of what is certain nothing is carried over.
        return weight * carried_over(self.hedged(beliefs.proba), beliefs.correlation) if self.correlated else weight

    def hedged(self, proba: Floats) -> Floats:
        """Probabilities as they are where some pairs are misread."""
        return np.asarray((1.0 - self.misread) * proba + self.misread / 2.0)

    def value(self, proba: Floats, skill: Floats | np.floating[Any]) -> Floats:
        """Expected drop in loss by an answer about pairs of these probabilities, by workers of this skill."""
        return value_by_skill(self.loss, self.hedged(proba), np.asarray(skill), self.ahead)
