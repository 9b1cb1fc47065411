"""Soft labels as JSON lines: how sure the consensus is of each label, and what share of people would say yes."""

from __future__ import annotations

import json
from pathlib import Path

from amcc.exports.writer import Results, Writer, register
from amcc.files import whole_file


def write(results: Results, path: Path) -> None:
    """One object per item: probability and soft share of each label that anybody was asked about."""
    pairs = results.model.pairs(soft=True, votes=results.votes, frame="arrow").to_pylist()
    lines: dict[str, dict[str, dict[str, float]]] = {item: {"probability": {}, "soft": {}} for item in results.items}
    for row in pairs:
        for kind in ("probability", "soft"):
            lines[str(row["item"])][kind][str(row["label"])] = round(float(row[kind]), 6)
    with whole_file(path) as temporary:
        text = "".join(json.dumps({"item": item, **found}, ensure_ascii=False) + "\n" for item, found in lines.items())
        temporary.write_text(text, encoding="utf-8")


register(Writer("soft-labels", "soft labels: probability and share of people who would say yes (.jsonl)", write))
