"""A folder as the Hugging Face hub has them: Parquet files and a card that says what they are."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

from amcc.errors import InputError
from amcc.exports.writer import VERSION, Results, Writer, register
from amcc.files import written_to
from amcc.io import write_table
from amcc.truth import TOLD_LABELS

CARD = """---
pretty_name: {title}
task_categories:
- text-classification
task_ids:
- multi-label-classification
annotations_creators:
- crowdsourced
configs:
- config_name: consensus
  default: true
  data_files: consensus.parquet
- config_name: votes
  data_files: votes.parquet
---

# {title}

Labels of {n_items:,} items, found by amcc {version} ({method}) from {n_votes:,} votes of {n_workers:,} workers on
{n_labels:,} labels.

- `consensus`: a row is an item, with `text` where it is known, its set of `labels`, the `probability` of each label in
  the order of `label_names`, and the labels that anybody was `asked` about. Where truth was known
  beforehand, or taken from workers who are the reference, `told_labels` are these labels: scores must leave them out.
- `votes`: a row is an answer: `worker`, `item`, `labels`, `asked`. Workers are named as in the votes: check that these
  are pseudonyms before you share them.

A label that is not in `asked` was not asked about: it is unknown, and not absent. {settling}
"""


def write(results: Results, path: Path) -> None:
    """Make the folder; it must not be there, or be empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} must be a new folder; something is there. Name another one.")
    with written_to(path):
        made = Path(tempfile.mkdtemp(prefix=".part-", dir=path.parent))
        try:
            write_table(consensus_table(results), made / "consensus.parquet")
            write_table(results.votes.to_sets("arrow"), made / "votes.parquet")
            (made / "README.md").write_text(card(results, path.name), encoding="utf-8")
            made.chmod(0o777 & ~_umask())
            made.replace(path)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _umask() -> int:
    """What the user keeps others from; a temporary folder is closed to all of them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def consensus_table(results: Results) -> pa.Table:
    """One row per item."""
    n = len(results.items)
    columns = {
        "item": pa.array(results.items, pa.string()),
        "labels": pa.array([results.set_of(item) for item in range(n)], pa.list_(pa.string())),
        "probability": pa.array(list(results.proba), pa.list_(pa.float64())),
        "asked": pa.array([_chosen(results.labels, row) for row in results.asked], pa.list_(pa.string())),
        "label_names": pa.array([results.labels] * n, pa.list_(pa.string())),
    }
    if results.told.any():
        columns[TOLD_LABELS] = pa.array([_chosen(results.labels, row) for row in results.told], pa.list_(pa.string()))
    if results.texts:
        columns["text"] = pa.array([results.texts.get(item) for item in results.items], pa.string())
    return pa.table(columns)


def _chosen(names: list[str], mask: object) -> list[str]:
    return [name for name, chosen in zip(names, mask, strict=True) if chosen]  # type: ignore[call-overload]


def card(results: Results, title: str) -> str:
    """The card, with what the consensus rests on."""
    votes = results.votes
    model = results.model
    sentences = model.settling_.sentence(), model.settled_counts_.sentence(), model.reference_sentence_
    return CARD.format(
        title=title, version=VERSION, method=type(results.model).__name__, n_items=votes.n_items,
        n_votes=len(votes), n_workers=votes.n_workers, n_labels=votes.n_labels,
        settling=" ".join(f"{each[0].upper()}{each[1:]}." for each in sentences if each),
    )  # fmt: skip


register(Writer("huggingface", "Hugging Face: a folder with Parquet and a data-set card", write))
