"""Leases, answers and money: each step whole or not at all, nothing twice, the budget never overdrawn."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from small import Clock, all_said, new, opened, page_of, work

from amcc.errors import InputError, NotFoundError, ParameterError, RefusedError, StoreError
from amcc.serve.service import Service
from amcc.serve.views import NoWork, WorkPage


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(tmp_path, database_url, clock):
    with opened(tmp_path, database_url, clock=clock) as made:
        yield made


def sums(service: Service) -> tuple[int, int, int, int]:
    now = service.balance
    assert service.verify() == []
    return now.paid, now.due, now.reserved, now.left


def test_a_lease_reserves_and_an_answer_is_due(service):
    page = page_of(service, 0)
    assert [each.label for each in page.questions] == ["cat", "dog", "bird"]
    assert (page.price, page.page_price, page.most) == (2, 1, 7)
    assert sums(service) == (0, 0, 7, 93)
    receipt = service.answer(0, page.lease_id, {0: "yes", 1: "no", 2: "skip"})
    assert (receipt.earned, receipt.n_answers, receipt.n_skips, receipt.already) == (7, 2, 1, False)
    assert sums(service) == (0, 7, 0, 93)
    done = service.progress(0)
    assert (done.pages, done.answers, done.skips, done.earned, done.paid) == (1, 2, 1, 7, 0)


def test_an_open_page_is_given_again_and_no_other(service):
    first = page_of(service, 0)
    again = page_of(service, 0)
    assert (again.lease_id, again.item, again.again) == (first.lease_id, first.item, True)
    assert service.open_page(0) == again
    assert service.open_page(1) is None
    assert sums(service)[2] == first.most


def test_the_same_answer_twice_is_one_answer(service):
    page = page_of(service, 0)
    first = service.answer(0, page.lease_id, all_said(page))
    again = service.answer(0, page.lease_id, all_said(page))
    assert again.already and (again.earned, again.n_answers) == (first.earned, first.n_answers)
    assert sums(service) == (0, 7, 0, 93)
    with pytest.raises(RefusedError, match="the first ones count") as refused:
        service.answer(0, page.lease_id, all_said(page, "no"))
    assert refused.value.reason == "contradiction"
    assert service.votes_table()["value"].to_pylist() == [1, 1, 1]


def test_pages_of_others_and_odd_answers_change_nothing(service):
    page, before = page_of(service, 0), None
    before = sums(service)
    for wrong in ({}, {0: "yes"}, {**all_said(page), 9: "yes"}, {0: "yes", 1: "yes", 2: "perhaps"}):
        with pytest.raises(InputError):
            service.answer(0, page.lease_id, wrong)
    with pytest.raises(NotFoundError):
        service.answer(1, page.lease_id, all_said(page))
    with pytest.raises(NotFoundError):
        service.answer(0, 77, all_said(page))
    with pytest.raises(NotFoundError):
        service.release(1, page.lease_id)
    with pytest.raises(NotFoundError):
        service.next_page(77)
    assert sums(service) == before


def test_nobody_is_asked_twice_and_no_two_work_on_a_pair(service):
    seen = {worker: set() for worker in range(3)}
    while any(isinstance(page := service.next_page(worker), WorkPage) for worker in range(3)):
        pages = {worker: service.next_page(worker) for worker in range(3)}
        pages = {worker: page for worker, page in pages.items() if isinstance(page, WorkPage)}
        pairs = [(page.item.id, each.label_id) for page in pages.values() for each in page.questions]
        assert len(set(pairs)) == len(pairs)
        for worker, page in pages.items():
            mine = {(page.item.id, each.label_id) for each in page.questions}
            assert not mine & seen[worker]
            seen[worker] |= mine
            service.answer(worker, page.lease_id, all_said(page, "yes" if page.item.id % 2 else "no"))
    assert sums(service)[3] < 7 or all(len(each) == 18 for each in seen.values())


def test_expired_pages_give_their_money_back(service, clock):
    page = page_of(service, 0)
    clock.pass_by(1801)
    assert service.expire() == 1
    assert sums(service) == (0, 0, 0, 100)
    assert service.expire() == 0
    assert service.open_page(0) is None
    assert page_of(service, 1).item == page.item  # others are asked


def test_a_late_answer_counts_while_there_is_money(service, clock):
    page = page_of(service, 0)
    clock.pass_by(90_000)  # a page left open for a day
    service.expire()
    receipt = service.answer(0, page.lease_id, all_said(page))
    assert (receipt.earned, receipt.late) == (7, True)
    assert sums(service) == (0, 7, 0, 93)
    assert service.answer(0, page.lease_id, all_said(page)).already


def test_an_answer_after_the_time_but_before_its_end_was_noticed(service, clock):
    page = page_of(service, 0)
    clock.pass_by(1801)
    assert service.answer(0, page.lease_id, all_said(page)).late
    assert sums(service) == (0, 7, 0, 93)


def test_a_late_answer_is_refused_where_the_question_was_asked_again(tmp_path, database_url, clock):
    with opened(tmp_path, database_url, clock=clock, n_items=1) as service:
        old = page_of(service, 0)
        clock.pass_by(1801)
        new_page = page_of(service, 0)
        assert new_page.lease_id != old.lease_id and new_page.item == old.item
        before = sums(service)
        with pytest.raises(RefusedError) as refused:
            service.answer(0, old.lease_id, all_said(old))
        assert refused.value.reason == "late"
        assert sums(service) == before
        service.answer(0, new_page.lease_id, all_said(new_page))


@pytest.mark.parametrize("why", ["ended", "blocked", "money"])
def test_a_late_answer_is_refused_where_it_is_not_wanted(service, clock, why):
    page = page_of(service, 0)
    clock.pass_by(1801)
    service.expire()
    if why == "ended":
        service.end("test")
    elif why == "blocked":
        service.block(service.worker(0).name, "a reason", "test")
    else:
        service.add_budget("-0.94", actor="test")
    before = sums(service)
    with pytest.raises(RefusedError, match="over"):
        service.answer(0, page.lease_id, all_said(page))
    assert sums(service) == before


def test_unpaid_skips_are_released_and_not_asked_again(tmp_path, database_url):
    with opened(tmp_path, database_url, pay_skips=False, n_items=1) as service:
        page = page_of(service, 0)
        receipt = service.answer(0, page.lease_id, {0: "yes", 1: "skip", 2: "skip"})
        assert (receipt.earned, receipt.n_skips) == (3, 2)
        assert service.answer(0, page.lease_id, {0: "yes", 1: "skip", 2: "skip"}).earned == 3
        assert sums(service) == (0, 3, 0, 97)
        assert service.next_page(0) == NoWork("nothing", done=True)
        nothing = page_of(service, 1)
        assert service.answer(1, nothing.lease_id, all_said(nothing, "skip")).earned == 0
        assert sums(service) == (0, 3, 0, 97)


def test_a_page_given_back_is_not_offered_again(service):
    page = page_of(service, 0)
    service.release(0, page.lease_id)
    service.release(0, page.lease_id)  # a second click
    assert sums(service) == (0, 0, 0, 100)
    items = set()
    while isinstance(other := service.next_page(0), WorkPage):
        items.add(other.item.id)
        service.answer(0, other.lease_id, all_said(other))
    assert items == set(range(6)) - {page.item.id}


def test_money_ends_the_work_and_more_goes_on(service):
    service.add_budget("-0.90", actor="test")
    page = page_of(service, 0)
    assert page.most == 7
    assert service.next_page(1) == NoWork("nothing", done=False) or isinstance(service.next_page(1), WorkPage | NoWork)
    service.answer(0, page.lease_id, all_said(page))
    small = page_of(service, 1)
    assert small.most == 3  # what is left pays for one answer
    service.answer(1, small.lease_id, all_said(small))
    assert service.next_page(0) == NoWork("money", done=True)
    assert sums(service) == (0, 10, 0, 0)
    service.add_budget("1.00", actor="test")
    assert isinstance(service.next_page(0), WorkPage)


def test_the_budget_cannot_fall_below_what_is_reserved(service):
    page_of(service, 0)
    with pytest.raises(InputError, match=r"must not be below what is paid, due and reserved, 0.07; got 0.06"):
        service.add_budget("-0.94", actor="test")
    assert service.add_budget("-0.93", actor="test").budget == 7
    assert sums(service) == (0, 0, 7, 0)


@pytest.mark.parametrize(("amount", "problem"), [("0", "above 0"), ("0.001", "2 decimals"), ("x", "a number")])
def test_odd_amounts(service, amount, problem):
    with pytest.raises(InputError, match=problem):
        service.add_budget(amount, actor="test")
    assert sums(service) == (0, 0, 0, 100)


def test_a_key_makes_a_request_count_once(service):
    assert service.add_budget("1.00", actor="test", key="a").budget == 200
    assert service.add_budget("1.00", actor="test", key="a").budget == 200
    with pytest.raises(RefusedError, match="used for another request"):
        service.add_budget("2.00", actor="test", key="a")
    assert service.add_budget("1.00", actor="test", key="b").budget == 300
    work(service, 0)
    paid = service.pay(actor="test", key="a")  # keys of other requests are others
    assert list(paid.values()) == [7] and service.pay(actor="test", key="a") == paid
    assert sums(service) == (7, 0, 0, 293)


def test_a_key_gives_the_same_page_and_the_same_receipt(service):
    page = service.next_page(0, key="a")
    assert replace(service.next_page(0, key="a"), again=False) == page
    assert service.next_page(0, key="b").lease_id == page.lease_id  # the open one, also known by this key now
    assert service.next_page(1, key="a").lease_id != page.lease_id  # keys of others are others
    first = service.answer(0, page.lease_id, all_said(page), key="a")
    before = sums(service)
    assert service.answer(0, page.lease_id, all_said(page), key="a") == first and not first.already
    for key in "ab":
        assert replace(service.next_page(0, key=key), again=False) == page  # though it is answered
    other = service.next_page(0, key="c")
    assert other.lease_id not in (page.lease_id, service.open_page(1).lease_id)
    for lease, said in ((page, "no"), (other, "yes")):
        with pytest.raises(RefusedError, match="used for another request") as refused:
            service.answer(0, lease.lease_id, all_said(lease, said), key="a")
        assert refused.value.reason == "key"
    service.release(0, other.lease_id, key="r")
    third = page_of(service, 0)
    service.release(0, other.lease_id, key="r")  # sent again: the open page stays
    with pytest.raises(RefusedError, match="used for another request"):
        service.release(0, third.lease_id, key="r")
    assert service.open_page(0).lease_id == third.lease_id
    assert sums(service)[1] == before[1]


def test_a_key_of_no_page_may_get_one_later(service):
    service.pause("test")
    assert service.next_page(0, key="a") == NoWork("paused")
    service.resume("test")
    page = service.next_page(0, key="a")
    service.pause("test")
    assert service.next_page(0, key="a").lease_id == service.next_page(0, key="b").lease_id == page.lease_id


def test_the_same_key_many_times_at_once(service):
    """Some send again before the first is answered: one page, one receipt, one payment."""
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: service.next_page(0, key="a"), range(16)))
        assert len({page.lease_id for page in pages}) == 1
        said = all_said(pages[0])
        receipts = list(pool.map(lambda _: service.answer(0, pages[0].lease_id, said, key="b"), range(16)))
        assert len(set(receipts)) == 1
        list(pool.map(lambda _: service.next_page(0, key="a"), range(16)))
    assert sums(service) == (0, 7, 0, 93)


def test_only_what_is_due_is_paid(service):
    work(service, 0)
    work(service, 1)
    first, second = (service.worker(n).name for n in (0, 1))
    with pytest.raises(RefusedError, match="at most what is due"):
        service.pay({first: 8}, actor="test")
    assert service.pay({first: 3}, actor="test") == {first: 3}
    assert service.pay(actor="test") == {first: 4, second: 7}
    assert service.pay(actor="test") == {}
    assert sums(service) == (14, 0, 0, 86)


def test_a_share_of_the_budget_is_the_most_one_can_earn(tmp_path, database_url):
    with opened(tmp_path, database_url, worker_cap=0.1) as service:
        page = page_of(service, 0)
        service.answer(0, page.lease_id, all_said(page))
        small = page_of(service, 0)
        assert small.most == 3
        service.answer(0, small.lease_id, all_said(small))
        assert service.next_page(0) == NoWork("cap", done=True)
        assert isinstance(service.next_page(1), WorkPage)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_than_so_many_work_on_a_pair_at_once(tmp_path, database_url, most):
    with opened(tmp_path, database_url, n_items=1, workers=5, open_leases_per_pair=most) as service:
        pages = [service.next_page(worker) for worker in range(5)]
        assert [isinstance(page, WorkPage) for page in pages] == [True] * most + [False] * (5 - most)
        service.answer(0, pages[0].lease_id, all_said(pages[0]))
        assert isinstance(service.next_page(4), WorkPage)  # there is room again
        assert service.next_page(3) == NoWork("nothing")


def test_a_late_answer_earns_nobody_more_than_their_share(tmp_path, database_url, clock):
    with opened(tmp_path, database_url, clock=clock, worker_cap=0.1) as service:
        late = page_of(service, 0)
        clock.pass_by(1801)
        service.expire()
        page_of(service, 1)  # somebody else gets the same
        page = page_of(service, 0)  # another one: 7 of 10 cents, as the page before
        assert page.item != late.item
        for done in (False, True):
            with pytest.raises(RefusedError, match="as much as one can") as refused:
                service.answer(0, late.lease_id, all_said(late))
            assert refused.value.reason == "late"
            if not done:
                service.answer(0, page.lease_id, all_said(page))
        assert sums(service) == (0, 7, 7, 86)


def test_a_share_is_counted_as_it_was_written(tmp_path):
    with opened(tmp_path, worker_cap=0.29, page_price="0.27") as service:  # 0.29 * 100 is 28.999… in binary numbers
        assert page_of(service, 0).most == 29


@pytest.mark.parametrize("state", ["paused", "ended"])
def test_no_pages_while_it_rests_but_open_ones_count(service, state):
    page = page_of(service, 0)
    (service.pause if state == "paused" else service.end)("test", "a reason")
    assert service.next_page(1) == NoWork(state)
    assert page_of(service, 0).lease_id == page.lease_id
    service.answer(0, page.lease_id, all_said(page))
    assert service.next_page(0) == NoWork(state, done=True)
    service.resume("test")
    assert isinstance(service.next_page(0), WorkPage)


def test_a_change_by_another_process_is_seen_at_once(service):
    page_of(service, 0)
    with Service.open(service.folder, clock=service.clock) as beside:
        beside.pause("test")
        assert service.next_page(1) == NoWork("paused")
        beside.resume("test")
        beside.set_price(vote_price="0.05", actor="test")
        assert page_of(service, 1).price == 5
        assert page_of(service, 0).price == 2  # as it was promised


def test_many_at_once_never_overdraw(tmp_path, database_url):
    """Threads of two services on one database fight for the last money; also on one SQLite file."""
    with (
        opened(tmp_path, database_url, workers=12, n_items=40, budget="3.00") as first,
        Service.open(first.folder, clock=first.clock) as second,
    ):
        problems: list[BaseException] = []

        def visit(service: Service, worker: int) -> None:
            rng = random.Random(worker)
            try:
                for _ in range(12):
                    page = service.next_page(worker)
                    if isinstance(page, NoWork):
                        continue
                    if rng.random() < 0.2:
                        service.release(worker, page.lease_id)
                    else:
                        service.answer(worker, page.lease_id, all_said(page, rng.choice(["yes", "no", "skip"])))
                        assert service.answer(worker, page.lease_id, all_said(page, "skip")).already
            except RefusedError:
                pass  # the second answer was another one
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=visit, args=((first, second)[n % 2], n)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert sums(first)[3] >= 0


def test_audits_are_random_and_checks_are_no_votes(tmp_path, database_url):
    truth = tmp_path / "truth.csv"
    truth.write_text("item,label,truth\ni0,cat,1\ni0,dog,0\ni1,cat,1\n")
    with opened(tmp_path, database_url, truth=[truth], audit_share=0.5, check_share=0.5, budget="9.00") as service:
        for _ in range(40):
            for worker in range(3):
                work(service, worker)
        status = service.status()
        assert status.n_checks == 9 and status.known == 3  # each of three pairs, by each of three workers
        assert status.n_votes == 3 * 15
        checks = {each.id: (each.checks, each.checks_right) for each in status.workers}
        assert checks == dict.fromkeys(range(3), (3, 2))
        assert status.audited.n > 0
        assert service.export_votes(tmp_path / "votes.csv", checks=tmp_path / "checks.csv") == 45
        assert "i0,cat" not in (tmp_path / "votes.csv").read_text()
        assert (tmp_path / "checks.csv").read_text().count("\n") == 10
        assert sums(service)[1] == status.money.due


def test_a_server_that_starts_twice(tmp_path):
    folder = new(tmp_path)
    with Service.open(folder, server=True, learn=False):
        with pytest.raises(StoreError, match="is served already"):
            Service.open(folder, server=True)
        with Service.open(folder) as beside:  # commands may
            assert beside.balance.left == 100
    with Service.open(folder, server=True, learn=False):
        pass


def test_pages_per_worker_are_the_most_one_can_answer(tmp_path, database_url):
    with opened(tmp_path, database_url, n_items=12, budget="5.00", pages_per_worker=2) as service:
        late = page_of(service, 0)
        service.clock.pass_by(service.settings.lease_seconds + 1)
        service.expire()
        for _ in range(2):
            work(service, 0)
        assert service.next_page(0) == NoWork("pages", done=True)
        assert service.progress(0).most_pages == 2
        before = sums(service)
        with pytest.raises(RefusedError, match="not needed any more"):
            service.answer(0, late.lease_id, all_said(late))  # it would be a third one
        assert sums(service) == before
        late = page_of(service, 2)
        service.clock.pass_by(service.settings.lease_seconds + 1)
        service.expire()
        page_of(service, 1)  # somebody else gets the same
        work(service, 2)
        last = page_of(service, 2)  # it is the second one, so that the late one would be too many
        assert late.item != last.item
        with pytest.raises(RefusedError, match="not needed any more"):
            service.answer(2, late.lease_id, all_said(late))
        service.answer(2, last.lease_id, all_said(last))
        assert service.progress(2).pages == 2
        service.pause("test")
        assert service.next_page(0) == NoWork("pages", done=True)  # whoever is done gets their code, also now
        service.resume("test")
        assert isinstance(service.next_page(1), WorkPage)
        service.change(actor="test", pages_per_worker=3)
        assert isinstance(service.next_page(0), WorkPage)
        for wrong in (-1, 1.5, "2", True):
            with pytest.raises(ParameterError, match="pages_per_worker must be a whole number"):
                service.change(actor="test", pages_per_worker=wrong)
