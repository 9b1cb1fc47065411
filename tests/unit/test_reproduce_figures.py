"""Figures of the reproduction, from rows written by hand: what is drawn where, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from amcc.experiments.paper_values import CHOICE_TERMS, ROUND_TERMS
from amcc.experiments.reproduce import active_figures, active_replay, convergence, figures, groups, runtime, sensitivity
from amcc.experiments.reproduce.fits import GrowthTask
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, FULL, PRINTED, QUICK, StudyPlan
from amcc.experiments.reproduce.rows import columns, distinct, where
from amcc.experiments.reproduce.score_tables import table4_sets, table5_sets, tasks_of
from amcc.plotting import BLUE, GREY, ORANGE, PALE, VERMILION


def table(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def titles(figure) -> list[str]:
    return [panel.get_title() for panel in figure.axes if panel.get_visible()]


def heights(panel) -> list[list[float]]:
    return [list(line.get_ydata()) for line in panel.lines]


# -- rows -----------------------------------------------------------------------------------------------------------


def test_rows_are_picked_by_value():
    rows = [{"set": "A", "x": None}, {"set": "A", "x": 5}, {"set": "B", "x": 5}]
    assert where(rows, x=None) == rows[:1]
    assert where(rows, set="A", x=5) == rows[1:2]
    assert where(rows) == rows
    assert distinct(rows, "x") == [None, 5]
    assert columns([], "set", "x") == [[], []]


# -- score tables ---------------------------------------------------------------------------------------------------


def score_row(method: str, measure: str, mean: float | None, **more: object) -> dict:
    usual = {"set": "Yeast", "answers_per_item": None, "ci_low": None, "ci_high": None, "paper_mean": None}
    return {**usual, "method": method, "measure": measure, "mean": mean, **more}


def test_scores_stand_in_the_order_of_the_table_with_intervals_and_the_paper():
    figure = figures.score_panels(
        table(
            score_row("MV", "jaccard", 0.5, ci_low=0.4, ci_high=0.6),
            score_row("MV", "precision_skip", 0.7, paper_mean=0.8),
            score_row("AMCC", "jaccard", 0.6),
            score_row("AMCC", "precision_skip", None),
        )
    )
    (panel,) = figure.axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["MV", "AMCC"]
    assert panel.get_yticks().tolist() == [2, 1]  # the first is on top
    drawn = {(line.get_marker(), to_hex(line.get_color())): line.get_xdata() for line in panel.lines}
    assert list(drawn["None", BLUE]) == [0.4, 0.6]
    assert list(drawn["x", GREY]) == [0.8]
    assert list(drawn["s", ORANGE]) == [0.7]
    assert len(panel.lines) == 5  # what has no mean is not drawn
    assert panel.get_xlabel() == "score"
    assert figure.texts[-1].get_text() == "× Accuracy in the paper"


def test_the_papers_number_does_not_hide_ours():
    rows = [score_row("MV", "jaccard", 0.7), score_row("MV", "precision_skip", 0.7, paper_mean=0.7)]
    (panel,) = figures.score_panels(table(*rows)).axes
    assert len({float(line.get_ydata()[0]) for line in panel.lines}) == 3


def test_scores_end_at_one_and_the_key_names_what_is_there():
    figure = figures.score_panels(table(score_row("MV", "jaccard", 0.9, ci_low=0.5, ci_high=1.3)))
    low, high = figure.axes[0].get_xlim()
    assert low < 0.5 and 1 < high < 1.05
    assert not [text for text in figure.texts if "paper" in text.get_text()]


def test_thinned_sets_have_panels_of_their_own():
    rows = [score_row("MV", "jaccard", 0.5), score_row("MV", "jaccard", 0.4, answers_per_item=5)]
    assert titles(figures.score_panels(table(*rows))) == ["Yeast", "Yeast, 5 answers"]


def test_a_few_methods_stand_out_where_answers_are_removed():
    rows = [
        {"set": "Movie", "method": method, "removed": removed, "mean": mean}
        for method, values in {"MV": (0.8, 0.6), "NAM": (0.7, 0.5), "AMCC": (0.9, None)}.items()
        for removed, mean in zip((0.1, 0.5), values, strict=True)
    ]
    (panel,) = figures.removal_panels(table(*rows)).axes
    assert [to_hex(line.get_color()) for line in panel.lines] == [VERMILION, PALE, BLUE]
    assert heights(panel) == [[0.8, 0.6], [0.7, 0.5], [0.9]]
    assert panel.get_xticks().tolist() == [10, 50]
    assert [text.get_text() for text in panel.texts] == ["MV", "AMCC"]


# -- convergence ----------------------------------------------------------------------------------------------------


def test_objectives_have_a_panel_for_each_set_and_form():
    rows = [
        {"set": name, "method": row.name, "round": number, "objective": sign * number}
        for name in ("A", "B")
        for row, sign in ((AMCC, 1.0), (FROBENIUS, -1.0))
        for number in range(1, 5)
    ]
    figure = convergence.draw(table(*rows))
    assert len(figure.axes) == 4
    assert titles(figure)[:2] == ["A", "B"]
    assert figure.axes[0].get_ylabel() == "AMCC:\nbound, rises"
    assert figure.axes[2].get_ylabel().endswith("loss, falls")
    assert [panel.get_xlabel() for panel in figure.axes] == ["", "", "round", "round"]
    rising, falling = (figure.axes[place].texts[0].get_position()[1] for place in (0, 2))
    assert rising < 0.5 < falling  # away from the curves


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.0], "after 1 of 1 rounds: 100 %"),
        ([2.0, 2.0, 2.0], "after 3 of 3 rounds: 100 %"),
        ([4.0, 3.0, 2.0, 2.0, 2.0, 0.0], "after 5 of 6 rounds: 50 %"),
    ],
)
def test_what_the_first_rounds_did(values, text):
    assert convergence.reached_text(values) == text


# -- sensitivity ----------------------------------------------------------------------------------------------------


def test_weights_are_heat_maps_with_the_choice_of_the_paper():
    rows = [
        {"set": "A", "alpha": 10.0**a, "beta": 10.0**b, "jaccard": 0.5 + 0.1 * (a == b), "precision_skip": 0.7}
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    figure = sensitivity.draw_grid(table(*rows))
    first, second = figure.axes
    assert (first.get_title(), first.get_xlabel(), first.get_ylabel()) == ("A: Jaccard", "β", "α")
    texts = {tuple(text.get_position()): text for text in first.texts}
    assert texts[0, 0].get_text() == "60" and texts[1, 0].get_text() == "50"  # column β, row α
    assert texts[0, 0].get_fontweight() == "bold" and texts[1, 0].get_fontweight() == "normal"
    (square,) = first.patches
    assert square.get_xy() == (0.5, -0.5)  # α = 0.1, β = 10
    # Where all are alike, colours do not pretend otherwise.
    assert_allclose(np.diff(second.images[0].get_clim()), sensitivity.LEAST_SPREAD, rtol=0, atol=1e-12)


def test_a_grid_without_the_choice_of_the_paper_has_no_square():
    rows = [{"set": "A", "alpha": 1.0, "beta": 1.0, "jaccard": 0.5, "precision_skip": 0.5}]
    assert all(not panel.patches for panel in sensitivity.draw_grid(table(*rows)).axes)


def test_curves_have_both_measures_and_a_line_at_the_choice():
    rows = [
        {"set": "A", "method": "AMCC", "groups": m, "measure": measure, "mean": 0.1 * m, "ci_low": 0.0, "ci_high": 1.0}
        for m in (2, 5)
        for measure in sensitivity.SHOWN
    ]
    (panel,) = sensitivity.draw_curves(table(*rows), "groups", 5).axes
    assert heights(panel)[:2] == [[0.2, 0.5]] * 2
    assert list(panel.lines[2].get_xdata()) == [5, 5]
    assert panel.get_xlabel() == "M, number of groups"
    assert panel.get_ylabel() == "AMCC"
    assert [text.get_text() for text in panel.texts] == ["Jaccard", "precision"]


def test_names_stand_at_their_lines_where_panels_share_their_height():
    rows = [
        {"set": "A", "method": method, "groups": m, "measure": measure, "mean": mean, "ci_low": mean, "ci_high": mean}
        for method, means in (("AMCC", (0.7, 0.9)), ("paper's", (0.1, 0.3)))
        for measure, mean in zip(sensitivity.SHOWN, means, strict=True)
        for m in (2, 5)
    ]
    for panel in sensitivity.draw_curves(table(*rows), "groups", 5).axes:
        to_panel = panel.transData + panel.transAxes.inverted()
        ends = [to_panel.transform(text.xy)[1] for text in panel.texts]
        assert_allclose([text.xyann[1] for text in panel.texts], ends, rtol=0, atol=1e-9)


def test_every_weight_is_tried_with_every_other_on_all_sets(tmp_path):
    plan = StudyPlan(QUICK, None, tmp_path)
    assert len(sensitivity.grid_tasks(plan)) == 4 * 4 * 2  # powers, powers, runs
    params = {task.entrant.params for task in sensitivity.grid_tasks(plan)}
    assert (("hsic_weight", 0.1), ("laplacian_weight", 10.0)) in params
    assert len(sensitivity.curve_tasks(plan, sensitivity.group_rows(plan))) == 3 * 2 * 2  # M, forms, runs
    assert {task.entrant.method for task in sensitivity.curve_tasks(plan, sensitivity.exponent_rows(plan))} == {
        "amcc-frobenius"
    }


# -- groups ---------------------------------------------------------------------------------------------------------

GROUPS = {
    "hit": [[0.9, 0.8], [0.5, 0.4]],
    "false_alarm": [[0.1, 0.2], [0.5, 0.4]],
    "weights": [0.7, 0.3],
    "worker_group": [0, 1, 0],
    "quality": [0.8, None, 0.6],
    "names": ["ranksvm 90%", "random 1", "ranksvm 30%"],
    "individuality": [[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]],
    "commonality": [[[0.2, 0], [0, 0]], [[0, 0], [0, -0.4]]],
}


def test_groups_as_a_table_by_hand():
    rows = groups.group_table(GROUPS).to_pylist()
    assert len(rows) == 4
    assert rows[0] == {
        "group": 1, "label": 1, "hit_rate": 0.9, "false_alarm_rate": 0.1, "weight": 0.7, "workers": 2,
        "mean_quality": pytest.approx(0.7),
    }  # fmt: skip
    assert np.isnan(rows[2]["mean_quality"])  # nobody in the second group can be judged
    assert [row["workers"] for row in rows] == [2, 2, 1, 1]


def test_groups_of_nobody_are_left_out_and_weights_of_the_others_sum_to_one():
    """A group that is possible for many and likely for none must not carry the largest weight."""
    rates = [[0.9, 0.8], [0.99, 0.99], [0.5, 0.4]]
    found = {**GROUPS, "hit": rates, "false_alarm": rates, "weights": [0.3, 0.6, 0.1], "worker_group": [0, 2, 0]}
    found |= {
        name: [*GROUPS[name][:1], np.ones((2, 2)), *GROUPS[name][1:]] for name in ("individuality", "commonality")
    }
    left = groups.peopled(found)
    assert_allclose(left["weights"], [0.75, 0.25])
    assert left["worker_group"].tolist() == [0, 1, 0]
    assert_allclose(left["hit"], [rates[0], rates[2]])
    assert_allclose(left["commonality"], GROUPS["commonality"])
    assert len(groups.draw_groups(left).axes[0].patches) == 2
    assert len(groups.draw_matrices(left).axes) == 2 * 2 + 2  # panels and two colour bars
    assert groups.group_table(left).num_rows == 4


def test_it_is_said_which_kind_of_worker_landed_where():
    said = groups.who_is_where(GROUPS)
    assert "reliable, normal and sloppy workers, uniform and random spammers" in said
    assert said.endswith("Group 1: ranksvm 90%, ranksvm 30%; 2: random 1. ")
    assert groups.who_is_where({**GROUPS, "names": ["w1", "w2", "w3"]}) == ""


def test_kinds_of_workers_have_marks_of_their_own():
    found = {**GROUPS, "quality": [0.8, 0.1, 0.6, 0.0], "names": [*GROUPS["names"], "uniform 1"]}
    figure = groups.draw_groups({**found, "worker_group": [0, 1, 0, 1]})
    ticks = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert ticks == ["group 1\n2 classifiers", "group 2\n1 random spammer\n1 uniform spammer"]
    colours = {tuple(marks.get_edgecolor()[0][:3].round(2)): len(marks.get_offsets())
               for marks in figure.axes[3].collections}  # fmt: skip
    assert sorted(colours.values()) == [1, 1, 2]


def test_groups_are_drawn_with_the_best_on_top_and_spammers_as_crosses():
    figure = groups.draw_groups(GROUPS)
    bars, hits, alarms, workers = figure.axes[:4]
    assert [panel.get_title() for panel in (bars, hits, alarms)] == ["weight", "hits", "false alarms"]
    assert [bar.get_width() for bar in bars.patches] == [0.7, 0.3]
    assert bars.get_ylim() == (1.5, -0.5)
    assert [label.get_text() for label in bars.get_yticklabels()] == [
        "group 1\n2 classifiers", "group 2\n1 random spammer",
    ]  # fmt: skip
    honest, spam = workers.collections
    assert (len(honest.get_offsets()), len(spam.get_offsets())) == (2, 1)
    assert hits.images[0].get_clim() == alarms.images[0].get_clim() == (0, 1)
    assert [text.get_text() for text in bars.texts] == ["0.70", "0.30"]  # a space before them is lost in SVG files
    rates = figure.axes[4]
    assert (rates.get_title(), rates.get_ylabel()) == ("rate", "")  # beside it, it would name the workers' axis


def test_matrices_have_zero_in_the_middle():
    figure = groups.draw_matrices(GROUPS)
    top, _, bottom, _ = figure.axes[:4]
    assert top.get_title() == "group 1, λ = 0.70\n2 classifiers"
    assert bottom.images[0].get_clim() == (-0.4, 0.4)


def test_matrices_have_titles_and_numbers_on_their_axes():
    figure = groups.draw_matrices(GROUPS)
    top, top_right, bottom, bottom_right, *bars = figure.axes
    assert [panel.get_ylabel() for panel in (top, bottom, top_right)] == ["true label", "true label", ""]
    assert [panel.get_xlabel() for panel in (bottom, bottom_right)] == ["given label"] * 2
    assert [label.get_text() for label in bottom.get_xticklabels()] == ["1", "2"]
    assert [label.get_text() for label in top.get_yticklabels()] == ["1", "2"]
    assert [bar.get_ylabel() for bar in bars] == ["mean D of the group", "C of the group"]


def test_many_labels_have_few_numbers():
    from amcc.plotting import canvas

    for n_labels, shown in ((10, 10), (14, 5), (23, 5)):
        _, axes = canvas(1, 1, (2, 2))
        groups._heat(axes[0, 0], np.zeros((2, n_labels)), "x")
        assert len(axes[0, 0].get_xticks()) == shown


# -- run time -------------------------------------------------------------------------------------------------------


def round_results(plan: StudyPlan) -> dict:
    return {task: {"sizes": [10, 20], "seconds": [0.5, 2.0]} for task in runtime.round_tasks(plan)}


def test_run_time_is_told_by_size_and_growth(tmp_path, monkeypatch):
    plan = StudyPlan(QUICK, None, tmp_path)
    monkeypatch.setattr(StudyPlan, "entrants", [AMCC, FROBENIUS])
    tasks = runtime.growth_tasks(plan)
    assert tasks == [GrowthTask(row, QUICK.growth_votes, QUICK.patience) for row in (AMCC, FROBENIUS)]
    assert runtime.tasks(plan) == [*tasks, *runtime.round_tasks(plan)]
    results = {
        tasks[0]: {"votes": [1_000, 10_000], "seconds": [0.01, 0.1]},
        tasks[1]: {"votes": [1_000], "seconds": [2.0]},
    } | round_results(plan)
    _, shown, drawn = runtime.present(plan, results)  # without the paper's sets, its minutes stand beside nothing
    assert shown.views[0].head == ["method", "1,000 votes", "10,000 votes", "growth"]
    assert shown.views[0].rows == [["AMCC", "0.01", "0.1", "1.00"], [FROBENIUS.name, "2", "—", "—"]]
    (panel,) = drawn.draw().axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in panel.texts] == ["AMCC", FROBENIUS.name, "linear growth"]
    linear = panel.lines[-1]
    assert linear.get_ydata()[1] / linear.get_ydata()[0] == pytest.approx(10)


def test_the_papers_minutes_stand_beside_our_seconds(tmp_path):
    plan = StudyPlan(replace(FULL, mulan=("Yeast",)), tmp_path, tmp_path, frozenset(["SONYC-UST", "Movie", "Yeast"]))
    fits = runtime.timed_fits(plan)
    results = {
        fit: {"seconds": float(fit.seed), "history": [0.0] * (5 + fit.seed)} for some in fits.values() for fit in some
    }
    (table,) = runtime.paper_times(plan, results)
    (view,) = table.views
    assert view.head == ["set", "paper's minutes", FROBENIUS.name, PRINTED.name, AMCC.name]
    assert view.rows == [
        ["Movie", "at most 4", *["1 s, 6 rounds"] * 3],
        ["SONYC-UST", "about 18", *["1 s, 6 rounds"] * 3],
        ["Yeast", "7", *["1 s, 6 rounds"] * 3],
    ]
    # No fit that tables 4 and 5 do not need: one that is measured twice would take twice as long.
    needed = {*tasks_of(plan, table4_sets(plan)), *tasks_of(plan, table5_sets(plan))}
    assert set(results) <= needed


def test_every_cost_of_the_paper_has_ours_and_a_round_its_measured_power(tmp_path):
    plan = StudyPlan(QUICK, None, tmp_path)
    costs, grown = runtime.terms(plan, round_results(plan)).views
    assert set(runtime.OUR_TERMS) == set(ROUND_TERMS) | set(CHOICE_TERMS)
    assert costs.rows[0] == ["a round: C_m", "t₁ W N_l L²", runtime.OUR_TERMS["C_m"]]
    assert len(costs.rows) == 6
    assert grown.rows[0] == ["labels (L)", "0.5 s at 10, 2 s at 20", "2 to 3", "2.00"]
    assert [row[0] for row in grown.rows] == ["labels (L)", "workers (W)", "items (N_l)"]


# -- active studies -------------------------------------------------------------------------------------------------


def curve_row(**values: object) -> dict:
    usual = {"set": "A", "queries": 0, "cost": 0.0, "evaluation": "training", "measure": "jaccard"}
    return {**usual, "mean": 0.5, "ci_low": 0.4, "ci_high": 0.6, **values}


def test_quality_is_drawn_against_questions_and_cost():
    rows = [
        curve_row(strategy=name, evaluation=part, queries=n, cost=2.0 * n, mean=0.5 + 0.01 * n)
        for name in ("voi", "uniform")
        for part in active_figures.EVALUATIONS
        for n in (0, 5, 10)
    ]
    figure = active_figures.draw_quality(table(*rows), "Jaccard")
    by_questions, by_cost = figure.axes[:2]
    assert [list(line.get_xdata()) for line in by_questions.lines] == [[0, 5, 10]] * 2
    assert by_cost.get_xscale() == "log"
    assert list(by_cost.lines[0].get_xdata()) == [10.0, 20.0]  # nothing was spent at first
    assert [text.get_text() for text in by_questions.texts] == ["voi", "uniform"]
    assert not by_cost.texts  # dots instead of names
    assert titles(figure) == ["A, training items"] * 2 + ["A, test items"] * 2


def test_costs_have_no_bands():
    rows = [{"set": "A", "strategy": "voi", "queries": n, "cost": 3.0 * n} for n in (0, 5)]
    (panel,) = [axes for axes in active_figures.draw_costs(table(*rows)).axes if axes.get_visible()]
    assert heights(panel) == [[0.0, 15.0]]
    assert panel.get_ylabel() == "cost of the questions"


def test_batches_and_mixes_have_a_panel_for_each_evaluation_and_reading():
    views = [(part, reading) for part in active_figures.EVALUATIONS for reading in active_figures.READINGS]
    rows = [
        curve_row(batch=batch, queries=n, evaluation=part, measure=reading)
        for batch in (5, 25)
        for part, reading in views
        for n in (0, 50)
    ]
    figure = active_figures.draw_batches(table(*rows))
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.axes[0].texts] == ["5 at a time", "25 at a time"]
    assert [panel.get_ylabel() for panel in figure.axes] == ["Jaccard", "precision"] * 2
    rows = [curve_row(eta=eta, evaluation=part, measure=reading) for eta in (0.0, 1.0) for part, reading in views]
    panel = active_figures.draw_mixes(table(*rows), 0.3).axes[0]
    assert list(panel.lines[0].get_xdata()) == [0.0, 1.0]
    assert list(panel.lines[1].get_xdata()) == [0.3, 0.3]


def test_replays_have_a_dot_where_they_come_to_stay():
    rows = [
        {
            "set": "A", "prices": "equal", "strategy": name, "all_votes_jaccard": 0.8, "cost_share": share,
            "mean": mean, "ci_low": mean, "ci_high": mean,
        }
        for name, curve in {"voi": (0.5, 0.8, 0.8), "uniform": (0.4, 0.5, 0.6)}.items()
        for share, mean in zip((0.1, 0.5, 1.0), curve, strict=True)
    ]  # fmt: skip
    (panel,) = active_replay.draw(table(*rows)).axes
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert [float(np.ravel(dot.get_xdata())[0]) for dot in dots] == [50.0]  # uniform never stays
    assert heights(panel)[0] == [0.8, 0.8]  # all votes
    assert [text.get_text() for text in panel.texts] == ["voi", "uniform"]
