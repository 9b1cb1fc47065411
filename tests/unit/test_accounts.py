"""Accounts: one budget over many calls, which always adds up and is believed only as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from amcc.active.accounts import Account
from amcc.active.bookkeeping import FIELDS
from amcc.active.buying import next_questions
from amcc.active.candidates import Anything
from amcc.active.chain import START, chained
from amcc.active.prices import Prices
from amcc.active.questions import Triplets
from amcc.errors import FileFormatError, InputError, OutOfMoneyError, ParameterError
from amcc.votes import Votes

ITEMS, LABELS, WORKERS = ["one", "two", "three"], ["cat", "dog"], ["ann", "bob"]


EVERYTHING = [(item, label, worker) for item in ITEMS for label in LABELS for worker in WORKERS]
ALL_VOTES = Votes.from_dense(np.ones((2, 3, 2)), item_names=ITEMS, label_names=LABELS, worker_names=WORKERS)


def votes_of(*answers: tuple[str, str, str]) -> Votes:
    """Yes to each (item, label, worker)."""
    return ALL_VOTES.select(np.array([each in answers for each in EVERYTHING]))  # votes are in that order


def ask(account: Account, *questions: tuple[str, str, str], price: list[int], page: list[int] | None = None) -> None:
    columns = dict(zip(("item", "label", "worker"), map(list, zip(*questions, strict=True)), strict=True))
    account.ask(columns, price, page or [0] * len(price))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "money.jsonl"


CAT, DOG, BOBS = ("one", "cat", "ann"), ("one", "dog", "ann"), ("one", "cat", "bob")


def money(account: Account) -> tuple[int, int, int, int]:
    now = account.balance
    assert now.budget == now.paid + now.due + now.reserved + now.left
    return now.paid, now.due, now.reserved, now.left


def test_money_goes_from_reserved_to_due_to_paid(path):
    with Account.open(path, budget="1.00", decimals=2) as account:
        ask(account, CAT, DOG, BOBS, price=[8, 8, 5])
        assert money(account) == (0, 0, 21, 79)
        assert account.note_answers(votes_of(CAT, BOBS)) == 2
        assert money(account) == (0, 13, 8, 79)
        account.pay({"ann": 8})
        account.save()
    with Account.open(path) as account:
        assert money(account) == (8, 5, 8, 79)
        assert account.note_answers(votes_of(CAT, BOBS)) == 0
        assert [(each.worker, each.due) for each in account.workers()] == [("bob", 5), ("ann", 0)]
        assert account.waiting("arrow").to_pylist() == [{"item": "one", "label": "dog", "worker": "ann", "price": 0.08}]


def test_what_is_not_saved_is_forgotten(path):
    with Account.open(path, budget=10) as account:
        ask(account, CAT, price=[8])
    assert not path.exists()


def test_the_first_answer_on_a_page_bears_its_price(path):
    """Whichever of the page's questions is answered; what is left of the page costs its votes only."""
    with Account.open(path, budget=100) as account:
        ask(account, CAT, DOG, price=[7, 5], page=[2, 0])
        account.note_answers(votes_of(DOG))
        assert money(account) == (0, 7, 5, 88)
        account.release()
        assert money(account) == (0, 7, 0, 93)
        account.note_answers(votes_of(DOG, CAT))
        assert money(account) == (0, 12, 0, 88)


def test_a_released_page_is_free(path):
    with Account.open(path, budget=100) as account:
        ask(account, CAT, DOG, price=[7, 5], page=[2, 0])
        assert account.release() == 2
        assert money(account) == (0, 0, 0, 100)
        assert account.release() == 0


def test_a_late_answer_is_due_and_nothing_is_asked_until_it_is_covered(path):
    with Account.open(path, budget=10) as account:
        ask(account, CAT, price=[8])
        account.release()
        ask(account, BOBS, price=[5])
        account.note_answers(votes_of(CAT))
        assert money(account) == (0, 8, 5, -3)
        with pytest.raises(OutOfMoneyError, match="-3 is left of the budget of 10"):
            next_questions(votes_of(CAT), account=account, price=1, items=ITEMS)
    with Account.open(path) as account:
        assert money(account) == (0, 8, 5, -3)
        account.change_budget(14)
        assert account.balance.left == 1


