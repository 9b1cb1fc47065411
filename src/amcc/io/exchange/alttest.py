"""The alternative annotator test: people and models, each in a JSON file of its own, by annotator and item.

    people.json: {"ann": {"s1__economy": 1, "s1__sports": 0}}        models.json: {"m1": {"s1__economy": 1}}

One file is read by itself; a folder or archive with both is read as a whole. Names of files say who is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from amcc.errors import FileFormatError, InputError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source, parsed
from amcc.io.exchange.tool import Tool, register
from amcc.io.exchange.values import Judgement, Reading
from amcc.roster import Kind

# Between item and label.
JOINT = "__"

# How names of files say who is in them.
KIND_WORDS: dict[Kind, tuple[str, ...]] = {
    "model": ("model", "llm", "judge"),
    "human": ("human", "people", "person", "annotator", "expert", "crowd"),
}


def recognises(source: Source) -> str | None:
    """Objects by annotator, with item__label as names; in a folder, two such files."""
    if source.members:
        found = any(_kind(name) == "model" for name in _files(source)) and all(map(_kind, _files(source)))
        return "one file of people and one of models" if found and len(_files(source)) == len(source.members) else None
    return "answers by annotator and item__label" if source.is_json and _looks_right(source.first) else None


def read(source: Source, decisions: Decisions) -> Answers:
    """All answers of all files."""
    answers, reading = Answers(), Reading(decisions)
    for name, kind, document in _documents(source):
        if not isinstance(document, dict):
            raise FileFormatError(f"{name} must hold an object with one entry per annotator.")
        for worker, given in document.items():
            if not isinstance(given, dict):
                raise FileFormatError(f"{worker!r} in {name} must have an object of answers; it is {given!r}.")
            if worker in answers.workers:
                raise FileFormatError(f"every annotator must stand in one place; {worker!r} is also in {name}.")
            answers.meet(worker, kind)
            for key, value in given.items():
                _take(answers, reading, worker, key, value, name)
    for one, yes in reading.read():
        answers.vote(one.worker, one.item, one.label, yes=yes)
    return answers


def _take(answers: Answers, reading: Reading, worker: str, key: str, value: Any, name: str) -> None:
    # From the right: items are named by other programs, and may have the joint in their names.
    item, joint, label = key.rpartition(JOINT)
    if not (item and joint and label):
        raise FileFormatError(f"answers must be named item__label; {worker!r} in {name} has {key!r}.")
    judgement = Judgement(worker, item, label, (value,))
    if judgement.is_blank:
        answers.skip(worker, item, [label])
    else:
        answers.see(item)
        reading.add(judgement)


def _documents(source: Source) -> Iterator[tuple[str, Kind, Any]]:
    """Each file with its name, who is in it, and what it holds."""
    if not source.members:
        yield "the file", _kind(source.path.name) or "human", source.document
        return
    for name in _files(source):
        kind = _kind(name)
        if kind is None:
            words = " or ".join(word for words in KIND_WORDS.values() for word in words)
            raise InputError(f"the name of each file must say who is in it, by {words}; {name} does not. Rename it.")
        try:
            text = source.member(name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileFormatError(f"{name} must be UTF-8 text. Save it as UTF-8.") from None
        yield name, kind, parsed(text, name)


def _files(source: Source) -> list[str]:
    return [name for name in source.members if name.lower().endswith(".json")]


def _kind(name: str) -> Kind | None:
    """Who is in a file; where it names both, as model_vs_human would, nobody can tell."""
    stem = PurePosixPath(name).stem.lower()
    found = [kind for kind, words in KIND_WORDS.items() if any(word in stem for word in words)]
    return found[0] if len(found) == 1 else None


def _looks_right(document: dict[str, Any]) -> bool:
    given = next(iter(document.values()), None)
    return isinstance(given, dict) and bool(given) and all(JOINT in key for key in given)


register(
    Tool(
        "alttest", "Alternative annotator test, JSON",
        "Answers by annotator and item__label. A folder with people.json and models.json says who is a model.",
        recognises, read, uses=("threshold", "yes"),
    )
)  # fmt: skip
