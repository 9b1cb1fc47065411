"""Ask, pay, record, repeat: a campaign spends a budget on the questions that help most.

All that happens stands in one append-only file, the *ledger*, one JSON line per event:

    campaign   the settings, once
    round      what is going to be asked, before anybody is asked
    answer     one question of the round: the value (null where nobody answered), its price, whether it is an audit

Each line ends with a hash of itself and of the line before: what was changed by hand is refused, with its line number.
Beliefs follow from the answers, and the random draws of a round from the seed and its number. So the ledger is the
whole state: a campaign that is killed at any moment and run again ends with the same ledger as one that was left alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.active.basket import Basket
from amcc.active.beliefs import GROWTH, CurrentBeliefs, Learner
from amcc.active.candidates import Candidates, OtherPairs
from amcc.active.crowd import AskableCrowd
from amcc.active.forecast import check_target
from amcc.active.ledger import Ledger, PlannedRound, workers_on_record
from amcc.active.pages import select_with_pages
from amcc.active.prices import Money, Prices, budget_units
from amcc.active.questions import NOTHING_ASKED, Questions, Triplets
from amcc.active.stopping import check_patience, has_progress
from amcc.active.strategy import Strategy, check_features_used
from amcc.arrays import ROUNDING, Floats, Signs
from amcc.consensus.base import ConsensusModel
from amcc.errors import InputError, ParameterError
from amcc.truth import Truth
from amcc.votes import Votes
from amcc.watching import tell

__all__ = ["Campaign", "Outcome", "Standing", "StopReason"]

# Why a campaign stopped: no question can be paid any more; nobody can be asked anything; every pair that can be asked
# is settled; the expected error is low enough; the best question promises less than the floor; no progress for
# `patience` rounds.
StopReason = Literal["money", "nobody", "settled", "target", "gain", "patience"]


@dataclass(frozen=True)
class Standing:
    """How a campaign stands before its next round.

    settled : share of all pairs that are settled, see `CurrentBeliefs.settled_pairs`.
    expected_error : mean probability that the more likely of present and absent is wrong.
    """

    n_rounds: int
    n_votes: int
    spent: int
    budget: int
    settled: float
    expected_error: float
    beliefs: CurrentBeliefs


@dataclass(frozen=True)
class Outcome:
    """What a campaign ended with; `model` is fitted to all votes, None where there is no vote."""

    reason: StopReason
    votes: Votes
    spent: int
    model: ConsensusModel | None
    ledger: Ledger


@dataclass(eq=False)
class Campaign:
    """Spends a budget on a crowd, round by round.

    Parameters
    ----------
    crowd : whom to ask.
    strategy : what to ask. It must keep nothing in mind between rounds, or resumed campaigns would differ.
    make_model : makes a new consensus model.
    prices : what the votes of the crowd's workers cost, the same from the first round to the last.
    budget : what may be spent, an amount as the prices are written. It is never overspent.
    batch : questions in a round; fewer where money or the worker's shares do not allow more.
    worker_share : no worker gives a larger share of all votes (rounded up, counted with a full batch).
    random_share : share of the questions that is drawn at random, whatever the strategy wants: answers chosen by what
        is believed already give a biased picture of how well people agree.
    gain_floor : stop when the best question has a lower utility, in the strategy's own measure (expected gain per unit
        of cost for `voi`).
    stop_settled : stop when every pair that can be asked is settled.
    target_error : stop when the model expects an error of at most so much; what that will cost: `amcc.active.forecast`.
    patience : stop after so many rounds in which the expected error did not reach a new low.
    start : votes that are there already; they cost nothing.
    features : (n_items, n_features), for models and strategies that use them.
    truth : what is known already; it teaches about workers, and nobody is asked about it.
    growth : share of new votes after which the model is fitted again, see `Learner`.
    seed : of everything drawn at random.
    path : file of the ledger. A campaign whose file is there goes on where it stopped. New workers may have joined at
        the end of the crowd's vocabulary; all else must be as before. Only one process can use it at a time.
    expected_head : what `outcome.ledger.head` was earlier. The campaign goes on only where the file still holds all
        that it held then; lines cut off its end cannot be noticed otherwise.
    """

    crowd: AskableCrowd
    strategy: Strategy
    make_model: Callable[[], ConsensusModel]
    prices: Prices
    budget: Any
    _: KW_ONLY
    batch: int = 5
    worker_share: float = 1.0
    random_share: float = 0.0
    gain_floor: float | None = None
    stop_settled: bool = True
    target_error: float | None = None
    patience: int | None = None
    start: Votes | None = None
    features: Floats | None = None
    truth: Truth | None = None
    growth: float = GROWTH
    seed: int = 0
    path: str | Path | None = None
    expected_head: str | None = None
    _budget: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.prices, Prices):
            raise ParameterError(
                f"prices must be Prices, which hold for the whole campaign; got {self.prices!r}. For eq12 give "
                "eq12_prices(model, start), by a model of the votes at the start."
            )
        self._budget = budget_units(self.budget, self.prices.decimals)
        _check("batch", self.batch, Integral, 1, math.inf)
        _check("worker_share", self.worker_share, Real, 0, 1)
        _check("random_share", self.random_share, Real, 0, 1)
        _check("growth", self.growth, Real, 0, math.inf)
        _check("seed", self.seed, Integral, 0, math.inf)
        if self.gain_floor is not None:
            _check("gain_floor", self.gain_floor, Real, -math.inf, math.inf)
        if self.target_error is not None:
            check_target(self.target_error, "target_error")
        check_patience(self.patience)
        if self.features is not None:
            check_features_used(self.strategy, self.make_model())
        if self.expected_head is not None and self.path is None:
            raise ParameterError("expected_head is a hash of the ledger's file; name the file with path.")
        # What only shows when a campaign is long under way must be refused before the first question is paid.
        nobody_asked, n_workers = self._nobody_asked, self._nobody_asked.n_workers
        if len(self.prices.vote) != n_workers:
            raise ParameterError(f"prices must be those of {n_workers} workers; got {len(self.prices.vote)}.")
        if self.worker_share * n_workers < 1 - ROUNDING:
            raise ParameterError(
                f"worker_share must be at least 1/{n_workers}, for there are {n_workers} workers to share the votes; "
                f"got {self.worker_share!r}."
            )
        if self.start is not None and self.start.select(np.zeros(len(self.start), dtype=bool)) != nobody_asked:
            raise InputError(
                "the votes at the start must have the items, labels and workers of the crowd, in its order."
            )

    @cached_property
    def _nobody_asked(self) -> Votes:
        return self.crowd.nobody_asked

    @cached_property
    def _start(self) -> Votes:
        return self._nobody_asked if self.start is None else self.start

    def run(self, progress: Callable[[Standing], object] | None = None) -> Outcome:
        """Ask until a stopping rule holds; `progress` is told the standing before each round and at the end."""
        ledger = Ledger(self._nobody_asked, self.prices)
        try:
            if self.path is not None:
                path = Path(self.path)
                ledger.open(path, self._settings(workers_on_record(path)), self.expected_head)
            return self._run(ledger, progress or (lambda standing: None))
        finally:
            ledger.close()

    def _run(self, ledger: Ledger, progress: Callable[[Standing], object]) -> Outcome:
        learner = self._learner_of(ledger)
        while True:
            # Also those of a round that was on record when the process was killed: they are asked (again) first.
            if len(waiting := ledger.waiting()):
                ledger.answer(checked_answers(self.crowd.ask(waiting), len(waiting)))
            votes, model = self._votes(ledger, len(ledger.value)), learner.model
            standing = self._standing(ledger, learner.learn(votes))
            progress(standing)
            tell(standing.spent / max(self._budget, 1), f"round {standing.n_rounds}, {standing.n_votes:,} votes")
            planned = self._planned(ledger, standing, fitted=learner.model is not model)
            if not isinstance(planned, PlannedRound):
                # What a campaign ends with must not depend on when its model was last fitted on the way.
                learner.learn(votes, fresh=True)
                return Outcome(planned, votes, ledger.spent, learner.model, ledger)
            ledger.plan(planned)

    # -- what is known ---------------------------------------------------------------------------------------------

    def _votes(self, ledger: Ledger, n_asked: int) -> Votes:
        """The votes at the start and those of the first questions on record."""
        start, value = self._start, ledger.value[:n_asked]
        given = np.flatnonzero(value)  # 0: nobody answered
        if not len(given):
            return start
        new = ledger.asked.take(given)
        return Votes.from_codes(
            np.append(start.item, new.item), np.append(start.worker, new.worker), np.append(start.label, new.label),
            np.append(start.value, value[given]),
            item_names=start.item_names, worker_names=start.worker_names, label_names=start.label_names,
        )  # fmt: skip

    def _learner_of(self, ledger: Ledger) -> Learner:
        """A learner that knows what it knew when the last round on record was planned."""
        # Beliefs are not in the ledger: they follow from the answers and from when models were fitted, which is.
        learner = Learner(self.make_model, features=self.features, truth=self.truth, growth=self.growth)
        n_asked = np.cumsum([0, *(len(each.questions) for each in ledger.rounds)])
        fitted = [n for n, each in zip(n_asked.tolist(), ledger.rounds, strict=False) if each.fitted]
        if fitted:  # only the last fit counts: a campaign that was interrupted goes on at once
            learner.learn(self._votes(ledger, fitted[-1]))
        return learner

    def _standing(self, ledger: Ledger, beliefs: CurrentBeliefs) -> Standing:
        return Standing(
            n_rounds=len(ledger.rounds),
            n_votes=len(beliefs.votes),
            spent=ledger.spent,
            budget=self._budget,
            settled=float(beliefs.settled_pairs().mean()),
            expected_error=beliefs.expected_error(),
            beliefs=beliefs,
        )

    # -- what to ask -----------------------------------------------------------------------------------------------

    def _planned(self, ledger: Ledger, standing: Standing, fitted: bool) -> PlannedRound | StopReason:
        """The next round, or why there is none."""
        beliefs, number = standing.beliefs, len(ledger.rounds)
        if self.target_error is not None and standing.expected_error <= self.target_error:
            return "target"
        errors = [*(each.expected_error for each in ledger.rounds), standing.expected_error]
        if self.patience and not has_progress(errors, self.patience):
            return "patience"
        basket = Basket(self.prices, self._budget - ledger.spent, self.batch, self._votes_allowed(beliefs.votes))
        asked = Triplets.of_votes(self._start).joined(ledger.asked)
        candidates = beliefs.open_among(self.crowd.candidates(asked, basket.open_workers(), number))
        can_be_asked = candidates.open_pairs()
        if not can_be_asked.any():
            with_more_money = self.crowd.candidates(asked, basket.open_workers(rich=True), number)
            return "money" if beliefs.open_among(with_more_money).open_pairs().any() else "nobody"
        if self.stop_settled and beliefs.settled_pairs()[can_be_asked].all():
            return "settled"
        # The random draws of a round come from its number: a campaign that goes on after a crash draws the same.
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        audits = candidates.sample(int(rng.binomial(self.batch, self.random_share)), rng)
        basket.reserve(Questions(audits, np.full(len(audits), np.nan)), at_random=True)
        best = self._fill(basket, standing, asked, candidates, rng)
        if self.gain_floor is not None and best is not None and best < self.gain_floor:
            return "gain"
        if not len(basket):
            return "nobody"
        order = basket.by_page()
        planned = basket.questions.take(order)
        check_new(planned.asked, asked, described(self.strategy))
        return PlannedRound(planned.asked, basket.at_random[order], planned.utility, fitted, standing.expected_error)

    def _fill(
        self, basket: Basket, standing: Standing, asked: Triplets, candidates: Candidates, rng: np.random.Generator
    ) -> float | None:
        """Fill the basket with what the strategy chooses; gives the utility of its best question.

        Where money or a worker's share refuse some of its choices, it chooses again, about other pairs.
        """
        best: float | None = None

        def propose() -> Questions:
            nonlocal best
            open_now = candidates
            if len(basket):
                planned = basket.questions.asked
                more = self.crowd.candidates(asked.joined(planned), basket.open_workers(), standing.n_rounds)
                open_now = standing.beliefs.open_among(more)
                # The strategy may choose the pair of an audit; once it has chosen, all pairs must be new.
                open_now = open_now if best is None else OtherPairs.than(planned, open_now)
            if not open_now.open_pairs().any():
                return Questions(NOTHING_ASKED, np.empty(0))
            chosen = select_with_pages(self.strategy, standing.beliefs, open_now, self.prices, basket.missing, rng)
            if best is None and len(chosen):
                best = float(chosen.utility.max())
            return chosen

        basket.fill(propose)
        return best

    def _votes_allowed(self, votes: Votes) -> Money:
        """(n_workers,) how many votes each worker may give in the next round."""
        # Counted with the batch that is coming, and rounded up: the first worker of a small campaign may be asked.
        most = math.ceil(self.worker_share * (len(votes) + self.batch) - ROUNDING)
        return most - np.bincount(votes.worker, minlength=votes.n_workers)

    # -- the head of the ledger ------------------------------------------------------------------------------------

    def _settings(self, n_workers: int | None) -> dict[str, Any]:
        """All that must be the same when a campaign goes on, for the workers who were there when it began."""
        nobody_asked, start = self._nobody_asked, self._start
        names = nobody_asked.item_names, nobody_asked.label_names
        n_workers = nobody_asked.n_workers if n_workers is None else min(n_workers, nobody_asked.n_workers)
        page = self.prices.page_of_worker
        return {
            "budget": self._budget,
            "batch": int(self.batch),
            "worker_share": float(self.worker_share),
            "audit": float(self.random_share),  # the name in ledgers of all versions
            "gain_floor": None if self.gain_floor is None else float(self.gain_floor),
            "stop_settled": bool(self.stop_settled),
            "patience": None if self.patience is None else int(self.patience),
            "growth": float(self.growth),
            "seed": int(self.seed),
            "strategy": described(self.strategy),
            "model": described(self.make_model()),
            # One number where all pages cost the same, as in ledgers of all versions.
            "page": int(page[0]) if (page[:n_workers] == page[0]).all() else _digest(page[:n_workers]),
            "decimals": self.prices.decimals,
            # Fingerprints, not tables: a ledger would otherwise begin with megabytes.
            "prices": _digest(self.prices.vote[:n_workers]),
            "n_workers": n_workers,
            "workers": _digest(nobody_asked.worker_names[:n_workers]),
            "items": _digest(names[0]),
            "labels": _digest(names[1]),
            "start": _digest(start.item, start.label, start.worker, start.value),
            # Truth and a target have a line only where there is one: ledgers of earlier versions have none.
            "features": None if self.features is None else _digest(np.asarray(self.features, dtype=np.float64)),
            **({} if self.target_error is None else {"target_error": float(self.target_error)}),
            **({} if self.truth is None else {"truth": _digest(*self.truth.matrices(*names))}),
        }


def checked_answers(value: Signs, n_questions: int) -> Signs:
    """What a crowd answered, which must be one value for each question."""
    if value.shape != (n_questions,) or not np.isin(value, (-1, 0, 1)).all():
        raise InputError(f"a crowd must answer {n_questions} questions with 1, -1 or 0 (nobody answered); got {value}.")
    return value.astype(np.int8)


def check_new(questions: Triplets, asked: Triplets, strategy: str) -> None:
    """Raise ParameterError where a strategy chose a question twice: it would be paid twice."""
    # A set of all questions of a long campaign, made again in every round, would take longer than the choice.
    near = asked.take(np.flatnonzero(np.isin(asked.item, questions.item, kind="table")))  # few are left to be compared
    new, old = questions.rows(), near.rows()
    if len(set(new)) < len(new) or not set(new).isdisjoint(old):
        raise ParameterError(f"a strategy must choose new questions; {strategy} chose one that was asked before.")


def described(thing: object) -> str:
    """A name that is the same in every process."""
    # The default repr holds an address in memory, which is another one in every process.
    has_own = type(thing).__repr__ is not object.__repr__
    return repr(thing) if has_own else type(thing).__qualname__


def _digest(*columns: npt.NDArray[Any] | pa.Array) -> str:
    """A short fingerprint of names or numbers."""
    fingerprint = hashlib.sha256()
    for column in columns:
        if isinstance(column, np.ndarray):
            fingerprint.update(f"{column.shape}".encode() + np.ascontiguousarray(column).tobytes())
        else:
            fingerprint.update(json.dumps(column.to_pylist()).encode())
    return fingerprint.hexdigest()[:16]


def _check(name: str, value: Any, kind: type, low: float, high: float) -> None:
    """Raise ParameterError unless `value` is a number of this kind from `low` to `high`."""
    if not isinstance(value, kind) or isinstance(value, bool) or not low <= float(value) <= high:  # type: ignore[arg-type]
        noun = "a whole number" if kind is Integral else "a number"
        limits = f" of at least {low}" if high == math.inf else f" from {low} to {high}"
        raise ParameterError(f"{name} must be {noun}{'' if low == -math.inf else limits}; got {value!r}.")
