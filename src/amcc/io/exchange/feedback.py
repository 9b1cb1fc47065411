"""Feedback of judges, people and language models, as Langfuse, LangSmith, Phoenix and MLflow keep it.

One shape in four spellings: a judgement has a subject (the item), a name (the label), a value (yes or no) and a source
(the worker, and whether they are a person, a model or a program). `TOOLS_OF_JUDGES` says where each tool keeps them.

None of them says what a judge was asked. A name that a judge does not mention was not asked, unless --asked names the
rubric: then they skipped it, or said no with --unmentioned absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from amcc.errors import FileFormatError, InputError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source
from amcc.io.exchange.tool import Tool, register
from amcc.io.exchange.values import Judgement, Reading, is_blank
from amcc.roster import Kind
from amcc.tables import is_no, is_yes, listed

# Where the answers of these tools' servers keep their records: a page of them, or of traces, each with its assessments.
LISTS = ("data", "scores", "feedback", "traces", "assessments")

# Where those who send judgements by a program note which model judged.
MODELS = ("metadata.model", "metadata.model_name", "metadata.judge_model")


@dataclass(frozen=True)
class Fields:
    """Where a tool keeps what a judgement says. Each is a list of places, of which the first that is filled counts.

    signs : places that all records of the tool have, by which it is known.
    kinds : what is written where the kind stands, and what it means.
    worker : by what is written where the kind stands; "" for all others.
    values : all that may be the value, the best first. no_votes : kinds of values that are texts.
    known : where known truth stands. error : where it stands that the judge failed.
    """

    title: str
    signs: tuple[str, ...]
    item: tuple[str, ...]
    label: tuple[str, ...]
    values: tuple[str, ...]
    kind: str
    kinds: Mapping[str, Kind]
    worker: Mapping[str, tuple[str, ...]]
    time: tuple[str, ...]
    model: tuple[str, ...] = MODELS
    known: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    id: str = "id"
    value_type: str = ""
    no_votes: tuple[str, ...] = ()


TOOLS_OF_JUDGES: dict[str, Fields] = {
    "langfuse": Fields(
        "Langfuse, scores",
        signs=("name", "source", "dataType"),
        item=("subject.id", "observationId", "traceId", "sessionId", "datasetRunId"),
        label=("name",),
        # Of categories, older exports hold a number in `value` and the word in `stringValue`.
        values=("stringValue", "value"),
        kind="source",
        kinds={"ANNOTATION": "human", "EVAL": "model", "API": "code"},
        worker={
            "ANNOTATION": ("authorUserId", "annotation.authorUserId"),
            "": ("evaluatorName", "evaluator.name", "metadata.evaluator", "metadata.judge", *MODELS),
        },
        time=("timestamp", "createdAt"),
        value_type="dataType",
        no_votes=("TEXT", "CORRECTION"),
    ),
    "langsmith": Fields(
        "LangSmith, feedback",
        signs=("run_id", "key"),
        item=("run_id",),
        label=("key",),
        values=("score", "value"),
        kind="feedback_source.type",
        kinds={"app": "human", "model": "model", "auto_eval": "model", "api": "code"},
        worker={
            "app": ("feedback_source.user_id", "feedback_source.user_name", "feedback_source.ls_user_id"),
            # Not the user: of what a program sent, that is whoever owns the key.
            "": (
                "feedback_source.metadata.evaluator", "feedback_source.metadata.judge",
                "feedback_source.metadata.model", "feedback_source.metadata.model_name",
            ),
        },
        time=("created_at",),
        model=("feedback_source.metadata.model", "feedback_source.metadata.model_name"),
        known=("correction",),
    ),
    "phoenix": Fields(
        "Phoenix, annotations",
        signs=("name", "annotator_kind"),
        item=("span_id", "trace_id", "session_id"),
        label=("name",),
        values=("result.score", "result.label"),
        kind="annotator_kind",
        kinds={"HUMAN": "human", "LLM": "model", "CODE": "code"},
        # Several annotations of one name differ by their identifier.
        worker={"": ("identifier", "user_id", *MODELS)},
        time=("created_at",),
    ),
    "mlflow": Fields(
        "MLflow, assessments",
        signs=("source.source_type",),
        item=("trace_id",),
        label=("assessment_name", "name"),
        values=("feedback.value",),
        kind="source.source_type",
        kinds={"HUMAN": "human", "LLM_JUDGE": "model", "AI_JUDGE": "model", "CODE": "code"},
        worker={"": ("source.source_id",)},
        time=("create_time", "create_time_ms"),
        known=("expectation.value",),
        error=("feedback.error", "error"),
        id="assessment_id",
    ),
}  # fmt: skip


def recognises(fields: Fields, source: Source) -> str | None:
    """The first judgement has all signs of the tool."""
    _, first = next(iter(_unfolded("", source.first)), ("", {}))
    found = bool(first) and all(at(first, sign) is not None for sign in fields.signs)
    return f"records with {', '.join(fields.signs)}" if found else None


def read(name: str, source: Source, decisions: Decisions) -> Answers:
    """All judgements, as votes, as skipped, or as known truth."""
    fields, answers, reading = TOOLS_OF_JUDGES[name], Answers(), Reading(decisions)
    seen: dict[str, None] = {}
    for where, record in _in_force(fields, source, answers):
        label = str(_needed(record, fields.label, where, "a name"))
        seen.setdefault(label)
        if decisions.asked is None or label in decisions.asked:
            _take(fields, record, label, answers, reading, where)
    _check_asked(decisions, seen, answers)
    for one, yes in reading.read():
        answers.vote(one.worker, one.item, one.label, yes=yes, at=one.at)
    _finish_rubric(answers, decisions)
    return answers


def _take(fields: Fields, record: dict[str, Any], label: str, answers: Answers, reading: Reading, where: str) -> None:
    """One judgement of a label that counts."""
    item = str(_needed(record, fields.item, where, "what was judged"))
    if not is_blank(known := _first(record, fields.known)):
        _know(answers, item, label, known)
    values = tuple(at(record, place) for place in fields.values)
    if str(at(record, fields.value_type)) in fields.no_votes:
        answers.note(f"{label!r} has texts ({', '.join(fields.no_votes).lower()}), which are no votes")
        return
    worker = _meet(fields, record, answers)
    judgement = Judgement(worker, item, label, values, str(_first(record, fields.time) or ""))
    if _first(record, fields.error) is not None:
        answers.skip(worker, item, [label])
    elif not judgement.is_blank:
        answers.see(item)
        reading.add(judgement)
    elif is_blank(known):  # named, and nothing said
        answers.skip(worker, item, [label])


def _in_force(fields: Fields, source: Source, answers: Answers) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records that count: not those that were taken back, nor those that a later one replaces."""
    records = [each for where, record in source.records() for each in _unfolded(where, record)]
    replaced = {str(record["overrides"]) for _, record in records if record.get("overrides")}
    dropped = 0
    for where, record in records:
        if record.get("valid") is False or str(record.get(fields.id)) in replaced:
            dropped += 1
        else:
            yield where, record
    if dropped:
        answers.note(f"{dropped:,} judgements were taken back or replaced by later ones, and are left out")


