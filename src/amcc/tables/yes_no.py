"""The place where a cell becomes yes (+1), no (−1) or "not asked" (0).

People write 1/0, 1/−1, true/false, yes/no and more. A blank cell is a question that nobody was asked; it is never a
"no". What cannot be read is an error with its row, never a guess.
"""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from amcc.errors import ParameterError, VoteValueError
from amcc.tables.arrow_types import Column, is_number, is_text, value_type
from amcc.tables.coded import Coded, by_distinct_cells

Zero = Literal["no", "unasked"]

YES_WORDS = frozenset({"1", "+1", "true", "t", "yes", "y", "present"})
NO_WORDS = frozenset({"false", "f", "no", "n", "absent"})
BLANK_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none"})

# How numbers are written in tables. Python would also read 0_1, infinity and digits of other scripts.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def parse_values(column: Column, name: str, *, threshold: float | None = None, zero: Zero | None = None) -> Coded:
    """Read yes (+1) and no (−1) in the spellings people use; 0 stands for a blank: asked of nobody.

    Parameters
    ----------
    name : what the column is called, for errors.
    threshold : turns graded scores into votes: score >= threshold is yes.
    zero : what 0 means where −1 occurs beside it; without −1 it is a plain "no".

    >>> parse_values(pa.array(["yes", "0", None, "TRUE"]), "value").codes.tolist()
    [1, -1, 0, 1]
    """
    if zero is not None and zero not in get_args(Zero):
        raise ParameterError(f"zero must be 'no' or 'unasked'; got {zero!r}.")
    if threshold is not None and not (isinstance(threshold, Real) and math.isfinite(threshold)):
        raise ParameterError(f"threshold must be a number; got {threshold!r}.")
    kind = value_type(column)
    if not (pa.types.is_boolean(kind) or is_number(kind) or is_text(kind) or pa.types.is_null(kind)):
        raise VoteValueError(f"column {name!r} must hold yes or no; it holds {kind}. Convert it to text or numbers.")
    coded, cells = by_distinct_cells(column, name)
    if threshold is not None and (pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)):
        # Scores may be as many as rows: not one by one as below.
        scores = np.asarray(cells).astype(np.float64)  # missing cells become NaN
        return coded.translated(np.where(np.isnan(scores), 0, np.where(scores >= threshold, 1, -1)).astype(np.int8))
    meanings = []
    for code, spelling in enumerate(cells.to_pylist()):
        if (meaning := _meaning(spelling, threshold)) is None:
            raise VoteValueError(_unknown(name, spelling, coded.first_row(code), threshold))
        meanings.append(meaning)
    # With 1 and 0 only, 0 is a no; with 1, 0 and −1 some tools mean "no" by 0 and others "not asked".
    if {"zero", "minus"} <= set(meanings) and zero is None:
        raise VoteValueError(
            f"column {name!r} has both -1 and 0 (row {coded.first_row(meanings.index('zero'))}), and 0 could mean 'no' "
            "or 'not asked'. Say which: zero='no' or zero='unasked' (command line: --zero no, --zero unasked)."
        )
    sign = {"yes": 1, "no": -1, "minus": -1, "blank": 0, "zero": 0 if zero == "unasked" else -1}
    return coded.translated(np.array([sign[meaning] for meaning in meanings], dtype=np.int8))


def _meaning(spelling: Any, threshold: float | None) -> str | None:
    """What one spelling stands for: yes, no, zero, minus, blank, or None if it is none of them."""
    if spelling is None or (isinstance(spelling, float) and math.isnan(spelling)):
        return "blank"
    if isinstance(spelling, bool):
        return "yes" if spelling else "no"
    word = str(spelling).strip().lower()
    if word in BLANK_WORDS:
        return "blank"
    number = _number(spelling)
    if threshold is not None:
        return None if number is None else ("yes" if number >= threshold else "no")
    if number is not None:
        # A 2 or a 0.7 is a grade, not a vote: where it counts as yes must be said by a threshold.
        return {1.0: "yes", 0.0: "zero", -1.0: "minus"}.get(number)
    return "yes" if word in YES_WORDS else "no" if word in NO_WORDS else None


def is_yes(cell: Any) -> bool:
    """Whether a cell by itself is a yes, as `parse_values` reads it.

    >>> is_yes(True), is_yes("Present"), is_yes("good")
    (True, True, False)
    """
    return _meaning(cell, None) == "yes"


def is_no(cell: Any) -> bool:
    """Whether a cell by itself is a no; a blank is none.

    >>> is_no(0), is_no("absent"), is_no("")
    (True, True, False)
    """
    return _meaning(cell, None) in ("no", "zero", "minus")


def number_in(cell: Any) -> str | None:
    """The number that is written there, as text that Python reads the same way; None where there is none.

    >>> number_in(" −1.50 "), number_in("1_000"), number_in("infinity")
    ('-1.50', None, None)
    """
    text = str(cell).strip().replace("−", "-")  # word processors write the longer dash
    return text if NUMBER.fullmatch(text) else None


def _number(spelling: Any) -> float | None:
    text = number_in(spelling)
    return float(text) if text is not None and math.isfinite(float(text)) else None


def _unknown(name: str, spelling: Any, row: int, threshold: float | None) -> str:
    """The error's text for a cell that is no vote."""
    where = f"column {name!r} has {spelling!r} in row {row}."
    if threshold is not None:
        return f"with a threshold every score must be a number, or blank for 'not asked'; {where}"
    if _number(spelling) is None:
        return (
            "a vote must be yes or no (1/0, 1/-1, true/false, yes/no, present/absent) or blank for 'not asked'; "
            f"{where} Correct it, or drop the row."
        )
    return (
        f"a vote must be yes or no; {where} For graded scores say from where on they count as yes: threshold=… "
        "(command line: --threshold …)."
    )
