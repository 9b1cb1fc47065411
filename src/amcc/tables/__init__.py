"""From a table that people have to columns of integer codes: which column is what, which name is which code, yes or no.

Read the files in this order:

* `roles` decides which column is the worker, the item, the label, …;
* `ids_to_codes` is the place where a name becomes a code;
* `yes_no` is the place where a cell becomes +1 (yes), −1 (no) or 0 (not asked);
* `label_lists` and `times` read the two other kinds of columns;
* `lookalikes` finds names that people take for the same name;
* `frames` turns pandas and polars into Arrow and back; `tabular` is what things that are tables share;
* `coded` and `arrow_types` are the tools of the others.

Nothing here builds a Python object per row: Arrow first finds the distinct cells of a column, and only those are
looked at. Messages count rows from 1, without the header.
"""

from __future__ import annotations

from amcc.tables.arrow_types import is_text, value_type
from amcc.tables.coded import PIECE_ROWS, Coded
from amcc.tables.frames import Frame, as_arrow, as_frame, check_unique, column_names
from amcc.tables.ids_to_codes import Ids, encode_ids, recode, text_of, vocabulary_of, with_further_names
from amcc.tables.label_lists import LabelLists, encode_lists
from amcc.tables.lookalikes import note_on_lookalikes, refuse_slips
from amcc.tables.quoting import a_few, listed
from amcc.tables.roles import ALIASES, ROLES, Columns, Role, columns_named, match_columns, only_column, read_columns
from amcc.tables.tabular import Tabular, card
from amcc.tables.times import encode_times
from amcc.tables.yes_no import Zero, is_no, is_yes, number_in, parse_values

__all__ = [
    "ALIASES", "PIECE_ROWS", "ROLES", "Coded", "Columns", "Frame", "Ids", "LabelLists", "Role", "Tabular", "Zero",
    "a_few", "as_arrow", "as_frame", "card", "check_unique", "column_names", "columns_named", "encode_ids",
    "encode_lists", "encode_times", "is_no", "is_text", "is_yes", "listed", "match_columns", "note_on_lookalikes",
    "number_in",
    "only_column", "parse_values", "read_columns", "recode", "refuse_slips", "text_of", "value_type", "vocabulary_of",
    "with_further_names",
]  # fmt: skip
