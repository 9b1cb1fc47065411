"""amcc next as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from amcc import write_votes
from amcc.active.strategies import STRATEGIES
from amcc.cli.next_questions import summary
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import said

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
def amcc_next(folder):
    """Runs the command in this process: what it prints, what it notes."""

    def run(*arguments: object, code: int = 0) -> tuple[str, str]:
        return said("next", "votes.csv", *arguments, code=code)

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


def test_it_says_whom_it_asks_to_get_to_know_them(amcc_next):
    """What asking teaches about somebody is a part of the value, and of the reason."""
    out, _ = amcc_next("--budget", 10, "--explain")
    for row in rows(out):
        to_learn = float(row["to_know"]) > 0.5
        assert ("asked to get to know them" in row["why"]) is to_learn
        assert f"skill on all labels {float(row['skill']):.2f}" in row["why"]


@pytest.mark.parametrize("strategy", ["voi", "sac", "nam-a", "mv-rsw"])
def test_strategies_stay_within_batch_and_budget(amcc_next, strategy):
    arguments = ("--budget", "0.30", "--decimals", 2, "--price", "0.04", "--strategy", strategy, "--batch", 5)
    out, _ = amcc_next(*arguments, "--explain", "--json")
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


@pytest.fixture
def before_the_first_vote(folder) -> Path:
    (folder / "votes.csv").write_text("worker,item,label,value\n")
    (folder / "items.csv").write_text("width,item\n3,one\n4,two\n5,one\n")
    (folder / "labels.csv").write_text("label\ncat\ndog\n")
    return folder


COLD = ("--budget", 40, "--items", "items.csv")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_starts_before_the_first_vote(before_the_first_vote, amcc_next, strategy):
    table = rows(amcc_next(*COLD, "--labels", "cat, dog", "--prices", "prices.csv", "--strategy", strategy)[0])
    questions = {(row["item"], row["label"], row["worker"]) for row in table}
    assert len(questions) == len(table) >= 4
    assert {item for item, _, _ in questions} == {"one", "two"}
    assert {label for _, label, _ in questions} == {"cat", "dog"}
    assert {worker for _, _, worker in questions} <= set(WORKERS)
    assert sum(int(row["price"]) for row in table) <= 40
    assert "probability 0.50 before the first vote; new worker (hit 0.75" in table[0]["why"]


def test_before_the_first_vote_workers_can_be_named(before_the_first_vote, amcc_next):
    named = ("--worker", "ann", "--worker", "bob", "--worker", "ann")
    table = rows(amcc_next(*COLD, "--labels", "labels.csv", *named)[0])
    assert len(table) == 4
    assert {row["worker"] for row in table} == {"ann", "bob"}
    (before_the_first_vote / "labels.txt").write_text("cat\n\ndog\n")
    assert rows(amcc_next(*COLD, "--labels", "labels.txt", *named)[0]) == table


def test_before_the_first_vote_of_a_table_of_ticks(before_the_first_vote, amcc_next):
    """A label that nobody ticked was denied, where the list says that it could be ticked."""
    path, ticks = before_the_first_vote / "votes.csv", ("--unmentioned", "absent", "--worker", "ann")
    path.write_text("worker,item,label\n")
    assert len(rows(amcc_next(*COLD, "--labels", "labels.csv", *ticks)[0])) == 4
    path.write_text("worker,item,label\nann,one,cat\n")
    for labels in ("labels.csv", "cat,dog"):
        table = rows(amcc_next(*COLD, "--labels", labels, *ticks)[0])
        assert {(row["item"], row["label"]) for row in table} == {("two", "cat"), ("two", "dog")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--worker", "ann"], "votes.csv holds no vote, so it must be said what can be asked: --items FILE"),
        (["--worker", "ann", "--items", "items.csv"], "and --labels a,b,c"),
        (["--worker", "ann", "--labels", "cat"], "votes.csv holds no vote"),
        (["--items", "items.csv", "--labels", "cat"], "Name people in a price list (--prices FILE) or one by one"),
        (["--items", "items.csv", "--labels", "cat", "--worker", " "], "there must be somebody to ask"),
        (["--items", "items.csv", "--labels", ","], "--labels must name a label or a file; got ','"),
        (["--items", "items.csv", "--labels", "lables.csv"], "lables.csv does not exist"),
        (["--items", "labels.csv", "--labels", "cat"], "labels.csv: a column for the item is missing"),
        (["--items", "blank.csv", "--labels", "cat"], "blank.csv: every item must have a name"),
        (["--items", "items.csv", "--labels", "cat", "--prices", "prices.csv", "--worker", "ann"], "'ann' is neither"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_before_the_first_vote_it_must_be_said_what_there_is(before_the_first_vote, amcc_next, arguments, message):
    (before_the_first_vote / "blank.csv").write_text("item,width\none,1\n,2\n")
    out, err = amcc_next("--budget", 9, *arguments, code=2)
    assert message in err
    assert out == ""


def test_rows_without_a_value_are_no_cold_start(before_the_first_vote, amcc_next):
    (before_the_first_vote / "votes.csv").write_text("worker,item,label,value\nann,one,cat,\n")
    _, err = amcc_next(*COLD, "--labels", "cat", "--worker", "ann", code=2)
    assert "every row is blank" in err


def test_items_and_labels_that_nobody_was_asked_about(folder, amcc_next):
    (folder / "items.csv").write_text("item\ni01\nnew\n")
    arguments = ("--budget", 400, "--batch", 400, "--labels", "zebra,label_1", "--items", "items.csv")
    table = rows(amcc_next(*arguments)[0])
    pairs = {(row["item"], row["label"]) for row in table}
    assert len(pairs) == 13 * 4
    # There is room for more: several workers about doubtful pairs, at most three, none of them twice.
    assert 13 * 4 < len(table) == len({(row["item"], row["label"], row["worker"]) for row in table})
    assert max(Counter((row["item"], row["label"]) for row in table).values()) in (2, 3)
    assert ("new", "label_1") in pairs
    assert ("i12", "zebra") in pairs
    why = {(row["item"], row["label"]): row["why"] for row in table}
    assert "before the first vote" in why["new", "label_1"]
    assert "after 4 votes" in why["i01", "label_1"]


def test_prices_by_eq12(folder, amcc_next):
    """The paper's cost, even beside a file of that name."""
    arguments = ("--budget", "9.00", "--decimals", 2, "--strategy", "amcc", "--price", "0.50", "--batch", 12)
    table = rows(amcc_next("--prices", "eq12", *arguments)[0])
    prices = {row["worker"]: float(row["price"]) for row in table}
    assert len(set(prices.values())) > 1
    assert 0 < min(prices.values()) < max(prices.values()) <= 0.5
    (folder / "eq12").write_text("")
    (folder / "prices.csv").rename(folder / "eq12.csv")
    assert rows(amcc_next("--prices", "eq12", *arguments)[0]) == table
    by_list = rows(amcc_next("--prices", "./eq12.csv", *arguments)[0])
    assert all(row["price"] == row["worker"].removeprefix("w") for row in by_list)


