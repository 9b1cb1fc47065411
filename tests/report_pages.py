"""Pages and panels as tests look at them: what a browser would find, and the data behind a chart."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from amcc import AMCC, Votes
from amcc.consensus import MajorityVote
from amcc.consensus.workers import WorkerRates
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.report import write_report
from amcc.report.findings import Findings


class Page(HTMLParser):
    """What a browser would find in the page: its elements, its data, and its text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements, self.texts, self.headings, self.scripts = [], [], [], []
        self.data: dict[str, Any] = {}
        self.open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open = tag
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open == "script" and self.elements[-1][1].get("type") == "application/json":
            self.data[self.elements[-1][1]["id"].removeprefix("data-")] = json.loads(data)
            return
        place = {"h2": self.headings, "h3": self.headings, "script": self.scripts}.get(self.open, self.texts)
        place.append(data)

    @property
    def text(self) -> str:
        # Elements stand apart; what follows a link, such as a comma, does not.
        return re.sub(r" (?=[,.;:)])", "", re.sub(r"\( ", "(", " ".join(" ".join(self.texts).split())))

    @property
    def charts(self) -> dict[str, Any]:
        """Vega-Lite charts by the id of their place."""
        return self.data["charts"]


def page_in(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def report(votes: Votes, folder: Path, model: Any = None, **options: Any) -> Page:
    """The page that is written about a model, the majority vote unless told otherwise."""
    path = folder / "report.html"
    write_report((model or MajorityVote()).fit(votes), votes, path, **options)
    return page_in(path)


def findings_of(votes: Votes, model: Any = None, **fit: Any) -> Findings:
    """Findings with a quick description: its intervals are of no concern to most tests."""
    return Findings((model or MajorityVote()).fit(votes, **fit), votes, votes.describe(n_boot=5))


def pretended(votes: Votes | None = None, **model: Any) -> Findings:
    """Findings of a model that has just these attributes, so that every number is known."""
    return Findings(SimpleNamespace(**model), votes, None)


def rates_of(hit: list[float], false_alarm: list[float], answers: list[int] | None = None, half: float = 0.01) -> Any:
    """Worker rates with intervals of one width."""
    h, f = np.array(hit), np.array(false_alarm)
    n = np.full(len(h), 100) if answers is None else np.array(answers)
    return WorkerRates.of_independent(n, h, h - half, h + half, f, f - half, f + half)


def data_of(chart: Any) -> list[list[dict[str, Any]]]:
    """All tables of data in a chart, in the order in which the chart mentions them."""
    whole = chart if isinstance(chart, dict) else chart.to_dict()
    found: list[list[dict[str, Any]]] = []

    def look(part: Any) -> None:
        if isinstance(part, dict):
            data = part.get("data", {})
            values = data.get("values", whole.get("datasets", {}).get(data.get("name")))
            if values is not None and values not in found:
                found.append(values)
            for name, each in part.items():
                if name not in ("data", "datasets"):
                    look(each)
        elif isinstance(part, list):
            for each in part:
                look(each)

    look(whole)
    return found


def rows_with(chart: Any, field: str) -> list[dict[str, Any]]:
    """The first table of data in a chart that has this field."""
    return next(rows for rows in data_of(chart) if field in rows[0])


def column(chart: Any, field: str) -> list[Any]:
    return [row[field] for row in rows_with(chart, field)]


def random_votes(n_votes: int, n_items: int, n_workers: int, n_labels: int, **names: Any) -> Votes:
    rng = np.random.default_rng(0)
    sizes = {"item": n_items, "worker": n_workers, "label": n_labels}
    codes = [rng.integers(size, size=n_votes) for size in sizes.values()]
    vocabularies = {f"{role}_names": range(size) for role, size in sizes.items()} | names
    return Votes.from_codes(*codes, rng.choice([-1, 1], n_votes), on_conflict="last", **vocabularies)


@cache
def small_crowd() -> SimulatedWorld:
    """20 workers, some of them spammers, on 200 items."""
    return simulate_crowd(CrowdSpec(n_items=200, n_workers=20, seed=1))


@cache
def amcc_findings() -> Findings:
    """The default model, fitted to the small crowd; nobody may change it."""
    return findings_of(small_crowd().votes, AMCC())
