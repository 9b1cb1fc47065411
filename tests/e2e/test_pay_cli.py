"""amcc next --ledger and amcc pay as a user runs them: one budget over many calls."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from amcc.active.accounts import Account
from amcc.cli import OUT_OF_MONEY
from running import said

PROLIFIC = "5f0c0ffee0ddf00d5f0c0ffe"
NEXT = ("next", "votes.csv", "--items", "items.csv", "--labels", "cat,dog", "--prices", "prices.csv", "--decimals", 2,
        "--ledger", "money.jsonl")  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """No vote yet, three items, and two workers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("worker,item,label,value\n")
    (tmp_path / "items.csv").write_text("item\none\ntwo\nthree\n")
    (tmp_path / "prices.csv").write_text(f"worker,price\n{PROLIFIC},0.08\nbob,0.05\n")
    return tmp_path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def answer(questions: list[dict[str, str]]) -> None:
    with Path("votes.csv").open("a") as file:
        file.writelines(f"{each['worker']},{each['item']},{each['label']},yes\n" for each in questions)


def cents(table: list[dict[str, str]], column: str) -> int:
    return sum(round(100 * float(row[column])) for row in table)


def test_a_budget_over_many_calls(folder):
    """Ask, answer a part, pay, ask again, until the money is gone; then give up what waits."""
    first = rows(said(*NEXT, "--budget", "0.60", "--batch", 4)[0])
    out, err = said(*NEXT, "--json")  # the budget stands in the ledger
    second = json.loads(out)
    account = second["account"]
    assert account["budget"] == 0.6
    assert round(account["left"] + account["reserved"], 2) == 0.6
    assert round(100 * account["reserved"]) == cents(first, "price") + cents(second["questions"], "price")
    assert "reserved" in err
    names = [(row["item"], row["label"], row["worker"]) for row in first + second["questions"]]
    assert len(set(names)) == len(names)
    assert said(*NEXT, "--waiting")[0].count("\n") == 1 + len(names)
    answer(first[:3])
    out, err = said("pay", "money.jsonl", "votes.csv", "--json")
    paid = json.loads(out)
    assert round(100 * paid["due"]) == cents(first[:3], "price")
    assert sum(row["answered"] for row in paid["workers"]) == 3
    assert "3 new answers" in err
    while (run := run_next())[0]:
        assert run[0] < 9
    assert "nothing can be asked" in run[1]
    assert "(--release gives them up)" in run[1]
    assert "More money: --change-budget" in run[1]
    left = json.loads(said("pay", "money.jsonl", "--json")[0])
    released, err = said(*NEXT, "--release", "--batch", 1)
    assert "questions given up" in err
    after = json.loads(said("pay", "money.jsonl", "--json")[0])
    assert after["reserved"] == float(rows(released)[0]["price"])
    assert after["due"] == left["due"]


def run_next() -> tuple[int, str]:
    """How many questions one more call gives, and what it says; 0 where the money is used up."""
    before = Path("money.jsonl").read_bytes()
    try:
        out, err = said(*NEXT)
        return len(rows(out)), err
    except AssertionError:
        out, err = said(*NEXT, code=OUT_OF_MONEY)
        assert out == ""
        assert Path("money.jsonl").read_bytes() == before
        return 0, err


@pytest.fixture
def kept(folder) -> Path:
    """A ledger with one question answered by each worker and one that waits."""
    with Account.open("money.jsonl", budget="1.00", decimals=2) as account:
        names = {"item": ["one", "one", "two"], "label": ["cat"] * 3, "worker": [PROLIFIC, "bob", "bob"]}
        account.ask(names, [8, 5, 5], [0, 0, 0])
        account.save()
    (folder / "votes.csv").write_text(f"worker,item,label,value\n{PROLIFIC},one,cat,yes\nbob,one,cat,no\n")
    return folder / "money.jsonl"


def test_pay_lists_marks_and_lists_what_is_new(kept):
    out, err = said("pay", kept, "votes.csv", "--prolific", "bonus.csv", "--mark-paid")
    assert rows(out) == [
        {"worker": PROLIFIC, "answered": "1", "paid": "0", "due": "0.08", "waiting": "0", "reserved": "0"},
        {"worker": "bob", "answered": "1", "paid": "0", "due": "0.05", "waiting": "1", "reserved": "0.05"},
    ]
    assert Path("bonus.csv").read_text() == f"{PROLIFIC},0.08\nbob,0.05\n"
    assert "1 name in it, 'bob' for one, cannot be an id of Prolific" in err
    assert "0.13 recorded as paid to 2 workers" in err
    assert "the budget of 1.00: 0.13 paid, 0.00 due, 0.05 reserved, 0.82 left" in err
    again = rows(said("pay", kept, "votes.csv")[0])
    assert [(row["worker"], row["due"]) for row in again] == [("bob", "0")]
    answer([{"worker": "bob", "item": "two", "label": "cat"}])
    (row,) = rows(said("pay", kept, "votes.csv")[0])
    assert (row["paid"], row["due"], row["waiting"]) == ("0.05", "0.05", "0")


