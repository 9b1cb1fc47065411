"""A consensus, and next questions, in the form that other tools read.

| file | what it writes |
|---|---|
| `writer` | what a writer is, what it gets, and the registry of those there are |
| `label_studio` | tasks with predictions; tasks with the labels to ask about (`data.ask`) |
| `huggingface` | a folder with Parquet and a data-set card |
| `lewidi` | the answers of all annotators with soft labels, as JSON |
| `arrays` | for cleanlab given labels and `pred_probs`; for scikit-learn indicator matrices |
| `soft_labels` | how sure the consensus is of each label, as JSON lines |

What other tools write is read by `amcc.io.exchange`. **A new writer** is one file here that ends with `register(…)`.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.exports.writer import WRITERS, Results, Writer, writer_named
from amcc.tables import as_arrow

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel
    from amcc.votes import Votes

__all__ = ["WRITERS", "Results", "Writer", "write_consensus", "writer_named"]


def write_consensus(
    model: ConsensusModel, votes: Votes, path: str | Path, *, to: str, texts: Any = None, question: str = "labels",
    shown: str = "text",
) -> None:  # fmt: skip
    """Write what a model says about the items in the form that another tool reads.

    Parameters
    ----------
    model, votes : a fitted model, and the votes that it was fitted to.
    path : the file, or folder, to write: completely, or not at all.
    to : whose form it is, see `amcc formats`.
    texts : a table item, text: what the items are, where the tool shows them.
    question, shown : names of the question and of what it is about, in tools that know several of each (Label Studio:
        from_name and to_name).
    """
    writer = writer_named(to)
    model.item_results().check_votes(votes)
    known = {} if texts is None else _texts(texts)
    writer.write(Results(model, votes, known, question, shown), Path(path))


def _texts(frame: Any) -> dict[str, str]:
    table = as_arrow(frame, lambda _: ["item", "text"])
    return dict(zip(map(str, table["item"].to_pylist()), map(str, table["text"].to_pylist()), strict=True))


# Writers register themselves when they are imported.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
