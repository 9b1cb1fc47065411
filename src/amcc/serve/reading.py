"""The files of a new campaign: items, labels, workers, truth. What is wrong is said with file, row and column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from amcc import tables
from amcc.active.prices import check_kind
from amcc.errors import ColumnError, EmptyInputError, IdError, InputError
from amcc.io import naming, read_table, read_truth
from amcc.serve.people import checked_price
from amcc.serve.views import ItemKind

KINDS: tuple[str, ...] = get_args(ItemKind)

# What is shown of one item: a long article. Longer ones belong behind a link.
LONGEST_CONTENT = 1_000_000

# Names stand in every line of the ledger.
LONGEST_NAME = 500

# Questions and helps stand above buttons, also on a phone.
LONGEST_QUESTION = 2_000

Row = dict[str, Any]


def _columns(path: str | Path, needed: Sequence[str], known: Sequence[str]) -> tuple[dict[str, list[str]], int]:
    """The cells of the columns that are known, as text without spaces around it, and the number of rows."""
    table = read_table(path)
    by_name: dict[str, str] = {}
    for column in table.column_names:
        name = column.strip().lower()
        if name in known:
            if name in by_name:
                raise ColumnError(f"{path}: there must be one column {name!r}; there are two. Rename one of them.")
            by_name[name] = column
    for name in needed:
        if name not in by_name:
            raise ColumnError(
                f"{path}: a column {name!r} is missing; the columns are {', '.join(map(repr, table.column_names))}."
            )
    cells = {name: [_text(cell) for cell in table[column].to_pylist()] for name, column in by_name.items()}
    return cells, table.num_rows


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _names(path: str | Path, cells: Sequence[str], column: str) -> list[str]:
    """Names that are there, short enough, and different."""
    first: dict[str, int] = {}
    for row, name in enumerate(cells, start=1):
        if not name:
            raise IdError(f"{path}: every row must have a name in column {column!r}; row {row} has none.")
        if len(name) > LONGEST_NAME or any(ord(letter) < 32 for letter in name):
            raise IdError(
                f"{path}: a name must be one line of at most {LONGEST_NAME} characters; row {row}, column {column!r} "
                f"has {name!r:.60}."
            )
        if name in first:
            raise IdError(f"{path}: {column} {name!r} must be there once; it is in rows {first[name]} and {row}.")
        first[name] = row
    if not first:
        raise EmptyInputError(f"{path}: there must be at least one {column}; the file has columns but no rows.")
    return list(cells)


def read_items(path: str | Path) -> tuple[list[Row], Path | None]:
    """Items as rows name, kind, content; and the folder of their files, where some are or may have images or audio."""
    cells, n_rows = _columns(path, ("item",), ("item", *KINDS))
    shown = [kind for kind in KINDS if kind in cells]
    if not shown:
        raise ColumnError(
            f"{path}: a column that says what to show is missing: one of {', '.join(KINDS)}. Beside 'item' none of "
            "these is there."
        )
    names, folder = _names(path, cells["item"], "item"), Path(path).resolve().parent
    items, has_files = [], False
    for place in range(n_rows):
        given = [(kind, cells[kind][place]) for kind in shown if cells[kind][place]]
        if len(given) != 1:
            what = "has none" if not given else f"has {' and '.join(kind for kind, _ in given)}"
            raise InputError(
                f"{path}: every item must have one content, in column {' or '.join(map(repr, shown))}; row "
                f"{place + 1}, item {names[place]!r:.60}, {what}."
            )
        kind, content = given[0]
        _check_content(path, place + 1, kind, content, folder)
        has_files |= kind in ("image", "audio", "html")  # pictures in HTML
        items.append({"name": names[place], "kind": kind, "content": content})
    return items, folder if has_files else None


def _check_content(path: str | Path, row: int, kind: str, content: str, folder: Path) -> None:
    where = f"{path}: row {row}, column {kind!r}"
    if len(content) > LONGEST_CONTENT:
        raise InputError(f"{where}: content must have at most {LONGEST_CONTENT:,} characters; it has {len(content):,}.")
    if "\x00" in content:
        raise InputError(f"{where}: content must be text without zero bytes.")
    if kind == "url" and not content.lower().startswith(("https://", "http://")):
        raise InputError(f"{where}: an address must begin with https:// or http://; got {content!r:.80}.")
    if kind in ("image", "audio"):
        file = (folder / content).resolve()
        if not file.is_relative_to(folder):
            raise InputError(f"{where}: a file must be in the folder of {Path(path).name}; got {content!r:.80}.")
        if not file.is_file():
            raise InputError(f"{where}: the file {content!r:.80} is not there.")


def read_labels(path: str | Path) -> list[Row]:
    """Labels as rows name, question, help; without a question, the label is asked for by its name."""
    cells, n_rows = _columns(path, ("label",), ("label", "question", "help"))
    names = _names(path, cells["label"], "label")
    blank = [""] * n_rows
    for column in ("question", "help"):
        for row, text in enumerate(cells.get(column, blank), start=1):
            if len(text) > LONGEST_QUESTION:
                raise InputError(
                    f"{path}: row {row}, column {column!r}: a text must have at most {LONGEST_QUESTION:,} characters."
                )
    asked = [question or name for question, name in zip(cells.get("question", blank), names, strict=True)]
    helps = cells.get("help", blank)
    return [{"name": name, "question": q, "help": h} for name, q, h in zip(names, asked, helps, strict=True)]


def read_workers(path: str | Path, decimals: int) -> list[Row]:
    """Workers as rows worker, kind, family, vote_price, page_price; an empty price is everybody's."""
    cells, n_rows = _columns(path, ("worker",), ("worker", "kind", "family", "price", "page_price"))
    names, blank, people = _names(path, cells["worker"], "worker"), [""] * n_rows, []
    for place, name in enumerate(names):
        row = {column: cells.get(column, blank)[place] for column in ("kind", "family", "price", "page_price")}
        kind = row["kind"].lower() or "human"
        with naming(path):
            check_kind(kind, f"row {place + 1}, column 'kind',")
            prices = [checked_price(row[column], decimals, f"the {column.replace('_', ' ')} in row {place + 1}")
                      for column in ("price", "page_price")]  # fmt: skip
            if prices[0] == 0 and not prices[1]:
                raise InputError(f"the price in row {place + 1} must be above 0; got {row['price']}.")
        people.append({"worker": name, "kind": kind, "family": row["family"], "vote_price": prices[0],
                       "page_price": prices[1]})  # fmt: skip
    _check_families(path, people)
    return people


