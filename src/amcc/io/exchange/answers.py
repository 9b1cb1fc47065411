"""What an export says, collected answer by answer: what becomes votes, what was skipped and known, who workers are.

    answers = Answers()
    answers.say("ann", "clip1", yes=["dog"], offered=["dog", "cat"])   # dog: yes, cat: no; all others: not asked
    answers.skip("bob", "clip1")                                       # seen, and not answered
    answers.know("clip2", yes=[], offered=["dog", "cat"])              # gold: neither
    answers.meet("gpt", kind="model", family="gpt")

Where it is not known what was offered, `offered` is None. `Decisions` must then say it, see `settle`. A tool that
always offers all labels of a project to everybody says so: `Answers(same_for_all=True)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from amcc.io.exchange.decisions import Decisions, undecided
from amcc.roster import Kind
from amcc.tables import listed


class Answer(NamedTuple):
    """What one worker, or the truth, says about an item: its labels, and those that were offered (None: unknown)."""

    worker: str
    item: str
    yes: Sequence[str]
    offered: Sequence[str] | None
    at: str = ""


class Skip(NamedTuple):
    """A worker saw an item and did not answer; label is empty where this holds for all of them."""

    worker: str
    item: str
    label: str = ""


@dataclass
class Answers:
    """What an export says; see the module.

    same_for_all : whether everybody is offered all labels of the project, so that a label that somebody gave is a no in
    the answers that lack it. Labels that nobody gave are then all that the file may lack.
    elsewhere : where the labels stand that were offered, if the file lacks them: for the error.
    """

    same_for_all: bool = False
    elsewhere: str = ""
    said: list[Answer] = field(default_factory=list)
    known: list[Answer] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    workers: dict[str, tuple[Kind, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    items: dict[str, None] = field(default_factory=dict)
    mentioned: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def say(
        self, worker: object, item: object, *, yes: Iterable[object], offered: Iterable[object] | None, at: str = ""
    ) -> None:
        """A worker answered: `yes` are the labels given, all others that were `offered` are a no."""
        given, could = _names(yes), None if offered is None else _names(offered)
        self.items.setdefault(str(item))
        self.said.append(Answer(str(worker), str(item), given, could, at))

    def vote(self, worker: object, item: object, label: object, *, yes: bool, at: str = "") -> None:
        """A worker was asked about one label, and said yes or no."""
        self.say(worker, item, yes=[label] if yes else [], offered=[label], at=at)

    def skip(self, worker: object, item: object, labels: Iterable[object] = ("",)) -> None:
        """A worker saw the item and would not say: no vote, and not the same as never asked."""
        self.items.setdefault(str(item))
        self.skips += [Skip(str(worker), str(item), str(label)) for label in labels]

    def know(self, item: object, *, yes: Iterable[object], offered: Iterable[object] | None) -> None:
        """The truth of an item is known; labels that were not offered stay unknown."""
        self.items.setdefault(str(item))
        self.known.append(Answer("", str(item), _names(yes), None if offered is None else _names(offered)))

    def mention(self, labels: Iterable[object]) -> None:
        """There are such labels, though nobody's answer has them: they stand in a draft, or in what was skipped."""
        self.mentioned += _names(labels)

    def see(self, item: object, text: object = None) -> None:
        """There is such an item, whoever answers it; with its text, if there is one."""
        self.items.setdefault(str(item))
        if isinstance(text, str) and text:
            self.texts[str(item)] = text

    def meet(self, worker: object, kind: Kind = "human", family: object = "") -> None:
        """Who a worker is; the first that is said of them holds."""
        self.workers.setdefault(str(worker), (kind, str(family or "")))

    def note(self, text: str) -> None:
        """Something that a person should know about the reading; the same is said once."""
        if text not in self.notes:
            self.notes.append(text)

    def settle(self, decisions: Decisions, tool: str) -> list[str]:
        """Say for each answer what was offered, by what was decided; gives all labels, in their order.

        Raises InputError where nobody can know whether a label that an answer does not mention was offered.
        """
        in_answers = [label for one in (*self.said, *self.known) for label in (*(one.offered or ()), *one.yes)]
        seen = _in_order([*in_answers, *self.mentioned])
        labels = seen if decisions.labels is None else _in_order(decisions.labels)
        if strange := set(seen) - set(labels):
            undecided(
                f"--labels must name all labels that were offered; the file also has {listed(sorted(strange))}.",
                "all of them in --labels",
            )
        unknown = [one for one in (*self.said, *self.known) if one.offered is None]
        if unknown and decisions.labels is None and decisions.unmentioned is None:
            self._explain_unknown(len(unknown), seen, tool)
        if decisions.unmentioned == "unknown" and (without := sum(not one.yes for one in unknown)):
            self.note(
                f"{without:,} answers have no label: nothing is known of them, since what they lack was not asked"
            )
        everything = None if decisions.unmentioned == "unknown" else labels

        def told(one: Answer) -> Answer:
            return (
                one if one.offered is not None else one._replace(offered=one.yes if everything is None else everything)
            )

        self.said, self.known = [told(one) for one in self.said], [told(one) for one in self.known]
        return labels

    def _explain_unknown(self, n_unknown: int, seen: Sequence[str], tool: str) -> None:
        """Raise InputError, or note it where it matters only to labels that nobody gave."""
        if self.same_for_all:
            self.note(
                f"taken for all labels that were offered, to everybody: {listed(seen)}, which is what the "
                "file has; --labels names more"
            )
            return
        undecided(
            f"a file of {tool} does not say which labels were offered, so a label that an answer lacks may be a "
            f"no, or not asked; {n_unknown:,} answers are like this. Labels in the file: {listed(seen)}."
            f"{f' All that were offered stand in {self.elsewhere}.' if self.elsewhere else ''}",
            "--labels a,b,c (or a file of them): all that were offered, the others are a no",
            "--unmentioned absent if just those in the file were offered",
            "--unmentioned unknown if what is not mentioned was not asked",
        )


def _names(labels: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(label) for label in labels)


def _in_order(labels: Iterable[str]) -> list[str]:
    """Each once, in the order of their first appearance."""
    return list(dict.fromkeys(labels))
