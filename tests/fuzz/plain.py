"""The formats read once more, slowly and plainly, with no line of code from the package.

Each reader gives what a person would see in the file, or raises RefusedError with one word for the reason. What both
readings accept must be the same; what only the package accepts is a finding, unless the word is in `LENIENT`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

csv.field_size_limit(1 << 30)

NAMES: dict[str, str] = {
    "worker": "worker workerid annotator annotatorid annotatorname rater raterid user userid labeler labelerid "
    "labeller labellerid coder coderid performer performerid judge judgeid participant participantid",
    "item": "item itemid task taskid sample sampleid instance instanceid example exampleid unit unitid document "
    "documentid doc docid image imageid",
    "label": "label labelname tag tagname class classname category",
    "labels": "labels labelset tags tagset classes categories",
    "value": "value vote answer response present given score rating",
    "asked": "asked askedlabels labelsasked",
    "kind": "kind workerkind type workertype",
    "family": "family workerfamily modelfamily",
    "share": "share soft softlabel yesshare",
}
"""What docs/input.md and the command line call the columns, without case, spaces and dashes; the first wins."""

YES, NO = {"+1", "true", "t", "yes", "y", "present"}, {"false", "f", "no", "n", "absent"}
BLANK = {"", "na", "n/a", "nan", "null", "none"}
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII)
LENIENT: dict[str, frozenset[str]] = {}
"""By reader: reasons for which this reading refuses what the package may accept."""

Pairs = frozenset[tuple[str, str]]


class RefusedError(Exception):
    """This is not what a person would take for such a file."""


# --- tables -------------------------------------------------------------------------------------------------


def unzipped(data: bytes) -> bytes:
    """What a compressed file holds."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise RefusedError("gzip") from error


def decoded(data: bytes) -> str:
    """UTF-8 text without the mark at its beginning."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedError("utf-8") from None


class Rows(list[dict[str, Any]]):
    """Rows by column name, and the names, which are there without rows, too."""

    def __init__(self, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
        super().__init__(rows)
        self.columns = list(columns)


def csv_rows(data: bytes, *, tabs: bool = False) -> Rows:
    """Rows of delimited text."""
    text = data.decode("utf-8-sig", "surrogateescape")  # columns that nobody needs may hold anything
    lines = [line for line in re.split(r"\r\n|\n|\r", text) if line]
    if not lines:
        raise RefusedError("header")
    separator = "\t" if tabs else max(",;\t", key=lines[0].count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:
        raise RefusedError("quotes") from None
    header, *body = rows
    if len(set(header)) < len(header):
        raise RefusedError("columns")
    if any(len(row) != len(header) for row in body):
        raise RefusedError("width")
    return Rows(header, [dict(zip(header, row, strict=True)) for row in body])


def json_rows(data: bytes) -> Rows:
    """Rows of JSON lines; a field that a row lacks is None."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise RefusedError("field twice")
        return dict(pairs)

    rows = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.strip(b" \t\r"):
            continue
        try:
            record = json.loads(line.decode(), object_pairs_hook=once)
        except (ValueError, RecursionError):
            raise RefusedError("json") from None
        if not isinstance(record, dict):
            raise RefusedError("json")
        rows.append(record)
    fields = dict.fromkeys(name for row in rows for name in row)
    return Rows(list(fields), [{name: row.get(name) for name in fields} for row in rows])


def bare(column: str) -> str:
    """The name of a column without what people spell differently."""
    return "".join(char for char in column.lower().lstrip("\ufeff") if char.isalnum())