def _check_families(path: str | Path, people: Sequence[Row]) -> None:
    """Members of a family must be of one kind, or the consensus would refuse them later."""
    kinds: dict[str, str] = {}
    for row, each in enumerate(people, start=1):
        if each["family"] and kinds.setdefault(each["family"], each["kind"]) != each["kind"]:
            raise InputError(
                f"{path}: members of a family must be of one kind; family {each['family']!r} is "
                f"{kinds[each['family']]} above and {each['kind']} in row {row}, column 'kind'."
            )


def read_known(paths: Iterable[str | Path], items: Sequence[str], labels: Sequence[str]) -> list[tuple[int, int, bool]]:
    """Known truth as item, label, present; its items and labels must be the campaign's."""
    item_names, label_names = pa.array(items, pa.string()), pa.array(labels, pa.string())
    found: dict[tuple[int, int], bool] = {}
    for path in paths:
        truth = read_truth(path)
        with naming(path):
            truth.check_names("the campaign", item=item_names, label=label_names)
            for role, said, names in (("item", truth.items(), item_names), ("label", truth.labels(), label_names)):
                unknown = sorted({each for part in said for each in part.to_pylist()} - set(names.to_pylist()))
                if unknown:
                    raise InputError(
                        f"the truth must be about {role}s of the campaign; {tables.a_few(pa.array(unknown))} is none."
                    )
            present, known = truth.matrices(item_names, label_names)
            for item, label in np.argwhere(known).tolist():
                if found.setdefault((item, label), bool(present[item, label])) != bool(present[item, label]):
                    raise InputError(
                        f"truth must not contradict itself; item {items[item]!r}, label {labels[label]!r} is both."
                    )
    return [(item, label, present) for (item, label), present in found.items()]
