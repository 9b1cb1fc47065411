"""Campaigns never overspend, stop when they should, and end the same however often they are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amcc.active.beliefs import CurrentBeliefs, Learner, cold_beliefs
from amcc.active.campaign import Campaign, Outcome, Standing, check_new, checked_answers
from amcc.active.candidates import Candidates
from amcc.active.crowd import AskableCrowd, ReplayCrowd, SimulatedCrowd
from amcc.active.ledger import answer_prices
from amcc.active.prices import Prices, eq12_prices
from amcc.active.questions import Questions, Triplets
from amcc.active.stopping import has_progress
from amcc.active.strategies.baselines import Uniform
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats, Signs
from amcc.consensus import AMCC, DawidSkene, MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.data.simulate import SimulatedWorld as World
from amcc.errors import FileFormatError, InputError, ParameterError
from amcc.truth import PairList, Truth
from amcc.votes import Votes


@dataclass(frozen=True)
class AnyQuestion:
    """Uniform over everything that can be asked; utility 1."""

    uses_features: ClassVar[bool] = True  # says so, since some campaigns here have features

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        asked = candidates.sample(batch, rng)
        return Questions(asked, np.ones(len(asked)))


@dataclass(frozen=True)
class MostUncertain:
    """The most uncertain pairs, asked of the cheapest worker; utility is the uncertainty per unit of money."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        item, label = np.nonzero(candidates.open_pairs())
        doubt = np.minimum(beliefs.proba, 1 - beliefs.proba)[item, label]
        best = np.argsort(-doubt, kind="stable")[:batch]
        offered = candidates.of_pairs(item[best], label[best])
        order = np.lexsort((prices[offered.worker], offered.label, offered.item))
        offered = offered.take(order)
        key = offered.item * beliefs.votes.n_labels + offered.label
        asked = offered.take(np.unique(key, return_index=True)[1])
        gain = np.minimum(beliefs.proba, 1 - beliefs.proba)[asked.item, asked.label] / prices[asked.worker]
        best_first = np.argsort(-gain, kind="stable")
        return Questions(asked.take(best_first), gain[best_first])


@dataclass(frozen=True)
class Always:
    """Whoever may be asked, the same questions first, about the pairs that are open."""

    questions: tuple[tuple[int, int, int], ...]

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        open_pairs = candidates.open_pairs()
        questions = [question for question in self.questions if open_pairs[question[:2]]]
        return Questions(triplets(*questions), np.ones(len(questions)))


def triplets(*rows: tuple[int, int, int]) -> Triplets:
    """Questions (item, label, worker)."""
    return Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


class Killed(Exception):  # noqa: N818, it is no error
    """The process ends here."""


@dataclass
class DyingCrowd:
    """Asks another crowd, until it is killed in the middle of the question of this number."""

    crowd: AskableCrowd
    lives: int

    @property
    def nobody_asked(self) -> Votes:
        return self.crowd.nobody_asked

    def candidates(self, asked: Triplets, workers: Any, round_number: int) -> Candidates:
        return self.crowd.candidates(asked, workers, round_number)

    def ask(self, questions: Triplets) -> Signs:
        self.lives -= 1
        if self.lives < 0:
            raise Killed
        return self.crowd.ask(questions)


WORLD = simulate_crowd(CrowdSpec(n_items=12, n_workers=6, n_labels=3, answers_per_item=4, labels_per_item=1, seed=1))


@pytest.fixture
def world() -> World:
    return WORLD


def prices_of(world: World, page: int = 0) -> Prices:
    return Prices(world.prices, page)


def campaign(crowd: AskableCrowd, prices: Prices, budget: Any, **options: Any) -> Campaign:
    options = {"strategy": AnyQuestion(), "make_model": MajorityVote, "stop_settled": False, **options}
    return Campaign(crowd=crowd, prices=prices, budget=budget, **options)