def test_newcomers_by_eq12(amcc_next):
    arguments = ("--prices", "eq12", "--budget", 10_000, "--strategy", "uniform", "--worker", "w1")
    out, err = amcc_next(*arguments, "--worker", "zoe")
    assert {row["worker"] for row in rows(out)} == {"w1", "zoe"}
    assert "'zoe' has not voted: a newcomer, who costs the mean of the others" in err
    assert "newcomer" not in amcc_next(*arguments)[1]


def test_prices_of_others_do_not_matter(folder, amcc_next):
    """Who may not be asked has no price: whatever it is, it moves no utility."""
    only = ("--budget", 8, "--worker", "w7", "--worker", "w8", "--prices", "prices.csv")
    found = amcc_next(*only)[0]
    write_prices(folder, {**dict.fromkeys(WORKERS, 1000), "w7": 7, "w8": 8})
    assert amcc_next(*only)[0] == found
    write_prices(folder, {"w7": 7, "w8": 8})
    assert amcc_next(*only)[0] == found
    (row,) = rows(found)
    assert row["worker"] in ("w7", "w8")


def test_money_is_not_wasted_silently():
    assert summary(1, 0, "3 of 5") == "1 question for 3 of 5"
    assert summary(2, 2, "2 of 9").endswith("; nothing is expected of 2 of them (utility 0): rather keep that money")


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
        (["--budget", "1.5"], "(command line: --decimals 2)"),
        (["--budget", "1.255", "--decimals", "2"], "(command line: --decimals 3)"),
        (["--budget", "0.0000001"], "at most decimals=6 (command line: --decimals 6)"),
        (["--budget", "9", "--decimals", "9"], "decimals must be a whole number from 0 to 6; got 9"),
        (["--budget", "2", "--price", "3"], "the budget must pay for at least one vote, 3; got 2. Raise --budget"),
        (["--budget", "2", "--price", "0"], "a vote must cost at least one minor unit"),
        (["--budget", "9", "--batch", "0"], "--batch must be at least 1; got 0"),
        (["--budget", "9", "--strategy", "magic"], "--strategy must be one of amcc, "),
        (["--budget", "9", "--strategy", "vio"], "got 'vio'. Did you mean 'voi'?"),
        (["--budget", "9", "--price", "-1"], "--price must not be negative; got -1"),
        (["--budget", "9", "--worker", "zoe"], "'zoe' is neither"),
        (["--budget", "9", "--prices", "none.csv"], "none.csv does not exist"),
        (["--budget", "9", "--prices", "eq21"], "must be a file or one of eq12, eq12-printed; there is no file eq21"),
        (["--budget", "9", "--prices", "eq12", "--price", "0"], "--price must be at least one minor unit with eq12"),
        (["--budget", "9", "--prices", "eq12", "--price", "-1"], "--price must be at least one minor unit with eq12"),
        (["--budget", "9", "--prices", "eq12", "--price", "900"], "cheapest worker by eq12: raise --budget, or lower"),
        (["--budget", "9", "--strategy", "sac", "--features", "features.csv"], "a strategy that does: amcc, amcc-p"),
        (["--budget", "9", "--strategy", "amcc", "--features", "prices.csv"], "prices.csv: a column for the item is"),
        (["--budget", "9", "--features-items", "prices.csv"], "give both"),
        (["--budget", "9", "-o", "out.xyz"], "the suffix must say the format"),
        (["--budget", "9", "--json", "-o", "no/such/out.csv"], "there is no folder no/such"),
        (["--batch", "9"], "--budget must say what all questions may cost"),
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
        (dict.fromkeys(WORKERS[:7], 1), "every worker must have a price; there is none for 'w8'"),
        ({"w1": -2}, "the price of worker 'w1' (row 1) must not be negative; got -2"),
        ({"w1": "NaN"}, "the price of worker 'w1' (row 1) must be a finite number"),
        ({"w1": "0.5"}, "the price of worker 'w1' (row 1) must be a whole number of minor units"),
        ({"w1": ""}, "the price of worker 'w1' (row 1) must be a number"),
        ({"w1": 1, "w1 ": 2}, "'w1 ' and 'w1' differ only in spaces"),
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
    _, err = amcc_next("--budget", 5, "--strategy", "amcc", "--features", "features.csv", code=2)
    assert f"features.csv: {message}" in err


