"""amcc replay as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from amcc import Votes, write_votes
from amcc.active import Replay
from amcc.active.curves import Curve, EndReason
from amcc.active.replay_plot import cut_note
from amcc.cli.console import screen
from amcc.cli.replay_results import replay_json, result_table, verdict
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import said

QUICK = ("--seeds", 1, "--batch", 24, "--processes", 1)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Three workers who are always right about twelve items with one of two labels each."""
    monkeypatch.chdir(tmp_path)
    truth = [[1, -1] if item % 3 else [-1, 1] for item in range(12)]
    items = [f"i{number}" for number in range(12)]
    votes = Votes.from_dense(
        [truth] * 3, worker_names=[f"w{number}" for number in range(3)], item_names=items, label_names=["cat", "dog"]
    )
    write_votes(votes, tmp_path / "votes.csv")
    rows = [f"{item},{'cat' if signs[0] > 0 else 'dog'}" for item, signs in zip(items, truth, strict=True)]
    (tmp_path / "truth.csv").write_text("\n".join(["item,label", *rows]))
    (tmp_path / "prices.csv").write_text("worker,price\n" + "\n".join(f"w{number},{number + 1}" for number in range(3)))
    return tmp_path


@pytest.fixture
def amcc_replay(folder):
    """Runs the command in this process: what it prints, what it notes."""

    def run(*arguments: object, code: int = 0, truth: str = "truth.csv") -> tuple[str, str]:
        return said("replay", "votes.csv", truth, *arguments, code=code)

    return run


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_perfect_workers_need_to_be_asked_once(folder):
    """One answer per item is a third of the money, and all there is to know."""
    command = [sys.executable, "-m", "amcc", "replay", "votes.csv", "truth.csv", *map(str, QUICK)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert "all 72 votes cost 72 and reach Jaccard 1.0000" in run.stdout
    assert "voi: same quality as all votes from 33 % of the money on" in run.stdout
    assert "1 seed is too few to tell what a goal costs: use --seeds 5 or more" in " ".join(run.stderr.split())


def test_json_is_the_curve_and_its_goals(amcc_replay):
    out, _ = amcc_replay("--strategy", "voi, uniform", *QUICK, "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert list(found) == ["voi", "uniform"]
    for each in found.values():
        assert list(each) == [
            "all_votes_jaccard", "sustained_cost", "area", "curve", "ends",
            "against", "lead_of_uniform", "best_of_methods", "pool", "paid_to",
        ]  # fmt: skip
        assert each["area"] == {"mean": pytest.approx(1), "sd": None, "seeds": [pytest.approx(1)]}
        assert each["best_of_methods"]["method"] == "amcc"  # no other is better
        assert each["pool"]["votes_per_pair"] == [3, 3, 3]
        assert each["pool"]["recorded"] == 1
        assert each["all_votes_jaccard"] == 1
        assert list(each["sustained_cost"]) == ["0.90", "0.95", "1.00"]
        for cost in each["sustained_cost"].values():
            assert cost.pop("seeds") == pytest.approx([1 / 3])
            assert cost == pytest.approx({"median": 1 / 3, "min": 1 / 3, "max": 1 / 3})
        assert each["curve"][0] == pytest.approx([1 / 3, 1])
        assert each["curve"][-1] == pytest.approx([1, 1])
        assert each["ends"] == [{"reason": "all", "cost_share": 1, "votes": 72, "jaccard": 1}]


def test_strategies_are_compared_with_the_one_that_is_named(amcc_replay):
    arguments = ("--strategy", "mv-rsw,uniform", "--against", "uniform", "--best-of", "none", *QUICK)
    found = json.loads(amcc_replay(*arguments, "--json")[0])
    assert found["uniform"]["against"] is None
    against = found["mv-rsw"]["against"]
    assert (against["strategy"], against["from"], against["to"]) == ("uniform", pytest.approx(1 / 3), pytest.approx(1))
    assert against["area"]["verdict"] == "not told apart"  # both are perfect, and one seed would not tell
    assert against["area"]["low"] is None
    assert found["mv-rsw"]["lead_of_uniform"] == 0
    assert found["mv-rsw"]["best_of_methods"]["all"] == {"amcc": 1}
    out, _ = amcc_replay(*arguments)
    assert "mv-rsw beside uniform: area +0.000: not told apart" in out.replace("−", "+")
    assert "3 votes per pair, 100 % of what 3 workers could be asked about 24 pairs" in out
    _, err = amcc_replay(*arguments, "--against", "voi", code=2)
    assert "--against must be one of the strategies, mv-rsw, uniform; got 'voi'" in err


def test_who_got_the_money_and_fewer_answers(folder, amcc_replay):
    """w0 costs 1, w1 costs 2 and w2 costs 3: of all the money the models get a sixth and a third."""
    (folder / "workers.csv").write_text("worker,kind,family\nw0,model,gpt\nw1,model,llama\nw2,human,\n")
    arguments = ("--strategy", "mv-rsw", "--prices", "prices.csv", "--start", "100", "--workers", "workers.csv")
    paid = json.loads(amcc_replay(*arguments, *QUICK, "--json")[0])["mv-rsw"]["paid_to"]
    assert paid["kind"] == pytest.approx({"model": 0.5, "human": 0.5})
    assert paid["family"] == pytest.approx({"gpt": 1 / 6, "llama": 1 / 3})
    out, _ = amcc_replay(*arguments, *QUICK, "--best-of", "none")
    assert "mv-rsw: of the first 100 % of the money went to model 50 %, human 50 %" in out
    out, _ = amcc_replay("--strategy", "mv-rsw", "--answers", 2, "--best-of", "majority", *QUICK)
    assert "all 48 votes cost 48" in out
    assert "2 votes per pair" in out


def test_files_hold_every_seed(folder, amcc_replay):
    arguments = ("--strategy", "mv-rsw,ceal", "--seeds", 2, "--batch", 24, "--start", "none", "--budget", 48)
    amcc_replay(*arguments, "--processes", 2, "-o", "curves.csv", "--plot", "curves.png")
    table = rows((folder / "curves.csv").read_text())
    assert list(table[0]) == ["strategy", "seed", "cost_share", "votes", "jaccard"]
    assert {(row["strategy"], row["seed"]) for row in table} == {
        ("mv-rsw", "0"), ("mv-rsw", "1"), ("ceal", "0"), ("ceal", "1"),
    }  # fmt: skip
    assert (table[0]["cost_share"], table[0]["votes"]) == ("0", "0")
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    amcc_replay(*arguments, "--processes", 1, "-o", "again.csv", "--plot", "curves.svg")
    assert (folder / "again.csv").read_text() == (folder / "curves.csv").read_text()
    assert "<svg" in (folder / "curves.svg").read_text()


def test_prices_budget_and_start(folder, amcc_replay):
    """A quarter of the answers; then what 100 of the 144 pay for, at the workers' prices."""
    arguments = ("--prices", "prices.csv", "--budget", 100, "--start", "25", *QUICK)
    amcc_replay(*arguments, "-o", "curves.csv")
    table = rows((folder / "curves.csv").read_text())
    assert table[0]["votes"] == "18"
    assert 90 / 144 < float(table[-1]["cost_share"]) <= 100 / 144
    out, _ = amcc_replay("--prices", "prices.csv", *QUICK)
    assert "all 72 votes cost 144 and" in out
    (folder / "prices.csv").write_text("worker,price\nw0,0.25\nzoe,1\n")
    out, err = amcc_replay("--prices", "prices.csv", "--price", "0.5", "--decimals", 2, *QUICK)
    assert "all 72 votes cost 30.00 and" in out
    assert "1 workers of the price list have no recorded vote" in err


def test_by_eq12_prices_follow_the_model(folder, amcc_replay):
    """The first 24 votes cost 100 each; who is always right costs a little less, as nobody is sure of that."""
    out, _ = amcc_replay("--prices", "eq12", *QUICK, "-o", "curves.csv")
    total = int(out.split("all 72 votes cost ")[1].split()[0])
    assert 5000 < total < 7200
    table = rows((folder / "curves.csv").read_text())
    assert float(table[0]["cost_share"]) == pytest.approx(2400 / total)
    paid = [float(row["cost_share"]) * total for row in table]
    assert all(round(amount, 6) == int(round(amount, 6)) for amount in paid)  # whole units
    assert paid[-1] < 7200
    out, _ = amcc_replay("--prices", "eq12", "--price", "0.50", "--decimals", 2, "--budget", "20.00", *QUICK)
    assert "all 72 votes cost 3" in out
    assert "voi: 1 of 1 runs spent the budget, at " in out


def test_where_the_rule_stops_and_why(folder, amcc_replay):
    arguments = ("--patience", 1, "--strategy", "mv-rsw", "--seeds", 2, "--batch", 6, "--processes", 2)
    out, _ = amcc_replay(*arguments)
    assert "mv-rsw: 2 of 2 runs stopped without progress, at 42 % of the money, with Jaccard 1.0000" in out
    ends = json.loads(amcc_replay(*arguments, "--json")[0])["mv-rsw"]["ends"]
    assert [end["reason"] for end in ends] == ["patience", "patience"]
    assert [end["votes"] for end in ends] == [30, 30]  # workers who agree are believed at once: no progress from there


def test_a_goal_that_is_never_reached_is_null(folder, amcc_replay):
    arguments = ("--start", "none", "--budget", 4, *QUICK)
    cost = json.loads(amcc_replay(*arguments, "--json")[0])["voi"]["sustained_cost"]["1.00"]
    assert cost == {"median": None, "min": None, "max": None, "seeds": [None]}
    assert "voi: the quality of all votes is not reached for good" in amcc_replay(*arguments)[0]


def test_every_seed_has_its_cost(capsys):
    share = np.array([0.1, 0.2, 0.3])
    jaccard = [0.8, 0.7, 0.8], [0.7, 0.8, 0.8], [0.8, 0.8, 0.8]
    found = Replay([Curve(share, share, np.array(each)) for each in jaccard], [0.8] * 3)
    cost = replay_json(found)["sustained_cost"]["1.00"]
    assert cost == {"median": 0.2, "min": 0.1, "max": 0.3, "seeds": [0.3, 0.2, 0.1]}
    screen.print(result_table({"voi": found}))
    assert capsys.readouterr().out.split("\n")[1].split("  ")[-1].strip() == "20 % (10–30 %)"


def runs(*ends: tuple[float, EndReason], jaccard: float = 0.5) -> Replay:
    """Runs that end at these shares, for these reasons, all below the quality of all votes."""
    curves = [Curve(np.array([0.1, last]), np.ones(2), np.full(2, jaccard), end=end) for last, end in ends]
    return Replay(curves, [0.8] * len(curves))


def test_a_run_that_stopped_might_have_got_there():
    assert runs((1.0, "all"), (1.0, "all")).in_percent(1.0) == "never"
    assert runs((1.0, "all"), (0.4, "patience")).in_percent(1.0) == "stopped before"
    assert runs((0.4, "money")).in_percent(1.0) == "stopped before"
    assert runs((0.4, "patience"), jaccard=0.8).in_percent(1.0) == "10 %"
    some = Replay([*runs((0.4, "patience")).curves, *runs((0.4, "patience"), jaccard=0.8).curves * 2], [0.8] * 3)
    assert verdict(some) == "same quality as all votes from 10 % (10 %–stopped before) of the money on"


def test_the_picture_says_where_its_lines_end():
    assert cut_note({"voi": runs((0.4, "patience"), (0.4, "patience"))}) == ""
    assert "end where the first run ended" in cut_note({"voi": runs((0.4, "patience"), (0.6, "patience"))})


def test_five_seeds_are_enough(amcc_replay):
    out, err = amcc_replay("--strategy", "mv-rsw", "--seeds", 5, "--batch", 48, "--processes", 1)
    assert "mv-rsw: same quality as all votes from 33 % of the money on" in out
    assert "too few" not in err


def test_truth_of_some_items(folder, amcc_replay):
    """The truth says cat where there is a dog: what is not known does not count."""
    (folder / "truth.csv").write_text("item,label\ni0,cat\ni1,cat\nx,cat\n")
    (folder / "known.csv").write_text("item\ni1\n")
    majority = ("--strategy", "mv-rsw", *QUICK, "--json")
    out, err = amcc_replay("--known-items", "known.csv", *majority)
    assert json.loads(out)["mv-rsw"]["all_votes_jaccard"] == 1
    assert "1 true pairs are about items or labels without votes" in err
    assert "quality is that of 1 of 12 items (2 pairs): the truth of the others is unknown" in err
    for unmentioned, quality in (("unknown", 1 / 2), ("absent", 1 / 12)):
        out, _ = amcc_replay("--truth-unmentioned", unmentioned, *majority)
        assert json.loads(out)["mv-rsw"]["all_votes_jaccard"] == pytest.approx(quality)
    (folder / "known.csv").write_text("item,label\ni0,cat\ni1,cat\n")
    out, _ = amcc_replay("--known-pairs", "known.csv", *majority)
    assert json.loads(out)["mv-rsw"]["all_votes_jaccard"] == 0.5


def test_features_tell_which_items_are_alike(folder, amcc_replay):
    crowd = simulate_crowd(CrowdSpec(n_items=12, n_workers=5, n_labels=3, answers_per_item=4, seed=3))
    write_votes(crowd.votes, folder / "votes.csv")
    items = crowd.votes.item_names.to_pylist()
    pairs = [f"{items[item]},{crowd.votes.label_names[label]}" for item, label in np.argwhere(crowd.truth).tolist()]
    (folder / "truth.csv").write_text("\n".join(["item,label", *pairs]))
    kinds = [f"{item},{place % 3},{place % 2}" for place, item in enumerate(items)]
    (folder / "features.csv").write_text("\n".join(["item,kind,size", *kinds]))
    arguments = ("--strategy", "nam-a", "--seeds", 1, "--batch", 70, "--processes", 1, "--json")
    described = amcc_replay(*arguments, "--features", "features.csv")[0]
    assert described != amcc_replay(*arguments)[0]
    (folder / "features.csv").write_text("\n".join(["item,kind,size", *reversed(kinds)]))
    assert described == amcc_replay(*arguments, "--features", "features.csv")[0]
    (folder / "features.csv").write_text("\n".join(["item,kind,size", *kinds[1:]]))
    _, err = amcc_replay("--strategy", "nam-a,sac", "--features", "features.csv", code=2)
    assert "the strategy sac does not use features of items" in err
    _, err = amcc_replay(*arguments, "--features", "features.csv", code=2)
    assert "features.csv: features must describe every item of the votes; 1 are missing, 'i01' is the first" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "-1"], "the budget must not be negative; got -1"),
        (["--budget", "NaN"], "the budget must be a finite number; got NaN"),
        (["--budget", "0"], "the budget must be above 0; got 0"),
        (["--budget", "5"], "the budget must pay for what is bought first, 24; got 5"),
        (["--strategy", "voi,magic"], "strategy must be one of amcc, "),
        (["--strategy", ","], "strategy must be one of amcc, "),
        (["--seeds", "0"], "seeds must be at least 1; got 0"),
        (["--batch", "0"], "batch must be at least 1; got 0"),
        (["--start", "101"], "start must be none, one or a percentage from 0 to 100; got '101'"),
        (["--start", "-1"], "start must be none, one or a percentage from 0 to 100; got '-1'"),
        (["--start", "two"], "start must be none, one or a percentage from 0 to 100; got 'two'"),
        (["--start", "nan"], "start must be none, one or a percentage from 0 to 100; got 'nan'"),
        (["--known-items", "truth.csv", "--known-pairs", "truth.csv"], "known items or known pairs"),
        (["--patience", "0"], "--patience must be a whole number of batches of at least 1; got 0"),
        (["--prices", "eq12", "--price", "0"], "--price must be at least one minor unit with eq12; got 0"),
        (["--prices", "eq12", "--price", "-3"], "--price must be at least one minor unit with eq12; got -3"),
        (["--prices", "eq12", "--budget", "2399"], "the budget must pay for what is bought first, 2400; got 2399"),
        (["--prices", "./eq12"], "there is no file ./eq12"),
        (["--price", "-3"], "the default price must not be negative; got -3"),
        (["--plot", "curves.bmp"], "curves.bmp: the suffix must say the format, one of .png, .svg, .pdf"),
        (["--plot", "no/such/curves.png"], "there is no folder no/such"),
        (["-o", "curves.xyz"], "the suffix must say the format"),
        (["-o", "no/such/curves.csv"], "there is no folder no/such"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_arguments(folder, amcc_replay, arguments, message):
    before = sorted(folder.iterdir())
    out, err = amcc_replay("-o", "out.csv", "--plot", "out.png", *arguments, code=2)
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("w0,1", "every worker must have a price; there is none for 'w1', 'w2'"),
        ("w0,-1", "the price of worker 'w0' (row 1) must not be negative; got -1"),
        ("w0,nan", "the price of worker 'w0' (row 1) must be a finite number; got nan"),
        ("w0,0.125", "the price of worker 'w0' (row 1) must have at most 2 decimals; got 0.125"),
    ],
)
def test_bad_prices(folder, amcc_replay, prices, message):
    (folder / "prices.csv").write_text(f"worker,price\n{prices}\n")
    out, err = amcc_replay("--prices", "prices.csv", "--decimals", 2, "-o", "out.csv", code=2)
    assert message in err
    assert out == ""
    assert not (folder / "out.csv").exists()


def test_truth_that_matches_nothing(folder, amcc_replay):
    (folder / "truth.csv").write_text("item,label\n1,cat\n2,dog\n")
    _, err = amcc_replay(code=2)
    assert "the truth must name items of the votes; none of its 2 items is there. It names '1', '2'" in err
    _, err = amcc_replay(truth="missing.csv", code=2)
    assert "missing.csv does not exist" in err


def test_without_matplotlib_it_says_what_to_install(folder, amcc_replay, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _, err = amcc_replay("--plot", "curves.png", code=1)
    assert "pip install 'amcc[plot]'" in err