def check_adds_up(outcome: Outcome, budget: int) -> None:
    """The ledger is the truth about the money."""
    table = outcome.ledger.table("arrow")
    price, value = np.array(table["price"]), table["value"].to_pylist()
    assert outcome.spent == outcome.ledger.spent == price.sum() <= budget
    assert all(paid == 0 for paid, said in zip(price, value, strict=True) if said is None)
    asked = list(zip(*(table[role].to_pylist() for role in ("item", "label", "worker")), strict=True))
    assert len(set(asked)) == len(asked)


def check_file_adds_up(path: Path, spent: int) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum(line["price"] for line in lines if line["event"] == "answer") == spent


# -- money -----------------------------------------------------------------------------------------------------


def test_a_replay_with_money_for_everything_asks_everything(world: World) -> None:
    prices = prices_of(world)
    outcome = campaign(ReplayCrowd(world.votes), prices, prices.of_votes(world.votes)).run()
    assert outcome.reason == "nobody"
    assert outcome.votes == world.votes
    assert outcome.spent == prices.of_votes(world.votes)
    check_adds_up(outcome, outcome.spent)


@settings(max_examples=20, deadline=None)
@given(
    budget=st.integers(1, 400),
    page=st.integers(0, 12),
    batch=st.integers(1, 30),
    random_share=st.sampled_from([0.0, 0.3, 1.0]),
    answer_rate=st.sampled_from([0.6, 1.0]),
    seed=st.integers(0, 5),
)
def test_never_a_unit_too_much(
    budget: int, page: int, batch: int, random_share: float, answer_rate: float, seed: int
) -> None:
    prices = prices_of(WORLD, page)
    crowd = SimulatedCrowd(WORLD, seed=seed, answer_rate=answer_rate)
    outcome = campaign(
        crowd, prices, budget, batch=batch, random_share=random_share, strategy=MostUncertain(), seed=seed
    ).run()
    check_adds_up(outcome, budget)
    if outcome.reason == "money":
        assert budget - outcome.spent < prices.lone_vote.max()


def test_the_last_unit_can_be_spent(world: World) -> None:
    prices = Prices.of(world.votes.worker_names, default=7)
    assert campaign(SimulatedCrowd(world), prices, 21).run().spent == 21
    assert campaign(SimulatedCrowd(world), prices, 20).run().spent == 14
    outcome = campaign(SimulatedCrowd(world), prices, 6).run()
    assert (outcome.reason, outcome.spent, outcome.model) == ("money", 0, None)


