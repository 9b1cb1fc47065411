"""Data sets of Hugging Face: a folder that `save_to_disk` made, or one of Parquet files, with one or several splits.

The rows are a plain table of votes. Labels that are kept as numbers with a list of names get their names back. Splits
are read together where no item is in two of them; else --question says which: train, or train+test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from amcc.errors import FileFormatError, InputError
from amcc.files import first_line
from amcc.io.exchange.decisions import undecided
from amcc.io.exchange.source import Source, parsed
from amcc.io.exchange.tool import PlainTable, Tool, register
from amcc.lazy import WhenUsed
from amcc.tables import check_unique, columns_named, listed
from amcc.tables.roles import ALIASES

pq: Any = WhenUsed("pyarrow.parquet")

# Where columns keep what their numbers mean.
FEATURES = b"huggingface"

# What Arrow raises for files with parts that do not go together.
UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)


def recognises(source: Source) -> str | None:
    """The files that `save_to_disk` writes, or nothing but Parquet files beside a page that describes them."""
    names = [PurePosixPath(name).name for name in source.members]
    if "dataset_info.json" in names or "dataset_dict.json" in names:
        return "a folder with dataset_info.json or dataset_dict.json"
    if names and source.path.is_dir() and any(name.endswith(".parquet") for name in names):
        return "a folder of Parquet files"
    if source.suffix == ".parquet" and source.path.is_file() and _class_names(_schema(source)):
        return "a Parquet file with names of classes"
    return None


def table(source: Source, question: str | None) -> PlainTable:
    """The rows of one split, or of all."""
    if not source.members:
        return PlainTable(_named(_parquet(source, source.path)))
    files = _splits(source)
    if not files:
        raise FileFormatError("the folder must hold Arrow or Parquet files; there are none.")
    chosen = list(files) if question is None else question.split("+")
    if strange := [name for name in chosen if name not in files]:
        raise InputError(f"--question must name splits of the data set, {listed(files)}; got {listed(strange)}.")
    tables = {name: _joined([_read(source, file) for file in files[name]]) for name in chosen}
    notes = []
    if question is None and (others := _without_workers(tables)):
        tables = {name: rows for name, rows in tables.items() if name not in others}
        notes.append(f"left out, as they have no column of workers: {', '.join(others)}")
    if len(tables) > 1 and question is None:
        _refuse_common_items(tables)
    if len(tables) > 1:
        notes.append(f"splits read together: {', '.join(tables)}")
    return PlainTable(_joined(list(tables.values())), tuple(notes))


def _without_workers(tables: dict[str, pa.Table]) -> list[str]:
    """Splits that are no votes, such as a consensus beside its votes; none where that holds for all of them."""
    found = [name for name, rows in tables.items() if not columns_named(ALIASES["worker"], rows.column_names)]
    return found if len(found) < len(tables) else []


def _splits(source: Source) -> dict[str, list[str]]:
    """The files of each split; a data set without splits is one."""
    found: dict[str, list[str]] = {}
    for name in source.members:
        path = PurePosixPath(name)
        if path.suffix == ".arrow" and not path.name.startswith("cache-"):  # caches hold rows a second time
            split = path.parts[0] if len(path.parts) > 1 else "all"
        elif path.suffix == ".parquet":
            # train-00000-of-00002.parquet, train.parquet, or train/0000.parquet
            stem = re.sub(r"-\d+-of-\d+(-\w+)?$", "", path.stem)
            split = path.parent.name if stem.isdigit() and path.parent.name else stem
        else:
            continue
        found.setdefault(split, []).append(name)
    return {split: _listed_in_state(source, split, names) for split, names in found.items()}


def _listed_in_state(source: Source, split: str, names: list[str]) -> list[str]:
    """Files in the order of state.json, which also leaves out those of older savings; by name where there is none."""
    folder = "" if split == "all" else f"{split}/"
    if f"{folder}state.json" not in source.members or not names[0].endswith(".arrow"):
        return sorted(names)
    state = parsed(source.member(f"{folder}state.json").decode("utf-8", errors="replace"), f"{folder}state.json")
    listed_files = state.get("_data_files") if isinstance(state, dict) else None
    wanted = [folder + str(each.get("filename")) for each in listed_files or [] if isinstance(each, dict)]
    if not wanted or (missing := [name for name in wanted if name not in source.members]):
        raise FileFormatError(
            f"all files that {folder}state.json lists must be there; {listed(missing) if wanted else 'it lists none'}"
            f"{' is missing' if wanted else ''}. Save or copy the data set again."
        )
    return wanted


def _read(source: Source, name: str) -> pa.Table:
    if name.endswith(".parquet"):
        return _named(_parquet(source, pa.py_buffer(source.member(name)), name))
    try:
        content = pa.py_buffer(source.member(name))
        try:
            read = pa.ipc.open_stream(content).read_all()
        except pa.ArrowInvalid:  # not a stream: the other layout of Arrow
            read = pa.ipc.open_file(content).read_all()
        read.validate(full=True)
    except UNREADABLE as error:
        raise _damaged(name, error) from None
    return _named(read)


def _parquet(source: Source, file: Any, name: str = "the file") -> pa.Table:
    try:
        read = pq.read_table(file, partitioning=None)
        read.validate(full=True)
    except UNREADABLE as error:
        raise _damaged(name, error) from None
    return read


def _damaged(name: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{name} is damaged or cut off ({first_line(error)}). Copy or download it again.")


def _schema(source: Source) -> pa.Schema:
    try:
        with pq.ParquetFile(source.path) as file:
            return file.schema_arrow
    except UNREADABLE:
        return pa.schema([])


def _class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Names of classes, by the column that holds their numbers, in cells or in lists."""
    try:
        features = json.loads((schema.metadata or {}).get(FEATURES, b"{}"))["info"]["features"]
        pairs = [(column, kind.get("feature", kind)) for column, kind in features.items() if isinstance(kind, dict)]
        return {
            column: [str(name) for name in kind["names"]]
            for column, kind in pairs
            if isinstance(kind, dict) and kind.get("_type") == "ClassLabel" and column in schema.names
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _named(read: pa.Table) -> pa.Table:
    """The same with names in place of numbers of classes; −1 stands for no class."""
    check_unique(read.column_names)
    for column, names in _class_names(read.schema).items():
        words = [_words(cell, names, column) for cell in read[column].to_pylist()]
        read = read.set_column(read.column_names.index(column), column, pa.array(words))
    return read.replace_schema_metadata(None)


def _words(cell: Any, names: Sequence[str], column: str) -> Any:
    if isinstance(cell, list):
        return [word for each in cell if (word := _words(each, names, column)) is not None]
    if cell is None or cell == -1:
        return None
    if not isinstance(cell, int) or not 0 <= cell < len(names):
        raise FileFormatError(f"column {column!r} must hold numbers of its {len(names)} classes; it holds {cell!r}.")
    return names[cell]


def _joined(tables: list[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise FileFormatError(f"all files must have the same columns; they do not ({first_line(error)}).") from None


def _refuse_common_items(tables: dict[str, pa.Table]) -> None:
    """Items of two splits may be one item, or two that are numbered alike."""
    seen: dict[Any, str] = {}
    for split, rows in tables.items():
        columns = columns_named(ALIASES["item"], rows.column_names)
        if not columns:
            undecided(
                f"items of the splits {', '.join(tables)} may be numbered alike, and no column is called item.",
                f"--question {split} to read one split",
                f"--question {'+'.join(tables)} to read all as they are",
            )
        for item in pc.unique(rows[columns[0]]).to_pylist():
            other = seen.setdefault(item, split)
            if other != split:
                undecided(
                    f"item {item!r} is in the splits {other} and {split}: it may be one item, or two that are numbered "
                    "alike.",
                    f"--question {split} to read one split",
                    f"--question {'+'.join(tables)} if it is one",
                )


register(
    Tool(
        "huggingface", "Hugging Face data set, Arrow or Parquet",
        "A folder that save_to_disk made, or of Parquet files, whose rows are a plain table of votes.",
        recognises, None, uses=("question",), table=table,
    )
)  # fmt: skip