@pytest.mark.parametrize(
    "arguments",
    [["--prices", "prices.csv", "--price", 1], ["--worker", "w1 "], ["--items", "items.csv"]],
    ids=["prices", "worker", "items"],
)
def test_names_are_taken_to_the_last_space(folder, amcc_next, arguments):
    """A worker whose name ends in a space in one of two files is not paid as a stranger."""
    write_prices(folder, {"w1 ": 5})
    (folder / "items.csv").write_text("item\n i01\n")
    err = amcc_next("--budget", 9, *arguments, code=2)[1]
    assert "differ only in spaces or invisible characters" in err


def test_a_budget_is_a_plain_number(amcc_next):
    assert "the budget must be a number; got '1_000'" in amcc_next("--budget", "1_000", code=2)[1]


# -- known truth, and questions to the requester ----------------------------------------------------------------------


@pytest.fixture
def truth_file(crowd, folder) -> Path:
    """The truth of all labels of three items, one row per pair, with yes and no."""
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    told = [f"{names[i]},{labels[j]},{'yes' if crowd.truth[i, j] else 'no'}" for i in range(3) for j in range(3)]
    (folder / "truth.csv").write_text("\n".join(["item,label,truth", *told]))
    return folder / "truth.csv"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nobody_is_paid_for_what_is_known(strategy, amcc_next, crowd, truth_file):
    table, told = amcc_next("--budget", 1000, "--batch", 100, "--strategy", strategy, "--truth", truth_file)
    known = set(crowd.votes.item_names.to_pylist()[:3])
    asked = {row["item"] for row in rows(table)}
    assert asked
    assert not asked & known
    assert "9 pairs are known" in told
    assert {row["item"] for row in rows(amcc_next("--budget", 1000, "--strategy", strategy)[0])} & known


