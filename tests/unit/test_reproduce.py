"""The paper's tables and figures: printed values, statistics, crowds, cache, and what is written."""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import amcc
from amcc import plotting, write_votes
from amcc.data import CrowdSpec
from amcc.errors import EmptyInputError, MissingExtraError, ParameterError
from amcc.experiments import cache
from amcc.experiments.cells import Draw
from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import TABLE_4
from amcc.experiments.reproduce import (
    STUDIES,
    by_study,
    chosen_studies,
    fits,
    make_plan,
    output,
    run_studies,
    score_tables,
    sets,
)
from amcc.experiments.reproduce.data_tables import count_mulan, count_real
from amcc.experiments.reproduce.fits import MEASURES, FitTask, GrowthTask, by_item, fits_of, run_tasks, scores
from amcc.experiments.reproduce.plan import AMCC, QUICK, Figure, Reproduction, StudyPlan, Table, View
from amcc.experiments.reproduce.sets import GENERATED, PaperSet
from amcc.experiments.reproduce.statistics import Sample

MV = Entrant("MV", "majority")
TINY = replace(
    QUICK,
    n_runs=2,
    left_out=tuple(set(amcc.consensus.METHODS) - {"majority", "dawid-skene", "amcc"}),
    removed=(0.5,),
    thinned=("Affective",),
    weight_powers=(-1, 1),
    exponents=(2.0, 3.0),
    n_groups=(2, 3),
    sensitivity=(("Affective", None),),
    growth_votes=(500, 1_000),
    patience=5.0,
    round_sizes=(("labels", (3, 4)),),
)


@pytest.fixture(autouse=True)
def everything_is_small(monkeypatch):
    monkeypatch.setitem(amcc.consensus.METHODS, "amcc", partial(amcc.AMCC, max_iter=5))
    monkeypatch.setitem(plotting.STYLE, "savefig.dpi", 30)
    monkeypatch.setattr(sets, "GENERATED_SPEC", CrowdSpec(n_items=40, n_workers=10, n_labels=4, n_features=3))
    sets._drawn.cache_clear()
    yield
    sets._drawn.cache_clear()


@pytest.fixture
def data(tmp_path, crowd):
    """A folder with two sets of the paper, made small."""
    folder = tmp_path / "data"
    (folder / "affective").mkdir(parents=True)
    (folder / "mulan_emotions").mkdir()
    votes = crowd.votes.select(crowd.votes.item < 40)
    write_votes(votes, folder / "affective" / "annotations.csv.gz")
    item, label = crowd.truth[:40].nonzero()
    names = votes.item_names.take(item).to_pylist(), votes.label_names.take(label).to_pylist()
    pairs = "".join(f"{i},{k}\n" for i, k in zip(*names, strict=True))
    (folder / "affective" / "truth.csv").write_text(f"item,label\n{pairs}")
    known = "\n".join(votes.item_names.to_pylist()[:40])
    (folder / "affective" / "truth_items.csv").write_text(f"item\n{known}\n")
    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 3))
    present = features @ rng.standard_normal((3, 4)) > 0.3
    np.savez(
        folder / "mulan_emotions" / "features.npz",
        X=features,
        Y=present,
        items=np.array([f"i{n}" for n in range(60)]),
        label_names=np.array(list("abcd")),
    )
    return folder


# -- measuring ------------------------------------------------------------------------------------------------------


def test_scores_by_hand():
    truth = np.array([[1, 0, 1, 0], [0, 1, 0, 0]], dtype=bool)
    proba = np.array([[0.9, 0.6, 0.6, 0.1], [0.5, 0.5, 0.2, 0.5]])
    draw = Draw(None, truth, np.ones_like(truth))  # type: ignore[arg-type]
    found = scores(draw, proba > 0.5, proba)
    assert list(found) == list(MEASURES)
    wanted = {"precision_skip": 2 / 3, "precision_0": 1 / 3, "precision_1": 5 / 6, "jaccard": 1 / 3, "labels": 1.5}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    assert found["one_minus_rl"] == pytest.approx(1 - 0.458333, abs=1e-6)
    assert found["empty"] == 0.5


def test_scores_of_items_average_to_scores(crowd):
    draw = Draw(crowd.votes, crowd.truth, np.ones_like(crowd.truth))
    draw.known[5] = False
    proba = amcc.consensus.DawidSkene().fit(crowd.votes).predict_proba()
    items = by_item(draw, proba > 0.5, proba)
    assert np.isnan(items["jaccard"][5])
    for name, value in scores(draw, proba > 0.5, proba).items():
        assert_allclose(np.nanmean(items[name]), value, rtol=0, atol=1e-12)


def test_deterministic_runs_are_not_repeated(data):
    fixed = PaperSet("Affective", str(data))
    assert fixed.fixed
    assert len(fits_of(fixed, MV, 10)) == 1
    assert len(fits_of(fixed, AMCC, 10)) == 10
    assert len(fits_of(replace(fixed, removed=0.5), MV, 10)) == 10
    assert AMCC.model(3).random_state == 3  # type: ignore[attr-defined]


