"""Tables of the reproduction by hand: lines, long rows, views, counts, and what is written of them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import TABLE_2, TABLE_4, TABLE_5, TABLE_6, Printed
from amcc.experiments.reproduce import data_tables, output
from amcc.experiments.reproduce.fits import MEASURES, FitTask
from amcc.experiments.reproduce.plan import AMCC, FULL, QUICK, ROWS, Figure, Reproduction, StudyPlan, Table, View
from amcc.experiments.reproduce.score_tables import (
    MARKED,
    Line,
    _printed_share,
    _table6_tasks,
    data_table,
    interval_text,
    long_rows,
    measured,
    present_table4,
    present_table6,
    printed_row,
    printed_text,
    removal_view,
    score_view,
    set_title,
    table4_sets,
    table5_sets,
    table6_sets,
    tasks_of,
)
from amcc.experiments.reproduce.sets import GENERATED, MULAN, REAL, PaperSet
from amcc.experiments.reproduce.statistics import MeanWithInterval, Sample

MV = Entrant("MV", "majority")
HIGH, LOW = np.array([0.9, 0.91, 0.93]), np.array([0.5, 0.52, 0.51])


def line(entrant: Entrant, runs: np.ndarray, paper_set: PaperSet | None = None, **printed: Printed) -> Line:
    samples = dict.fromkeys(MEASURES, Sample(runs, runs))
    return Line(paper_set or PaperSet(GENERATED), entrant, samples, 1.5, len(runs), printed)


# -- lines ----------------------------------------------------------------------------------------------------------


def found(jaccard: float, items: list[float], seconds: float) -> dict:
    return {"scores": dict.fromkeys(MEASURES, jaccard), "items": dict.fromkeys(MEASURES, items), "seconds": seconds}


def test_units_are_items_where_the_votes_are_the_same():
    fixed = PaperSet("Affective", "data")
    fits = [FitTask(fixed, seed, AMCC) for seed in range(2)]
    results = {
        fits[0]: found(0.5, [0.0, 1.0, float("nan")], 3.0),
        fits[1]: found(0.7, [0.5, float("nan"), float("nan")], 5.0),
    }
    one = measured(fits, results)
    assert one.samples["jaccard"].runs.tolist() == [0.5, 0.7]
    np.testing.assert_array_equal(one.samples["jaccard"].units, [0.25, 1.0, np.nan])
    assert (one.seconds, one.n_runs, one.printed) == (4.0, 2, {})


def test_units_are_runs_where_each_has_its_own_votes():
    fits = [FitTask(PaperSet(GENERATED), seed, AMCC) for seed in range(2)]
    one = measured(fits, {fit: found(0.1 * seed, [], 1.0) for seed, fit in enumerate(fits)})
    assert one.samples["jaccard"].units.tolist() == [0.0, 0.1]


def test_nobody_is_marked_against_themselves_nor_by_the_size_of_sets():
    ours, theirs = line(AMCC, HIGH), line(MV, LOW)
    assert theirs.mark("jaccard", ours) == "•"
    assert ours.mark("jaccard", theirs) == "◦"
    assert ours.mark("jaccard", ours) == ""
    assert theirs.mark("labels", ours) == ""
    assert theirs.mark("jaccard", None) == ""


# -- the long table -------------------------------------------------------------------------------------------------


def test_long_rows_by_hand():
    yeast = PaperSet("Yeast")
    rows = long_rows([line(MV, LOW, yeast, precision_skip=Printed(0.8, 0.0, "•")), line(AMCC, HIGH, yeast)])
    assert len(rows) == 2 * len(MEASURES)
    first = rows[0]
    assert (first["measure"], first["method"], first["set"]) == ("precision_skip", "MV", "Yeast")
    assert (first["paper_mean"], first["paper_sd"], first["paper_mark"]) == (0.8, 0.0, "•")
    assert (first["runs"], first["units"], first["seconds"], first["mark"]) == (3, "draws", 1.5, "•")
    assert first["mean"] == pytest.approx(0.51)
    assert 0 < first["p_value"] < 0.05
    assert rows[1]["paper_mean"] is None


def test_without_amcc_there_is_nothing_to_test_against():
    rows = long_rows([line(MV, LOW)])
    assert all(np.isnan(row["p_value"]) and row["mark"] == "" for row in rows)


def test_a_table_has_the_types_of_its_columns_even_where_all_is_blank():
    table = data_table(long_rows([line(MV, np.array([np.nan]))]))
    types = {name: str(table.schema.field(name).type) for name in ("set", "paper_mark", "answers_per_item", "mean")}
    assert types == {"set": "string", "paper_mark": "string", "answers_per_item": "int64", "mean": "double"}
    assert table["mean"].null_count == table.num_rows
    assert table["p_value"].null_count == table.num_rows


# -- views ----------------------------------------------------------------------------------------------------------


def test_equal_means_share_the_bold_print():
    view = score_view([line(MV, HIGH), line(AMCC, HIGH + 0.0004)])
    jaccard = view.head.index("Jaccard")
    assert all(row[jaccard].startswith("**") for row in view.rows)
    assert not any(row[view.head.index("labels per item")].startswith("**") for row in view.rows)


def test_what_is_undefined_is_never_best():
    view = score_view([line(MV, np.full(3, np.nan)), line(AMCC, np.full(3, np.nan))])
    assert {cell for row in view.rows for cell in row[1:]} == {"—"}


def test_the_paper_has_columns_only_where_it_prints_something():
    bare = score_view([line(MV, LOW)])
    assert not any(title.startswith("paper's") for title in bare.head)
    beside = score_view([line(MV, LOW, one_minus_rl=Printed(0.5, 0.1)), line(AMCC, HIGH)])
    assert [title for title in beside.head if title.startswith("paper's")] == [
        "paper's Accuracy", "paper's 1−RL", "paper's 1−OE",
    ]  # fmt: skip
    assert len(beside.head) == len(beside.rows[0]) == len(bare.head) + 3
    column = beside.head.index("paper's 1−RL")
    assert [row[column] for row in beside.rows] == ["0.500 ±0.100", "—"]


def test_removed_answers_have_a_column_each():
    blocks = [
        [line(MV, LOW, PaperSet("Movie", removed=share)), line(AMCC, HIGH, PaperSet("Movie", removed=share))]
        for share in (0.1, 0.5)
    ]
    view = removal_view(blocks, "jaccard", folded=True)
    assert view.head == ["method", "Jaccard, −10%", "Jaccard, −50%"]
    assert view.rows[1] == ["AMCC", "**0.913 ±0.015**", "**0.913 ±0.015**"]
    assert (view.title, view.folded) == ("Movie: Jaccard", True)
    with_paper = [
        [replace(each, printed=_printed_share(each.entrant, each.paper_set)) for each in lines] for lines in blocks
    ]
    beside = removal_view(with_paper, "precision_skip", folded=False)
    assert beside.head[1] == "paper's Accuracy, −10%"
    assert beside.rows[0][1] == printed_text(TABLE_6["Movie"]["MV"][0])
    assert beside.rows[0][3] == printed_text(TABLE_6["Movie"]["MV"][3])


def test_both_majorities_stand_beside_the_papers_one():
    yeast = PaperSet("Yeast")
    hard = Entrant("MV (hard output)", "majority", (("scores", "hard"),))
    assert printed_row(TABLE_4, hard, yeast) == printed_row(TABLE_4, MV, yeast) == TABLE_4["Yeast"]["MV"]
    assert printed_row(TABLE_4, Entrant("EBCC", "ebcc"), yeast) == ()
    assert printed_row(TABLE_4, MV, PaperSet(GENERATED)) == ()


@pytest.mark.parametrize("printed", [TABLE_4, TABLE_5, TABLE_6], ids=["table4", "table5", "table6"])
def test_every_reading_of_a_method_stands_beside_its_row(printed):
    row_of = {
        row.name: {name: printed_row(printed, row, PaperSet(name)) for name in printed} for row in ROWS
    }  # fmt: skip
    amcc, mcmld = ({name: rows[method] for name, rows in printed.items()} for method in ("AMCC", "MCMLD"))
    assert row_of["AMCC"] == row_of["AMCC (paper's objective)"] == row_of["AMCC (as printed)"] == amcc
    assert row_of["MCMLD"] == row_of["MCMLD (as printed)"] == mcmld
    assert set(row_of["MCMLI"].values()) == set(row_of["Dawid–Skene"].values()) == {()}


def test_sonyc_stands_beside_the_papers_with_and_without_one_time_workers(tmp_path):
    whole, part = PaperSet("SONYC-UST"), PaperSet("SONYC-UST 2+")
    assert printed_row(TABLE_5, AMCC, part) == printed_row(TABLE_5, AMCC, whole) == TABLE_5["SONYC-UST"]["AMCC"]
    everything = StudyPlan(FULL, tmp_path, tmp_path, frozenset(REAL))
    names = [each.title for each in table5_sets(everything)]
    assert {"SONYC-UST", "SONYC-UST 2+"} < set(names)
    assert not {"SONYC-UST @5", "SONYC-UST 2+ @5"} & set(names)  # three answers an item are all there are
    shares = next(some for some in table6_sets(everything) if some[0].name == "SONYC-UST 2+")
    printed = [_printed_share(AMCC, each)["precision_skip"] for each in shares]
    assert tuple(printed) == TABLE_6["SONYC-UST"]["AMCC"]


def test_captions_say_why_numbers_repeat_and_who_has_another_set_rule(tmp_path, monkeypatch):
    monkeypatch.setattr(StudyPlan, "entrants", [AMCC])
    plan = StudyPlan(replace(QUICK, removed=(0.1,)), tmp_path, tmp_path, frozenset(["Emotions", "Affective"]))
    results = {fit: found(0.5, [], 1.0) for fit in (*tasks_of(plan, table4_sets(plan)), *_table6_tasks(plan))}
    for present in (present_table4, present_table6):
        shown, _ = present(plan, results)
        assert "stand three times" in shown.caption
        assert "MCMLD as printed gives the set that is most likely as a whole" in shown.caption
    shown, drawn = present_table4(plan, results)
    assert shown.caption.startswith("Seven classifiers and six spammers as workers; ")
    assert "Crosses: " in drawn.caption


def test_captions_without_data_say_nothing_of_the_papers_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(StudyPlan, "entrants", [AMCC])
    plan = StudyPlan(replace(QUICK, removed=(0.1,)), None, tmp_path)
    results = {fit: found(0.5, [], 1.0) for fit in (*tasks_of(plan, table4_sets(plan)), *_table6_tasks(plan))}
    shown, drawn = present_table4(plan, results)
    assert shown.caption.startswith("A generated crowd only; ")
    for caption in (shown.caption, present_table6(plan, results)[0].caption):
        assert "read Jaccard first" in caption
        assert not re.search('paper\'s (numbers|"Accuracy")|SONYC', caption)
    assert "Crosses" not in drawn.caption
    assert "No lines: an interval takes at least 3 runs." in drawn.caption


@pytest.mark.parametrize(
    ("paper_set", "title"),
    [
        (PaperSet("SONYC-UST"), "SONYC-UST: all workers"),
        (PaperSet("SONYC-UST 2+"), "SONYC-UST 2+: without the workers who answered once, as in the paper"),
        (PaperSet(GENERATED), "Generated crowd (not in the paper; needs no data)"),
        (PaperSet("Movie", answers=5), "Movie, 5 answers per item (not in the paper)"),
        (PaperSet("LoveEkman"), "LoveEkman, all answers: truth made of these very answers"),
        (PaperSet("Yeast"), "Yeast"),
    ],
)
def test_titles_say_what_a_set_is(paper_set, title):
    assert set_title(paper_set) == title


def test_intervals_are_dashes_where_there_are_none():
    assert interval_text(MeanWithInterval(0.5, 0.1, 0.4, 0.6)) == "0.400–0.600"
    assert interval_text(MeanWithInterval(0.5, 0.1, np.nan, np.nan)) == "—"


# -- which sets -----------------------------------------------------------------------------------------------------


def test_tables_use_the_sets_that_are_there(tmp_path):
    nothing = StudyPlan(QUICK, None, tmp_path)
    assert [each.name for each in table4_sets(nothing)] == [GENERATED]
    assert table5_sets(nothing) == []
    assert [[each.removed for each in some] for some in table6_sets(nothing)] == [[0.1, 0.5]]
    everything = StudyPlan(QUICK, tmp_path, tmp_path, frozenset(REAL | MULAN))
    assert [each.name for each in table4_sets(everything)] == ["Emotions", GENERATED]
    titles = [each.title for each in table5_sets(everything)]
    assert titles == [*REAL, "LoveEkman @5", "Affective @5"]
    assert [some[0].name for some in table6_sets(everything)] == ["LoveEkman", "Affective", GENERATED]


def test_fits_of_one_draw_follow_each_other(tmp_path):
    plan = StudyPlan(QUICK, None, tmp_path)
    places = [(fit.paper_set.title, fit.seed) for fit in tasks_of(plan, table4_sets(plan))]
    assert places == sorted(places)
    assert len(places) == len(plan.entrants) * QUICK.n_runs


def test_marks_are_for_readings_and_rankings():
    assert set(MEASURES) - set(MARKED) == {"labels", "empty"}


# -- counted sets ---------------------------------------------------------------------------------------------------


def test_sets_that_are_not_there_have_the_papers_number_alone():
    ours = {"Movie": {"workers": 89, "items": 100, "votes": 1234}}
    head = {"workers": "workers", "items": "items", "votes": "votes"}
    table = data_tables._table(("t", "T", "caption"), head, ours, TABLE_2)
    rows = {row[0]: row[1:] for row in table.views[0].rows}
    assert rows["Movie"] == ["89 (89)", "100 (100)", "1,234"]  # the paper does not count votes
    assert rows["Affective"] == ["— (38)", "— (100)", "—"]
    assert table.data.num_rows == len(TABLE_2) * 3
    assert table.data.filter(pa.compute.equal(table.data["set"], "Affective"))["ours"].null_count == 3


# -- files ----------------------------------------------------------------------------------------------------------


def tiny_figure() -> Figure:
    def draw():
        from amcc.plotting import canvas

        figure, axes = canvas(1, 1, (2.0, 1.5))
        axes[0, 0].plot([0, 1], [0, 1])
        return figure

    return Figure("f", "F & G", "a < b", pa.table({"x": [1]}), draw)


def test_equal_figures_are_equal_files():
    one, again = output.render(tiny_figure()), output.render(tiny_figure())
    assert one.svg == again.svg
    assert one.png.startswith(b"\x89PNG")


def test_markdown_links_to_figures_and_documents_do_not():
    reproduction = Reproduction({"s": [tiny_figure()]}, ["one", "two"])
    text = output.markdown(reproduction, output.Provenance(["s"], [], 1))
    assert "![F & G](f.png)" in text
    assert "Seed 0." in text
    assert "- one\n- two\n" in text
    assert text.startswith(f"# {output.TITLE}\n")


def test_the_page_shows_figures_inside(tmp_path):
    reproduction = Reproduction({"s": [tiny_figure()]})
    written = output.write_all(
        reproduction, output.draw_all(reproduction), tmp_path / "out", output.Provenance([], [], 2)
    )
    assert [path.name for path in written] == ["f.csv", "f.png", "f.svg", "index.html", "results.md"]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<h2>F &amp; G</h2>" in page and "a &lt; b" in page
    assert page.count("<img") == 1
    assert '<ul class="note">' not in page  # no notes
    assert re.search(r'<a href="#f">F &amp; G</a>', page)


def test_the_page_prints_code_as_code():
    reproduction = Reproduction({"s": [replace(tiny_figure(), caption="by `amcc < x`")]}, ["see `amcc data list`"])
    page = output.page(reproduction, output.draw_all(reproduction), output.Provenance([], [], 2))
    assert "<code>amcc &lt; x</code>" in page and "<code>amcc data list</code>" in page
    assert "`" not in page


@pytest.mark.parametrize(
    ("text", "html"), [("**0.5**", "<b>0.5</b>"), ("a<b", "a&lt;b"), ("**a** and **b**", "<b>a</b> and <b>b</b>")]
)
def test_bold_is_bold(text, html):
    assert output._inline(text) == html


def test_untitled_views_have_no_heading():
    table = Table("t", "T", "c", pa.table({"x": [1]}), [View("", ["a"], [["1"]])])
    text = output.markdown(Reproduction({"t": [table]}), output.Provenance(["x"], [], 1))
    assert "###" not in text
    page = output.page(Reproduction({"t": [table]}), {}, output.Provenance(["x"], [], 1))
    assert "<h3>" not in page and "<details>" not in page