def test_a_question_asked_again_is_paid_once(path):
    with Account.open(path, budget=20) as account:
        ask(account, CAT, price=[8])
        account.release()
        ask(account, CAT, price=[6])
        account.note_answers(votes_of(CAT))
        assert money(account) == (0, 6, 0, 14)
        account.save()
    with Account.open(path) as account:
        assert account.note_answers(votes_of(CAT)) == 0


def test_a_budget_is_not_lowered_below_what_is_spoken_for(path):
    with Account.open(path, budget=20) as account:
        ask(account, CAT, price=[8])
        with pytest.raises(InputError, match="paid, due and reserved, 8; got 7"):
            account.change_budget(7)
        account.change_budget(8)
        assert account.balance.left == 0


def test_other_budgets_and_decimals_are_refused(path):
    with Account.open(path, budget="2.00", decimals=2) as account:
        account.save()
    whole = path.read_bytes()
    with pytest.raises(ParameterError, match=r"budget must be the ledger's own, 2\.00, or be left out; got 3\.00"):
        Account.open(path, budget=3, decimals=2)
    with pytest.raises(ParameterError, match="decimals must be 2, as in the ledger; got 0"):
        Account.open(path, decimals=0)
    Account.open(path, budget=2, decimals=2).close()
    assert path.read_bytes() == whole


# -- random histories ------------------------------------------------------------------------------------------------


def balance_by_hand(path: Path) -> tuple[int, int, int, int]:
    """Paid, due, reserved and left from the lines of the file, by another way: question by question, page by page."""
    budget, paid, asked = 0, 0, []
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if "budget" in event:
            budget = event["budget"]
        elif event["event"] == "asked":
            batch = len(asked)
            rows = zip(event["item"], event["worker"], event["price"], event["page"], strict=True)
            asked += [{"sheet": (batch, item, worker), "vote": price - page, "page": page, "state": "reserved"}
                      for item, worker, price, page in rows]  # fmt: skip
        elif event["event"] == "paid":
            paid += sum(event["amount"])
        else:
            for number in event["question"]:
                asked[number]["state"] = {"answered": "due", "released": "free"}[event["event"]]
    total = {"due": 0, "reserved": 0, "free": 0}
    for sheet in {each["sheet"] for each in asked}:
        on_it = [each for each in asked if each["sheet"] == sheet]
        best = next(state for state in ("due", "reserved", "free") if state in {each["state"] for each in on_it})
        total[best] += sum(each["page"] for each in on_it)
        for each in on_it:
            total[each["state"]] += each["vote"]
    return paid, total["due"] - paid, total["reserved"], budget - total["due"] - total["reserved"]


@pytest.mark.parametrize("seed", range(15))
def test_sums_add_up_whatever_happens(path, seed):
    rng = np.random.default_rng(seed)
    answered: set[tuple[str, str, str]] = set()
    with Account.open(path, budget=60) as account:
        account.save()
    for _ in range(25):
        with Account.open(path) as account:
            account.note_answers(votes_of(*answered))
            happens = rng.choice(["ask", "ask", "answer", "release", "pay", "budget"])
            waiting = {tuple(row.values())[:3] for row in account.waiting("arrow").to_pylist()}
            if happens == "ask":
                free = [each for each in EVERYTHING if each not in answered | waiting]
                batch = [free[n] for n in rng.permutation(len(free))[:3]]
                page = [int(rng.integers(3)) if each[::2] not in [b[::2] for b in batch[:n]] else 0
                        for n, each in enumerate(batch)]  # fmt: skip
                price = [fee + int(rng.integers(1, 5)) for fee in page]
                if batch and sum(price) <= account.balance.left:
                    ask(account, *batch, price=price, page=page)
                elif batch:
                    with pytest.raises(ParameterError, match="more than was left"):
                        ask(account, *batch, price=price, page=page)
            elif happens == "answer":  # also to released ones, and to what was never asked
                answered.add(EVERYTHING[rng.integers(len(EVERYTHING))])
                account.note_answers(votes_of(*answered))
            elif happens == "release":
                account.release()
            elif happens == "pay":
                account.pay({each.worker: int(rng.integers(1, each.due + 1)) for each in account.workers() if each.due})
            else:
                account.change_budget(account.balance.budget + int(rng.integers(5)))
            now = money(account)
            account.save()
        assert balance_by_hand(path) == now
        with Account.open(path) as account:
            assert money(account) == now


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(path: Path) -> bytes:
    """The file of an account in which everything has happened."""
    with Account.open(path, budget=100) as account:
        ask(account, CAT, DOG, price=[7, 5], page=[2, 0])
        account.note_answers(votes_of(CAT))
        account.release()
        account.change_budget(90)
        account.pay({"ann": 7})
        account.save()
    return path.read_bytes()