def test_crowds_are_thinned_as_they_say(data):
    whole, few = PaperSet("Affective", str(data)).draw(0), PaperSet("Affective", str(data), answers=2).draw(0)
    removed = PaperSet("Affective", str(data), removed=0.5).draw(1)
    assert set(few.votes.answers_per_item.tolist()) == {2}
    share = removed.votes.answers_per_item.sum() / whole.votes.answers_per_item.sum()
    assert share == pytest.approx(0.5, abs=0.1)
    assert PaperSet("Affective", removed=0.5, answers=3).title == "Affective @3 −50%"


def test_fingerprints_depend_on_features(data, tmp_path):
    draw = PaperSet("Emotions", str(data), str(tmp_path / "workers")).draw(0)
    assert draw.features is not None
    assert draw.votes.n_workers == 13
    assert draw.fingerprint() != replace(draw, features=None).fingerprint()
    assert draw.fingerprint() != replace(draw, features=draw.features + 1).fingerprint()


def test_interrupted_reproduction_goes_on(tmp_path, monkeypatch):
    tasks = [FitTask(PaperSet(GENERATED), seed, MV) for seed in range(3)]
    real, seen = fits._measure, []

    def interrupted(task):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(task)
        return real(task)

    monkeypatch.setattr(fits, "_measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks, tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    monkeypatch.setattr(fits, "_measure", lambda task: seen.append(task) or real(task))
    counted = []
    found = run_tasks(tasks + tasks, tmp_path, progress=lambda *numbers: counted.append(numbers))
    assert seen == tasks
    assert counted[-1] == (6, 6)  # three crowds, three fits
    monkeypatch.setattr(fits, "_measure", lambda task: pytest.fail("all is in the cache"))
    assert run_tasks(tasks, tmp_path) == found
    assert found[tasks[0]]["scores"]["jaccard"] != found[tasks[1]]["scores"]["jaccard"]


def test_other_code_is_measured_again(tmp_path, monkeypatch):
    task = FitTask(PaperSet(GENERATED), 0, MV)
    run_tasks([task], tmp_path)
    monkeypatch.setattr(cache, "code_version", lambda: "another")
    run_tasks([task], tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_growth_stops_when_patience_ends(tmp_path):
    found = GrowthTask(MV, (500, 1_000, 2_000), 0.0).measure()
    assert len(found["votes"]) == len(found["seconds"]) == 1
    assert len(GrowthTask(MV, (500, 1_000), 60.0).measure()["votes"]) == 2


# -- tables and figures ---------------------------------------------------------------------------------------------


def test_counts_by_hand(toy_votes):
    draw = Draw(toy_votes, np.zeros((2, 2), bool), np.ones((2, 2), bool))
    assert tuple(count_real(draw).values()) == (3, 2, 2, 6, 6, 11, 3.0, 1.0)


def test_mulan_counts_by_hand(data):
    from amcc.experiments.reproduce.sets import feature_set

    found = count_mulan(feature_set(PaperSet("Emotions", str(data))))
    assert [found[name] for name in ("items", "labels", "features", "annotations")] == [60, 4, 3, 7 * 24]


def test_everything_with_data(data, tmp_path):
    plan = make_plan(TINY, data, tmp_path / "cache")
    assert plan.sets == {"Affective", "Emotions"}
    names = [name for name in STUDIES if not name.startswith("active")]  # they have tests of their own
    found = run_studies(chosen_studies(names), plan)
    assert list(found.outputs) == names
    assert any("without SONYC-UST: sonyc_ust_fine_val is not" in note and "zenodo" in note for note in found.notes)
    with plotting.style():
        drawn = [made.draw() for made in found.all() if isinstance(made, Figure)]
    assert len(drawn) == 10
    few = Reproduction({name: found.outputs[name] for name in ("table5", "m")}, found.notes)
    written = output.write_all(few, output.draw_all(few), tmp_path / "out", output.Provenance([], [], 2))
    names = {path.name for path in written}
    assert {"table5.csv", "table5-scores.png", "m.svg", "index.html", "results.md"} <= names
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert (tmp_path / "out" / "m.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == sum(name.endswith(".svg") for name in names)
    assert page.count('<div class="figure"><img alt=') == page.count("<img")  # a frame that scrolls on phones
    assert not re.search(r'(src|href)="(?!data:|#)', page)  # it needs no other file
    rows = list(csv.DictReader((tmp_path / "out" / "table5.csv").read_text().splitlines()))
    ours = {(row["answers_per_item"], row["method"]): row for row in rows if row["measure"] == "precision_skip"}
    assert ours["", "MV"]["paper_mean"] == "0.701"
    assert ours["", "MV (hard output)"]["paper_mean"] == "0.701"
    assert ours["5", "MV"]["paper_mean"] == ""
    assert (ours["", "MV"]["units"], ours["5", "MV"]["units"]) == ("items", "draws")


def test_without_data_a_generated_crowd_stands_in(tmp_path):
    plan = make_plan(TINY, None, tmp_path / "cache")
    found = run_studies([STUDIES[name] for name in ("table2", "table4", "convergence")], plan)
    assert list(found.outputs) == ["table4", "convergence"]
    (table,) = (made for made in found.outputs["table4"] if isinstance(made, Table))
    assert set(table.data["set"].to_pylist()) == {GENERATED}
    assert "--data or AMCC_DATA" in found.notes[0]


def test_nothing_to_show_is_an_error(tmp_path):
    plan = make_plan(TINY, None, tmp_path / "cache")
    with pytest.raises(EmptyInputError, match=r"^table2 needs data; nothing was computed: .*AMCC_DATA"):
        run_studies(chosen_studies(["table2"]), plan)
    with pytest.raises(EmptyInputError, match=r"^table2, table5 need data") as raised:
        run_studies(chosen_studies(["table2", "table5"]), plan)
    assert "left out by --quick" not in str(raised.value)  # methods are beside the point


def test_tables_mark_and_embolden(tmp_path):
    crowd = PaperSet(GENERATED)
    high, low = (np.array(values) for values in ([0.9, 0.91, 0.93], [0.5, 0.52, 0.51]))
    lines = [
        score_tables.Line(crowd, who, dict.fromkeys(MEASURES, Sample(runs, runs)), 1.0, 3, {})
        for who, runs in ((MV, low), (AMCC, high))
    ]
    view = score_tables.score_view(lines)
    jaccard = list(view.head).index("Jaccard")
    assert view.rows[0][jaccard] == "0.510 ±0.010 •"
    assert view.rows[1][jaccard] == "**0.913 ±0.015**"
    assert view.rows[0][jaccard + 1] == "0.485–0.535"
    yeast = PaperSet("Yeast")
    printed = [score_tables.printed_row(TABLE_4, line.entrant, yeast) for line in lines]
    beside = score_tables.score_view(
        [
            replace(line, paper_set=yeast, printed={"precision_skip": row[0]})
            for line, row in zip(lines, printed, strict=True)
        ]
    )
    assert beside.head[1] == "paper's Accuracy"
    assert [row[1] for row in beside.rows] == ["0.815 ±0.000 •", "0.892 ±0.003"]


def test_rows_that_amcc_does_not_have_are_told(monkeypatch, tmp_path):
    from amcc.experiments.reproduce import plan as module

    monkeypatch.setattr(module, "ROWS", (MV, Entrant("Oracle", "oracle"), AMCC))
    plan = StudyPlan(replace(TINY, left_out=("amcc",)), None, tmp_path)
    assert plan.entrants == [MV]
    assert [note.split(":")[0] for note in plan.missing_methods()] == ["without Oracle", "without AMCC"]


def test_choosing_studies(monkeypatch):
    assert [study.name for study in chosen_studies(["r", "table2", "r"])] == ["r", "table2"]
    assert [study.name for study in chosen_studies([])] == list(STUDIES)
    with pytest.raises(ParameterError, match=r"among table2, .*; got 'table9'"):
        chosen_studies(["table2", "table9"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[plot\]'"):
        chosen_studies(["groups"])
    assert [study.name for study in chosen_studies(["table2"])] == ["table2"]  # draws nothing


# -- files ----------------------------------------------------------------------------------------------------------


def tiny_reproduction() -> Reproduction:
    import pyarrow as pa

    views = [
        View("A < B", ["method", "paper's Accuracy"], [["AMCC", "**0.5**"]]),
        View("more", ["method"], [["MV"]], True),
    ]
    return Reproduction({"t": [Table("t", "Table 1", "a | b", pa.table({"x": [1]}), views)]}, ["a note"])


PROVENANCE = output.Provenance(["t"], [], 3)


def test_the_page_escapes_and_folds():
    page = output.page(tiny_reproduction(), {}, PROVENANCE)
    assert "<h3>A &lt; B</h3>" in page
    assert '<tr class="ours"><td>AMCC</td><td class="paper"><b>0.5</b></td></tr>' in page
    assert "<details><summary>1 more" in page
    assert "Seeds 0 to 2" in page


def test_notes_are_told_to_the_study_that_they_concern(tmp_path):
    plan = make_plan(TINY, None, tmp_path / "cache")
    outputs = {name: tiny_reproduction().outputs["t"] for name in ("table4", "convergence")}
    found = by_study(Reproduction(outputs, ["all notes"]), plan)
    assert {name: list(each.outputs) for name, each in found.items()} == {
        "table4": ["table4"], "convergence": ["convergence"],
    }  # fmt: skip
    assert any("take longer" in note for note in found["table4"].notes)  # it compares methods
    assert not any("take longer" in note for note in found["convergence"].notes)


def test_figures_that_fail_leave_no_file(tmp_path):
    import pyarrow as pa

    def fail():
        raise RuntimeError("no figure")

    broken = Figure("f", "F", "", pa.table({"x": [1]}), fail)
    found = Reproduction({**tiny_reproduction().outputs, "f": [broken]})
    with pytest.raises(RuntimeError, match="no figure"):
        output.draw_all(found)