def roles(columns: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Which column is what."""
    plain = {name: bare(name) for name in columns}
    found = {}
    for role in wanted:
        known = NAMES[role].split()
        own = [name for name in columns if plain[name] == known[0]]
        alike = own if len(own) == 1 else [name for name in columns if plain[name] in known]
        if len(alike) > 1:
            raise RefusedError("columns")
        if alike:
            found[role] = alike[0]
    if "label" in found and "labels" in found:
        raise RefusedError("columns")
    return found


# --- cells --------------------------------------------------------------------------------------------------


def name(cell: Any) -> str:
    """A worker, an item or a label."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise RefusedError("name")
    if isinstance(cell, float):
        if cell != cell or cell in (float("inf"), float("-inf")) or cell != int(cell) or abs(cell) >= 2**53:
            raise RefusedError("name")
        cell = int(cell)
    if not str(cell).strip():
        raise RefusedError("blank name")
    if any("\udc80" <= char <= "\udcff" for char in str(cell)):
        raise RefusedError("utf-8")
    return str(cell)


def names(cells: Sequence[Any]) -> list[str]:
    """A column of names: all text, or all numbers."""
    kinds = {isinstance(cell, str) for cell in cells}
    if len(kinds) > 1:
        raise RefusedError("mixed column")
    if any(isinstance(cell, float) for cell in cells) and any(isinstance(c, int) and abs(c) >= 2**53 for c in cells):
        raise RefusedError("name")
    return [name(cell) for cell in cells]


def signs(cells: Sequence[Any]) -> list[int]:
    """+1 yes, −1 no, 0 blank."""
    kinds = {type(cell) if not isinstance(cell, int | float) or isinstance(cell, bool) else float for cell in cells}
    if len(kinds - {type(None)}) > 1:
        raise RefusedError("mixed column")
    meanings = [meaning(cell) for cell in cells]
    if {"0", "-1"} <= set(meanings):
        raise RefusedError("zero")
    return [{"1": 1, "0": -1, "-1": -1, "-": -1, "": 0}[each] for each in meanings]


def meaning(cell: Any) -> str:
    """1, 0, -1, - (a plain no) or nothing."""
    if isinstance(cell, bool):
        return "1" if cell else "-"
    word = "" if cell is None or cell != cell else str(cell).strip().lower().replace("−", "-")
    if word in BLANK:
        return ""
    if word in YES:
        return "1"
    if word in NO:
        return "-"
    if NUMBER.fullmatch(word) and (number := float(word)) in (1.0, 0.0, -1.0):
        return {1.0: "1", 0.0: "0", -1.0: "-1"}[number]
    raise RefusedError("value")


# --- what the files hold ------------------------------------------------------------------------------------

Votes = Mapping[str, Any]


def votes(rows: Rows, unmentioned: str | None = None) -> Votes:
    """Votes of a table, one row per vote, per tick or per answer."""
    found = roles(rows.columns, ("worker", "item", "label", "labels", "value", "asked"))
    if not rows or not {"worker", "item"} <= set(found) or not {"label", "labels"} & set(found):
        raise RefusedError("columns")
    worker, item = (names([row[found[role]] for row in rows]) for role in ("worker", "item"))
    if "label" in found and any(isinstance(row[found["label"]], list) for row in rows):
        found["labels"] = found.pop("label")
    if "labels" in found or "value" not in found:
        return _votes_of_ticks(rows, found, worker, item, unmentioned)
    label = names([row[found["label"]] for row in rows])
    value = signs([row[found["value"]] for row in rows])
    return collected(worker, item, label, value)


def collected(worker: Sequence[str], item: Sequence[str], label: Sequence[str], value: Sequence[int]) -> Votes:
    """Votes and vocabularies; nobody says both yes and no."""
    given: dict[tuple[str, str, str], int] = {}
    for *question, sign in zip(worker, item, label, value, strict=True):
        if sign and given.setdefault(tuple(question), sign) != sign:  # type: ignore[arg-type]
            raise RefusedError("conflict")
    if not given:
        raise RefusedError("nothing")
    return {"votes": given, "worker": set(worker), "item": set(item), "label": set(label)}


def _votes_of_ticks(
    rows: Rows, found: Mapping[str, str], worker: Sequence[str], item: Sequence[str], unmentioned: str | None
) -> Votes:
    if "value" in found or (unmentioned is None and "asked" not in found):
        raise RefusedError("layout")
    if "labels" in found:
        answers = list(zip(worker, item, lists([row[found["labels"]] for row in rows]), strict=True))
        # A row that does not say what was asked asked nothing, where other rows say it.
        asked: list[list[str] | None] = [None] * len(rows)
        if "asked" in found:
            asked = [each or [] for each in lists([row[found["asked"]] for row in rows])]
    else:
        ticks = names([row[found["label"]] for row in rows])
        by_answer: dict[tuple[str, str], list[str]] = {}
        for who, what, tick in zip(worker, item, ticks, strict=True):
            by_answer.setdefault((who, what), []).append(tick)
        answers = [(who, what, given) for (who, what), given in by_answer.items()]
        if "asked" in found:
            raise RefusedError("asked beside ticks")
        asked = [None] * len(answers)
    vocabulary = sorted({each for *_, given in answers for each in given or ()} | {e for a in asked for e in a or ()})
    if not vocabulary:
        raise RefusedError("no label")
    voted = []
    for (who, what, given), list_asked in zip(answers, asked, strict=True):
        if given is None:  # no answer, whatever was asked
            continue
        everything = list_asked if list_asked is not None else (vocabulary if unmentioned == "absent" else given)
        if not set(given) <= set(everything):
            raise RefusedError("not asked")
        voted += [(who, what, each, 1 if each in given else -1) for each in everything]
    columns = list(zip(*voted, strict=True)) or [(), (), (), ()]
    result = collected(*columns)
    return {**result, "worker": set(worker), "item": set(item), "label": set(vocabulary)}


def lists(cells: Sequence[Any]) -> list[list[str] | None]:
    """Lists of labels, real ones or text joined by |; None where there is none."""
    text = [cell for cell in cells if isinstance(cell, str)]
    if text and any(isinstance(cell, list) for cell in cells):
        raise RefusedError("mixed column")
    if text and not any("|" in cell for cell in text) and any(mark in cell for cell in text for mark in ";,"):
        raise RefusedError("separator")
    result: list[list[str] | None] = []
    for cell in cells:
        if isinstance(cell, str):
            result.append([part.strip() for part in cell.split("|") if part.strip()])
        elif cell is None or isinstance(cell, list):
            result.append(cell)
        else:
            raise RefusedError("list")
    names([each for row in result for each in row or ()])
    return [None if row is None else [name(each) for each in row] for row in result]


VERDICTS = ("truth", "istrue", "true", "gold", "groundtruth")
"""What only tables of truth call the column that says yes and no."""


def truth(rows: Rows) -> Pairs:
    """True pairs."""
    found = roles(rows.columns, ("item", "label", "labels", "value"))
    if verdicts := [each for name in VERDICTS for each in rows.columns if bare(each) == name]:
        found["value"] = verdicts[0]
    if "item" not in found or not {"label", "labels"} & set(found):
        raise RefusedError("columns")
    item = names([row[found["item"]] for row in rows])
    if "labels" in found:
        listed = lists([row[found["labels"]] for row in rows])
        return frozenset((what, each) for what, row in zip(item, listed, strict=True) for each in row or ())
    label = names([row[found["label"]] for row in rows])
    value = signs([row[found["value"]] for row in rows]) if "value" in found else [1] * len(rows)
    return frozenset((what, each) for what, each, sign in zip(item, label, value, strict=True) if sign > 0)


def prices(rows: Rows) -> dict[str, Decimal]:
    """Price of a vote by worker."""
    columns = rows.columns
    found = roles(columns, ("worker",))
    by_name = {column.strip().lower(): column for column in reversed(columns)}
    price = next((by_name[each] for each in ("price", "cost", "rate", "pay", "reward") if each in by_name), None)
    if "worker" not in found or price is None:
        raise RefusedError("columns")
    listed: dict[str, Decimal] = {}
    for row in rows:
        who = name(row[found["worker"]])
        amount = str(row[price]).strip()
        if not who or who in listed:
            raise RefusedError("name")
        if not NUMBER.fullmatch(amount.lower()) or (units := Decimal(amount) * 100) != int(units) or units < 0:
            raise RefusedError("amount")
        listed[who] = Decimal(amount)
    return listed


def roster(rows: Rows) -> dict[str, tuple[str, str | None]]:
    """Kind and family by worker."""
    found = roles(rows.columns, ("worker", "kind", "family"))
    if not rows or not {"worker", "kind"} <= set(found):
        raise RefusedError("columns")
    listed: dict[str, tuple[str, str | None]] = {}
    kinds: dict[str, str] = {}
    for who, row in zip(names([row[found["worker"]] for row in rows]), rows, strict=True):
        kind = str(row[found["kind"]]).strip().lower() or "human"
        family = row[found["family"]] if "family" in found else ""
        if kind not in ("human", "model", "code"):
            raise RefusedError("kind")
        if who in listed:
            raise RefusedError("worker twice")
        listed[who] = kind, family if family.strip() else None
        if family.strip() and kinds.setdefault(name(family), kind) != kind:
            raise RefusedError("mixed family")
    return listed


def soft_truth(rows: Rows) -> dict[tuple[str, str], float]:
    """Share of yes by (item, label)."""
    found = roles(rows.columns, ("worker", "item", "label", "labels"))
    if "worker" in found:
        counted: dict[tuple[str, str], list[int]] = {}
        for (_, what, tag), sign in votes(rows)["votes"].items():
            counted.setdefault((what, tag), []).append(sign > 0)
        return {pair: sum(yes) / len(yes) for pair, yes in counted.items()}
    columns = [column for column in rows.columns if bare(column) in NAMES["share"].split()]
    if not rows or len(columns) != 1 or not {"item", "label"} <= set(found):
        raise RefusedError("columns")
    item, label = (names([row[found[role]] for row in rows]) for role in ("item", "label"))
    shares: dict[tuple[str, str], float] = {}
    for pair, row in zip(zip(item, label, strict=True), rows, strict=True):
        written = row[columns[0]].strip().lower()
        if not NUMBER.fullmatch(written) or not 0 <= float(written) <= 1:
            raise RefusedError("share")
        if pair in shares:
            raise RefusedError("pair twice")
        shares[pair] = float(written)
    return shares


def ids(data: bytes) -> list[str]:
    """One name per line."""
    return [line for line in re.split(r"\r\n|\n|\r", decoded(data)) if line.strip()]
