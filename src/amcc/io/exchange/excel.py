"""Spreadsheets: one sheet is a plain table of votes, with the names of its columns in the first row.

Empty cells are missing. Whole numbers are whole, as spreadsheets keep 7 as 7.0. A column of numbers and words is
text. Needs the package python-calamine (`pip install 'amcc[excel]'`).
"""

from __future__ import annotations

import zipfile
from datetime import date, time, timedelta
from typing import Any

import pyarrow as pa

from amcc.errors import FileFormatError, InputError, MissingExtraError
from amcc.files import check_readable, first_line
from amcc.io.exchange.decisions import undecided
from amcc.io.exchange.source import MOST_UNPACKED, Source
from amcc.io.exchange.tool import PlainTable, Tool, register
from amcc.io.format import SPREADSHEETS
from amcc.tables import check_unique, listed

# Largest whole number that a spreadsheet keeps exactly: cells are double floats.
EXACT = 2**53


def recognises(source: Source) -> str | None:
    """By the suffix."""
    return f"a spreadsheet, {source.suffix}" if source.suffix in SPREADSHEETS and source.path.is_file() else None


def table(source: Source, question: str | None) -> PlainTable:
    """The rows of the only sheet that holds any, or of the one that is meant."""
    sheets = {name: rows for name, rows in _sheets(source).items() if rows}
    if not sheets:
        raise FileFormatError("the spreadsheet must hold a table with a row of names; all its sheets are empty.")
    if question is None and len(sheets) > 1:
        undecided(
            f"the spreadsheet has several sheets, {listed(sheets)}, and one of them is the table of votes.",
            f'which one: --question "{next(iter(sheets))}"',
        )
    name = next(iter(sheets)) if question is None else question
    if name not in sheets:
        raise InputError(f"--question must name a sheet that is not empty, one of {listed(sheets)}; got {name!r}.")
    return PlainTable(_as_table(sheets[name]), (f"sheet {name!r}",) if question is None else ())


def _sheets(source: Source) -> dict[str, list[list[Any]]]:
    """The rows of every sheet, without those that are empty."""
    check_readable(source.path)
    _refuse_bombs(source)
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtraError(
            f"{source.path}: spreadsheets need an extra: pip install 'amcc[excel]'. Or save it as CSV (in most "
            "programs: File, Save as, CSV UTF-8)."
        ) from None
    try:
        with calamine.CalamineWorkbook.from_path(str(source.path)) as book:
            # Charts and macros are no tables.
            names = [each.name for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
            read = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=True) for name in names}
    except calamine.PasswordError:
        raise FileFormatError("the spreadsheet is locked with a password. Save it without one.") from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise FileFormatError(
            f"the spreadsheet is damaged, or none ({first_line(error)}). Open it and save it again, or save it as CSV."
        ) from None
    return {name: [row for row in rows if any(cell != "" for cell in row)] for name, rows in read.items()}


def _refuse_bombs(source: Source) -> None:
    """Most spreadsheets are archives, and one of a few kilobytes may unpack to more than any memory."""
    if zipfile.is_zipfile(source.path):
        try:
            with zipfile.ZipFile(source.path) as archive:
                size = sum(each.file_size for each in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
            raise FileFormatError(f"the spreadsheet is damaged ({first_line(error)}). Save it again.") from None
        if size > MOST_UNPACKED:
            raise FileFormatError(f"the spreadsheet unpacks to {size:,} bytes, too much. Save it as CSV.")


def _as_table(rows: list[list[Any]]) -> pa.Table:
    head, *body = rows
    named = [(place, str(_cell(name)).strip()) for place, name in enumerate(head) if name != ""]
    check_unique([name for _, name in named])
    nameless = next(
        (number for number, row in enumerate(body, start=1) for place, cell in enumerate(row)
         if cell != "" and (place >= len(head) or head[place] == "")), None,
    )  # fmt: skip
    if nameless is not None:
        raise FileFormatError(f"every column must have a name in the first row; row {nameless} has a cell without one.")
    return pa.table({name: _column([_cell(row[place]) for row in body]) for place, name in named})


def _cell(value: Any) -> Any:
    """What a cell holds: None where it is empty, 7 for 7.0, and dates as text."""
    if value == "" and isinstance(value, str):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return int(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else value


def _column(cells: list[Any]) -> pa.Array:
    """Cells of one kind as they are, of several kinds as text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
    return pa.array(cells, pa.float64()) if kinds == {int, float} else pa.array(cells)


register(
    Tool(
        "excel", "Spreadsheet, Excel or OpenDocument",
        "A sheet is a plain table of votes; of several sheets, --question names the one that is meant.",
        recognises, None, uses=("question",), table=table,
    )
)  # fmt: skip
