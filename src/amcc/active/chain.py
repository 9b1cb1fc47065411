"""Lines of JSON that vouch for each other: each ends with a hash of itself and of the line before.

    {"event": "answer", "round": 0, …, "hash": "9f2c…"}

The hash is SHA-256 over the hash of the line before and the bytes of this line up to its own hash. So it shows, and at
which line, when a byte was changed or a line was taken out, put in or moved. Two things do not show in the file alone:
whole lines that are missing at its end, and hashes that were all calculated again. For these there is the last
hash, the *head*. It stands for the whole file: noted elsewhere, it tells later whether that file is still the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from amcc.errors import FileFormatError

# In place of the hash before the first line.
START = ""

# Digits of a hash, and how many of them messages show: enough to tell two apart.
DIGITS, SHOWN = 64, 12
SEAL = ', "hash": "{}"}}'
SEAL_LENGTH = len(SEAL.format("0" * DIGITS))


def chained(events: Iterable[dict[str, Any]], before: str) -> tuple[bytes, str]:
    """The lines of events after a line with the hash `before`, and the hash of the last."""
    lines = []
    for event in events:
        # The hash is of the bytes that stand in the file, not of what they mean: no other spelling passes.
        body = encoded(event)[:-1]
        before = _hash(body, before)
        lines.append(body + SEAL.format(before).encode() + b"\n")
    return b"".join(lines), before


def encoded(event: dict[str, Any]) -> bytes:
    """An event as JSON on one line, without a hash."""
    return json.dumps(event, ensure_ascii=False, allow_nan=False).encode()


def unsealed(line: bytes) -> bytes:
    """What was encoded before the line got its hash."""
    return line[:-SEAL_LENGTH] + b"}"


def follows(line: bytes, before: str) -> bool:
    """Whether the line is complete, except for its newline, and comes after one with the hash `before`."""
    # The seal has a fixed length, so that a line is cut without being decoded: it may hold anything.
    body = line[:-SEAL_LENGTH]
    return line[len(body) :] == SEAL.format(_hash(body, before)).encode()


def line_hash(line: bytes) -> str:
    """The hash a line ends with, which may be wrong."""
    return line[-DIGITS - 2 : -2].decode(errors="replace")


def checked_head(lines: Sequence[bytes]) -> str:
    """The hash of the last line; FileFormatError at the first one that does not follow on the one before."""
    before = START
    for number, line in enumerate(lines, start=1):
        if not follows(line, before):
            origin = "its content" + (f" and line {number - 1}" if number > 1 else "")
            expected, found = _hash(line[:-SEAL_LENGTH], before), line_hash(line)
            raise damaged(number, f"by {origin} its hash must be {expected[:SHOWN]}…; it ends with {found[:SHOWN]!r}…")
        before = line_hash(line)
    return before


def damaged(line: int, problem: str) -> FileFormatError:
    """The error for a line that amcc did not write."""
    return FileFormatError(
        f"line {line} is not what amcc writes: {problem}. It was changed or damaged, or is from another file; "
        "take the file from a backup."
    )


def _hash(body: bytes, before: str) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()