def test_cheaper_workers_are_asked_when_expensive_ones_cost_too_much(world: World) -> None:
    prices = Prices.of(world.votes.worker_names, {"w1": 2}, default=100)
    outcome = campaign(SimulatedCrowd(world), prices, 51, batch=4).run()
    assert (outcome.reason, outcome.spent) == ("money", 50)
    assert outcome.ledger.asked.worker.tolist() == [0] * 25


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (-1, "the budget must not be negative"), (float("nan"), "the budget must be a finite number"),
        (0, "the budget must be above 0"), (0.5, "the budget must be a whole number of minor units"),
        (None, "the budget must be a number"), ("much", "got 'much'"), (float("inf"), "finite"),
    ],
)  # fmt: skip
def test_wrong_budgets_are_refused(world: World, budget: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        campaign(SimulatedCrowd(world), prices_of(world), budget)
    assert words in str(caught.value)


def test_budgets_are_written_as_prices_are(world: World) -> None:
    prices = Prices.of(world.votes.worker_names, default="0.07", decimals=2)
    assert campaign(SimulatedCrowd(world), prices, "0.21").run().spent == 21
    with pytest.raises(InputError, match="the budget must have at most 2 decimals"):
        campaign(SimulatedCrowd(world), prices, 0.215)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch": 0}, "batch must be a whole number of at least 1; got 0"), ({"batch": 2.5}, "batch must be a whole"),
        ({"random_share": 1.5}, "random_share must be a number from 0 to 1"),
        ({"random_share": float("nan")}, "random_share must be"),
        ({"worker_share": 0.1}, "at least 1/6"), ({"patience": 0}, "patience must be"),
        ({"gain_floor": float("nan")}, "gain_floor must be a number; got nan"), ({"seed": -1}, "seed must be"),
        ({"target_error": 0.5}, "target_error must be an expected error above 0 and below 0.5"),
        ({"growth": -0.1}, "growth must be"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(world: World, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        campaign(SimulatedCrowd(world), prices_of(world), 10, **options)
    assert words in str(caught.value)


def test_prices_and_votes_must_be_those_of_the_crowd(world: World, toy_votes: Votes) -> None:
    with pytest.raises(ParameterError, match="prices must be those of 6 workers; got 2"):
        campaign(SimulatedCrowd(world), Prices(np.array([1, 1])), 10)
    with pytest.raises(InputError, match="votes at the start must have"):
        campaign(SimulatedCrowd(world), prices_of(world), 10, start=toy_votes)


# -- pages -----------------------------------------------------------------------------------------------------


def test_a_page_is_paid_once_by_its_first_answer() -> None:
    prices = Prices(np.array([1, 5]), page=10)
    questions = triplets((0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 1), (1, 0, 0))
    price = answer_prices(questions, np.array([0, 1, -1, -1, 0], dtype=np.int8), prices)
    assert price.tolist() == [0, 11, 1, 15, 0]


def test_labels_of_one_item_share_a_page(world: World) -> None:
    together = Always(((0, 0, 0), (3, 1, 2), (0, 1, 0), (0, 2, 0)))
    prices = Prices(np.full(6, 2), page=10)
    outcome = campaign(SimulatedCrowd(world), prices, 28, strategy=together, batch=4).run()
    table = outcome.ledger.table("arrow")
    assert outcome.ledger.asked.worker.tolist() == [0, 0, 0, 2]  # beside each other
    assert table["price"].to_pylist() == [12, 2, 2, 12]
    assert outcome.spent == 28
    assert outcome.reason == "money"


# -- whom to ask -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.2, 0.35, 1.0])
def test_no_worker_gives_more_than_their_share(world: World, share: float) -> None:
    rounds: list[Standing] = []
    prices = Prices.of(world.votes.worker_names, {"w1": 1}, default=9)
    cheapest = MostUncertain()  # always asks w1, if they may
    run = campaign(SimulatedCrowd(world), prices, 300, strategy=cheapest, batch=10, worker_share=share)
    outcome = run.run(rounds.append)
    counts = np.bincount(outcome.votes.worker, minlength=6)
    assert counts[0] == counts.max()
    assert counts[0] <= np.ceil(share * (len(outcome.votes) + 10))
    assert len(outcome.votes) >= 30
    if share == 0.2:  # refused choices were made up for: the batches are full, as long as money lasts
        assert rounds[1].n_votes == 10
        assert len(set(zip(outcome.ledger.asked.item[:10], outcome.ledger.asked.label[:10], strict=True))) == 10


def test_workers_who_leave_are_not_asked_and_newcomers_are(world: World) -> None:
    joins, leaves = np.array([0, 0, 0, 0, 0, 3]), np.array([2, 9, 9, 9, 9, 9])
    crowd = SimulatedCrowd(world, joins=joins, leaves=leaves)
    outcome = campaign(crowd, Prices(np.full(6, 1)), 100, batch=20).run()
    table = outcome.ledger.table("arrow")
    rounds = np.array(table["round"])
    by_first, by_last = (np.array(table["worker"].to_pylist()) == name for name in ("w1", "w6"))
    assert rounds[by_first].max() == 1
    assert rounds[by_last].min() == 3
    check_adds_up(outcome, 100)


def test_questions_without_an_answer_cost_nothing_and_are_not_asked_again(world: World) -> None:
    outcome = campaign(SimulatedCrowd(world, answer_rate=0.0), prices_of(world), 100, batch=50).run()
    assert (outcome.reason, outcome.spent, outcome.model) == ("nobody", 0, None)
    assert len(outcome.ledger.value) == 12 * 3 * 6  # everybody was asked everything, in vain
    check_adds_up(outcome, 0)


def test_audits_are_drawn_from_everything_and_flagged(world: World) -> None:
    favourite = MostUncertain()
    prices = Prices.of(world.votes.worker_names, {"w1": 1}, default=2)
    outcome = campaign(SimulatedCrowd(world), prices, 300, strategy=favourite, batch=10, random_share=0.3).run()
    table = outcome.ledger.table("arrow")
    audit = np.array(table["audit"])
    assert 0.15 < audit.mean() < 0.45
    assert len(set(outcome.ledger.asked.worker[audit].tolist())) == 6
    utility = np.concatenate([each.utility for each in outcome.ledger.rounds])
    assert np.array_equal(np.isnan(utility), audit)
    assert not campaign(SimulatedCrowd(world), prices, 30).run().ledger.rounds[0].audit.any()


def test_strategies_must_not_ask_twice(world: World) -> None:
    again = campaign(SimulatedCrowd(world), prices_of(world), 100, strategy=Always(((0, 0, 0),)), batch=1)
    with pytest.raises(ParameterError, match="chose one that was asked before"):
        again.run()
    with pytest.raises(ParameterError, match="asked before"):
        check_new(triplets((1, 1, 1), (1, 1, 1)), triplets(), "twice")


@pytest.mark.parametrize("answers", [[1, -1], [1, -1, 2], [[1, 1, 1]]])
def test_crowds_must_answer_every_question(answers: list[Any]) -> None:
    with pytest.raises(InputError, match="must answer 3 questions"):
        checked_answers(np.array(answers), 3)


# -- when to start and to stop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make_model", [MajorityVote, DawidSkene, AMCC])
@pytest.mark.parametrize("strategy", [AnyQuestion(), MostUncertain()])
def test_starts_from_nothing_with_every_model(world: World, make_model: Any, strategy: Any) -> None:
    outcome = campaign(SimulatedCrowd(world), prices_of(world), 80, strategy=strategy, make_model=make_model).run()
    assert outcome.reason == "money"
    assert outcome.model is not None
    assert np.isfinite(outcome.model.predict_proba()).all()


def test_before_the_first_vote_everything_is_open(world: World) -> None:
    beliefs = cold_beliefs(SimulatedCrowd(world).nobody_asked)
    assert beliefs.proba.shape == (12, 3)
    assert (beliefs.proba == 0.5).all()
    assert (beliefs.hit > beliefs.false_alarm).all()
    assert beliefs.experience.tolist() == [0] * 6


def test_votes_at_the_start_are_free_and_not_asked_again(world: World) -> None:
    first = world.votes.select(np.arange(len(world.votes)) % 3 == 0)
    prices = prices_of(world)
    outcome = campaign(ReplayCrowd(world.votes), prices, 10**6, start=first).run()
    assert outcome.votes == world.votes
    assert outcome.spent == prices.of_votes(world.votes) - prices.of_votes(first)


def test_stops_when_every_pair_is_settled(world: World) -> None:
    seen: list[Standing] = []
    spec = {"strategy": MostUncertain(), "make_model": DawidSkene, "batch": 5}
    oracle = replace(world, hit_rate=np.ones((6, 3)), false_alarm_rate=np.zeros((6, 3)), difficulty=np.zeros(12))
    run = campaign(SimulatedCrowd(oracle), prices_of(world), 5000, stop_settled=True, **spec)
    outcome = run.run(seen.append)
    assert outcome.reason == "settled"
    assert outcome.spent < 5000
    assert seen[-1].settled == 1.0
    assert all(standing.settled < 1 for standing in seen[:-1])
    assert campaign(SimulatedCrowd(oracle), prices_of(world), 5000, **spec).run().reason != "settled"


def test_an_item_that_nobody_answered_is_not_settled() -> None:
    votes = Votes.from_dense([[[-1, -1], [0, 0]], [[1, 1], [0, 0]]])
    beliefs = replace(cold_beliefs(votes), proba=np.array([[0.02, 0.03], [0.02, 0.03]]))
    assert beliefs.settled_pairs().tolist() == [[False, False], [False, False]]  # one against one
    votes = Votes.from_dense([[[-1, -1], [0, 0]]] * 3)
    beliefs = replace(cold_beliefs(votes), proba=np.array([[0.02, 0.06], [0.02, 0.06]]))
    assert beliefs.settled_pairs().tolist() == [[True, False], [False, False]]


def test_stops_when_the_best_question_promises_too_little(world: World) -> None:
    prices = Prices(np.full(6, 10))
    never = campaign(SimulatedCrowd(world), prices, 500, strategy=MostUncertain(), gain_floor=0.051).run()
    assert (never.reason, never.spent) == ("gain", 0)  # at first the best is 0.5 / 10
    later = campaign(SimulatedCrowd(world), prices, 5000, strategy=MostUncertain(), gain_floor=0.01).run()
    assert later.reason == "gain"
    assert 0 < later.spent < 5000


def test_stops_when_the_expected_error_is_low_enough(world: World) -> None:
    seen: list[Standing] = []
    spec = {"strategy": MostUncertain(), "make_model": DawidSkene, "batch": 5}
    oracle = replace(world, hit_rate=np.ones((6, 3)), false_alarm_rate=np.zeros((6, 3)), difficulty=np.zeros(12))
    outcome = campaign(SimulatedCrowd(oracle), prices_of(world), 5000, target_error=0.3, **spec).run(seen.append)
    assert outcome.reason == "target"
    assert seen[-1].expected_error <= 0.3
    assert all(standing.expected_error > 0.3 for standing in seen[:-1])


def test_prices_hold_for_the_whole_campaign(world: World) -> None:
    with pytest.raises(
        ParameterError, match=r"must be Prices, .* got 'eq12'. For eq12 give eq12_prices\(model, start\)"
    ):
        campaign(SimulatedCrowd(world), "eq12", 100)
    start = world.votes
    prices = eq12_prices(DawidSkene().fit(start), start)
    assert campaign(SimulatedCrowd(world), prices, 500, start=start, stop_settled=False).run().spent <= 500


def test_progress_is_a_new_low() -> None:
    assert has_progress([0.5], 1)
    assert has_progress([0.5, 0.4], 1)
    assert not has_progress([0.5, 0.4, 0.4], 1)
    assert has_progress([0.5, 0.4, 0.45, 0.3], 2)
    assert not has_progress([0.5, 0.3, 0.4, 0.35, 0.31], 3)


def test_stops_without_progress(world: World) -> None:
    deaf = campaign(SimulatedCrowd(world, answer_rate=0.0), prices_of(world), 100, patience=4).run()
    assert deaf.reason == "patience"
    assert len(deaf.ledger.rounds) == 4


def test_progress_is_told_before_each_round_and_at_the_end(world: World) -> None:
    seen: list[Standing] = []
    outcome = campaign(SimulatedCrowd(world), Prices(np.full(6, 3)), 45, batch=5).run(seen.append)
    assert [standing.n_rounds for standing in seen] == [0, 1, 2, 3]
    assert [standing.spent for standing in seen] == [0, 15, 30, 45]
    assert [standing.n_votes for standing in seen] == [0, 5, 10, 15]
    assert {standing.budget for standing in seen} == {45}
    assert seen[0].expected_error == 0.5
    assert seen[-1].beliefs.votes == outcome.votes


# -- resuming --------------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[], AskableCrowd]] = {
    "replay": lambda: ReplayCrowd(WORLD.votes),
    "simulated": lambda: SimulatedCrowd(WORLD, seed=2, answer_rate=0.8, leaves=[3, 99, 99, 99, 99, 99]),
}


def resumable(kind: str, path: Path, lives: int = 10**9) -> Campaign:
    """A campaign with all that could go wrong: pages, audits, shares, leavers, a model not fitted in every round."""
    return Campaign(
        crowd=DyingCrowd(KINDS[kind](), lives), strategy=MostUncertain(), make_model=DawidSkene,
        prices=prices_of(WORLD, page=3), budget=400, batch=6, worker_share=0.4, random_share=0.2, growth=0.3,
        patience=30, seed=4, path=path,
    )  # fmt: skip


@pytest.fixture(scope="module", params=list(KINDS))
def uninterrupted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, bytes, Outcome]:
    path = tmp_path_factory.mktemp("ledgers") / "whole.jsonl"
    outcome = resumable(request.param, path).run()
    check_adds_up(outcome, 400)
    check_file_adds_up(path, outcome.spent)
    assert len(outcome.ledger.rounds) > 5
    assert 1 < sum(each.fitted for each in outcome.ledger.rounds) < len(outcome.ledger.rounds) - 1
    return request.param, path.read_bytes(), outcome


def check_same(kind: str, path: Path, whole: bytes, expected: Outcome) -> None:
    outcome = resumable(kind, path).run()
    assert path.read_bytes() == whole
    assert (outcome.reason, outcome.spent) == (expected.reason, expected.spent)
    assert outcome.votes == expected.votes
    assert outcome.model is not None
    assert expected.model is not None
    assert np.array_equal(outcome.model.predict_proba(), expected.model.predict_proba())
    check_adds_up(outcome, 400)
    check_file_adds_up(path, outcome.spent)


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_killed_anywhere_it_ends_the_same(uninterrupted: tuple[str, bytes, Outcome], data: st.DataObject) -> None:
    kind, whole, expected = uninterrupted
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        for _ in range(data.draw(st.integers(1, 3), label="deaths")):
            cut = data.draw(st.integers(0, len(whole)), label="bytes on the disk")
            if cut >= (path.stat().st_size if path.exists() else 0):
                path.write_bytes(whole[:cut])
            lives = data.draw(st.integers(0, 6), label="rounds until killed")
            try:
                resumable(kind, path, lives).run()
            except Killed:
                assert whole.startswith(path.read_bytes())
        check_same(kind, path, whole, expected)


def test_a_finished_campaign_stays_as_it_is(uninterrupted: tuple[str, bytes, Outcome], tmp_path: Path) -> None:
    kind, whole, expected = uninterrupted
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(whole)
    check_same(kind, path, whole, expected)


def test_the_ledger_is_readable_by_people(world: World, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    outcome = campaign(SimulatedCrowd(world), Prices(np.full(6, 3)), 30, path=path).run()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["campaign", *(["round"] + ["answer"] * 5) * 2]
    assert lines[0]["settings"]["budget"] == 30
    assert lines[0]["settings"]["strategy"] == "AnyQuestion()"
    row = outcome.ledger.table("arrow").slice(0, 1).to_pylist()[0]
    assert lines[2] == {"event": "answer", **row, "hash": lines[2]["hash"]}
    assert set(row) == {"round", "item", "label", "worker", "value", "price", "audit"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 7}, "batch was 5 and is 7"), ({"budget": 31}, "budget was 30 and is 31"),
        ({"strategy": MostUncertain()}, "strategy was 'AnyQuestion()' and is 'MostUncertain()'"),
        ({"make_model": lambda: DawidSkene(max_iter=7)}, "is 'DawidSkene(max_iter=7)'"),
        ({"prices": Prices(np.full(6, 2))}, "prices was"), ({"random_share": 0.5}, "audit was 0.0 and is 0.5"),
        ({"seed": 1, "patience": 3}, "patience was None and is 3, seed was 0 and is 1"),
        ({"features": np.zeros((12, 1))}, "features was None"),
        ({"start": WORLD.votes.select(WORLD.votes.item == 0)}, "start was"),
    ],
)  # fmt: skip
def test_other_settings_do_not_go_on(world: World, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "ledger.jsonl"
    plain: dict[str, Any] = {"prices": Prices(np.full(6, 3)), "budget": 30, "path": path}
    campaign(SimulatedCrowd(world), **plain).run()
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="must go on with the settings it began with") as caught:
        campaign(SimulatedCrowd(world), **{**plain, **change}).run()
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_new_workers_may_join_at_the_end(world: World, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    votes = world.votes
    few = Votes.from_codes(
        *(code[votes.worker < 4] for code in (votes.item, votes.worker, votes.label, votes.value)),
        item_names=votes.item_names, worker_names=votes.worker_names[:4], label_names=votes.label_names,
    )  # fmt: skip
    first = campaign(ReplayCrowd(few), Prices(np.full(4, 1)), 10**6, path=path).run()
    assert first.reason == "nobody"
    assert first.spent == len(few)
    later = campaign(ReplayCrowd(votes), Prices(np.array([1, 1, 1, 1, 2, 2])), 10**6, path=path).run()
    assert later.votes == votes
    assert later.spent == len(few) + 2 * (len(votes) - len(few))
    check_file_adds_up(path, later.spent)
    with pytest.raises(FileFormatError, match="known worker"):  # those who joined cannot vanish again
        campaign(ReplayCrowd(few), Prices(np.full(4, 1)), 10**6, path=path).run()
    with pytest.raises(ParameterError, match="prices was"):
        campaign(ReplayCrowd(votes), Prices(np.array([1, 1, 1, 5, 2, 2])), 10**6, path=path).run()


def test_other_files_are_not_overwritten(world: World, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("one line without an end")
    with pytest.raises(FileFormatError, match="line 1"):
        campaign(SimulatedCrowd(world), prices_of(world), 30, path=path).run()
    assert path.read_text() == "one line without an end"
    with pytest.raises(InputError, match="cannot be used"):
        campaign(SimulatedCrowd(world), prices_of(world), 30, path=tmp_path / "nowhere" / "ledger.jsonl").run()
    with pytest.raises(InputError, match="cannot be used"):
        campaign(SimulatedCrowd(world), prices_of(world), 30, path=tmp_path).run()


# -- one process at a time -------------------------------------------------------------------------------------

WAITS_FOR_AN_ANSWER = """
import sys, time
from amcc.active.campaign import Campaign
from amcc.active.crowd import SimulatedCrowd
from amcc.active.prices import Prices
from amcc.active.strategies.baselines import Uniform
from amcc.consensus import MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd

class Slow(SimulatedCrowd):
    def ask(self, questions):
        print("asking", flush=True)
        time.sleep(60)

world = simulate_crowd(CrowdSpec(n_items=12, n_workers=6, n_labels=3, answers_per_item=4, labels_per_item=1, seed=1))
Campaign(Slow(world), Uniform(), MajorityVote, Prices(world.prices), 90, path=sys.argv[1]).run()
"""


def test_a_second_process_is_kept_out_until_the_first_has_died(world: World, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    path, undisturbed = tmp_path / "ledger.jsonl", tmp_path / "undisturbed.jsonl"
    same = Campaign(SimulatedCrowd(world), Uniform(), MajorityVote, prices_of(world), 90, path=path)
    with subprocess.Popen([sys.executable, "-c", WAITS_FOR_AN_ANSWER, path], stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == b"asking\n"
            planned = path.read_bytes()
            with pytest.raises(InputError, match=r"ledger\.jsonl is in use: another process has it") as caught:
                same.run()
            assert "name another file" in str(caught.value)
            assert path.read_bytes() == planned
        finally:
            first.kill()
    assert planned.count(b"\n") == 2  # settings and a round
    check_adds_up(same.run(), 90)
    assert path.read_bytes().startswith(planned)
    Campaign(SimulatedCrowd(world), Uniform(), MajorityVote, prices_of(world), 90, path=undisturbed).run()
    assert path.read_bytes() == undisturbed.read_bytes()


def test_the_file_is_free_again_after_an_error_and_after_the_end(world: World, tmp_path: Path) -> None:
    plain: dict[str, Any] = {"prices": prices_of(world), "budget": 60, "path": tmp_path / "ledger.jsonl"}
    with pytest.raises(Killed):
        campaign(DyingCrowd(SimulatedCrowd(world), lives=1), **plain).run()
    with pytest.raises(ParameterError, match="batch was 5"):
        campaign(SimulatedCrowd(world), **plain, batch=6).run()
    whole = campaign(SimulatedCrowd(world), **plain)
    assert whole.run().spent == whole.run().spent > 0


def test_within_a_process_there_is_one_campaign_at_a_time_too(world: World, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    same = campaign(SimulatedCrowd(world), prices_of(world), 60, path=tmp_path / "ledger.jsonl")
    with pytest.raises(InputError, match="is in use"):
        same.run(lambda standing: same.run())


def test_dear_pages_are_filled(world: World) -> None:
    """Where a page costs much more than a vote, several labels of an item are asked together."""

    def votes_per_page(page: int) -> float:
        outcome = campaign(
            SimulatedCrowd(world), Prices(np.full(6, 2), page), 60 + 12 * page, strategy=ValueOfInformation(), batch=12,
            make_model=DawidSkene,
        ).run()  # fmt: skip
        check_adds_up(outcome, 60 + 12 * page)
        return len(outcome.votes) / outcome.votes.answers_per_worker.sum()

    assert votes_per_page(20) > 1.5 * votes_per_page(0)


# -- known truth -----------------------------------------------------------------------------------------------


def truth_of_items(world: World, n_items: int) -> Truth:
    """All labels of the first items."""
    item, label = np.nonzero(world.truth[:n_items])
    names = world.votes.item_names.cast("string"), world.votes.label_names.cast("string")
    pairs = PairList(names[0].take(pa.array(item)), names[1].take(pa.array(label)))
    return Truth(pairs, known_items=names[0][:n_items])


@pytest.mark.parametrize("random_share", [0.0, 0.5])
def test_nobody_is_asked_about_what_is_known(world: World, tmp_path: Path, random_share: float) -> None:
    """With money for everything, everything else is asked; what is known counts as settled, and is believed."""
    truth, seen = truth_of_items(world, 4), []
    options: dict[str, Any] = {
        "truth": truth,
        "random_share": random_share,
        "make_model": DawidSkene,
        "path": tmp_path / "l.jsonl",
    }
    run = campaign(ReplayCrowd(world.votes), prices_of(world), prices_of(world).of_votes(world.votes), **options)
    outcome = run.run(seen.append)
    assert outcome.reason == "nobody"
    assert sorted(set(outcome.votes.item.tolist())) == list(range(4, 12))
    for standing in seen:
        np.testing.assert_array_equal(standing.beliefs.proba[:4], world.truth[:4])
        assert standing.beliefs.settled_pairs()[:4].all()
    again = campaign(ReplayCrowd(world.votes), prices_of(world), prices_of(world).of_votes(world.votes), **options)
    assert again.run().votes == outcome.votes


def test_a_ledger_goes_on_with_the_truth_that_it_began_with(world: World, tmp_path: Path) -> None:
    plain: dict[str, Any] = {"prices": Prices(np.full(6, 3)), "budget": 30}
    for name, began, goes_on in (("a", None, truth_of_items(world, 2)), ("b", truth_of_items(world, 2), None)):
        campaign(SimulatedCrowd(world), **plain, truth=began, path=tmp_path / name).run()
        with pytest.raises(ParameterError, match="truth was"):
            campaign(SimulatedCrowd(world), **plain, truth=goes_on, path=tmp_path / name).run()
    head = json.loads((tmp_path / "a").read_text().splitlines()[0])
    assert "truth" not in head["settings"]  # as ledgers of earlier versions


def test_truth_stands_in_beliefs_between_fits(world: World) -> None:
    """Votes that came after the last fit are judged by what was learned; what is known stays as it is."""
    truth = truth_of_items(world, 5)
    learner = Learner(DawidSkene, truth=truth, growth=10.0)
    learner.learn(world.votes.select(world.votes.item % 2 == 0))
    model = learner.model
    beliefs = learner.learn(world.votes)
    assert learner.model is model
    np.testing.assert_array_equal(beliefs.proba[:5], world.truth[:5])
    assert beliefs.known is not None
    assert beliefs.known.sum(axis=1).tolist() == [3] * 5 + [0] * 7
    assert beliefs.settling == model.settling_
