"""Feedback of judges and data sets of others: what was asked and denied, not asked, skipped and known stays apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import judge_records as jr
from amcc.errors import FileFormatError, InputError, MissingExtraError, ParameterError
from amcc.io import read_export
from amcc.io.exchange.feedback import TOOLS_OF_JUDGES
from judge_records import langfuse, langsmith, mlflow, phoenix

EVERYTHING = {(worker, item, label): yes for worker, item, label, yes in jr.SAID}


def said(export: Any) -> dict[tuple[str, str, str], bool]:
    """All votes there are; what is not in it was not asked."""
    rows = export.votes.to_arrow().to_pylist()
    return {(row["worker"], row["item"], row["label"]): row["value"] > 0 for row in rows}


def skipped(export: Any) -> set[tuple[str, str, str]]:
    return {tuple(row.values()) for row in export.skipped.to_pylist()}


def known(export: Any) -> dict[tuple[str, str], str]:
    return {(row["item"], row["label"]): row["truth"] for row in export.known.to_pylist()}


def written(path: Path, records: Any) -> Path:
    path.write_text(
        "".join(json.dumps(each) + "\n" for each in records) if path.suffix == ".jsonl" else json.dumps(records)
    )
    return path


# -- the same votes from every tool, in every wrapping ---------------------------------------------------------------


@pytest.mark.parametrize("tool", jr.JUDGES)
@pytest.mark.parametrize("wrapping", ["list.json", "lines.jsonl", "page.json", "pages.jsonl"])
def test_every_tool_says_the_same_in_every_wrapping(tmp_path, tool, wrapping):
    records: Any = [jr.JUDGES[tool](*each) for each in jr.SAID]
    if wrapping == "page.json":
        records = {"data": records, "meta": {"limit": 50}}
    elif wrapping == "pages.jsonl":
        records = [{"data": records[:4]}, {"data": records[4:]}]
    export = read_export(written(tmp_path / wrapping, records))
    assert export.tool == tool
    assert said(export) == EVERYTHING
    assert dict(zip(export.workers["worker"].to_pylist(), export.workers["kind"].to_pylist(), strict=True)) == {
        "ann": "human", "m1": "model",
    }  # fmt: skip
    assert "1 answers say that the item has none of the labels" in export.notes[-1]


def test_traces_with_their_assessments_are_read(tmp_path):
    bare = [{**mlflow(*each), "trace_id": None} for each in jr.SAID]
    traces = [
        {"info": {"trace_id": item, "assessments": [
            {name: value for name, value in one.items() if name != "trace_id"}
            for one, each in zip(bare, jr.SAID, strict=True) if each[1] == item
        ]}, "data": {"spans": []}}
        for item in ("s1", "s2")
    ]  # fmt: skip
    assert said(read_export(written(tmp_path / "traces.json", traces))) == EVERYTHING
    page = {"traces": traces, "next_page_token": "…"}
    assert said(read_export(written(tmp_path / "page.json", page))) == EVERYTHING


# -- traps -----------------------------------------------------------------------------------------------------------


class Trap(NamedTuple):
    """Records, what is decided, and all that may be read of them."""

    records: list[dict[str, Any]]
    votes: dict[tuple[str, str, str], bool]
    decided: dict[str, Any] = {}  # noqa: RUF012  # never changed
    skips: set[tuple[str, str, str]] = set()  # noqa: RUF012
    known: dict[tuple[str, str], str] = {}  # noqa: RUF012
    note: str = ""


YES, NO = {("ann", "s1", "a"): True}, {("ann", "s1", "a"): False}
BOTH = [langfuse("ann", "s1", "a", True), langfuse("ann", "s1", "b", False), langfuse("m1", "s1", "a", False)]
HUMAN_B = {("ann", "s1", "a"): True, ("ann", "s1", "b"): False, ("m1", "s1", "a"): False}

TRAPS = {
    # langfuse
    "langfuse: a name that a judge does not mention was not asked": Trap(BOTH, HUMAN_B),
    "langfuse: a name of the rubric that a judge of the item lacks was skipped": Trap(
        BOTH, HUMAN_B, {"asked": ["a", "b"]}, {("m1", "s1", "b")}
    ),
    "langfuse: unless it is said that lacking is a no": Trap(
        BOTH, {**HUMAN_B, ("m1", "s1", "b"): False}, {"asked": ["a", "b"], "unmentioned": "absent"}
    ),
    "langfuse: or that it was not asked": Trap(BOTH, HUMAN_B, {"asked": ["a", "b"], "unmentioned": "unknown"}),
    "langfuse: a judge who judged nothing of the rubric was not asked about the item": Trap(
        [langfuse("ann", "s1", "a", True), langfuse("bob", "s1", "latency", 7.5, "NUMERIC")],
        YES, {"asked": ["a"]}, note="does not name them: 'latency'",
    ),
    "langfuse: the number of a category is no vote, its word is": Trap(
        [langfuse("ann", "s1", "a", 0, "CATEGORICAL", stringValue="yes")], YES
    ),
    "langfuse: booleans are 1 and 0, with words beside them": Trap(
        [langfuse("ann", "s1", "a", 1, stringValue="True"), langfuse("m1", "s1", "a", 0, stringValue="False")],
        {("ann", "s1", "a"): True, ("m1", "s1", "a"): False},
    ),
    "langfuse: texts are no votes": Trap(
        [langfuse("ann", "s1", "a", True), langfuse("ann", "s1", "why", "yes", "TEXT")], YES, note="'why' has texts"
    ),
    "langfuse: an observation is judged, not the trace that it is in": Trap(
        [{**langfuse("ann", "", "a", True), "subject": None, "observationId": "o1", "traceId": "t1"}],
        {("ann", "o1", "a"): True},
    ),
    "langfuse: none and n/a are words that a judge chose, not blanks": Trap(
        [langfuse("ann", "s1", "a", "none", "CATEGORICAL"), langfuse("m1", "s1", "a", "severe", "CATEGORICAL")],
        {("ann", "s1", "a"): False, ("m1", "s1", "a"): True}, {"yes": ["severe", "mild"]},
    ),
    "langfuse: a label that nobody gave has only words that are a no elsewhere": Trap(
        [langfuse("ann", "s1", "a", "Good", "C"), langfuse("m1", "s1", "a", "bad", "C"),
         langfuse("ann", "s1", "b", "bad", "C"), langfuse("ann", "s1", "c", "no", "C")],
        {("ann", "s1", "a"): True, ("m1", "s1", "a"): False, ("ann", "s1", "b"): False, ("ann", "s1", "c"): False},
        {"yes": ["good"]},
    ),
    "langfuse: a threshold leaves true and false alone": Trap(
        [langfuse("ann", "s1", "a", False), langfuse("ann", "s1", "b", 4, "NUMERIC"),
         langfuse("m1", "s1", "b", 2, "NUMERIC")],
        {("ann", "s1", "a"): False, ("ann", "s1", "b"): True, ("m1", "s1", "b"): False}, {"threshold": 3},
    ),
    "langfuse: scores by a program without a name are one worker, code": Trap(
        [langfuse("x", "s1", "a", True, source="API", metadata=None)], {("api", "s1", "a"): True}, note="counts as code"
    ),
    # langsmith
    "langsmith: 0 is a no, not a blank": Trap([langsmith("ann", "s1", "a", 0)], NO),
    "langsmith: a key without a score was skipped": Trap(
        [langsmith("ann", "s1", "a", 1), langsmith("ann", "s1", "b", None)], YES, skips={("ann", "s1", "b")}
    ),
    "langsmith: a value stands in for a score that is absent": Trap(
        [{**langsmith("ann", "s1", "a", None), "value": "no"}], NO
    ),
    "langsmith: a correction is known, not a vote": Trap(
        [langsmith("ann", "s1", "a", 1, correction={"score": 0})], YES, known={("s1", "a"): "no"},
        note="known truth, not votes",
    ),
    "langsmith: a correction of the text is left out": Trap(
        [langsmith("ann", "s1", "a", 1, correction={"output": "yes"})], YES, note="no yes or no are left out"
    ),
    "langsmith: the owner of a key is not the model that it was used for": Trap(
        [langsmith("ann", "s1", "a", 1), langsmith("m", "s1", "a", 0, feedback_source={
            "type": "model", "user_id": "ann", "metadata": {}})],
        {("ann", "s1", "a"): True, ("model", "s1", "a"): False}, note="count as one worker, 'model'",
    ),
    # phoenix
    "phoenix: annotations of one name differ by identifier": Trap(
        [phoenix("m1", "s1", "a", 1), phoenix("m2", "s1", "a", 0)],
        {("m1", "s1", "a"): True, ("m2", "s1", "a"): False},
    ),
    "phoenix: --yes reads the words, whatever the scores": Trap(
        [phoenix("ann", "s1", "a", 0, "factual"), phoenix("m1", "s1", "a", 1, "invented")],
        {("ann", "s1", "a"): True, ("m1", "s1", "a"): False}, {"yes": ["factual"]},
    ),
    "phoenix: people who tick a word and models that score are read alike": Trap(
        [phoenix("ann", "s1", "a", None, "yes"), phoenix("m1", "s1", "a", 0)],
        {("ann", "s1", "a"): True, ("m1", "s1", "a"): False},
    ),
    "phoenix: without a result nothing was said": Trap(
        [phoenix("ann", "s1", "a", 1), {**phoenix("m1", "s1", "a", 1), "result": None}], YES, skips={("m1", "s1", "a")}
    ),
    # mlflow
    "mlflow: an error is a skip, not a no": Trap(
        [mlflow("ann", "s1", "a", True), mlflow("m1", "s1", "a", None, feedback={"error": {"error_code": "LATE"}})],
        YES, skips={("m1", "s1", "a")},
    ),
    "mlflow: an error stays a skip where lacking is a no": Trap(
        [mlflow("ann", "s1", "a", True), mlflow("ann", "s1", "b", False, error={"error_code": "LATE"})],
        YES, {"asked": ["a", "b"], "unmentioned": "absent"}, {("ann", "s1", "b")},
    ),
    "mlflow: what is not valid any more is left out": Trap(
        [mlflow("ann", "s1", "a", True), mlflow("m1", "s1", "a", True, valid=False)], YES, note="1 judgements were"
    ),
    "mlflow: a later assessment replaces the one that it overrides": Trap(
        [mlflow("m1", "s1", "a", False), mlflow("ann", "s1", "a", True, overrides="m1-s1-a")], YES
    ),
    "mlflow: what was expected is known, not a vote": Trap(
        [mlflow("ann", "s1", "a", True), {**mlflow("ann", "s2", "a", None), "feedback": None,
                                          "expectation": {"value": False}}],
        YES, known={("s2", "a"): "no"},
    ),
    "mlflow: the default id of people and of programs are two workers": Trap(
        [mlflow("default", "s1", "a", True, source={"source_type": "HUMAN", "source_id": "default"}),
         mlflow("default", "s1", "a", False, source={"source_type": "CODE", "source_id": "default"})],
        {("default", "s1", "a"): True, ("default (code)", "s1", "a"): False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_trap(tmp_path, name):
    trap = TRAPS[name]
    export = read_export(written(tmp_path / "records.json", trap.records), **trap.decided)
    assert export.tool == name.partition(":")[0]
    assert said(export) == trap.votes
    assert skipped(export) == trap.skips
    assert known(export) == trap.known
    assert trap.note in "; ".join(export.notes)


def test_the_table_has_every_evaluation_tool():
    assert {name.partition(":")[0] for name in TRAPS} == set(TOOLS_OF_JUDGES)


# What a source is called, and the kind and family of a worker that come of it.
SOURCES = {
    "langfuse": (
        langfuse("x", "s1", "a", True, source="EVAL", metadata={"evaluator": "strict", "model": "gpt-x"}),
        langfuse("x", "s1", "a", True, source="API", metadata={"judge": "regex"}),
        langfuse("ann", "s1", "a", True),
    ),
    "langsmith": (
        langsmith("x", "s1", "a", 1, feedback_source={
            "type": "model", "metadata": {"evaluator": "strict", "model": "gpt-x"}}),
        langsmith("x", "s1", "a", 1, feedback_source={
            "type": "api", "user_id": "owner", "metadata": {"judge": "regex"}}),
        langsmith("ann", "s1", "a", 1),
    ),
    "phoenix": (
        phoenix("strict", "s1", "a", 1) | {"annotator_kind": "LLM", "metadata": {"model": "gpt-x"}},
        phoenix("regex", "s1", "a", 1) | {"annotator_kind": "CODE"},
        phoenix("ann", "s1", "a", 1),
    ),
    "mlflow": (
        mlflow("x", "s1", "a", True, source={"source_type": "LLM_JUDGE", "source_id": "strict"},
               metadata={"model": "gpt-x"}),
        mlflow("x", "s1", "a", True, source={"source_type": "CODE", "source_id": "regex"}),
        mlflow("ann", "s1", "a", True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", SOURCES)
def test_kinds_and_families_are_those_of_the_sources(tmp_path, tool):
    export = read_export(written(tmp_path / "records.json", SOURCES[tool]))
    assert {tuple(row.values()) for row in export.workers.to_pylist()} == {
        ("strict", "model", "gpt-x"), ("regex", "code", ""), ("ann", "human", ""),
    }  # fmt: skip


UNDECIDED = {
    "scores": (
        [langfuse("ann", "s1", "a", 4, "NUMERIC"), langfuse("m1", "s1", "a", 0.5, "NUMERIC"), *BOTH[1:2]],
        {}, ["'a': 4, 0.5", "--threshold X", "--asked b"],
    ),
    "words": (
        [phoenix("ann", "s1", "a", None, "good"), phoenix("m1", "s1", "a", None, "bad")],
        {}, ["'a': 'good', 'bad'", "--yes A,B"],
    ),
    "minus one": ([langsmith("ann", "s1", "a", -1)], {}, ["'a': -1", "--threshold"]),
    "structures": ([mlflow("ann", "s1", "a", {"x": 1})], {}, ["{'x': 1}", "--asked"]),
    "words that --yes does not know": (
        [mlflow("ann", "s1", "a", "good"), mlflow("ann", "s1", "b", "red")], {"yes": ["good"]}, ["'b': 'red'"]
    ),
    "yes and no beside a threshold for another scale": (
        [mlflow("ann", "s1", "a", 4), mlflow("ann", "s1", "b", 1)], {"threshold": 3}, ["only the values 0 and 1", "a"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_open_is_asked_with_the_values_that_were_seen(tmp_path, name):
    records, decided, words = UNDECIDED[name]
    with pytest.raises(InputError) as error:
        read_export(written(tmp_path / "records.json", records), **decided)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    "decided, message",
    [({"asked": ["a", "bb"]}, "'bb' is not there. The names are 'a', 'b'"), ({"asked": ["x"]}, "'x' is not there")],
)
def test_names_of_the_rubric_are_those_of_the_file(tmp_path, decided, message):
    with pytest.raises(InputError, match=message):
        read_export(written(tmp_path / "records.json", BOTH), **decided)


def test_a_text_in_place_of_a_list_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="asked must be a list of names; got the text 'ab'"):
        read_export(written(tmp_path / "records.json", BOTH), asked="ab")


def test_what_decides_nothing_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="--empty decides nothing in a file of langfuse"):
        read_export(written(tmp_path / "records.json", BOTH), empty="none")


def test_judges_who_change_their_mind_count_with_their_last_word(tmp_path):
    records = [langfuse("ann", "s1", "a", True, timestamp="2026-11-02T00:00:00Z"), langfuse("ann", "s1", "a", False)]
    path = written(tmp_path / "records.json", records)
    with pytest.raises(InputError, match="ann"):
        read_export(path)
    assert said(read_export(path, on_conflict="last")) == YES


DAMAGED = {
    "cut off": ('[{"name": "a", "source": "API", "dataType": "BOOLEAN"', "line 1, column"),
    "no name": (json.dumps([BOTH[0], {"source": "EVAL", "dataType": "BOOLEAN"}]), "record 2 must say a name (name)"),
    "no subject": (json.dumps([{"name": "a", "source": "EVAL", "dataType": "BOOLEAN"}]), "record 1 must say what was"),
    "no object": (json.dumps({"data": [BOTH[0], 7]}), "record 2 of record 1 must be an object; it is int"),
    "half of a character": (json.dumps([langfuse("ann", "\ud83d", "a", True)]), "half of a character"),
    "an id that is none": (
        json.dumps([{**langfuse("ann", "s1", "a", True), "id": [], "overrides": {}}, 7]),
        "record 2",
    ),
    "nothing": ("[]", "at least one answer"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_feedback_is_told_with_its_place(tmp_path, name):
    text, message = DAMAGED[name]
    path = tmp_path / "records.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_export(path, format="langfuse")
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


# -- data sets -------------------------------------------------------------------------------------------------------


def test_lewidi_annotators_deny_what_they_do_not_mention(tmp_path):
    export = read_export(written(tmp_path / "lewidi.json", jr.LEWIDI))
    assert export.tool == "lewidi"
    assert said(export) == EVERYTHING
    assert export.texts.to_pylist()[0] == {"item": "s1", "text": "A sentence."}


def test_lewidi_an_annotator_who_is_named_only_gave_none_and_others_were_not_asked(tmp_path):
    entry = {"annotators": "a1,a2", "annotations": {"a1": "x"}}
    other = {"annotators": ["a3"], "annotations": {"a3": "y , x"}}
    votes = said(read_export(written(tmp_path / "lewidi.json", {"s1": entry, "s2": other}), labels=["x", "y", "z"]))
    assert {key: yes for key, yes in votes.items() if key[1] == "s1"} == {
        ("a1", "s1", "x"): True, ("a1", "s1", "y"): False, ("a1", "s1", "z"): False,
        ("a2", "s1", "x"): False, ("a2", "s1", "y"): False, ("a2", "s1", "z"): False,
    }  # fmt: skip
    assert [key for key, yes in votes.items() if key[0] == "a3" and yes] == [("a3", "s2", "x"), ("a3", "s2", "y")]
    assert not [key for key in votes if key[:2] == ("a3", "s1")]


@pytest.mark.parametrize(
    "entry, message", [(7, "item 's1' must be an object"), ({}, "must have a field 'annotations'")]
)
def test_lewidi_damage_is_told_with_the_item(tmp_path, entry, message):
    with pytest.raises(FileFormatError, match=message):
        read_export(written(tmp_path / "lewidi.json", {"s1": entry}), format="lewidi")


def alttest_folder(folder: Path, **files: Any) -> Path:
    folder.mkdir()
    for name, document in files.items():
        written(folder / f"{name}.json", document)
    return folder


def test_alttest_a_folder_says_who_is_a_model(tmp_path):
    export = read_export(alttest_folder(tmp_path / "both", human_annotations=jr.PEOPLE, llm_annotations=jr.MODELS))
    assert export.tool == "alttest"
    assert said(export) == EVERYTHING
    assert export.roster is not None
    assert dict(zip(export.roster.worker.to_pylist(), export.roster.kind, strict=True)) == {
        "ann": "human", "m1": "model",
    }  # fmt: skip


def test_alttest_one_file_blank_answers_and_joints_in_names(tmp_path):
    document = {"m1": {"doc__7__a": 1, "doc__7__b": None}}
    export = read_export(written(tmp_path / "models.json", document))
    assert said(export) == {("m1", "doc__7", "a"): True}
    assert skipped(export) == {("m1", "doc__7", "b")}
    assert export.workers["kind"].to_pylist() == ["model"]


@pytest.mark.parametrize(
    "files, message",
    [
        ({"human": jr.PEOPLE, "others": jr.MODELS}, "others.json does not"),
        ({"human": jr.PEOPLE, "models": jr.PEOPLE}, "'ann' is also in models.json"),
        ({"human": {"ann": {"s1": 1}}, "models": jr.MODELS}, "'ann' in human.json has 's1'"),
        ({"human": {"ann": 1}, "models": jr.MODELS}, "'ann' in human.json must have an object"),
    ],
)
def test_alttest_what_cannot_be_is_told_with_its_place(tmp_path, files, message):
    with pytest.raises(InputError, match=message):
        read_export(alttest_folder(tmp_path / "both", **files), format="alttest")


def test_lines_of_judges_are_models_and_values_votes(tmp_path):
    records = [{"item": i, "judge": w, "label": label, "value": yes} for w, i, label, yes in jr.SAID]
    export = read_export(written(tmp_path / "judges.jsonl", records))
    assert said(export) == EVERYTHING
    assert set(export.workers["kind"].to_pylist()) == {"model"}


def test_lines_of_judges_without_a_value_leave_the_others_open(tmp_path):
    records = [{"item": "s1", "judge": "m1", "label": "a"}, {"item": "s1", "judge": "m1", "label": "b"},
               {"item": "s1", "judge": "m2", "label": []}, {"item": "s2", "judge": "m2", "label": "c"}]  # fmt: skip
    path = written(tmp_path / "judges.jsonl", records)
    with pytest.raises(InputError, match="--unmentioned absent"):
        read_export(path)
    ticked = {("m1", "s1", "a"): True, ("m1", "s1", "b"): True, ("m2", "s2", "c"): True}
    assert said(read_export(path, unmentioned="unknown")) == ticked
    denied = {("m1", "s1", "c"), ("m2", "s1", "a"), ("m2", "s1", "b"), ("m2", "s1", "c"), ("m2", "s2", "a"),
              ("m2", "s2", "b")}  # fmt: skip
    assert said(read_export(path, unmentioned="absent")) == {**ticked, **dict.fromkeys(denied, False)}


# -- tables in other wrappings ---------------------------------------------------------------------------------------

TABLE = pa.Table.from_pylist(jr.rows())
SETS = pa.table({
    "worker": ["ann", "ann", "m1"], "item": ["s1", "s2", "s1"], "labels": [["correct", "polite"], [], ["correct"]],
    "asked": [["correct", "polite"]] * 3,
})  # fmt: skip


def with_classes(table: pa.Table, column: str, names: list[str]) -> pa.Table:
    kind = {"names": names, "_type": "ClassLabel"}
    feature = {"feature": kind, "_type": "List"} if pa.types.is_list(table[column].type) else kind
    info = {"info": {"features": {column: feature, "item": {"dtype": "string", "_type": "Value"}}}}
    return table.replace_schema_metadata({"huggingface": json.dumps(info)})


@pytest.mark.parametrize("table", [TABLE, SETS], ids=["long", "lists"])
def test_a_saved_data_set_in_several_files_is_read(tmp_path, table):
    jr.save_to_disk(tmp_path / "votes", table, files=2)
    assert said(read_export(tmp_path / "votes")) == EVERYTHING


def test_files_of_older_savings_are_not_read(tmp_path):
    jr.save_to_disk(tmp_path / "votes", TABLE)
    jr.save_to_disk(tmp_path / "old", TABLE.slice(0, 1).set_column(0, "worker", pa.array(["old"])))
    (tmp_path / "old" / "data-00000-of-00001.arrow").rename(tmp_path / "votes" / "data-00007-of-00009.arrow")
    (tmp_path / "votes" / "cache-1.arrow").write_bytes(b"")
    assert said(read_export(tmp_path / "votes")) == EVERYTHING


def test_numbers_of_classes_get_their_names_back(tmp_path):
    numbers = SETS.set_column(2, "labels", pa.array([[0, 1], [-1], [0]])).drop_columns("asked")
    table = with_classes(numbers, "labels", ["correct", "polite"])
    jr.save_to_disk(tmp_path / "votes", table)
    pq.write_table(table, tmp_path / "votes.parquet")
    for name in ("votes", "votes.parquet"):
        assert said(read_export(tmp_path / name, unmentioned="absent")) == EVERYTHING


def parquet_splits(folder: Path, first: pa.Table, second: pa.Table) -> Path:
    (folder / "data").mkdir(parents=True)
    pq.write_table(first, folder / "data" / "train-00000-of-00001.parquet")
    pq.write_table(second, folder / "data" / "test-00000-of-00001.parquet")
    return folder


def test_splits_with_different_items_are_read_together_or_one_by_one(tmp_path):
    items = TABLE["item"].to_pylist()
    parts = [TABLE.filter(pa.array([item == wanted for item in items])) for wanted in ("s1", "s2")]
    folder = parquet_splits(tmp_path / "hub", *parts)
    export = read_export(folder)
    assert said(export) == EVERYTHING
    assert "splits read together: test, train" in export.notes
    assert {key[1] for key in said(read_export(folder, question="test"))} == {"s2"}
    with pytest.raises(InputError, match="must name splits of the data set, 'test', 'train'; got 'dev'"):
        read_export(folder, question="dev")


def test_splits_with_a_common_item_must_be_chosen(tmp_path):
    folder = parquet_splits(tmp_path / "hub", TABLE.slice(0, 5), TABLE.slice(5))
    with pytest.raises(InputError, match=r"item 's1' is in the splits .*--question test\+train if it is one"):
        read_export(folder)
    assert said(read_export(folder, question="train+test")) == EVERYTHING


def test_a_consensus_beside_its_votes_is_left_out(tmp_path):
    """As `amcc consensus --to huggingface` writes both."""
    items = pa.table({"item": ["s1", "s2"], "labels": [["correct"], []]})
    export = read_export(parquet_splits(tmp_path / "hub", TABLE, items))
    assert said(export) == EVERYTHING
    assert "left out, as they have no column of workers: test" in export.notes


def test_a_saved_data_set_with_splits_is_read(tmp_path):
    jr.save_to_disk(tmp_path / "votes" / "train", TABLE)
    (tmp_path / "votes" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    assert said(read_export(tmp_path / "votes")) == EVERYTHING


def test_damaged_data_sets_are_told_by_the_file(tmp_path):
    jr.save_to_disk(tmp_path / "votes", TABLE)
    data = tmp_path / "votes" / "data-00000-of-00001.arrow"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(FileFormatError, match=r"data-00000-of-00001.arrow is damaged or cut off"):
        read_export(tmp_path / "votes")
    data.unlink()
    with pytest.raises(FileFormatError, match="must hold Arrow or Parquet files"):
        read_export(tmp_path / "votes")


def test_missing_parts_of_a_data_set_are_told(tmp_path):
    jr.save_to_disk(tmp_path / "votes", TABLE, files=2)
    (tmp_path / "votes" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(FileFormatError, match=r"'data-00001-of-00002.arrow' is missing"):
        read_export(tmp_path / "votes")


GRID = [list(TABLE.column_names), *([*row.values()] for row in TABLE.to_pylist())]


@pytest.mark.parametrize("name, write", [("votes.xlsx", jr.workbook), ("votes.ods", jr.open_document)])
def test_a_sheet_is_a_table(tmp_path, name, write):
    write(tmp_path / name, {"votes": GRID, "empty": []})
    export = read_export(tmp_path / name)
    assert (export.tool, said(export)) == ("excel", EVERYTHING)


def test_of_several_sheets_one_is_named(tmp_path):
    jr.workbook(tmp_path / "votes.xlsx", {"read me": [["hello"]], "votes": GRID})
    with pytest.raises(InputError, match=r"several sheets, 'read me', 'votes'.*--question"):
        read_export(tmp_path / "votes.xlsx")
    assert said(read_export(tmp_path / "votes.xlsx", question="votes")) == EVERYTHING
    with pytest.raises(InputError, match="one of 'read me', 'votes'; got 'vote'"):
        read_export(tmp_path / "votes.xlsx", question="vote")


def test_cells_are_what_people_see(tmp_path):
    """7 is not 7.0, an empty cell is not asked, a blank row is none, and 007 stays text beside numbers."""
    grid = [["rater", "task", "tag", "vote"], [7, 1, "a", True], [None] * 4, [7, 2, "a", None], ["007", 1, "a", False]]
    jr.workbook(tmp_path / "votes.xlsx", {"Sheet1": grid})
    assert said(read_export(tmp_path / "votes.xlsx")) == {("7", 1, "a"): True, ("007", 1, "a"): False}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"PK\x03\x04 no archive", "damaged, or none"),
        (b"", "is empty"),
        ([["worker", "item", "label"], ["ann", "s1", "a", "stray"]], "row 1 has a cell without one"),
        ([["worker", "worker"], ["ann", "s1"]], "worker"),
        ([["hello"], ["there"]], "a column for the worker is missing"),
    ],
)
def test_what_is_wrong_with_a_spreadsheet(tmp_path, content, message):
    path = tmp_path / "votes.xlsx"
    path.write_bytes(content) if isinstance(content, bytes) else jr.workbook(path, {"Sheet1": content})
    with pytest.raises(InputError, match=message):
        read_export(path)


def test_without_the_extra_the_way_out_is_told(tmp_path, monkeypatch):
    jr.workbook(tmp_path / "votes.xlsx", {"votes": GRID})
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[excel\]'. Or save it as CSV"):
        read_export(tmp_path / "votes.xlsx")


def test_options_of_other_exports_are_refused_for_tables(tmp_path):
    jr.workbook(tmp_path / "votes.xlsx", {"votes": GRID})
    with pytest.raises(ParameterError, match="--asked is for exports of other tools"):
        read_export(tmp_path / "votes.xlsx", asked=["a"])
    with pytest.raises(ParameterError, match="separator is for text tables"):
        read_export(tmp_path / "votes.xlsx", separator=";")
