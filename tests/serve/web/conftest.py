"""Campaigns to look at through the web: the real service on SQLite, with items of every kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from web_live import INSTRUCTIONS, LABELS, PASSWORD, TEXTS, Clock, Live, items_of, png, wav

from amcc.serve.service import Service, new_campaign


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made(rows, labels, given)`: the folder of a new campaign, made once where the same was wanted before."""
    before: dict[str, Path] = {}

    def make(rows: dict[str, tuple[str, str]], labels: str, given: dict[str, Any]) -> Path:
        wanted = repr((rows, labels, given))
        if wanted not in before:
            source = tmp_path_factory.mktemp("source")
            (source / "sounds").mkdir()
            png(source / "blue.png")
            wav(source / "sounds" / "silence.wav")
            (source / "labels.csv").write_text(labels, encoding="utf-8")
            settings = {"budget": "20.00", "currency": "EUR", "price": "0.02", "page_price": "0.01", "title": "Pets",
                        "instructions": INSTRUCTIONS, "password": PASSWORD, "completion_code": "PETS-2026"}  # fmt: skip
            files = {"items": items_of(source, rows), "labels": source / "labels.csv"}
            before[wanted] = new_campaign(source / "pets", **files, clock=Clock(), **settings | given)
        return before[wanted]

    return make


@pytest.fixture
def make_live(tmp_path: Path, made: Callable[..., Path]) -> Iterator[Callable[..., Live]]:
    """`make_live(rows, **settings)`: an open campaign."""
    opened: list[Service] = []

    def make(rows: dict[str, tuple[str, str]] | None = None, *, labels: str = LABELS, **given: Any) -> Live:
        folder, clock = tmp_path / f"pets{len(opened)}", Clock()
        shutil.copytree(made(rows or TEXTS, labels, given), folder)
        opened.append(Service.open(folder, server=True, clock=clock, learn=False))
        return Live(opened[-1], clock, folder)

    yield make
    for service in opened:
        service.close()


@pytest.fixture
def live(make_live: Callable[..., Live]) -> Live:
    """A campaign with texts."""
    return make_live()