def test_killed_at_any_byte_it_goes_on(path, whole):
    """Whatever part of the file was written, the next call has the lines that are whole."""
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        if cut < ends[0]:  # not even the budget is there
            with pytest.raises(FileFormatError, match=r"holds no account yet|line 1 is not"):
                Account.open(path)
        with Account.open(path, budget=100 if cut < ends[4] else 90) as account:
            ask(account, ("two", "dog", "bob"), price=[1])
            account.save()
        kept = sum(end <= cut for end in ends)  # a line that lacks only its newline is whole
        lines = path.read_bytes().split(b"\n")[:-1]
        assert lines[:kept] == whole.split(b"\n")[:kept]
        assert len(lines) == max(kept, 1) + 1


@pytest.mark.parametrize("number", range(1, 7))
def test_a_changed_line_is_named_and_left_alone(path, whole, number):
    lines = whole.split(b"\n")
    lines[number - 1] = lines[number - 1].replace(b'"event": "', b'"event":  "')
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(FileFormatError, match=rf"money\.jsonl: line {number} is not what amcc writes"):
        Account.open(path)
    assert path.read_bytes() == b"\n".join(lines)


def asked(item="two", label="cat", worker="ann", price=1, page=0) -> dict[str, object]:
    columns = {"item": item, "label": label, "worker": worker, "price": price, "page": page}
    return {"event": "asked", **{name: [value] for name, value in columns.items()}}


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"event": "paid", "worker": ["ann"], "amount": [1]}, "'ann' was not due 1"),
        ({"event": "paid", "worker": ["zoe"], "amount": [1]}, "'zoe' was not due 1"),
        ({"event": "answered", "question": [0]}, "a question was not waiting or released"),
        ({"event": "answered", "question": [1, 1]}, "there is no such one"),
        ({"event": "released", "question": [9]}, "there is no such one"),
        ({"event": "released", "question": [True]}, "it must number questions"),
        ({"event": "budget", "budget": 6}, "below what is spent and reserved"),
        ({"event": "budget", "budget": -6}, "a whole number"),
        ({"event": "budget"}, "its fields must be budget"),
        ({"event": "account", "format": 1, "decimals": 0, "budget": 100}, "once"),
        (asked(item="one"), "it has a question that was asked before"),
        (asked(price=99), "it costs more than was left"),
        (asked(page=2), "a page is a part of the price"),
        (asked(worker=7), "names must be text"),
        ({**asked(), "label": []}, "one entry for each question"),
        ({"event": "party"}, "its event is none of account, "),
    ],
)  # fmt: skip
def test_what_cannot_have_happened_is_refused_even_with_right_hashes(path, whole, event, problem):
    events = [json.loads(line) for line in whole.splitlines()]
    for each in events:
        del each["hash"]
    path.write_bytes(chained([*events, event], START)[0])
    with pytest.raises(FileFormatError, match="line 7 is not what amcc writes") as caught:
        Account.open(path)
    assert problem in str(caught.value)


def test_every_event_is_in_the_file_of_the_tests_above(whole):
    assert [json.loads(line)["event"] for line in whole.splitlines()] == [
        "account", "asked", "answered", "released", "budget", "paid",
    ]  # fmt: skip
    assert set(FIELDS) == {json.loads(line)["event"] for line in whole.splitlines()}


def test_nobody_else_can_use_it(path, whole):
    with Account.open(path), pytest.raises(InputError, match="in use: another process has it"):
        Account.open(path)
    Account.open(path).close()


def test_files_that_are_none(path):
    with pytest.raises(InputError, match=r"money\.jsonl does not exist\. Give a budget"):
        Account.open(path)
    with pytest.raises(InputError, match=r"money\.jsonl does not exist\. Check"):
        Account.open(path, budget=3, create=False)
    for text in ("worker,item,label,value\n", "notes", "[]\n", "{}\n"):
        path.write_text(text)
        with pytest.raises(FileFormatError, match="line 1 is not what amcc writes"):
            Account.open(path, budget=3)
        assert path.read_text() == text
    with pytest.raises(InputError, match="cannot be used"):
        Account.open(path.parent, budget=3)


