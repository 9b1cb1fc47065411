"""What a file cannot say and a person must. Each decision is one option of `read_votes`, and one flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import NoReturn

from amcc.errors import InputError, ParameterError
from amcc.tables import listed
from amcc.votes import Empty, OnConflict, Rejected, Unmentioned


@dataclass(frozen=True)
class Decisions:
    """What a person said about an export; None where nobody said anything.

    Parameters
    ----------
    labels : all labels that were offered, in the order to keep.
    unmentioned : what a label means that an answer does not mention: absent, or unknown.
    empty : what an answer without any label means: none of them, or not asked.
    rejected : what an answer "reject" means: none of the labels, or skipped.
    threshold : scores from here on are a yes.
    yes : values that are a yes, where they are words.
    asked : names that everybody was asked about who judged an item. Other names are left out.
    question : which of several questions of the file is meant.
    on_conflict : see `Votes.from_frame`.
    """

    labels: Sequence[str] | None = None
    unmentioned: Unmentioned | None = None
    empty: Empty | None = None
    rejected: Rejected | None = None
    threshold: float | None = None
    yes: Sequence[str] | None = None
    asked: Sequence[str] | None = None
    question: str | None = None
    on_conflict: OnConflict = "error"

    def __post_init__(self) -> None:
        for name in ("labels", "yes", "asked"):
            if isinstance(getattr(self, name), str):  # its letters would be taken for names
                raise ParameterError(f"{name} must be a list of names; got the text {getattr(self, name)!r}.")

    def check_used(self, tool: str, uses: Sequence[str]) -> None:
        """Raise ParameterError where something was decided that a tool's export leaves no room for."""
        for each in fields(self):
            if each.name not in (*uses, "on_conflict") and getattr(self, each.name) is not None:
                takes = ", ".join(flag(name) for name in uses) or "no such option"
                raise ParameterError(f"{flag(each.name)} decides nothing in a file of {tool}, which takes {takes}.")

    def only_question(self, names: Iterable[str]) -> str | None:
        """Which of the questions of a file is meant: the one that was decided, or the only one; None if it has none.

        Raises InputError where there are several, and nobody decided: labels of different questions are not mixed.
        """
        found = sorted(set(names))
        if self.question is not None:
            if self.question not in found:
                raise ParameterError(
                    f"--question must be one of those in the file, {listed(found)}; got {self.question!r}."
                )
            return self.question
        if len(found) > 1:
            undecided(
                f"the file has several questions, {listed(found)}, and labels of different questions are not mixed.",
                f"which one is meant, as --question {found[0]}",
            )
        return found[0] if found else None


def flag(name: str) -> str:
    """A decision as it is typed.

    >>> flag("on_conflict")
    '--on-conflict'
    """
    return "--" + name.replace("_", "-")


def undecided(why: str, *ways: str) -> NoReturn:
    """Raise the error that the file leaves something open; `ways` are the flags that decide it, each with its meaning.

    >>> undecided("an empty list may mean two things.", "--empty none", "--empty unasked")
    Traceback (most recent call last):
    ...
    amcc.errors.InputError: an empty list may mean two things. Say --empty none, or --empty unasked.
    """
    raise InputError(f"{why} Say {', or '.join(ways)}.")
