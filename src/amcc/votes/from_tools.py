"""Votes from exports of other tools, one constructor for each: `Votes.from_label_studio("project.json")`.

All of them take a path, or records that are in memory already as the tool's own library gives them, and what a file
cannot say as keywords: those of the command line, see `Decided`. Reading is the business of `amcc.io`, which knows
votes, while votes know no files: the front door offers the reader (`amcc.lazy`). `amcc.read_export` gives what else an
export says: known truth, who the workers are, what was skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from amcc.lazy import offered
from amcc.votes.reading import OnConflict, Unmentioned

if TYPE_CHECKING:
    from amcc.votes.votes import Votes

# What an answer without any label means: the worker saw none of them, or did not look at the item.
Empty = Literal["none", "unasked"]

# What "reject" means: none of the labels, or that the worker would not say.
Rejected = Literal["none", "skipped"]

# A path, or records: dictionaries, or the objects that libraries of tools give.
Given: TypeAlias = str | Path | Mapping[str, Any] | Iterable[Any]


class Decided(TypedDict, total=False):
    """What a person says about an export; each may be left out, and each is a flag of the command line.

    labels : all labels that were offered. unmentioned : what a label means that an answer does not mention. empty :
    what an answer without a label means. rejected : what "reject" means. threshold : scores from here on are a yes.
    yes : values that are a yes. asked : names of the rubric. question : which question, sheet or split. on_conflict :
    see `Votes.from_frame`. columns : as there, for tools that hold plain tables. pseudonyms : a file with a key, by
    which workers get other names. keep_ids : keep ids of workers that are personal data.
    """

    labels: Iterable[Any] | None
    unmentioned: Unmentioned | None
    empty: Empty | None
    rejected: Rejected | None
    threshold: float | None
    yes: Sequence[str] | None
    asked: Sequence[str] | None
    question: str | None
    on_conflict: OnConflict
    columns: Mapping[str, str] | None
    pseudonyms: str | Path | None
    keep_ids: bool


class FromTools:
    """The constructors of `Votes` for exports of other tools; see the module."""

    @staticmethod
    def _from_tool(tool: str, given: Given, decided: Decided) -> Votes:
        votes: Votes = offered("read_votes")(given, format=tool, **decided)
        return votes

    @classmethod
    def from_alttest(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Answers of people and models for the alternative annotator test."""
        return cls._from_tool("alttest", given, decided)

    @classmethod
    def from_argilla(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Records of Argilla, with responses and suggestions."""
        return cls._from_tool("argilla", given, decided)

    @classmethod
    def from_doccano(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """An export of doccano, one file per user."""
        return cls._from_tool("doccano", given, decided)

    @classmethod
    def from_excel(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """A sheet of a spreadsheet."""
        return cls._from_tool("excel", given, decided)

    @classmethod
    def from_huggingface(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """A data set of Hugging Face: a folder, or its rows."""
        return cls._from_tool("huggingface", given, decided)

    @classmethod
    def from_judges(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Records with item, judge and label."""
        return cls._from_tool("judges", given, decided)

    @classmethod
    def from_label_studio(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Tasks of Label Studio with their annotations."""
        return cls._from_tool("label-studio", given, decided)

    @classmethod
    def from_label_studio_min(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Flat rows of Label Studio: JSON-MIN, CSV or TSV."""
        return cls._from_tool("label-studio-min", given, decided)

    @classmethod
    def from_langfuse(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Scores of Langfuse."""
        return cls._from_tool("langfuse", given, decided)

    @classmethod
    def from_langsmith(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Feedback of LangSmith."""
        return cls._from_tool("langsmith", given, decided)

    @classmethod
    def from_lewidi(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Items with annotations by annotator, as Learning With Disagreements has them."""
        return cls._from_tool("lewidi", given, decided)

    @classmethod
    def from_mlflow(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Assessments of MLflow, or traces with them."""
        return cls._from_tool("mlflow", given, decided)

    @classmethod
    def from_mturk(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """A batch of Mechanical Turk."""
        return cls._from_tool("mturk", given, decided)

    @classmethod
    def from_phoenix(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Annotations of Phoenix."""
        return cls._from_tool("phoenix", given, decided)

    @classmethod
    def from_potato(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Annotations of Potato."""
        return cls._from_tool("potato", given, decided)

    @classmethod
    def from_prodigy(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Annotated examples of Prodigy."""
        return cls._from_tool("prodigy", given, decided)

    @classmethod
    def from_zooniverse(cls, given: Given, **decided: Unpack[Decided]) -> Votes:
        """Classifications of Zooniverse."""
        return cls._from_tool("zooniverse", given, decided)