def test_pay_only_some(kept):
    said("pay", kept, "votes.csv", "--worker", PROLIFIC, "--mark-paid", "-o", "paid.csv")
    assert len(rows(Path("paid.csv").read_text())) == 1
    assert json.loads(said("pay", kept, "--json")[0])["due"] == 0.05
    assert "'zoe' is none of 2 workers" in said("pay", kept, "--worker", "zoe", code=2)[1]


def test_nobody_counts_as_paid_whose_list_could_not_be_written(kept):
    before = kept.read_bytes()
    said("pay", kept, "votes.csv", "--mark-paid", "-o", "no/such/paid.csv", code=2)
    said("pay", kept, "votes.csv", "--mark-paid", "--prolific", "money.jsonl", code=2)
    assert kept.read_bytes() == before


def test_less_than_a_cent_stays_due(folder):
    with Account.open("money.jsonl", budget=1, decimals=4) as account:
        account.ask({"item": ["one"], "label": ["cat"], "worker": ["bob"]}, [123], [0])
        account.save()
    answer([{"worker": "bob", "item": "one", "label": "cat"}])
    said("pay", "money.jsonl", "votes.csv", "--prolific", "bonus.csv", "--mark-paid")
    assert Path("bonus.csv").read_text() == "bob,0.01\n"
    assert json.loads(said("pay", "money.jsonl", "--json")[0])["due"] == 0.0023


def test_names_that_would_break_the_list(folder):
    with Account.open("money.jsonl", budget=9) as account:
        account.ask({"item": ["one"], "label": ["cat"], "worker": ["a,5"]}, [1], [0])
        account.save()
    Path("votes.csv").write_text('worker,item,label,value\n"a,5",one,cat,yes\n')
    err = said("pay", "money.jsonl", "votes.csv", "--prolific", "bonus.csv", "--mark-paid", code=2)[1]
    assert "no comma, quote or line end; got 'a,5'" in err
    assert not Path("bonus.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", 2), "--budget must be the ledger's own, 1.00, or be left out; got 2.00"),
        (("--change-budget", "0.10"), "must not be below what is paid, due and reserved, 0.18; got 0.10"),
        (("--decimals", 3), "--decimals must be 2, as in the ledger; got 3"),
        (("--waiting", "--release"), "give one of the two"),
        (("--for-expert",), "--ledger"),
        (
            ("--ledger", "prices.csv"),
            "line 1 is not what amcc writes: it is not JSON, so that this is perhaps no ledger",
        ),
        (("--ledger", "none.jsonl"), "the ledger none.jsonl does not exist. Give --budget, which begins it"),
        (("--ledger", "-", "--budget", 3), "cannot be used"),
        (("-o", "money.jsonl"), "must not be what --ledger reads"),
        (("--items", "other.csv"), "the item 'two', which the votes do not know. Add it to --items"),
        (("--prices", "others.csv"), "every worker must have a price"),
        (("--strategy", "magic"), "strategy must be one of"),
    ],
)
def test_wrong_input_changes_nothing(kept, arguments, message):
    Path("other.csv").write_text("item\nfour\n")
    Path("others.csv").write_text("worker,price\nzoe,0.05\n")
    Path("-").mkdir()
    before = {path: path.read_bytes() for path in kept.parent.iterdir() if path.is_file()}
    out, err = said(*NEXT, *arguments, code=2)
    assert message in err
    assert out == ""
    assert {path: path.read_bytes() for path in kept.parent.iterdir() if path.is_file()} == before


def test_options_of_a_ledger_need_one(folder):
    for option in (["--release"], ["--waiting"], ["--change-budget", 3]):
        assert "give --ledger FILE" in said("next", "votes.csv", *NEXT[2:8], "--budget", 9, *option, code=2)[1]


def test_a_budget_that_never_paid_for_a_vote_is_wrong_input(folder):
    assert "must pay for at least one vote, 0.05" in said(*NEXT, "--budget", "0.04", code=2)[1]
    assert not Path("money.jsonl").exists()


def test_pay_with_wrong_input(kept):
    assert "none.jsonl does not exist" in said("pay", "none.jsonl", code=2)[1]
    assert "need the votes" in said("pay", kept, "--threshold", 1, code=2)[1]
    said("pay", kept, "votes.csv")
    Path("votes.csv").write_text("worker,item,label,value\nzoe,nine,bird,yes\n")
    assert "none of its 2 answers is among them" in said("pay", kept, "votes.csv", code=2)[1]
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(lines[0] + lines[1].replace("bob", "eve") + "".join(lines[2:]))
    assert "money.jsonl: line 2 is not what amcc writes" in said("pay", kept, code=2)[1]
    Path("campaign.jsonl").write_text('{"event": "campaign"}\n')
    assert "the ledger of a Campaign" in said("pay", "campaign.jsonl", code=2)[1]
