"""What is read of an export: votes, and all else that the file says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from amcc.errors import EmptyInputError, FileFormatError
from amcc.io.exchange import pseudonyms
from amcc.io.exchange.answers import Answer, Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source
from amcc.io.exchange.tool import Tool
from amcc.roster import Kind, Roster
from amcc.truth import Truth
from amcc.votes import Votes


@dataclass(frozen=True)
class Export:
    """What a file says.

    Attributes
    ----------
    votes : the votes; a question that was skipped has none.
    known : table item, label, truth (yes, no): what the file marks as known, such as gold and ground truth.
    workers : table worker, kind, family: who the workers are, as far as the file says it.
    skipped : table worker, item, label: who saw a question and would not say; an empty label stands for all.
    texts : table item, text: what was shown, where the file holds it.
    tool : whose export it is; empty for a plain table.
    notes : what was taken for what, in sentences.
    """

    votes: Votes
    known: pa.Table = field(default_factory=lambda: _table(("item", "label", "truth"), []))
    workers: pa.Table = field(default_factory=lambda: _table(("worker", "kind", "family"), []))
    skipped: pa.Table = field(default_factory=lambda: _table(("worker", "item", "label"), []))
    texts: pa.Table = field(default_factory=lambda: _table(("item", "text"), []))
    tool: str = ""
    notes: tuple[str, ...] = ()

    @property
    def truth(self) -> Truth | None:
        """What is known, if anything is."""
        return Truth.from_frames(self.known) if self.known.num_rows else None

    @property
    def roster(self) -> Roster | None:
        """Who the workers are, where the file knows any but people without a family."""
        told = {*zip(self.workers["kind"].to_pylist(), self.workers["family"].to_pylist(), strict=True)}
        return Roster.from_frame(self.workers) if told - {("human", "")} else None


def read_source(source: Source, tool: Tool, decisions: Decisions, *, key: bytes | None, keep_ids: bool) -> Export:
    """All that an export says.

    key : of pseudonyms. keep_ids : whether worker ids stay as they are where they would be numbered, as personal.
    """
    assert tool.read is not None  # for the type checker: other tools hold plain tables
    decisions.check_used(tool.name, tool.uses)
    answers = tool.read(source, decisions)
    labels = answers.settle(decisions, tool.name)
    try:
        return _export(answers, labels, tool, decisions, key=key, keep_ids=keep_ids)
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"names must be text; {error.object!r} holds half a character, as \\ud83d without what follows it."
        ) from None


def _export(
    answers: Answers, labels: list[str], tool: Tool, decisions: Decisions, *, key: bytes | None, keep_ids: bool
) -> Export:
    """What is settled, as tables, perhaps with other names."""
    if key is not None:
        answers = renamed(answers, pseudonyms.keyed(key))
    elif tool.personal and not keep_ids:
        answers = renamed(answers, pseudonyms.numbered(workers_of(answers)))
        answers.note(
            "worker ids of this tool are personal data, so workers are numbered; --pseudonyms KEYFILE gives names that "
            "stay the same over files, --keep-ids keeps the ids"
        )
    table = vote_table(answers.said)
    if not table.num_rows:
        raise EmptyInputError(
            f"the file must hold at least one answer; of {len(answers.items):,} items none has one"
            f"{f', {len(answers.skips):,} were skipped' if answers.skips else ''}."
            + "".join(f" {note[:1].upper()}{note[1:]}." for note in answers.notes)
        )
    votes = Votes.from_frame(
        table, labels=labels, items=list(answers.items), on_conflict=decisions.on_conflict
    )  # fmt: skip
    return Export(
        votes, known_table(answers), worker_table(answers), skip_table(answers), text_table(answers), tool.name,
        (*answers.notes, *_counts(answers)),
    )  # fmt: skip


def _counts(answers: Answers) -> list[str]:
    """How much was skipped and is known, for the notes."""
    # By worker and item: judges answer label by label.
    asked = {(one.worker, one.item) for one in answers.said if one.offered}
    none = len(asked - {(one.worker, one.item) for one in answers.said if one.yes})
    counted = [
        (none, "answers say that the item has none of the labels that were offered"),
        (len(answers.skips), "questions or items were skipped: they are no votes"),
        (len({one.item for one in answers.known}), "items are marked as known truth"),
    ]
    return [f"{n:,} {text}" for n, text in counted if n]


def renamed(answers: Answers, pseudonym: Callable[[str], str]) -> Answers:
    """The same with other names for the workers."""
    said = [one._replace(worker=pseudonym(one.worker)) for one in answers.said]
    skips = [one._replace(worker=pseudonym(one.worker)) for one in answers.skips]
    workers = {pseudonym(name): who for name, who in answers.workers.items()}
    return replace(answers, said=said, skips=skips, workers=workers)


def workers_of(answers: Answers) -> list[str]:
    """All workers, in the order in which the file names them."""
    named = [*(one.worker for one in answers.said), *(one.worker for one in answers.skips), *answers.workers]
    return list(dict.fromkeys(named))


def vote_table(said: list[Answer]) -> pa.Table:
    """A long table worker, item, label, value with one row per vote; and time, where all answers have one."""
    columns: dict[str, list[object]] = {name: [] for name in ("worker", "item", "label", "value", "time")}
    for one in said:
        given, offered = set(one.yes), dict.fromkeys((*(one.offered or ()), *one.yes))
        n = len(offered)
        for name, cells in (
            ("worker", [one.worker] * n), ("item", [one.item] * n), ("label", [*offered]),
            ("value", [1 if label in given else -1 for label in offered]), ("time", [one.at] * n),
        ):  # fmt: skip
            columns[name] += cells
    if not all(columns["time"]):
        del columns["time"]
    # Numbers are spelt out: a table without rows has types, too.
    types = {"value": pa.int8()}
    return pa.table({name: pa.array(cells, types.get(name, pa.string())) for name, cells in columns.items()})


def known_table(answers: Answers) -> pa.Table:
    """Table item, label, truth of what the file marks as known."""
    rows = vote_table(answers.known)
    said = np.where(rows["value"].to_numpy() > 0, "yes", "no")
    return pa.table({"item": rows["item"], "label": rows["label"], "truth": pa.array(said, pa.string())})


def worker_table(answers: Answers) -> pa.Table:
    """Table worker, kind, family of those who voted; of whom nothing is said, they are people."""
    person: tuple[Kind, str] = ("human", "")
    voted = dict.fromkeys(one.worker for one in answers.said)
    return _table(("worker", "kind", "family"), [(who, *answers.workers.get(who, person)) for who in voted])


def skip_table(answers: Answers) -> pa.Table:
    """Table worker, item, label of what was skipped."""
    return _table(("worker", "item", "label"), answers.skips)


def text_table(answers: Answers) -> pa.Table:
    """Table item, text of what was shown."""
    return _table(("item", "text"), list(answers.texts.items()))


def _table(names: tuple[str, ...], rows: Sequence[Sequence[str]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in zip(names, columns, strict=True)})
