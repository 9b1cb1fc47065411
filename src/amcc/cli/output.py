"""What scripts read: rows to a file or to standard output, and JSON.

Standard output belongs to one of them: rows, or with --json one object, never both. A command that writes rows with
--json writes them only to a file that -o names. Rows that go to a terminal are made harmless first (see `names`); rows
that go to a file or a pipe are exactly what is in the data, so that amcc can read them again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc.cli.console import ACTING, notes
from amcc.cli.names import for_spreadsheets, for_terminals
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import TABLE
from amcc.io import csv, format_of, write_tables

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead, for scripts.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write; .csv(.gz), .tsv, .parquet or .jsonl. Default: CSV to stdout."),
    TABLE,
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In .csv and .tsv, put ' before names that a spreadsheet would take for formulas (=, +, -, @). To read "
        "the file with amcc again, write it without this.",
    ),
]


@dataclass(frozen=True)
class RowsOutput(OptionGroup):
    """Where rows go; most commands have just these two options for it."""

    output: Output = None
    safe_csv: SafeCsv = False

    def write(self, rows: pa.Table | Iterable[pa.Table]) -> None:
        """Write them there."""
        write_rows(rows, self.output, safe_csv=self.safe_csv)

    def is_wanted_beside(self, as_json: bool) -> bool:
        """Whether to write rows: with --json, standard output belongs to the JSON object."""
        return not as_json or self.output is not None


def write_rows(table: pa.Table | Iterable[pa.Table], output: Path | None, *, safe_csv: bool) -> None:
    """Write the rows of a table, or of several with the same columns, to the file or as CSV to standard output.

    table : tables of an iterator are made one after the other while they are written
    output : its suffix says the format; what is there is replaced when the new file is complete
    safe_csv : make names harmless for spreadsheets, in formats that these open
    """
    n_rows = 0
    # Parquet and JSON are not opened by double click, and have types that say what is text.
    safe = safe_csv and (output is None or format_of(output).read is csv.read)

    def counted() -> Iterator[pa.Table]:
        nonlocal n_rows
        for each in [table] if isinstance(table, pa.Table) else table:
            n_rows += each.num_rows
            yield for_spreadsheets(each) if safe else each

    if output is None:
        # Arrow writes to the stream below Python's own text buffer: what is still there comes first.
        sys.stdout.flush()
        csv.write_stream(map(for_terminals, counted()) if sys.stdout.isatty() else counted(), sys.stdout.buffer)
    else:
        write_tables(counted(), output)
        notes.print(f"wrote {n_rows:,} rows to {output}")


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that are not defined become null, as JSON has no NaN.

    >>> print_json({"jaccard": float("nan"), "labels": ["café"]})
    {
      "jaccard": null,
      "labels": [
        "café"
      ]
    }
    """
    # Line ends of the layout are wanted; those within names were already escaped by `dumps`.
    lines = json.dumps(_without_nan(value), indent=2, ensure_ascii=False).split("\n")
    sys.stdout.writelines(ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n" for line in lines)


def _without_nan(value: Any) -> Any:
    """The same value, however deeply nested, with None for NaN."""
    if isinstance(value, Mapping):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    # NaN is the only value that differs from itself.
    return None if isinstance(value, float) and value != value else value
