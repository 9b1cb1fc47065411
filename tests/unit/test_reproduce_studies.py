"""Studies of the reproduction by hand: which sets, which tasks, and rows of what they found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import amcc
from amcc import Votes
from amcc.active import STRATEGIES
from amcc.experiments.cells import Draw
from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import TABLE_2
from amcc.experiments.reproduce import STUDIES, active, active_replay, convergence, fits, groups, notes_of, plan, sets
from amcc.experiments.reproduce.active_runs import PaperRun, ReplayRun
from amcc.experiments.reproduce.fits import FitTask, GrowthTask, RoundTask, run_tasks
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, FULL, QUICK, StudyPlan
from amcc.experiments.reproduce.sets import FURTHER, GENERATED, MULAN, REAL, PaperSet

MV = Entrant("MV", "majority")


@pytest.fixture
def quick(tmp_path) -> StudyPlan:
    return StudyPlan(QUICK, None, tmp_path / "cache")


@pytest.fixture
def everything(tmp_path) -> StudyPlan:
    return StudyPlan(FULL, tmp_path, tmp_path / "cache", frozenset(REAL | MULAN))


# -- sets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paper_set", "fixed"),
    [
        (PaperSet("Movie"), True),
        (PaperSet("Tweets"), True),
        (PaperSet("SONYC-UST 2+"), True),
        (PaperSet("SONYC-UST 2+", removed=0.1), False),
        (PaperSet("Movie", answers=3), False),
        (PaperSet("Movie", removed=0.1), False),
        (PaperSet("Yeast"), False),
        (PaperSet(GENERATED), False),
    ],
)
def test_sets_of_people_are_always_the_same(paper_set, fixed):
    assert paper_set.fixed is fixed
    assert FitTask(paper_set, 5, AMCC).drawn_from == (paper_set, 0 if fixed else 5)


def test_generated_crowds_change_with_the_seed_and_have_features():
    one, other = (PaperSet(GENERATED).draw(seed) for seed in (0, 1))
    assert one.votes != other.votes
    assert one.features.shape == (one.votes.n_items, 10)
    assert one.features.dtype == np.float64
    assert one.known.all()


def test_few_answers_are_drawn_from_what_a_seed_gave():
    few = PaperSet(GENERATED, answers=2).draw(0)
    assert set(few.votes.answers_per_item.tolist()) == {2}
    assert few.features is not None
    np.testing.assert_array_equal(few.truth, PaperSet(GENERATED).draw(0).truth)


def test_workers_who_answered_once_go_with_the_items_that_only_they_answered():
    # a answers items 0 and 2, b and c one item each, d items 2 and 3; item 1 has c alone.
    dense = np.zeros((4, 4, 2))
    for worker, item in ((0, 0), (0, 2), (1, 0), (2, 1), (3, 2), (3, 3)):
        dense[worker, item] = 1, -1
    votes = Votes.from_dense(dense, worker_names=list("abcd"), item_names=["i0", "i1", "i2", "i3"])
    truth = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)
    draw = sets.without_one_timers(Draw(votes, truth, ~truth))
    assert draw.votes.worker_names.to_pylist() == ["a", "d"]
    assert draw.votes.item_names.to_pylist() == ["i0", "i2", "i3"]
    assert draw.votes.answers_per_item.tolist() == [1, 2, 1]
    assert_array_equal(draw.votes.to_dense(), dense[[0, 3]][:, [0, 2, 3]])
    assert_array_equal(draw.truth, truth[[0, 2, 3]])
    assert_array_equal(draw.known, ~truth[[0, 2, 3]])


def test_sonyc_without_one_time_workers_has_the_items_of_the_paper(shared_data):
    whole, part = (PaperSet(name, str(shared_data)).draw(0).votes for name in ("SONYC-UST", "SONYC-UST 2+"))
    assert (whole.n_workers, whole.n_items, (whole.answers_per_worker == 1).sum()) == (301, 443, 110)
    assert (part.n_workers, part.n_items) == (191, TABLE_2["SONYC-UST"].items)
    assert part.answers_per_item.min() == 1
    assert part.answers_per_worker.min() == 2


def test_names_are_those_of_the_registry():
    from amcc.data import DATASETS

    assert set((REAL | MULAN | FURTHER).values()) <= set(DATASETS)


def test_figures_fall_back_on_what_is_there(quick, everything):
    assert [each.name for each in convergence.sets_of(quick)] == [GENERATED]
    assert [each.name for each in convergence.sets_of(everything)] == ["Affective", "SONYC-UST"]
    assert [each.name for each in groups.sets_of(quick)] == [GENERATED]
    assert [each.name for each in groups.sets_of(everything)] == ["Yeast", "Emotions", "SONYC-UST"]
    only_scene = replace(everything, sets=frozenset(["Scene"]))
    assert [each.name for each in groups.sets_of(only_scene)] == ["Scene"]
    only_emotions = replace(everything, scale=QUICK)
    assert [each.name for each in groups.sets_of(only_emotions)] == ["Emotions", "SONYC-UST"]


def test_notes_say_what_is_missing_and_why(quick, everything):
    notes = notes_of([STUDIES["table4"], STUDIES["r"]], quick)
    assert notes[0].startswith("no data sets: Yeast, Emotions, Scene, Movie")
    assert "left out by --quick" in notes[-1]
    assert notes_of([STUDIES["table4"]], everything) == []
    in_haste = notes_of([STUDIES["table4"]], replace(everything, scale=QUICK))
    assert in_haste[0].startswith("without Yeast, Scene: left out by --quick")
    assert notes_of([STUDIES["table3"]], replace(everything, scale=QUICK)) == []  # counting takes no time


# -- fits -----------------------------------------------------------------------------------------------------------


def test_quality_of_workers_by_hand():
    # One item, three labels, the last of unknown truth: the first worker is right, the second says yes to all.
    votes = Votes.from_dense([[[1, -1, 1]], [[1, 1, 1]], [[1, 0, 0]]])
    draw = Draw(votes, np.array([[True, False, True]]), np.array([[True, True, False]]))
    found = fits.worker_quality(draw)
    assert found["quality"][:2] == [1.0, 0.0]
    assert np.isnan(found["quality"][2])  # never asked about what is absent
    assert found["answers"] == [1, 1, 1]
    assert len(found["names"]) == 3


def test_matrices_are_averaged_over_the_workers_of_a_group():
    draw = PaperSet(GENERATED, answers=2).draw(0)
    model = amcc.make_model("amcc-frobenius").set_params(n_groups=2, max_iter=2)
    model, seconds = fits.fit(model, draw.votes)
    assert seconds > 0
    found = fits.groups(model)
    member = np.array(found["worker_group"])
    for group in range(2):
        if (member == group).any():
            mean = model.individuality_matrices_[member == group].mean(axis=0)
            assert_allclose(found["individuality"][group], mean, rtol=0, atol=1e-6)
    default, _ = fits.fit(amcc.AMCC(max_iter=2), draw.votes)
    assert "individuality" not in fits.groups(default)


def test_mcmld_as_printed_is_scored_by_its_most_likely_sets():
    """MCMLD eq24; all others are scored label by label."""
    votes = PaperSet(GENERATED, answers=2).draw(0).votes
    row = next(row for row in plan.ROWS if row.name == "MCMLD (as printed)")
    printed, _ = fits.fit(row.model(0), votes)
    assert printed.get_params()["variant"] == "paper"
    proba = printed.predict_proba()
    sets_of_eq24 = printed.most_likely_sets(votes)
    assert (sets_of_eq24 != (proba > 0.5)).any()  # or the test would show nothing
    assert_array_equal(fits.label_sets(printed, votes, proba), sets_of_eq24)
    exact, _ = fits.fit(amcc.make_model("mcmld"), votes)
    assert_array_equal(fits.label_sets(exact, votes, proba), proba > 0.5)


def test_a_task_is_scored_by_the_sets_of_its_entrant():
    paper_set = PaperSet(GENERATED, answers=2)
    row = next(row for row in plan.ROWS if row.name == "MCMLD (as printed)")
    draw = paper_set.draw(0)
    model, _ = fits.fit(row.model(0), draw.votes)
    wanted = fits.scores(draw, model.most_likely_sets(draw.votes), model.predict_proba())
    assert FitTask(paper_set, 0, row).measure()["scores"] == pytest.approx(wanted)


def test_rounds_are_timed_while_one_thing_grows(monkeypatch):
    monkeypatch.setattr(fits, "ROUND_SPEC", replace(fits.ROUND_SPEC, n_items=20, n_workers=8, n_labels=3))
    seen = []

    def fit(model, votes):
        seen.append((votes.n_items, votes.n_workers, votes.n_labels, model.max_iter))
        model.objective_history_ = [0.0] * 4
        return model, 2.0

    monkeypatch.setattr(fits, "fit", fit)
    found = RoundTask(FROBENIUS, "labels", (3, 5)).measure()
    assert found == {"sizes": [3, 5], "seconds": [0.5, 0.5]}
    assert seen == [(20, 8, n_labels, fits.ROUNDS) for n_labels in (3, 3, 3, 5, 5, 5)]


def test_a_fit_does_not_use_what_an_earlier_one_left():
    votes = Votes.from_dense(np.ones((2, 3, 2)))
    fits.fit(amcc.consensus.MajorityVote(), votes)
    assert "pairs" not in vars(votes)


def test_seeds_count_only_where_there_is_chance():
    paper_set = PaperSet(GENERATED)
    assert FitTask(paper_set, 1, MV).depends_on == FitTask(paper_set, 2, MV).depends_on
    assert FitTask(paper_set, 1, AMCC).depends_on != FitTask(paper_set, 2, AMCC).depends_on


def test_what_takes_time_runs_last_and_alone(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(fits, "_measure", lambda task: seen.append(type(task).__name__) or {"x": 1})
    monkeypatch.setattr(fits, "_fingerprint", lambda paper_set, seed: f"{paper_set.title} {seed}")
    growth, fit = GrowthTask(MV, (100,), 1.0), FitTask(PaperSet(GENERATED), 0, MV)
    found = run_tasks([growth, fit], tmp_path)
    assert seen == ["FitTask", "GrowthTask"]
    assert list(found) == [growth, fit]  # in the order in which they were wanted


# -- active studies -------------------------------------------------------------------------------------------------


def test_the_papers_mix_is_the_default_of_the_strategy():
    assert STRATEGIES["amcc"]().correlation_mix == active.PAPER_MIX
    assert active.PAPER_MIX in active.WHOLE.mixes


def test_runs_with_the_papers_mix_are_those_of_the_strategies(quick):
    strategies, mixes = active.strategy_curves(quick), active.mix_curves(quick)
    paper_set = strategies.sets[0]
    assert mixes.runs(paper_set, active.PAPER_MIX) == strategies.runs(paper_set, "AMCC")
    assert mixes.runs(paper_set, 0.0)[0].params == (("correlation_mix", 0.0),)


def test_all_batch_sizes_meet_at_every_point():
    assert all(50 % batch == 0 for batch in (*active.WHOLE.batches, *active.SHORT.batches))


def measured_run(value: float, n_points: int = 2) -> dict:
    columns = [f"{part} {reading}" for part in active.EVALUATIONS for reading in active.READINGS]
    points = list(range(n_points))
    return {"queries": [5 * n for n in points], "cost": [10.0 * n for n in points],
            **{name: [value * n for n in points] for name in columns}}  # fmt: skip


def test_curves_are_rows_of_every_set_and_value():
    sets = [PaperSet("A"), PaperSet("B", answers=3)]
    curves = active.Curves("eta", sets, [0.0, 1.0], lambda each, eta: [PaperRun(each, 0, "amcc", (("x", eta),))])
    tasks = curves.tasks()
    assert len(tasks) == 4
    results = {task: measured_run(0.1 * number) for number, task in enumerate(tasks)}
    rows = curves.rows(results)
    assert len(rows) == 4 * 2 * 4  # runs, points, evaluations and readings
    assert list(rows[0])[:2] == ["set", "eta"]
    ends = curves.rows(results, ends_only=True)
    assert len(ends) == 4 * 4
    assert {row["queries"] for row in ends} == {5}
    assert [row["mean"] for row in ends if row["set"] == "B @3" and row["eta"] == 1.0] == [pytest.approx(0.3)] * 4


def test_curves_of_different_length_are_cut_to_the_shortest():
    runs = [PaperRun(PaperSet("A"), seed, "amcc") for seed in range(2)]
    rows = active.summary(runs, {runs[0]: measured_run(0.1, 3), runs[1]: measured_run(0.1, 2)})
    assert max(row["queries"] for row in rows) == 5


def test_the_table_of_ends_marks_strategies_against_amcc():
    curves = active.Curves(
        "strategy", [PaperSet("A")], ["AMCC", "uniform"],
        lambda each, name: [PaperRun(each, seed, name) for seed in range(4)],
    )  # fmt: skip
    values = {"AMCC": (0.8, 0.81, 0.83, 0.82), "uniform": (0.5, 0.52, 0.5, 0.53)}
    results = {run: measured_run(values[run.strategy][run.seed]) for run in curves.tasks()}
    table = active.end_table(curves, results, None, "1…W")
    jaccard = table.views[0]
    assert jaccard.head == ["strategy", "A"]
    assert jaccard.rows == [["AMCC", "0.815 ±0.013"], ["uniform", "0.512 ±0.015 •"]]
    assert table.views[-1].rows == [["AMCC", "10"], ["uniform", "10"]]
    assert [view.folded for view in table.views] == [False, True, False, True, False]


# -- the larger replay ----------------------------------------------------------------------------------------------


def test_all_cases_have_all_seeds(everything):
    assert len(active_replay.seeds_of(everything)) == 10
    assert active_replay._runs_in_words(everything) == "10 runs"
    assert active_replay._runs_in_words(replace(everything, scale=QUICK)) == "1 runs"
    cases = active_replay.cases_of(everything)
    assert {len(case.runs) for case in cases} == {10}
    assert {"majority", "dawid-skene", "ebcc", "amcc"} <= set(cases[0].all_votes)


def area_case(strategy, values):
    """Runs whose quality never changes, so that the area is that quality."""
    runs = [ReplayRun(PaperSet(GENERATED), seed, strategy, "equal") for seed in range(len(values))]
    found = {
        run: {"equal": [0.2, 1.0], "votes": [2, 10], "jaccard": [value, value]}
        for run, value in zip(runs, values, strict=True)
    }
    return active_replay.Case(PaperSet(GENERATED), "equal", strategy, runs, {}), found


def test_areas_are_marked_against_voi():
    made = {"voi": (0.8, 0.6, 0.7, 0.5), "okg": (0.7, 0.52, 0.61, 0.4), "ceal": (0.85, 0.5, 0.75, 0.52)}
    cases, found = zip(*(area_case(*each) for each in made.items()), strict=True)
    rows = active_replay.area_rows(cases, {run: each for part in found for run, each in part.items()})
    assert [row["mark"] for row in rows] == ["", "•", ""]
    assert rows[1]["gap"] == pytest.approx(-0.0925)
    assert rows[1]["gap_high"] < 0 < rows[2]["gap_high"]
    wins, equal = active_replay.area_views(rows)
    assert wins.rows == [["equal prices", "1", "0", "1"]]  # ceal has the larger mean, but could be lucky
    assert [row[1] for row in equal.rows] == ["0.650 ±0.129", "0.557 ±0.128 •", "**0.655** ±0.173"]


def test_the_best_method_is_a_goal_of_its_own():
    case, found = area_case("voi", (0.8, 0.6))
    fits = {name: [FitTask(case.paper_set, seed, Entrant(name, name)) for seed in range(2)] for name in ("a", "b")}
    scores = {"a": (0.7, 0.5), "b": (0.803, 0.7)}
    found |= {fit: {"scores": {"jaccard": scores[name][fit.seed]}} for name, each in fits.items() for fit in each}
    row = active_replay.best_row(case._replace(all_votes=fits), found)
    assert (row["method"], row["jaccard"]) == ("b", pytest.approx(0.7515))
    assert (row["least"], row["most"]) == (0.2, None)  # the second run stays below
    (view,) = active_replay.best_views([row])
    assert view.head[1].endswith(": b 0.751") or view.head[1].endswith(": b 0.752")


def test_cases_compare_each_run_with_all_votes(quick):
    cases = active_replay.cases_of(quick)
    assert [case.strategy for case in cases] == ["voi", "amcc", "uniform"]
    assert all(len(case.runs) == len(case.all_votes["amcc"]) == 1 for case in cases)
    n_methods = len(cases[0].all_votes)
    assert len(active_replay.tasks(quick)) == 3 + n_methods  # the strategies, and all methods once for all of them


def test_rows_of_a_case_by_hand():
    paper_set = PaperSet(GENERATED)
    runs = [ReplayRun(paper_set, seed, "voi", "equal") for seed in range(2)]
    case = active_replay.Case(paper_set, "equal", "voi", runs, {"amcc": [FitTask(paper_set, 0, AMCC)] * 2})
    results = {
        case.all_votes["amcc"][0]: {"scores": {"jaccard": 0.8}},
        runs[0]: {"equal": [0.2, 0.5, 1.0], "votes": [2, 5, 10], "jaccard": [0.4, 0.8, 0.8]},
        runs[1]: {"equal": [0.2, 0.5, 1.0], "votes": [2, 5, 10], "jaccard": [0.6, 0.6, 0.8]},
    }
    goals, points = active_replay.rows_of(case, results)
    assert [row["goal"] for row in goals] == [0.9, 0.95, 1.0]
    assert (goals[-1]["least"], goals[-1]["most"], goals[-1]["runs"]) == (0.5, 1.0, 2)
    assert goals[0]["first_share"] == pytest.approx(0.2)
    assert len(points) == active_replay.N_POINTS
    assert (points[0]["mean"], points[0]["ci_low"], points[0]["ci_high"]) == pytest.approx((0.5, 0.4, 0.6))
    assert points[-1]["cost_share"] == pytest.approx(1.0)