def _unfolded(where: str, record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The judgements of a page or of a trace; a judgement is itself."""
    info = record.get("info")
    holder = info if isinstance(info, dict) else record
    found = next((holder[name] for name in LISTS if isinstance(holder.get(name), list)), None)
    if found is None:
        yield where, record
        return
    for number, each in enumerate(found, start=1):
        place = f"record {number} of {where}" if where else f"record {number}"
        if not isinstance(each, dict):
            raise FileFormatError(f"{place} must be an object; it is {type(each).__name__}.")
        yield from _unfolded(place, {**({"trace_id": holder["trace_id"]} if "trace_id" in holder else {}), **each})


def _meet(fields: Fields, record: dict[str, Any], answers: Answers) -> str:
    """Who judged; they are introduced to the answers."""
    written = str(at(record, fields.kind) or "")
    kind = fields.kinds.get(written, "human")
    named = _first(record, fields.worker.get(written, fields.worker[""]))
    worker = str(named or written.lower() or "judge")
    if written not in fields.kinds:
        answers.note(f"sources of kind {written!r} are not known: they count as people; --workers can say otherwise")
    elif not named:
        answers.note(f"judgements by {written} do not say by whom: they count as one worker, {worker!r}")
    if kind == "code":
        answers.note("what came by a program counts as code; --workers can say which of them are people or models")
    if answers.workers.get(worker, (kind,))[0] != kind:  # such as "default", which both people and programs get
        worker = f"{worker} ({kind})"
    answers.meet(worker, kind, family=_first(record, fields.model) if kind == "model" else "")
    return worker


def _know(answers: Answers, item: str, label: str, known: Any) -> None:
    """A correction, or what was expected: known truth where it is a yes or no about the label, else left out."""
    told = known
    if isinstance(known, dict):
        told = next((known[name] for name in (label, "score", "value") if name in known), None)
    if is_yes(told) or is_no(told):
        answers.know(item, yes=[label] if is_yes(told) else [], offered=[label])
        answers.note("corrections and expectations that are a yes or no are known truth, not votes")
    else:
        answers.note("corrections and expectations that are no yes or no are left out")


def _check_asked(decisions: Decisions, seen: dict[str, None], answers: Answers) -> None:
    """--asked names labels of the file; what it does not name is left out, and told."""
    if decisions.asked is None:
        return
    strange = [name for name in decisions.asked if name not in seen]
    if strange and (decisions.unmentioned != "absent" or len(strange) == len(decisions.asked)):
        raise InputError(
            f"--asked must name feedback of the file; {listed(strange)} is not there. The names are {listed(seen)}. "
            "Write them alike."
        )
    if others := [name for name in seen if name not in decisions.asked]:
        answers.note(f"left out, as --asked does not name them: {listed(others)}")


def _finish_rubric(answers: Answers, decisions: Decisions) -> None:
    """What a judge of an item does not mention of the rubric: skipped, a no, or not asked."""
    if decisions.unmentioned == "unknown" or (decisions.asked is None and decisions.unmentioned is None):
        return
    mentioned: dict[tuple[str, str], dict[str, str]] = {}
    for one in answers.said:
        mentioned.setdefault((one.worker, one.item), {}).update(dict.fromkeys(one.offered or (), one.at))
    for skip in answers.skips:
        # A judge who failed on one name judged the item all the same.
        mentioned.setdefault((skip.worker, skip.item), {})[skip.label] = ""
    rubric = decisions.asked or list(dict.fromkeys(label for one in answers.said for label in one.offered or ()))
    for (worker, item), times in mentioned.items():
        lacking = [label for label in rubric if label not in times]
        if lacking and decisions.unmentioned == "absent":
            answers.say(worker, item, yes=[], offered=lacking, at=max(times.values()))
        elif lacking:
            answers.skip(worker, item, lacking)


def at(record: Any, place: str) -> Any:
    """What stands at a place, None where there is no such place.

    >>> at({"source": {"id": 7}}, "source.id"), at({"source": "API"}, "source.id")
    (7, None)
    """
    for name in place.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _first(record: dict[str, Any], places: tuple[str, ...]) -> Any:
    return next((value for place in places if not is_blank(value := at(record, place))), None)


def _needed(record: dict[str, Any], places: tuple[str, ...], where: str, what: str) -> Any:
    value = _first(record, places)
    if not isinstance(value, str | int):
        raise FileFormatError(
            f"{where} must say {what} ({' or '.join(places)}); it has {', '.join(map(repr, record)) or 'nothing'}."
        )
    return value


for _name, _fields in TOOLS_OF_JUDGES.items():
    register(
        Tool(
            _name, _fields.title,
            f"A judgement is about {_fields.item[0]} (item) and {_fields.label[0]} (label), by a person, a model or a "
            "program. What judges were asked is not in it: --asked names the rubric.",
            partial(recognises, _fields), partial(read, _name), uses=("asked", "threshold", "yes", "unmentioned"),
        )
    )  # fmt: skip
