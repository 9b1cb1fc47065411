"""Feature sets as MULAN publishes them: items in .arff files, the names of the labels in an .xml file.

An .arff file has a line `@attribute NAME TYPE` for each column, a line `@data`, and then a row for each item: its
cells between commas, or {place value, …} with only the cells that are not zero. Types are numbers, or {a, b} with the
values a cell may take. Labels are columns like others; the .xml file says which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from amcc.arrays import Floats
from amcc.data.feature_set import FeatureSet
from amcc.errors import FileFormatError
from amcc.files import check_readable

# The name may be in quotes of either kind, with blanks and escaped quotes in it.
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
# Other types are text and dates, which no model here can use.
NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True)
class Attribute:
    """A column of an .arff file.

    values : the names that it may take, with the numbers that stand for them; None for a column of numbers.
    """

    name: str
    values: dict[str, float] | None

    def number(self, cell: str) -> float:
        """What a cell says; raises ValueError or KeyError if it says nothing sensible."""
        return float(cell) if self.values is None else self.values[_unquoted(cell)]

    @property
    def omitted(self) -> float:
        """What it means when a sparse row leaves the column out: 0, or the first of its values."""
        return 0.0 if self.values is None else next(iter(self.values.values()))


def read_mulan(folder: Path, name: str) -> FeatureSet:
    """Read name.arff, or name-train.arff and then name-test.arff, with the labels that name.xml lists.

    Items have no names there. They are called name_00000, name_00001 … in the order of the files.
    """
    whole = folder / f"{name}.arff"
    paths = [whole] if whole.exists() else [folder / f"{name}-{part}.arff" for part in ("train", "test")]
    label_names = read_label_names(folder / f"{name}.xml")
    tables = [read_arff(path) for path in paths]
    columns = [attribute.name for attribute in tables[0][0]]
    for path, (attributes, _) in zip(paths, tables, strict=True):
        # Rows are put under each other by place: a column that moved would be mixed with another.
        if [attribute.name for attribute in attributes] != columns:
            raise FileFormatError(f"{path} must have the columns of {paths[0]}; they differ.")
    if missing := [label for label in label_names if label not in columns]:
        raise FileFormatError(f"{paths[0]} must have a column for each label of {name}.xml; {missing[0]!r} has none.")
    cells = np.concatenate([rows for _, rows in tables])
    of_label = [columns.index(label) for label in label_names]
    of_feature = [place for place in range(len(columns)) if place not in set(of_label)]
    labels = cells[:, of_label]
    if not np.isin(labels, (0, 1)).all():
        raise FileFormatError(f"{paths[0]}: labels must be 0 or 1; got {np.unique(labels)[:8].tolist()}.")
    item_names = tuple(f"{name}_{number:05}" for number in range(len(cells)))
    return FeatureSet(cells[:, of_feature], labels > 0, item_names, tuple(label_names))


def read_label_names(path: Path) -> list[str]:
    """Names of all labels in a MULAN .xml file; labels may stand in labels, as in a tree of topics."""
    check_readable(path)
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise FileFormatError(f"{path} must be XML with elements <label name=…>; {error}.") from None
    # Some files declare a namespace, which becomes part of the tag: {…}label.
    names = [element.get("name") or "" for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    if not names:
        raise FileFormatError(f"{path} must list labels as <label name=…>; there is none.")
    return names


def read_arff(path: Path) -> tuple[list[Attribute], Floats]:
    """Columns and cells, (n_rows, n_columns), of a dense or sparse .arff file of numbers and named values."""
    check_readable(path)
    # By hand: scipy's reader knows no sparse rows, and MULAN has files of both kinds.
    attributes: list[Attribute] = []
    rows: list[Floats] = []
    in_data = False
    # Old files have no encoding; a letter in a comment that cannot be read must not stop us.
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        try:
            if in_data:
                rows.append(_row(text, attributes))
            elif text.lower().startswith("@attribute"):
                attributes.append(_attribute(text))
            else:
                in_data = text.lower().startswith("@data")
        except (ValueError, KeyError, IndexError) as error:
            reason = f"{error.args[0]!r} is not one of its values" if isinstance(error, KeyError) else error
            raise FileFormatError(f"{path}, line {number}: {reason}.") from None
    if not rows:
        raise FileFormatError(f"{path} must have rows after a line @data; there is none.")
    return attributes, np.stack(rows)


def _attribute(text: str) -> Attribute:
    """The column that a line @attribute declares."""
    found = ATTRIBUTE.match(text)
    if not found:
        raise ValueError(f"an attribute must have a name and a type; got {text!r}")
    name, kind = _unquoted(found[1]), found[2].strip()
    if kind.startswith("{"):
        return Attribute(name, _numbers_of([_unquoted(value) for value in kind[1 : kind.rindex("}")].split(",")]))
    if not kind.lower().startswith(NUMERIC):
        raise ValueError(f"attribute {name!r} must hold numbers or named values {{a, b}}; got {kind!r}")
    return Attribute(name, None)


def _numbers_of(values: list[str]) -> dict[str, float]:
    """Values that are numbers stand for themselves, others for their place.

    >>> _numbers_of(["0", "1"]), _numbers_of(["minor", "major"])
    ({'0': 0.0, '1': 1.0}, {'minor': 0.0, 'major': 1.0})
    """
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return {value: float(place) for place, value in enumerate(values)}


def _row(text: str, attributes: Sequence[Attribute]) -> Floats:
    """(n_columns,) the numbers of a dense row, or of a sparse one in braces."""
    if not text.startswith("{"):
        cells = text.split(",")
        if len(cells) != len(attributes):
            raise ValueError(f"a row must have {len(attributes)} cells; got {len(cells)}")
        return np.array([attribute.number(cell) for attribute, cell in zip(attributes, cells, strict=True)])
    row = np.array([attribute.omitted for attribute in attributes])
    for entry in filter(None, (part.strip() for part in text.strip("{}").split(","))):
        place, _, cell = entry.partition(" ")
        row[int(place)] = attributes[int(place)].number(cell)
    return row


def _unquoted(text: str) -> str:
    r"""Text without quotes of either kind, if it has some.

    >>> _unquoted(r" 'it\'s' "), _unquoted("plain")
    ("it's", 'plain')
    """
    text = text.strip()
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') and text[:1] == text[-1:] else text
