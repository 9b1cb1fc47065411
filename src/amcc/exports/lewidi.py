"""Learning with disagreements: the answers of all annotators, soft and hard labels, as one JSON object.

The text of an answer lists its labels, joined by commas. So a label with a comma in it cannot be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amcc.errors import InputError
from amcc.exports.label_studio import write_json
from amcc.exports.writer import Results, Writer, register


def write(results: Results, path: Path) -> None:
    """One entry per item, by its name."""
    for label in results.labels:
        if "," in label:
            raise InputError(
                f"labels are joined by commas in this form, so none may hold one; got {label!r}. Rename it."
            )
    content: dict[str, Any] = {}
    answers = results.votes.to_sets("arrow").to_pylist()
    by_item: dict[str, dict[str, str]] = {item: {} for item in results.items}
    for row in answers:
        by_item[str(row["item"])][str(row["worker"])] = ",".join(map(str, row["labels"]))
    for place, item in enumerate(results.items):
        said = by_item[item]
        shares = {label: _share(results.proba[place, code]) for code, label in enumerate(results.labels)
                  if results.asked[place, code]}  # fmt: skip
        content[item] = {
            "text": results.texts.get(item, ""), "annotators": ",".join(said), "number of annotations": len(said),
            "annotations": said, "soft_label": shares, "hard_label": results.set_of(place),
        }  # fmt: skip
    write_json(path, content)


def _share(proba: float) -> dict[str, float]:
    """How likely a label is absent, and present."""
    return {"0": round(1 - float(proba), 6), "1": round(float(proba), 6)}


register(Writer("lewidi", "LeWiDi: all annotators with soft and hard labels (.json)", write))
