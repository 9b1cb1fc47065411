"""The paper's active experiments and the larger replay, on crowds made small."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import amcc
from amcc import Votes, plotting, write_votes
from amcc.active.beliefs import Learner
from amcc.active.candidates import Recorded
from amcc.active.curves import GOALS, CostOfGoal, Curve, cost_of_goals
from amcc.active.replay import first_votes, purchases
from amcc.active.strategies import STRATEGIES
from amcc.consensus import DawidSkene, MajorityVote
from amcc.data import CrowdSpec
from amcc.experiments.cells import Draw
from amcc.experiments.reproduce import (
    STUDIES,
    active,
    active_figures,
    active_replay,
    active_runs,
    fits,
    run_studies,
    sets,
)
from amcc.experiments.reproduce.active_runs import (
    PRICE_BLIND,
    PRICE_LISTS,
    PaperRun,
    ReplayRun,
    partition,
    price_list,
    quality,
    replay_run,
    worker_accuracy,
)
from amcc.experiments.reproduce.plan import FULL, QUICK, Figure, StudyPlan, Table
from amcc.experiments.reproduce.sets import GENERATED, PaperSet, further_sets

CROWD = PaperSet(GENERATED)


@pytest.fixture(autouse=True)
def everything_is_small(monkeypatch):
    monkeypatch.setitem(amcc.consensus.METHODS, "amcc", partial(amcc.consensus.DawidSkene, max_iter=20))  # quicker
    monkeypatch.setitem(plotting.STYLE, "savefig.dpi", 30)
    spec = CrowdSpec(n_items=40, n_workers=10, n_labels=4, answers_per_item=4, n_features=3)
    monkeypatch.setattr(sets, "GENERATED_SPEC", spec)
    monkeypatch.setattr(active, "SHORT", replace(active.SHORT, up_to=0.3))
    sets._drawn.cache_clear()
    yield
    sets._drawn.cache_clear()


@pytest.fixture
def hand_made():
    """Two workers, three items, one label; the truth of the last item is unknown."""
    votes = Votes.from_dense([[[1], [1], [1]], [[1], [-1], [-1]]])
    return Draw(votes, np.array([[True], [True], [False]]), np.array([[True], [True], [False]]))


# -- measuring -------------------------------------------------------------------------------------------------------


def test_parts_of_the_items():
    initial, test = partition(100, np.random.default_rng(0))
    assert (initial.sum(), test.sum(), (initial & test).sum()) == (5, 25, 0)
    initial, test = partition(4, np.random.default_rng(0))  # at least one of each
    assert (initial.sum(), test.sum(), (initial & test).sum()) == (1, 1, 0)
    other, _ = partition(100, np.random.default_rng(1))
    assert not np.array_equal(other, partition(100, np.random.default_rng(0)).initial)


def test_accuracy_of_workers_by_hand(hand_made):
    assert_array_equal(worker_accuracy(hand_made, np.array([True, True, True])), [1.0, 0.5])
    assert_array_equal(worker_accuracy(hand_made, np.array([False, False, True])), [np.nan, np.nan])


def test_quality_counts_the_chosen_items_only(hand_made):
    proba = np.array([[0.9], [0.1], [0.9]])
    assert quality(hand_made, np.array([True, True, True]), proba) == {"jaccard": 0.5, "precision": 1.0}
    assert quality(hand_made, np.array([True, False, True]), proba)["jaccard"] == 1.0


def test_price_lists(hand_made):
    assert_array_equal(price_list("equal", hand_made, 0), [1, 1])
    assert_array_equal(price_list("paper", hand_made, 0), [2, 1])
    draw = CROWD.draw(0)
    first, again, other = (price_list("random", draw, seed) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(first) <= set(range(1, 11))


def test_the_protocol_asks_a_hundred_questions_and_adds_up():
    found = PaperRun(CROWD, 0, "uniform").measure()
    assert found["queries"] == list(range(0, 101, 5))
    assert found["cost"][0] == 0
    steps = np.diff(found["cost"])
    assert (steps >= 5).all()  # nobody costs less than 1
    assert (steps <= 5 * 10).all()  # or more than the number of workers
    assert set(found) == {"queries", "cost"} | {
        f"{p} {r}" for p in active_figures.EVALUATIONS for r in active_figures.READINGS
    }
    assert found == PaperRun(CROWD, 0, "uniform").measure()
    assert found != PaperRun(CROWD, 1, "uniform").measure()


def test_costs_of_eq12_are_those_of_the_model_at_the_moment(monkeypatch):
    found = PaperRun(CROWD, 0, "uniform", costs="eq12").measure()
    assert found["cost"][0] == 0
    steps = np.diff(found["cost"])
    assert (steps > 0).all()
    assert (steps <= 5).all()  # a perfect worker costs 1
    monkeypatch.setattr(active_runs, "worker_costs", lambda model, votes: np.ones(votes.n_workers))
    assert PaperRun(CROWD, 0, "uniform", costs="eq12").measure()["cost"] == found["queries"]


def test_the_consensus_can_be_another_than_the_strategys():
    own, other = PaperRun(CROWD, 0, "uniform"), PaperRun(CROWD, 0, "uniform", model="majority")
    assert own.depends_on != other.depends_on
    assert own.measure()["test jaccard"] != other.measure()["test jaccard"]


def test_only_training_items_are_asked_about(monkeypatch):
    seen = []

    def spy(votes, first, *rest, **options):
        seen.append((votes, first))
        return purchases(votes, first, *rest, **options)

    monkeypatch.setattr(active_runs, "purchases", spy)
    PaperRun(CROWD, 3, "uniform").measure()
    ((votes, first),) = seen
    initial, test = partition(40, np.random.default_rng(3))
    assert not test[votes.item].any()
    assert_array_equal(first, initial[votes.item])


def test_test_items_are_judged_by_their_recorded_votes():
    draw = CROWD.draw(0)
    _, test = partition(40, np.random.default_rng(0))
    proba = MajorityVote().fit(draw.votes).predict_proba()
    expected = quality(draw, test, proba)["jaccard"]  # majority learns nothing about workers
    found = PaperRun(CROWD, 0, "mv-rsw").measure()
    assert_allclose(found["test jaccard"], expected, rtol=0, atol=1e-6)


def test_batches_end_at_the_share_that_is_wanted():
    found = PaperRun(CROWD, 0, "uniform", batch=10, every=50, up_to=0.5).measure()
    n_votes = len(CROWD.draw(0).votes)
    assert found["queries"] == list(range(0, 51 * (len(found["queries"]) - 1), 50))
    assert 0.5 * n_votes - 60 < found["queries"][-1] + 2 * 16 <= 0.5 * n_votes


def test_settings_are_part_of_the_key():
    runs = [
        PaperRun(CROWD, 0, "amcc"),
        PaperRun(CROWD, 1, "amcc"),
        PaperRun(CROWD, 0, "voi"),
        PaperRun(CROWD, 0, "amcc", (("correlation_mix", 0.5),)),
        PaperRun(CROWD, 0, "amcc", batch=2),
        PaperRun(CROWD, 0, "amcc", up_to=0.5),
        ReplayRun(CROWD, 0, "amcc", "equal"),
        ReplayRun(CROWD, 0, "amcc", "paper"),
    ]
    assert len({str(fits._key(run, "")) for run in runs}) == len(runs)


@pytest.mark.parametrize("name", STRATEGIES)
def test_who_is_blind_to_prices(name):
    draw = CROWD.draw(0)
    first = first_votes(draw.votes, 0.5, np.random.default_rng(0))
    beliefs = Learner(DawidSkene).learn(draw.votes.select(first))
    chosen = []
    for prices in (np.ones(10), np.array([1.0, 9.0] * 5), np.array([9.0, 1.0] * 5)):
        strategy, rng = STRATEGIES[name](), np.random.default_rng(0)
        asked = strategy.select(beliefs, Recorded(draw.votes, first), prices, 20, rng).asked
        chosen.append(list(zip(asked.item, asked.label, asked.worker, strict=True)))
    assert (chosen[0] == chosen[1] == chosen[2]) == (name in PRICE_BLIND)


def test_replays_count_the_cost_at_every_price_list():
    found = ReplayRun(CROWD, 0, "uniform", "equal").measure()
    votes = CROWD.draw(0).votes
    assert found["votes"][0] == 40 * 4
    assert found["votes"][-1] == len(votes)
    assert len(found["log_loss"]) == len(found["expected_error"]) == len(found["jaccard"])
    assert found["log_loss"][-1] < found["log_loss"][0]
    for kind in PRICE_LISTS:
        assert found[kind][-1] == pytest.approx(1)
        assert (np.diff(found[kind]) > 0).all()
    assert_allclose(found["equal"], np.array(found["votes"]) / len(votes), rtol=0, atol=1e-6)
    assert found["paper"] != found["equal"]
    half = ReplayRun(CROWD, 0, "uniform", "paper", 0.5).measure()
    assert half["paper"][-1] <= 0.5 + 1e-6
    assert replay_run(CROWD, 0, "uniform", "paper", 1.0) == replay_run(CROWD, 0, "uniform", "equal", 1.0)
    assert replay_run(CROWD, 0, "voi", "paper", 1.0).prices == "paper"


def test_further_sets(tmp_path):
    assert further_sets(None) == further_sets(tmp_path) == []
    folder = tmp_path / "crowdtruth_tweets"
    folder.mkdir()
    write_votes(Votes.from_dense([[[1, -1], [-1, 1]]] * 3), folder / "annotations.csv.gz")
    (folder / "truth.csv").write_text("item,label\n0,0\n")
    (tweets,) = further_sets(tmp_path)
    assert tweets == PaperSet("Tweets", str(tmp_path), items=200)
    assert not tweets.fixed  # other items with every seed
    assert len(tweets.draw(5).votes) == 12
    part = replace(tweets, items=1)
    assert (len(part.draw(5).votes), part.draw(5).truth.shape) == (6, (1, 2))
    assert {part.draw(seed).votes.item_names[0].as_py() for seed in range(5)} == {"0", "1"}
    assert tweets.draw(5).roster is None
    (folder / "workers.csv").write_text("worker,kind,family\n0,model,gpt\n")
    sets._drawn.cache_clear()
    assert tweets.draw(5).roster.kind == ("model",)


# -- presenting ------------------------------------------------------------------------------------------------------


def test_goals_by_hand():
    curve = Curve(np.array([0.1, 0.2, 0.3, 0.4]), np.arange(4.0), np.array([0.5, 0.73, 0.77, 0.796]))
    assert cost_of_goals([curve], 0.8) == {
        goal: CostOfGoal((cost,)) for goal, cost in zip(GOALS, (0.2, 0.3, 0.4), strict=True)
    }
    assert cost_of_goals([curve], 0.9) == {goal: CostOfGoal((None,)) for goal in GOALS}


def test_goals_are_shown_for_those_who_were_run_at_these_prices():
    rows = [
        {
            "set": "A",
            "prices": prices,
            "strategy": strategy,
            "goal": goal,
            "sustained_cost": share,
            "least": 0.1,
            "most": share,
        }
        for prices, strategy, share in (("equal", "voi", 0.2), ("equal", "amcc-nlc", None), ("random", "voi", 0.3))
        for goal in (0.90, 0.95, 1.00)
    ]
    equal, random, *rest = active_replay.goal_views(rows)
    assert equal.rows == [["voi", "**20.0 %** (10–20)"], ["amcc-nlc", "— (10–—)"]]
    assert random.rows == [["voi", "**30.0 %** (10–30)"]]
    assert len(rest) == 4


def test_leads_of_chance_by_hand():
    """Its lead of 0.4 at 5 % of the cost does not count; after that it is 0.1 at most."""
    rows = [
        {"set": "A", "prices": "equal", "strategy": strategy, "cost_share": share, "mean": mean}
        for strategy, curve in {
            "uniform": [(0.05, 0.5), (0.2, 0.5), (1.0, 0.7)],
            "voi": [(0.05, 0.1), (0.2, 0.4), (0.6, 0.55), (1.0, 0.7)],
            "okg": [(0.1, 0.6), (1.0, 0.8)],
        }.items()
        for share, mean in curve
    ]
    leads = {row["strategy"]: row["lead"] for row in active_replay.leads_of_uniform(rows)}
    assert leads == {"uniform": 0.0, "voi": pytest.approx(0.1), "okg": 0.0}
    (view,) = active_replay.lead_views(active_replay.leads_of_uniform(rows))
    assert view.rows == [["voi", "0.100"], ["okg", "0.000"]]
    dear = [row | {"prices": "random"} for row in rows if row["strategy"] != "okg"]
    _, other = active_replay.lead_views(active_replay.leads_of_uniform(rows + dear))
    assert other.rows == [["voi", "0.100"]]


def test_means_over_partitions_by_hand():
    runs = [PaperRun(CROWD, seed, "amcc") for seed in range(3)]
    columns = [f"{part} {reading}" for part in active_figures.EVALUATIONS for reading in active_figures.READINGS]
    results = {
        run: {"queries": [0, 5], "cost": [0.0, 10.0 * value], **{key: [0.0, value] for key in columns}}
        for run, value in zip(runs, (0.1, 0.2, 0.3), strict=True)
    }
    rows = active.summary(runs, results)
    assert len(rows) == 2 * 4
    last = rows[-1]
    assert (last["queries"], last["evaluation"], last["measure"]) == (5, "test", "precision")
    assert_allclose([last["cost"], last["mean"]], [2.0, 0.2], rtol=0, atol=1e-12)
    assert_allclose(last["ci_high"] - last["mean"], 4.302653 * 0.1 / 3**0.5, rtol=0, atol=1e-6)


def test_everything_without_data(tmp_path, monkeypatch):
    plan = StudyPlan(QUICK, None, tmp_path / "cache")
    names = ["active", "active-batch", "active-eta", "active-replay"]
    found = run_studies([STUDIES[name] for name in names], plan)
    assert list(found.outputs) == names
    with plotting.style():
        drawn = {made.name: made.draw() for made in found.all() if isinstance(made, Figure)}
    curves = [f"active-{block}-{reading}" for block in ("paper", "ours") for reading in ("jaccard", "precision")]
    by_eq12 = [f"active-{kind}-eq12" for kind in ("paper-jaccard", "paper-precision", "cost")]
    assert list(drawn) == [*curves, "active-cost", *by_eq12, "active-batch", "active-eta", "active-replay-curves"]
    tables = {made.name: made for made in found.all() if isinstance(made, Table)}
    assert list(tables) == [
        "active",
        "active-eq12",
        "active-replay-means",
        "active-replay",
        "active-replay-best",
        "active-replay-areas",
        "active-replay-leads",
    ]
    assert {view.title for view in tables["active"].views} >= {"Jaccard on training items", "cost"}
    captions = {made.name: made.caption for made in found.all()}
    assert active.PROTOCOL in captions["active"]
    for name in curves:  # said once, above them
        assert "Protocol as in the table above." in captions[name] and active.PROTOCOL not in captions[name]
    assert active.PROTOCOL in captions["active-eta"]  # a study of its own, without a table
    assert "training and test items" not in captions["active-cost"]  # it has one panel for both
    goals = tables["active-replay"].data.to_pylist()
    assert {row["goal"] for row in goals} == {0.9, 0.95, 1.0}
    assert {row["strategy"] for row in goals} == {"voi", "amcc", "uniform"}
    monkeypatch.setattr(fits, "_measure", lambda task: pytest.fail("all is in the cache"))
    run_studies([STUDIES[name] for name in names], plan)


def test_means_over_sets_count_a_goal_that_is_never_reached_as_all_the_money():
    about = [{"prices": "equal", "strategy": "voi", "set": name} for name in ("A", "B")]
    goals = [
        {**row, "goal": goal, "sustained_cost": cost}
        for goal in GOALS
        for row, cost in zip(about, (0.2, None if goal == 1 else 0.4), strict=True)
    ]
    areas = [{**row, "area": area} for row, area in zip(about, (0.5, 0.7), strict=True)]
    leads = [{**row, "lead": lead} for row, lead in zip(about, (0.0, 0.02), strict=True)]
    (found,) = active_replay.mean_rows(goals, areas, leads)
    assert (found["sets"], found["not behind chance"]) == (2, 1)
    numbers = [found[name] for name in ("area", "cost of 90 %", "cost of 95 %", "cost of 100 %")]
    assert_allclose(numbers, [0.6, 0.3, 0.3, 0.6], rtol=1e-12)
    ((_, head, rows, _),) = [
        (view.title, view.head, view.rows, view.folded) for view in active_replay.mean_views([found])
    ]
    assert dict(zip(head, rows[0], strict=True))["sets where it is not behind chance"] == "1 of 2"


def test_the_whole_has_all_strategies_sets_and_prices(tmp_path):
    plan = StudyPlan(FULL, tmp_path, tmp_path, frozenset(sets.REAL))
    runs = active.strategy_tasks(plan)
    assert {run.strategy for run in runs} == set(STRATEGIES) - {"amcc-short", "amcc-classifier", "amcc-paper"}
    # The paper's strategy with the paper's consensus, repaired and printed, and with ours; at both kinds of costs.
    of_amcc = {(run.model, run.costs) for run in runs if run.strategy == "amcc"}
    papers = "amcc-frobenius"
    assert of_amcc == {(papers, "1…W"), ("amcc-printed", "1…W"), (None, "1…W"), (papers, "eq12")}
    assert all(each.name in active_figures.LOOKS for each in active.WHOLE.contenders)
    assert {run.paper_set.name for run in runs} == set(sets.REAL)
    assert {run.seed for run in runs} == set(range(10))
    assert {run.batch for run in active.batch_curves(plan).tasks()} == {2, 5, 10, 25}
    assert {run.paper_set.name for run in active.batch_curves(plan).tasks()} == {"Affective", "SONYC-UST"}
    mixes = {dict(run.params).get("correlation_mix", 0.3) for run in active.mix_curves(plan).tasks()}
    assert min(mixes) == 0
    assert max(mixes) == 1
    replays = [run for run in active_replay.tasks(plan) if isinstance(run, ReplayRun)]
    assert {run.prices for run in replays} == set(PRICE_LISTS)
    assert {run.strategy for run in replays} == set(active.REPLAYED)
    assert {run.prices for run in replays if run.strategy == "uniform"} == {"equal"}  # it does not look at prices
    assert {run.paper_set.name for run in replays} == {*active_replay.SETS, GENERATED}
