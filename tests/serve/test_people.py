"""Workers: links, platforms, prices, block, forget; passwords."""

from __future__ import annotations

import re

import pytest
from small import opened, page_of, work

from amcc.errors import InputError, LinkError, NotFoundError, RefusedError
from amcc.serve.service import LINK_SECONDS, Service
from amcc.serve.views import NoWork, WorkPage

PROLIFIC = "5f0c0d9e8a7b6c5d4e3f2a1b"


@pytest.fixture
def service(tmp_path, database_url):
    with opened(tmp_path, database_url) as made:
        yield made


def reason(service: Service, token: str) -> str:
    with pytest.raises(LinkError) as error:
        service.worker_by_token(token)
    return error.value.reason


def test_links_are_signed_and_end(service):
    (link,) = service.invite(["dan"], actor="test")
    worker = service.worker_by_token(link.token)
    assert re.fullmatch("w[a-z2-7]{8}", worker.name) and worker.name == link.worker
    assert len(link.token.rpartition(".")[2]) == 43  # SHA-256 as text
    for place in (0, 5, len(link.token) // 2, len(link.token) - 3):
        other = "A" if link.token[place] != "A" else "B"
        assert reason(service, link.token[:place] + other + link.token[place + 1 :]) == "forged"
    assert reason(service, "") == reason(service, "x.y") == reason(service, "é" * 10) == "forged"
    service.clock.pass_by(LINK_SECONDS)
    assert reason(service, link.token) == "expired"
    (again,) = service.invite(["dan"], actor="test")
    assert again.worker == link.worker and reason(service, link.token) == "revoked"
    service.revoke(link.worker, actor="test")
    assert reason(service, again.token) == "revoked"


def test_links_of_another_campaign_are_forged(service, tmp_path):
    with opened(tmp_path / "other") as other:
        (link,) = other.invite(["dan"], actor="test")
        assert reason(service, link.token) == "forged"


def test_own_prices_kinds_and_families(service, tmp_path):
    path = tmp_path / "workers.csv"
    path.write_text("worker,kind,family,price,page_price\nexpert,human,,0.50,0\njudge,model,gpt,0.01,0\n")
    expert, judge = (service.worker_by_token(link.token) for link in service.invite(path=path, actor="test"))
    assert (expert.vote_price, expert.page_price, judge.kind) == (50, 0, "model")
    page = page_of(service, judge.id)
    assert (page.price, page.page_price) == (1, 0)
    assert page_of(service, 0).price == 2
    service.set_price(worker=expert.name, vote_price="0.40", actor="test")
    assert service.worker(expert.id).vote_price == 40
    with pytest.raises(InputError, match="at least one minor unit"):
        service.set_price(worker=expert.name, vote_price="0", actor="test")
    assert [each.family for each in service.status().workers][-2:] == ["", "gpt"]


@pytest.mark.parametrize("names", [["a", "a"], [""], ["x" * 201], ["a\nb"]])
def test_odd_names(service, names):
    with pytest.raises(InputError):
        service.invite(names, actor="test")
    assert service.status().n_workers == 3


def test_who_comes_from_prolific(tmp_path, database_url):
    with opened(tmp_path, database_url, platform="prolific", completion_code="C0DE", max_workers=4) as service:
        ann = service.worker_by_platform({"PROLIFIC_PID": PROLIFIC, "STUDY_ID": "x"})
        assert service.worker_by_platform({"PROLIFIC_PID": PROLIFIC}) == ann
        assert PROLIFIC not in ann.name
        for wrong in ({}, {"PROLIFIC_PID": ""}, {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, {"PROLIFIC_PID": "<b>"}):
            with pytest.raises(LinkError):
                service.worker_by_platform(wrong)
        with pytest.raises(RefusedError, match="as many participants") as error:
            service.worker_by_platform({"PROLIFIC_PID": PROLIFIC[::-1]})
        assert error.value.reason == "full"
        assert service.progress(ann.id).completion_code is None
        work(service, ann.id)
        assert service.progress(ann.id).completion_code == "C0DE"
        work(service, 0)
        assert service.export_payments(tmp_path / "bonus.csv", prolific=True) == 1
        assert (tmp_path / "bonus.csv").read_text() == f"{PROLIFIC},0.07\n"
        assert service.export_payments(tmp_path / "all.csv") == 2
        service.forget(ann.name, "test")
        with pytest.raises(InputError, match="nobody from Prolific"):
            service.export_payments(tmp_path / "none.csv", prolific=True)


def test_a_general_parameter(tmp_path):
    with opened(tmp_path, worker_param="who") as service:
        assert service.worker_by_platform({"who": "participant-7"}).id == 3
        for formula in ("=1+1", "+1", "-1", "@SUM(A1)"):  # it would be one in the list of payments
            with pytest.raises(LinkError):
                service.worker_by_platform({"who": formula})
    with opened(tmp_path / "closed") as service, pytest.raises(LinkError, match="needs an invitation"):
        service.worker_by_platform({"PROLIFIC_PID": PROLIFIC})


def test_block_withdraws_the_page_and_keeps_the_answers(service):
    work(service, 0)
    page, name = page_of(service, 0), service.worker(0).name
    with pytest.raises(InputError, match="a reason must be given"):
        service.block(name, " ", "test")
    service.block(name, "all yes", "test")
    assert service.next_page(0) == NoWork("blocked", done=True)
    assert service.balance.reserved == 0 and service.status().n_votes == 3
    assert service.status().workers[0].reason == "all yes"
    service.unblock(name, "test")
    assert page_of(service, 0).item == page.item
    with pytest.raises(NotFoundError):
        service.block("nobody", "why", "test")


def test_forgetting_leaves_no_trace_of_who_it_was(service):
    (link,) = service.invite(["Zebulon Unmistakable"], actor="test")
    worker = service.worker_by_token(link.token)
    work(service, worker.id)
    page_of(service, worker.id)
    service.forget("Zebulon Unmistakable", "test")
    assert reason(service, link.token) == "revoked"
    assert service.next_page(worker.id) == NoWork("blocked", done=True)
    assert service.verify() == [] and service.balance.due == 7
    assert [each.identity for each in service.payments()] == [None]
    assert service.status().workers[worker.id].answers == 3
    for path in service.folder.iterdir():
        assert b"Unmistakable" not in path.read_bytes(), path
    with pytest.raises(RefusedError):
        service.unblock(worker.name, "test")
    assert service.invite(["Zebulon Unmistakable"], actor="test")[0].worker != worker.name


def test_passwords(service):
    assert service.check_password("not a secret") and not service.check_password("")
    version = service.session_version
    with pytest.raises(InputError):
        service.set_password("short", actor="test")
    service.set_password("another secret", actor="test")
    assert service.check_password("another secret") and not service.check_password("not a secret")
    assert service.session_version == version + 1
    assert service.healthy()


def test_decisions_are_truth(service):
    assert "told" not in service.consensus_table().column_names
    service.decide(0, 1, True, "test")
    service.decide(0, 1, False, "test")
    rows = {(row["item"], row["label"]): (row["probability"], row["told"])
            for row in service.consensus_table().to_pylist()}  # fmt: skip
    assert rows == {("i0", "dog"): (0.0, True)}
    assert service.status().known == 1
    for worker in range(3):
        while isinstance(page := service.next_page(worker), WorkPage):
            assert page.item.id != 0 or 1 not in {each.label_id for each in page.questions}
            service.answer(worker, page.lease_id, {each.label_id: "no" for each in page.questions})
    with pytest.raises(NotFoundError):
        service.decide(77, 0, True, "test")
    with pytest.raises(NotFoundError):
        service.decide(0, 3, True, "test")
