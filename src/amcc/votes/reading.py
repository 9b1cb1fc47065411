"""What a user may decide when a table is read as votes, and what was decided and set aside on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from amcc import tables

# What a label means that an answer does not mention: the worker denied it, or nobody knows.
Unmentioned = Literal["absent", "unknown"]

# What happens when one worker says both yes and no to one question: an error, the last counts, or both are samples.
OnConflict = Literal["error", "last", "samples"]


def roles_read(on_conflict: OnConflict) -> tuple[tables.Role, ...]:
    """The columns that matter: when a vote was given does so only where the last one counts."""
    return tuple(role for role in tables.ROLES if role != "time" or on_conflict == "last")


@dataclass(frozen=True)
class Reading:
    """What was decided and set aside while a table became votes.

    columns : which column was what; the counts are of votes, except `blanks`, which counts rows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    duplicates_dropped: int = 0
    conflicts_resolved: int = 0
    samples: int = 0
    blanks: int = 0
    unmentioned: Unmentioned | None = None

    def notes(self) -> list[str]:
        """Sentences for a person, empty when nothing is worth saying.

        >>> Reading(columns={"item": "task"}, blanks=2).notes()
        ["columns: item = 'task'", '2 rows without a value count as not asked']
        """
        renamed = [f"{role} = {column!r}" for role, column in self.columns.items() if role != column]
        counted = [
            (self.duplicates_dropped, "identical votes were there more than once and count once"),
            (self.conflicts_resolved, "contradicting votes were resolved: the last one counts"),
            (self.samples, "votes are further samples of a worker who was asked before; together they count as one"),
            (self.blanks, "rows without a value count as not asked"),
        ]
        return [f"columns: {', '.join(renamed)}"] * bool(renamed) + [f"{n} {text}" for n, text in counted if n]


@dataclass(frozen=True)
class Terms:
    """How the votes of a packed folder were read: votes that join them later must be read in the same way.

    labels_given : whether the user gave the label list; then there can be no other label
    block_votes : votes of a block, about
    Others as in `Votes.from_frame`. How a file is laid out (columns, separators) may change from file to file.
    """

    unmentioned: Unmentioned | None
    threshold: float | None
    zero: tables.Zero | None
    on_conflict: OnConflict
    labels_given: bool
    block_votes: int

    @classmethod
    def of(cls, options: Mapping[str, Any], block_votes: int) -> Terms:
        """Those of a table that is read with these options."""
        threshold = options.get("threshold")
        return cls(
            options.get("unmentioned"),
            None if threshold is None else float(threshold),  # numbers of numpy are not all JSON
            options.get("zero"),
            options.get("on_conflict") or "error",
            options.get("labels") is not None,
            block_votes,
        )
