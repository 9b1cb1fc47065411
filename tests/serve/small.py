"""Small campaigns for the tests: a few texts, three labels, a clock that tests can move."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amcc.serve.service import Service, new_campaign
from amcc.serve.views import Answer, NoWork, Receipt, WorkPage

PASSWORD = "not a secret"


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def files(folder: Path, n_items: int = 6, labels: tuple[str, ...] = ("cat", "dog", "bird")) -> dict[str, Path]:
    """items.csv and labels.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"items": folder / "items.csv", "labels": folder / "labels.csv"}
    made["items"].write_text("item,text\n" + "".join(f"i{n},Text {n}\n" for n in range(n_items)))
    made["labels"].write_text("label,question,help\n" + "".join(f"{each},Is there a {each}?,\n" for each in labels))
    return made


def new(folder: Path, database: str | None = None, *, n_items: int = 6, **given: Any) -> Path:
    """A campaign whose answers cost 2 and whose pages cost 1; no audits and checks unless they are asked for."""
    paths = files(folder / "files", n_items)
    usual = {"budget": "1.00", "price": "0.02", "page_price": "0.01", "audit_share": 0.0, "check_share": 0.0}
    settings: dict[str, Any] = {**usual, "password": PASSWORD, "database": database, **paths, **given}
    return new_campaign(folder / "pets", **settings)


def opened(folder: Path, database: str | None = None, *, workers: int = 3, clock: Any = None, **given: Any) -> Service:
    """The same, open, with workers 0, 1, 2, … ; without a server's thread."""
    clock = clock or Clock()
    service = Service.open(new(folder, database, clock=clock, **given), clock=clock)
    service.invite([f"person {n}" for n in range(workers)], actor="test")
    return service


def page_of(service: Service, worker: int) -> WorkPage:
    """A page, which must be there."""
    page = service.next_page(worker)
    assert isinstance(page, WorkPage), page
    return page


def all_said(page: WorkPage, said: Answer = "yes") -> Mapping[int, Answer]:
    return {each.label_id: said for each in page.questions}


def work(service: Service, worker: int, said: Answer = "yes") -> Receipt | NoWork:
    """One page, answered; or why there is none."""
    page = service.next_page(worker)
    return page if isinstance(page, NoWork) else service.answer(worker, page.lease_id, all_said(page, said))
