"""Any order of leases, answers, expiry, payments, budgets, pauses, blocks: sums and ledger always agree."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from small import Clock, new

from amcc.errors import CampaignError, InputError, NotFoundError, RefusedError
from amcc.serve.service import Service
from amcc.serve.views import WorkPage

WORKERS = st.integers(0, 2)
ANSWERS = st.sampled_from(["yes", "no", "skip"])

# The share of the budget that is the most for one worker: so small that it is reached.
CAP = 0.25


class Leases(RuleBasedStateMachine):
    """What a campaign may go through. The model is small: which pages there are, and who gave which answers."""

    template: Path
    pay_skips = True

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        shutil.copytree(self.template, self.place / "pets")
        self.clock = Clock()
        self.service = Service.open(self.place / "pets", clock=self.clock)
        self.names = [self.service.worker(n).name for n in range(3)]
        self.pages: list[tuple[int, WorkPage]] = []
        self.answered: dict[int, dict[int, str]] = {}
        self.earned = [0, 0, 0]
        self.largest_budget = 0
        self.forgotten: set[int] = set()

    def teardown(self) -> None:
        self.service.close()
        shutil.rmtree(self.place)

    @rule(worker=WORKERS)
    def ask(self, worker: int) -> None:
        page = self.service.next_page(worker)
        if isinstance(page, WorkPage) and all(page.lease_id != other.lease_id for _, other in self.pages):
            assert not page.again
            self.pages.append((worker, page))

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), said=st.lists(ANSWERS, min_size=3, max_size=3))
    def answer(self, data: st.DataObject, said: list[str]) -> None:
        """Of an open page, an ended one, or one that was answered before."""
        worker, page = data.draw(st.sampled_from(self.pages))
        given = {each.label_id: said[each.label_id] for each in page.questions}
        before = self.service.balance
        try:
            receipt = self.service.answer(worker, page.lease_id, given)
        except RefusedError:
            assert self.service.balance == before
            return
        assert receipt.already == (page.lease_id in self.answered)
        assert self.answered.setdefault(page.lease_id, given) == given
        if not receipt.already:
            self.earned[worker] += receipt.earned

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), other=WORKERS)
    def answer_for_others(self, data: st.DataObject, other: int) -> None:
        worker, page = data.draw(st.sampled_from(self.pages))
        if worker != other:
            with pytest.raises(NotFoundError):
                self.service.answer(other, page.lease_id, {each.label_id: "yes" for each in page.questions})

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        worker, page = data.draw(st.sampled_from(self.pages))
        self.service.release(worker, page.lease_id)

    @rule(seconds=st.sampled_from([10, 1000, 2000]))
    def time_passes(self, seconds: int) -> None:
        self.clock.pass_by(seconds)

    @rule()
    def expire(self) -> None:
        self.service.expire()

    @rule(amount=st.sampled_from(["0.05", "-0.05", "0.30", "-0.40"]))
    def change_budget(self, amount: str) -> None:
        before = self.service.balance
        try:
            self.service.add_budget(amount, actor="test")
        except InputError:
            assert self.service.balance == before

    @rule()
    def pay(self) -> None:
        assert sum(self.service.pay(actor="test").values()) + self.service.balance.paid >= 0
        assert self.service.balance.due == 0

    @rule(state=st.sampled_from(["pause", "resume", "end"]))
    def rest(self, state: str) -> None:
        getattr(self.service, state)("test")

    @rule(worker=WORKERS, block=st.booleans())
    def block(self, worker: int, block: bool) -> None:
        try:
            if block:
                self.service.block(self.names[worker], "a reason", "test")
            else:
                self.service.unblock(self.names[worker], "test")
        except CampaignError:
            assert worker in self.forgotten

    @rule(worker=WORKERS)
    def forget(self, worker: int) -> None:
        self.service.forget(self.names[worker], "test")
        self.forgotten.add(worker)

    @rule(price=st.sampled_from(["0.01", "0.03"]))
    def set_price(self, price: str) -> None:
        self.service.set_price(vote_price=price, actor="test")

    @rule()
    def die_and_start_again(self) -> None:
        """Everything follows from the database."""
        self.service.close()
        self.service = Service.open(self.place / "pets", clock=self.clock)

    @invariant()
    def money_adds_up(self) -> None:
        now = self.service.balance
        assert min(now.paid, now.due, now.reserved, now.left) >= 0
        assert now.paid + now.due == sum(self.earned)
        assert [self.service.progress(n).earned for n in range(3)] == self.earned
        self.largest_budget = max(self.largest_budget, now.budget)
        assert max(self.earned) <= CAP * self.largest_budget

    @invariant()
    def nothing_is_there_twice_and_the_ledger_agrees(self) -> None:
        assert self.service.verify() == []
        votes = self.service.votes_table().to_pylist()
        said = sum(value != "skip" for given in self.answered.values() for value in given.values())
        keys = {(row["worker"], row["item"], row["label"]) for row in votes}
        assert len(keys) == len(votes) == said


@pytest.mark.parametrize("pay_skips", [True, False])
def test_any_order_of_events(tmp_path, pay_skips):
    folder = new(tmp_path, n_items=2, budget="0.60", pay_skips=pay_skips, worker_cap=CAP, clock=Clock())
    with Service.open(folder, clock=Clock()) as service:
        service.invite(["ann", "bob", "cyd"], actor="test")
    machine = type("LeasesOfTest", (Leases,), {"template": folder})
    few = settings(max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
    machine.TestCase.settings = few
    machine.TestCase().runTest()
