"""What was measured, row by row in a file of docs, of which page.py makes docs/performance.md.

Scripts note every row as soon as it is measured, so an interrupted run loses little: `--resume` goes on where it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "performance.jsonl"
PACKAGES = "amcc", "crowd-kit", "cleanlab", "snorkel", "polars", "pyarrow", "numba", "numpy", "distributed"

Row = dict[str, Any]
Size = tuple[int, int, int]  # votes, labels, workers


class Record:
    """The rows of one script; `kept` are in the file as soon as they are measured, `resume` takes up those in it.

    look : says how busy the machine is before anything is measured
    """

    def __init__(self, script: str, *, kept: bool, resume: bool, look: Callable[[], Row] = dict) -> None:
        before = load() if kept else []
        self.script, self.kept = script, kept
        self.rows = [row for row in before if row["script"] == script] if resume else []
        self.resumed = bool(self.rows)
        if kept:
            others = [row for row in before if row["script"] != script]
            ROWS.write_text("".join(json.dumps(row) + "\n" for row in others + self.rows))
        self.row("run", (0, 0, 0), lambda: {**run_row(), **look()})

    def has(self, task: str, size: Size) -> bool:
        """Whether a task is measured already."""
        return any((row["task"], size_of(row)) == (task, size) for row in self.rows)

    def row(self, task: str, size: Size, measure: Callable[[], Row]) -> Row:
        """The row of a task, measured now unless it is there already."""
        votes, labels, workers = size
        key = {"script": self.script, "task": task, "votes": votes, "labels": labels, "workers": workers}
        for row in self.rows:
            if key.items() <= row.items():
                return row
        row = {**key, **measure(), **({"later": True} if self.resumed else {})}
        self.rows.append(row)
        if self.kept:
            with ROWS.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return row


def load() -> list[Row]:
    """All rows of the file."""
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def run_row() -> Row:
    """When and with what the rows of a script were measured."""
    return {"date": str(date.today()), "cores": os.cpu_count(), "versions": _versions()}


def _versions() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def size_of(row: Row) -> Size:
    """Votes, labels and workers of the crowd."""
    return row["votes"], row["labels"], row["workers"]