# -- with votes ------------------------------------------------------------------------------------------------------


def test_what_waits_is_no_candidate():
    """The questions that wait are treated like those with an answer."""
    asked = Triplets(np.array([0, 0]), np.array([0, 0]), np.array([0, 1]))
    waiting = Anything(votes_of(), None, asked)
    answered = Anything(votes_of(CAT, BOBS))
    assert (waiting.open_pairs() == answered.open_pairs()).all()
    assert not waiting.open_pairs()[0, 0]
    every = np.nonzero(np.ones((3, 2), dtype=bool))
    assert waiting.of_pairs(*every).rows() == answered.of_pairs(*every).rows()
    drawn = waiting.sample(99, np.random.default_rng(0))
    assert len(drawn) == 10
    assert not set(drawn.rows()) & set(asked.rows())


def test_next_questions_of_an_account(path):
    """Nothing is asked twice, other pairs come first, and the whole budget is spent but never more."""
    prices = Prices(np.array([3, 2]), page=1)
    seen: list[tuple[str, ...]] = []
    with Account.open(path, budget=26) as account:
        while True:
            try:
                found = next_questions(votes_of(), account=account, prices=prices, batch=4)
            except OutOfMoneyError as end:
                assert "is reserved for answers that are awaited" in str(end)
                break
            assert len(found)
            seen += [
                tuple(row[role] for role in ("item", "label", "worker")) for row in found.table("arrow").to_pylist()
            ]
            assert account.balance.reserved == 26 - found.budget + found.cost
            on_disk = [json.loads(line) for line in path.read_text().splitlines()][-1]
            assert on_disk["price"] == found.price.tolist()
            assert on_disk["page"] == found.page.tolist()
            assert set(found.page.tolist()) <= {0, 1}
    assert len(seen) == len(set(seen))
    assert len({pair[:2] for pair in seen[:6]}) == 6
    assert 0 <= account.balance.left < 3


def test_an_account_or_a_budget(path):
    with Account.open(path, budget="1.00", decimals=2) as account:
        with pytest.raises(ParameterError, match="either a budget, for this call, or an account"):
            next_questions(votes_of(), account=account, budget=3)
        with pytest.raises(ParameterError, match="decimals must be 2"):
            next_questions(votes_of(), account=account)
    with pytest.raises(ParameterError, match="either a budget"):
        next_questions(votes_of())


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (("four", "cat", "ann"), "the item 'four', which the votes do not know. Add it to the items"),
        (("one", "bird", "ann"), "the label 'bird', which the votes do not know. Add it to the labels"),
        (("one", "cat", "zoe"), "the worker 'zoe', who has not voted and has no price. Put them into the price list"),
    ],
)
def test_what_waits_must_be_known(path, question, message):
    with Account.open(path, budget=9) as account:
        ask(account, question, price=[1])
        account.save()
        with pytest.raises(InputError) as caught:
            next_questions(votes_of(CAT), account=account)
        assert message in str(caught.value)
        account.release()
        assert len(next_questions(votes_of(CAT), account=account))


def test_the_votes_of_another_ledger(path):
    with Account.open(path, budget=9) as account:
        ask(account, CAT, DOG, price=[1, 1])
        account.note_answers(votes_of(CAT))
        assert account.note_answers(votes_of(CAT, BOBS)) == 0
        with pytest.raises(InputError, match="none of its 1 answers is among them"):
            account.note_answers(votes_of(BOBS))


def test_who_was_asked_before_may_be_named_again(path):
    """Nobody but the ledger knows cid, who was asked and has not answered yet."""
    call = {"price": 5, "items": ITEMS, "labels": LABELS}
    with Account.open(path, budget=100) as account:
        next_questions(account=account, workers=["ann", "cid"], batch=4, **call)
    with Account.open(path) as account:
        assert {each.worker for each in account.workers()} == {"ann", "cid"}
        again = next_questions(votes_of(CAT), account=account, workers=["ann", "cid"], batch=4, **call)
        assert len(again)
        with pytest.raises(InputError, match="'dan' is neither"):
            next_questions(votes_of(CAT), account=account, workers=["ann", "dan"], batch=4, **call)