def test_truth_before_the_first_vote(folder):
    (folder / "none.csv").write_text("worker,item,label,value\n")
    (folder / "items.csv").write_text("item\ni1\ni2\n")
    (folder / "truth.csv").write_text("item,label,truth\ni1,a,yes\ni1,b,no\n")
    begin = ("next", "none.csv", "--items", "items.csv", "--labels", "a,b", "--worker", "w")
    table, _ = said(*begin, "--budget", 9, "--truth", "truth.csv")
    assert sorted((row["item"], row["label"]) for row in rows(table)) == [("i2", "a"), ("i2", "b")]


def test_questions_to_the_requester_and_their_answers(amcc_next, crowd, folder):
    """What is asked becomes a truth with one more column, is believed, and is not asked again."""
    table, told = amcc_next("--for-expert", "--batch", 4, "-o", "ask.csv")
    assert table == ""
    assert "4 questions to you, about 4 items: add a column truth" in told
    asked = rows((folder / "ask.csv").read_text())
    assert list(asked[0]) == ["item", "label", "probability", "why"]
    assert all(row["why"] for row in asked)
    text = (folder / "ask.csv").read_text().splitlines()
    (folder / "told.csv").write_text(
        "\n".join([text[0] + ",truth", text[1] + ",yes", *(row + ",no" for row in text[2:])])
    )
    again, told = amcc_next("--for-expert", "--json", "--truth", "told.csv")
    found = json.loads(again)
    assert len(found["questions"]) == 10
    assert found["truth"]["known_pairs"] == 4
    assert not {(row["item"], row["label"]) for row in asked} & {(q["item"], q["label"]) for q in found["questions"]}
    assert all(0 < question["gain"] < 1 for question in found["questions"])
    kept, _ = said("consensus", "votes.csv", "--truth", "told.csv")
    pair = next(row for row in rows(kept) if (row["item"], row["label"]) == (asked[0]["item"], asked[0]["label"]))
    assert float(pair["probability"]) == 1.0


def test_whole_items_for_the_requester(amcc_next):
    asked = rows(amcc_next("--for-expert", "--whole-items", "--batch", 2)[0])
    assert len(asked) == 6
    assert len({row["item"] for row in asked}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--budget must say what all questions may cost"),
        (("--for-expert", "--budget", 5, "--worker", "w1"), "--budget, --worker would change nothing"),
        (("--for-expert", "--strategy", "uniform"), "--strategy would change nothing"),
        (("--for-expert", "--batch", 0), "batch must be at least 1; got 0"),
        (("--whole-items", "--budget", 5), "give it with --for-expert"),
        (("--for-expert", "--known-items", "votes.csv"), "say what --truth covers"),
    ],
)
def test_senseless_requests_for_the_requester(arguments, message, amcc_next):
    assert message in " ".join(amcc_next(*arguments, code=2)[1].split())


def test_the_requester_is_asked_about_votes_only(folder):
    (folder / "none.csv").write_text("worker,item,label,value\n")
    begin = ("next", "none.csv", "--labels", "a", "--items", "votes.csv", "--for-expert")
    assert "--for-expert needs votes" in said(*begin, code=2)[1]
