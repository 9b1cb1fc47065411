"""amcc next as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from amcc import write_votes
from amcc.active.base import Questions, cold_beliefs
from amcc.cli import main
from amcc.cli.next_questions import choose
from amcc.data.simulate import CrowdSpec, simulate_crowd

COLUMNS = ["item", "label", "worker", "price", "utility", "why"]
WORKERS = [f"w{number}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def crowd():
    spec = CrowdSpec(n_items=12, n_workers=len(WORKERS), n_labels=3, answers_per_item=4, spammers=0.0, seed=1)
    return simulate_crowd(spec)


@pytest.fixture
def folder(crowd, tmp_path, monkeypatch) -> Path:
    """A folder with votes, prices from 1 to 8 by number of the worker, and features."""
    monkeypatch.chdir(tmp_path)
    assert crowd.votes.worker_names.to_pylist() == WORKERS
    write_votes(crowd.votes, tmp_path / "votes.csv")
    write_prices(tmp_path, dict(zip(WORKERS, range(1, 9), strict=True)))
    rows = [f"{item},{place},{place**2}" for place, item in enumerate(crowd.votes.item_names.to_pylist())]
    (tmp_path / "features.csv").write_text("\n".join(["item,width,height", *rows]))
    return tmp_path


def write_prices(folder: Path, prices: dict[str, object]) -> None:
    rows = [f"{worker},{price}" for worker, price in prices.items()]
    (folder / "prices.csv").write_text("\n".join(["worker,price", *rows]))


@pytest.fixture
def amcc_next(folder, monkeypatch, capsys):
    """Runs the command in this process: what it prints, what it notes."""

    def run(*arguments: object, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["amcc", "next", "votes.csv", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert (stopped.value.code or 0) == code, said.err
        return said.out, said.err

    return run


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def asked_already(folder: Path) -> set[tuple[str, str, str]]:
    return {(row["item"], row["label"], row["worker"]) for row in rows((folder / "votes.csv").read_text())}


def test_new_questions_within_the_budget(folder):
    command = [sys.executable, "-m", "amcc", "next", "votes.csv", "--budget", "20", "--prices", "prices.csv"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    table = rows(run.stdout)
    assert list(table[0]) == COLUMNS
    cost = sum(int(row["price"]) for row in table)
    assert cost <= 20
    assert f"{len(table)} questions for {cost} of 20" in run.stderr
    assert all(row["price"] == row["worker"].removeprefix("w") for row in table)
    questions = {(row["item"], row["label"], row["worker"]) for row in table}
    assert not questions & asked_already(folder)
    assert len({pair[:2] for pair in questions}) == len(table)
    utility = [float(row["utility"]) for row in table]
    assert utility == sorted(utility, reverse=True)
    assert "vote" in table[0]["why"]
    assert "informative worker (hit 0." in table[0]["why"]


class Dearest:
    """Wants the workers with the highest prices, and some of every price."""

    model = "majority"

    def select(self, beliefs, candidates, prices, batch, rng):
        asked = candidates.sample(1000, rng)
        best = np.argsort(-prices[asked.worker], kind="stable")[:batch]
        return Questions(asked.take(best), prices[asked.worker[best]])


def test_what_is_left_of_the_money_goes_to_cheaper_workers(crowd):
    """Of 20: two votes at 8, then one at 4, for all others are too expensive."""
    beliefs, prices, everybody = cold_beliefs(crowd.votes), np.arange(1, 9), np.ones(8, dtype=bool)
    for batch, expected in ((2, [8, 8]), (3, [8, 8, 4]), (9, [8, 8, 4])):
        chosen = choose(Dearest(), beliefs, everybody, prices, 20, batch, np.random.default_rng(0))
        assert prices[chosen.asked.worker].tolist() == expected


@pytest.mark.parametrize("strategy", ["voi", "sac", "nam-a", "mv-rsw"])
def test_strategies_stay_within_batch_and_budget(amcc_next, strategy):
    arguments = ("--budget", "0.30", "--decimals", 2, "--price", "0.04", "--strategy", strategy, "--batch", 5)
    out, _ = amcc_next(*arguments, "--explain", "--features", "features.csv", "--json")
    found = json.loads(out)
    assert (found["strategy"], found["budget"], found["cost"]) == (strategy, 0.3, 0.2)
    assert [question["price"] for question in found["questions"]] == [0.04] * 5
    assert set(found["questions"][0]) > set(COLUMNS)
    by_chance = strategy in ("uniform", "mv-rsw")
    assert found["questions"][0]["why"].startswith("drawn at random: " if by_chance else "probability ")


def test_parts_of_the_papers_criterion(amcc_next):
    table = rows(amcc_next("--budget", 3, "--strategy", "amcc", "--explain")[0])
    assert list(table[0]) == [*COLUMNS, "u1", "u2", "u", "q", "c"]
    for row in table:
        u1, u2, u, q, c, utility = (float(row[name]) for name in ("u1", "u2", "u", "q", "c", "utility"))
        assert u == pytest.approx(0.7 * u1 + 0.3 * u2)  # eq9
        assert utility == pytest.approx(u * q / c, rel=1e-5)  # eq13


def test_features_decide_who_is_credible(folder, amcc_next):
    arguments = ("--budget", 5, "--strategy", "amcc", "--explain")
    described = amcc_next(*arguments, "--features", "features.csv")[0]
    assert described != amcc_next(*arguments)[0]
    head, *items = (folder / "features.csv").read_text().splitlines()
    (folder / "features.csv").write_text("\n".join([head, *reversed(items)]))  # the order of rows does not matter
    assert described == amcc_next(*arguments, "--features", "features.csv")[0]


def test_only_some_workers_and_newcomers(folder, amcc_next):
    table = rows(amcc_next("--budget", 4, "--worker", "w2", "--worker", "w3")[0])
    assert {row["worker"] for row in table} <= {"w2", "w3"}
    assert len(table) == 4
    (folder / "prices.csv").write_text("worker,price\nzoe,1\n")
    (row,) = rows(amcc_next("--budget", 1, "--prices", "prices.csv", "--worker", "zoe")[0])
    assert row["worker"] == "zoe"
    assert "; new worker (hit" in row["why"]


def test_files(folder, amcc_next):
    out, err = amcc_next("--budget", 2, "-o", "next.csv")
    assert out == ""
    assert "next.csv" in err
    assert len(rows((folder / "next.csv").read_text())) == 2


def test_nothing_left_to_ask(folder, amcc_next):
    (folder / "votes.csv").write_text("worker,item,label,value\nann,1,cat,1\nbob,1,cat,0\n")
    out, err = amcc_next("--budget", 2)
    assert out == ",".join(COLUMNS) + "\n"
    assert "everybody who can be asked has answered everything" in err


PRICES = ("--budget", "9", "--prices", "prices.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "-5"], "the budget must not be negative; got -5"),
        (["--budget", "nan"], "the budget must be a finite number; got nan"),
        (["--budget", "0"], "the budget must be above 0; got 0"),
        (["--budget", "much"], "the budget must be a number; got 'much'"),
        (["--budget", "1.5"], "the budget must be a whole number of minor units"),
        (["--budget", "1.255", "--decimals", "2"], "the budget must have at most 2 decimals; got 1.255"),
        (["--budget", "9", "--decimals", "9"], "decimals must be a whole number from 0 to 4; got 9"),
        (["--budget", "2", "--price", "3"], "the budget must pay for at least one vote, 3; got 2"),
        (["--budget", "2", "--price", "0"], "a vote must cost at least one minor unit"),
        (["--budget", "9", "--batch", "0"], "batch must be at least 1; got 0"),
        (["--budget", "9", "--strategy", "magic"], "strategy must be one of amcc, "),
        (["--budget", "9", "--worker", "zoe"], "'zoe' is neither"),
        (["--budget", "9", "--prices", "none.csv"], "none.csv does not exist"),
        (["--budget", "9", "--features", "prices.csv"], "prices.csv: a column for the item is missing"),
        (["--budget", "9", "-o", "out.xlsx"], "the suffix must say the format"),
        (["--batch", "9"], "Missing option '--budget'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_arguments(folder, amcc_next, arguments, message):
    before = sorted(folder.iterdir())
    out, err = amcc_next("-o", "out.csv", *arguments, code=2)
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        (dict.fromkeys(WORKERS[:7], 1), "every worker must have a price; 'w8' have none"),
        ({"w1": -2}, "the price of worker 'w1' (row 1) must not be negative; got -2"),
        ({"w1": "NaN"}, "the price of worker 'w1' (row 1) must be a finite number"),
        ({"w1": "0.5"}, "the price of worker 'w1' (row 1) must be a whole number of minor units"),
        ({"w1": ""}, "the price of worker 'w1' (row 1) must be a number"),
        ({"w1": 1, "w1 ": 2}, "every worker must have one price; 'w1' has another in row 2"),
        (
            {**dict.fromkeys(WORKERS, 1), "w5": 0},
            "a vote must cost at least one minor unit; those of 'w5' cost nothing",
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:40],
)
def test_bad_prices(folder, amcc_next, prices, message):
    write_prices(folder, prices)
    out, err = amcc_next(*PRICES, "-o", "out.csv", code=2)
    assert message in err
    assert out == ""
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-1], "features must describe every item of the votes; 1 are missing, 'i12' is the first"),
        (lambda text: [*text, text[1]], "features must describe every item once; 'i01' stands there again"),
        (lambda text: [text[0], "i01,big,1", *text[2:]], "column 'width' must hold numbers"),
        (lambda text: [text[0], "i01,1,inf", *text[2:]], "column 'height' must hold finite numbers; row 1 has inf"),
        (lambda text: [row.split(",")[0] for row in text], "features must have columns of numbers beside the item"),
    ],
)
def test_bad_features(folder, amcc_next, change, message):
    path = folder / "features.csv"
    path.write_text("\n".join(change(path.read_text().splitlines())))
    _, err = amcc_next("--budget", 5, "--features", "features.csv", code=2)
    assert f"features.csv: {message}" in err
