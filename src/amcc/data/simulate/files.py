"""A simulated crowd as files: votes.parquet, truth.csv, workers.csv and, where there are features, features.parquet.

Blocks are written as they are drawn, so that the crowd may be larger than memory. The files are those that the
commands read: `amcc consensus votes.parquet`, `amcc evaluate consensus.csv truth.csv`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions, write_csv
from pyarrow.parquet import ParquetWriter

from amcc.data.simulate.names import item_names, label_names, numbered, worker_names
from amcc.data.simulate.spec import CrowdSpec
from amcc.data.simulate.votes import CrowdBlock
from amcc.data.simulate.workers import Workers
from amcc.data.simulate.world import draw_base, draw_blocks
from amcc.files import make_folder, written_to
from amcc.io.csv import LIST_SEPARATOR

# Generated names need no quotes.
PLAIN_CSV: Any = WriteOptions(quoting_style="none")
# A block has up to a million item names: beyond pyarrow's default of 1 MB it would write each one out, vote by vote.
DICTIONARY_BYTES = 2**25


def write_crowd(spec: CrowdSpec, folder: Path | str, progress: Callable[[int, int], object] | None = None) -> None:
    """Stream the crowd of `spec` into files; all of them appear together at the end, or none.

    votes.parquet (worker, item, label, value), truth.csv (item, labels: one row for each item, also without label),
    workers.csv (worker, kind, specialty, price), and features.parquet if the spec has features. With models among the
    workers, workers.csv has kind human or model, family (blank for people), skill (what is else called kind), specialty
    and price. Files of these names that are already there make way. `progress(done_votes, total_votes)` follows each
    block.
    """
    folder = Path(folder)
    make_folder(folder)
    # In the folder itself, for only within one file system is a file put in its place at once.
    with written_to(folder), TemporaryDirectory(prefix=".unfinished-", dir=folder) as staging:
        _write_files(spec, Path(staging), progress or (lambda done, total: None))
        # Features of an earlier crowd would be those of other items.
        (folder / "features.parquet").unlink(missing_ok=True)
        for path in Path(staging).iterdir():
            path.replace(folder / path.name)


def _write_files(spec: CrowdSpec, folder: Path, progress: Callable[[int, int], object]) -> None:
    """Write all files into a folder, a block at a time."""
    labels, workers = draw_base(spec)
    write_csv(_worker_table(spec, workers), folder / "workers.csv", PLAIN_CSV)
    done_votes = 0
    with ExitStack() as stack:
        writers: dict[str, ParquetWriter | CSVWriter] = {}
        for block in draw_blocks(spec, labels, workers):
            for name, table in _block_tables(spec, block).items():
                if name not in writers:  # the schema of a file is known with its first block
                    writers[name] = stack.enter_context(_open_writer(folder / name, table.schema))
                writers[name].write_table(table)
            done_votes += block.value.size
            progress(done_votes, spec.n_votes)


def _open_writer(path: Path, schema: pa.Schema) -> ParquetWriter | CSVWriter:
    """Writer with `write_table`, by the ending of the name."""
    if path.suffix == ".csv":
        return CSVWriter(path, schema, write_options=PLAIN_CSV)
    return ParquetWriter(path, schema, compression="zstd", dictionary_pagesize_limit=DICTIONARY_BYTES)


def _block_tables(spec: CrowdSpec, block: CrowdBlock) -> dict[str, pa.Table]:
    """Rows that a block adds to each file, by file name."""
    items = item_names(spec, range(block.first_item, block.first_item + len(block.truth)))
    labels = label_names(spec)
    votes = {
        "worker": pa.DictionaryArray.from_arrays(block.worker, worker_names(spec)),
        "item": pa.DictionaryArray.from_arrays(block.item - np.int32(block.first_item), items),
        "label": pa.DictionaryArray.from_arrays(block.label, labels),
        "value": block.value,
    }
    # Arrow's lists: the labels of all items in a row, and where those of each item end.
    ends = np.append(0, block.truth.sum(axis=1).cumsum())
    true_labels = pa.LargeListArray.from_arrays(ends, labels.take(block.truth.nonzero()[1]))
    tables = {
        "votes.parquet": pa.table(votes),
        "truth.csv": pa.table({"item": items, "labels": pc.binary_join(true_labels, LIST_SEPARATOR)}),
    }
    if spec.n_features:
        columns = zip(numbered("feature_", spec.n_features).to_pylist(), block.features.T, strict=True)
        tables["features.parquet"] = pa.table({"item": items, **dict(columns)})
    return tables


def _worker_table(spec: CrowdSpec, workers: Workers) -> pa.Table:
    """The rows of workers.csv; with models, in the columns that `--workers` reads."""
    known: dict[str, Any] = {"worker": worker_names(spec), "kind": workers.kind_names}
    if spec.n_models:
        is_model = workers.family >= 0
        families = numbered("family_", spec.n_families)
        known["kind"] = np.where(is_model, "model", "human")
        known["family"] = families.take(pa.array(workers.family, mask=~is_model))
        known["skill"] = workers.kind_names
    known["specialty"] = pa.array(workers.specialty, mask=workers.specialty < 0)
    known["price"] = workers.prices
    return pa.table(known)
