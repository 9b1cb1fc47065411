"""Arrays for scikit-learn and cleanlab: indicator matrices, and given labels beside `pred_probs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from amcc.exports.label_studio import write_json
from amcc.exports.writer import Results, Writer, register
from amcc.files import whole_file


def write_indicators(results: Results, path: Path) -> None:
    """Y (items × labels, 0 and 1), proba, asked, told (by truth or the reference), items and labels, as .npz."""
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file, Y=results.present.astype(np.int8), proba=results.proba, asked=results.asked, told=results.told,
            items=np.array(results.items), labels=np.array(results.labels),
        )  # fmt: skip


def given_labels(results: Results) -> list[list[int]]:
    """What most workers gave each item: the labels that cleanlab looks for mistakes in."""
    votes = results.votes
    given: list[list[int]] = [[] for _ in results.items]
    most = 2 * votes.n_yes > votes.pairs.n_votes
    for item, label in zip(votes.pairs.item[most].tolist(), votes.pairs.label[most].tolist(), strict=True):
        given[item].append(label)
    return given


def cleanlab_input(results: Results) -> dict[str, Any]:
    """Arguments of cleanlab's multi-label functions: `labels` (lists of codes) and `pred_probs` (items × labels)."""
    return {"labels": given_labels(results), "pred_probs": results.proba}


def write_cleanlab(results: Results, path: Path) -> None:
    """The same as JSON: labels, pred_probs, and the names of items and labels."""
    found = cleanlab_input(results)
    rounded = np.round(found["pred_probs"], 9).tolist()
    write_json(
        path, {"labels": found["labels"], "pred_probs": rounded, "items": results.items, "names": results.labels}
    )


register(Writer("scikit-learn", "scikit-learn: indicator matrix, probabilities and names (.npz)", write_indicators))
register(
    Writer("cleanlab", "cleanlab: given labels and pred_probs of its multi-label functions (.json)", write_cleanlab)
)
