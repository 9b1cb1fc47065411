"""What a server believes, vote by vote, and the pages it chooses: as `amcc.active` would; fits beside it."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from small import Clock, all_said, new, opened, page_of, work
from sqlalchemy import text

from amcc.active.assignment import Outlook
from amcc.active.beliefs import cold_beliefs
from amcc.consensus import AMCC
from amcc.serve import fitting
from amcc.serve.learned import Learned, load_learned
from amcc.serve.live import Live
from amcc.serve.money import Till
from amcc.serve.pairs import Believed
from amcc.serve.reports import note_history
from amcc.serve.service import Service
from amcc.serve.snapshot import take_snapshot
from amcc.serve.views import WorkPage


def live_of(service: Service) -> Live:
    with service._core.database.read() as connection:
        live = service._core.live(connection)
        live.catch_up(connection, Till.look(connection))
    return live


def answer_some(service: Service, n_pages: int, workers: int = 3, seed: int = 0) -> None:
    """Workers who are mostly right; every second item has the first label, every third the second."""
    rng = np.random.default_rng(seed)
    for number in range(n_pages):
        page = service.next_page(number % workers)
        if isinstance(page, WorkPage):
            present = [page.item.id % (each.label_id + 2) == 0 for each in page.questions]
            right = rng.random(len(present)) < 0.85
            said = {each.label_id: "yes" if is_there == ok else "no"
                    for each, is_there, ok in zip(page.questions, present, right, strict=True)}  # fmt: skip
            service.answer(number % workers, page.lease_id, said)


def test_the_first_page_is_the_one_that_an_outlook_gives(tmp_path):
    with opened(tmp_path, page_price="0.05") as service:
        page = page_of(service, 0)
        answer = service.answer(0, page.lease_id, all_said(page))
        assert answer.earned == 11
        with service._core.database.read() as connection:
            votes = take_snapshot(connection).votes
        # The same pair beliefs as ours: cold, with the votes by Bayes' rule.
        live = live_of(service)
        known = cold_beliefs(votes)
        known.proba[:] = live.believed.proba(slice(None))
        expected = Outlook.of(known).page(1, vote_price=2, page_price=5, most_labels=8)
        found = page_of(service, 1)
        assert {each.label_id for each in found.questions} == set(expected.asked.label.tolist())
        value = Outlook.of(known).promise.sum(axis=1)
        assert value[found.item.id] == pytest.approx(value[expected.asked.item[0]], rel=1e-6)  # equals may differ


def test_answers_count_at_once(tmp_path):
    with opened(tmp_path, n_items=2) as service:
        before = service.status()
        page = page_of(service, 0)
        service.answer(0, page.lease_id, {0: "yes", 1: "no", 2: "skip"})
        proba = live_of(service).believed.proba(np.array([page.item.id]))[0]
        assert proba == pytest.approx([0.75, 0.25, 0.5], abs=1e-6)  # a stranger is right in three of four cases
        now = service.status()
        assert (now.n_votes, now.n_skips) == (2, 1)
        assert now.expected_error == before.expected_error == 0.5  # as of the last fit, of no vote so far
        assert now.fitted_votes == 0
        assert [each.n_votes for each in now.labels] == [1, 1, 0]


def test_settled_pairs_are_not_asked_about(tmp_path):
    with opened(tmp_path, n_items=2, workers=8, budget="9.00") as service:
        for worker in range(8):
            while not hasattr(work(service, worker), "reason"):
                pass
        live = live_of(service)
        assert live.believed.settled(np.arange(2)).all()  # all say yes
        assert service.status().settled == 0  # which a fit has to confirm
        assert live.counts.n_votes.max() < 8  # so that not everybody was asked


def test_sums_follow_every_change(tmp_path):
    """What is kept up vote by vote is what one finds by counting everything."""
    with opened(tmp_path, n_items=30, budget="50.00") as service:
        answer_some(service, 40)
        service.decide(3, 0, True, "test")
        live = live_of(service)
        once = Believed(live.believed.learned, live.counts, live.strategy)
        once.log_odds[:] = live.believed.log_odds
        once.usual = live.believed.usual
        once._value(np.arange(30))
        for name in ("together", "alone"):
            assert getattr(live.believed, name) == pytest.approx(getattr(once, name), abs=1e-5), name
        with Service.open(service.folder, clock=service.clock) as again:  # after a crash, the same follows
            other = live_of(again)
            assert other.believed.log_odds == pytest.approx(live.believed.log_odds, abs=1e-5)
            assert (other.counts.n_votes == live.counts.n_votes).all()
            assert other.n_known == live.n_known == 1


def test_a_fit_is_stored_and_taken_over_with_the_votes_since(tmp_path, database_url):
    roster = tmp_path / "workers.csv"
    roster.write_text("worker,kind,family\na,model,x\nb,model,x\nc,human,\n")
    with opened(tmp_path, database_url, n_items=20, budget="50.00", workers=0) as service:
        service.invite(path=roster, actor="test")
        answer_some(service, 30)
        service.decide(0, 0, True, "test")
        n_votes = service.status().n_votes
        assert fitting.run(str(service.folder)) == 0
        answer_some(service, 3, seed=1)
        before = live_of(service).believed.learned
        assert before.version == 0
        assert service._core.take_new_beliefs() and not service._core.take_new_beliefs()
        live = live_of(service)
        learned = live.believed.learned
        assert (learned.version, learned.n_votes) == (1, n_votes)
        assert learned.hit.shape == (4, 3) and learned.sharing is not None
        assert live.n_votes > n_votes
        moved = live.believed.log_odds - learned.log_odds.astype(np.float32)
        late = {(row["item"], row["label"]) for row in service.votes_table().to_pylist()[n_votes:]}
        names = [each.label for each in service.labels()]
        where = {(f"i{item}", names[label]) for item, label in np.argwhere(np.abs(moved) > 1e-3).tolist()}
        assert where <= late and where
        status = service.status()
        assert (status.beliefs_version, status.fitted_votes) == (1, n_votes)
        assert status.next_money is not None and status.next_money.money == 100
        answer_some(service, 10, seed=2)  # families and all: pages are still chosen
        assert service.verify() == []


def test_settled_is_that_of_the_last_fit_everywhere(tmp_path):
    """What consensus says of the same votes is what the status, the history and the live table say; both shares."""
    with opened(tmp_path, n_items=12, workers=5, budget="50.00") as service:
        for worker in range(5):
            while not hasattr(work(service, worker), "reason"):
                pass
        with service._core.database.read() as connection:
            known = take_snapshot(connection)
        fitted = AMCC().fit(known.votes)
        fitting.run(str(service.folder))
        assert service._core.take_new_beliefs()
        status, counts = service.status(), fitted.settled_counts_
        assert 0 < status.settled == counts.settled
        shares = counts.shares()
        assert (status.settled_present, status.settled_absent) == (shares["settled_present"], shares["settled_absent"])
        assert status.fitted_votes == len(known.votes) and status.settling == fitted.settling_.sentence()
        assert sum(row["settled"] for row in service.consensus_table().to_pylist()) == status.settled
        assert note_history(service._core, learned=True) and service.status().history[-1].settled == status.settled
        error = status.expected_error
        service.add_budget("90.00", actor="test")
        service.decide(0, 0, True, "test")  # known truth is settled at once; all else waits for a fit
        assert service.status().expected_error == error


def test_a_family_alone_settles_nothing_between_fits(tmp_path):
    """Families are counted by the fit: what it did not settle, votes since then do not."""
    roster = tmp_path / "workers.csv"
    roster.write_text("worker,kind,family\n" + "".join(f"m{i},model,x\n" for i in range(5)))
    with opened(tmp_path, n_items=6, budget="50.00", workers=0) as service:
        service.invite(path=roster, actor="test")
        for worker in range(3):
            while not hasattr(work(service, worker), "reason"):
                pass
        fitting.run(str(service.folder))
        assert service._core.take_new_beliefs()
        for worker in (3, 4):
            work(service, worker)
        live = live_of(service)
        assert live.counts.n_votes.max() > 3 and not live.believed.settled(np.arange(6)).any()
        assert service.status().settled == 0


def test_items_that_come_later_are_not_taken_for_known(tmp_path):
    """Where all pairs without votes are known truth, that says nothing about an item that nobody has seen."""
    known = tmp_path / "truth.csv"
    rows = [f"i{item},{label},1\n" for item in range(4) for label in ("cat", "dog", "bird")]
    known.write_text("item,label,truth\n" + "".join(rows))
    with opened(tmp_path, n_items=8, budget="50.00", truth=[known]) as service:
        answer_some(service, 30)
        fitting.run(str(service.folder))
        assert service._core.take_new_beliefs()
        prior = live_of(service).believed.learned.prior
        assert np.abs(prior).max() < 3, prior  # odds of 20 to 1, by four items with votes
        (tmp_path / "more.csv").write_text("item,text\nlater,Another text\n")
        service.add_items(tmp_path / "more.csv", actor="test")
        page = page_of(service, 0)
        assert page.item.name == "later" and len(page.questions) == 3


def test_what_is_learned_is_stored_without_pickle():
    learned = Learned.cold(3)
    content = learned.to_bytes()
    again = Learned.from_bytes(content)
    assert (again.hit == learned.hit).all() and again.settling == learned.settling and again.sharing is None
    assert (again.counts, again.reference, again.declared) == (learned.counts, learned.reference, learned.declared)
    assert b"pickle" not in content


def test_damaged_beliefs_do_no_harm(tmp_path):
    with opened(tmp_path, n_items=20, budget="50.00") as service:
        answer_some(service, 20)
        fitting.run(str(service.folder))
        service._core.database.write(lambda c: c.execute(text("UPDATE beliefs SET blob = x'00'")).rowcount)
        with service._core.database.read() as connection:
            damaged = load_learned(connection, 3)
        assert (damaged.version, damaged.n_votes) == (1, 0)  # cold, and fitted again
        with Service.open(service.folder, clock=service.clock) as again:
            assert isinstance(again.next_page(0), WorkPage)


def test_nothing_to_learn_from(tmp_path):
    with opened(tmp_path) as service:
        assert fitting.run(str(service.folder)) == fitting.NOTHING


def test_the_server_learns_by_itself_and_expires_leases(tmp_path):
    folder = new(tmp_path, n_items=20, budget="50.00", lease_seconds=10, clock=time.time)
    clock = Clock(time.time())
    with Service.open(folder, server=True, clock=clock) as service:
        service.invite(["a", "b", "c", "d"], actor="test")
        page_of(service, 3)
        answer_some(service, 30)
        clock.pass_by(11)
        deadline = time.monotonic() + 240  # a fit gets what others leave of the processors
        while time.monotonic() < deadline:
            now = service.status()
            if now.beliefs_version and not now.money.reserved and now.history:
                break
            time.sleep(0.2)
        assert now.beliefs_version >= 1 and now.money.reserved == 0 and now.open_leases == 0
        assert now.history[-1].n_votes > 0
    assert service.folder.joinpath("fit.log").read_text() == ""


def test_the_charts_end_with_what_the_newest_fit_says(tmp_path):
    with opened(tmp_path, n_items=20, budget="50.00") as service:
        answer_some(service, 30)
        assert note_history(service._core)
        assert not note_history(service._core), "nothing has happened since"
        fitting.run(str(service.folder))
        service._core.take_new_beliefs()
        assert note_history(service._core, learned=True)
        now = service.status()
        assert (now.history[-1].settled, now.history[-1].expected_error) == (now.settled, now.expected_error)


def test_a_fit_that_dies_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("amcc.serve.learner.PATIENCE", 0.1)
    monkeypatch.setattr("amcc.serve.learner.TICK", 0.05)
    folder = new(tmp_path, n_items=20, budget="50.00", clock=time.time)
    with Service.open(folder, server=True) as service:
        service.invite(["a", "b", "c"], actor="test")
        answer_some(service, 20)
        killed, deadline = 0, time.monotonic() + 240  # three fits in processes of their own, on a busy machine
        while time.monotonic() < deadline and not service.status().beliefs_version:
            process = service._learner._process
            if killed < 2 and process is not None and process.poll() is None:
                os.kill(process.pid, 9)
                killed += 1
            time.sleep(0.05)
        assert killed == 2 and service.status().beliefs_version == 1
        answer_some(service, 3)
        assert service.verify() == []


def test_a_family_that_has_spoken_is_asked_about_something_else(tmp_path):
    """After a fit that says who shares errors, the second judge of a family gets other items first."""
    roster = tmp_path / "workers.csv"
    roster.write_text("worker,kind,family\n" + "".join(f"m{n},model,x\n" for n in range(3)) + "".join(
        f"p{n},human,\n" for n in range(3)))  # fmt: skip
    with opened(tmp_path, n_items=40, budget="90.00", workers=0) as service:
        service.invite(path=roster, actor="test")
        answer_some(service, 90, workers=6)
        assert fitting.run(str(service.folder)) == 0
        service._core.take_new_beliefs()
        live = live_of(service)
        items, *_ = live.believed.shortlist()
        new_to_model, new_to_person = live._new_to(0, items), live._new_to(3, items)
        assert np.asarray(new_to_model).min() < np.asarray(new_to_person).min() <= 1
        page = page_of(service, 0)
        service.answer(0, page.lease_id, all_said(page))
        live = live_of(service)
        kept, again = live._new_to(1, items), live._new_in(items, int(live.believed.learned.sharing.source[1]))
        if live.believed.shortlist()[0] is items:
            assert np.asarray(kept) == pytest.approx(again)
