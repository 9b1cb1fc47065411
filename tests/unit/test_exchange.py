"""Exports of other tools: whose they are, what must be decided about them, other names, and files that are damaged."""

from __future__ import annotations

import io
import json
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from amcc.errors import AmccError, ConflictError, EmptyInputError, InputError, ParameterError
from amcc.io import is_export, read_export, read_votes, spool
from amcc.io.exchange import TOOLS, Source
from amcc.io.exchange.pseudonyms import keyed, read_key
from exchange_files import (
    LABELS,
    SAMPLES,
    annotation,
    argilla,
    as_csv,
    as_json,
    as_lines,
    as_zip,
    boxes,
    doccano,
    flat,
    mturk,
    potato,
    prediction,
    prodigy,
    response,
    task,
    zooniverse,
)  # fmt: skip

FUZZ = Path(__file__).parents[1] / "fuzz"


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


# -- whose it is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_is_known_as_that_of_one_tool(name, tmp_path):
    source = Source(SAMPLES[name].write(tmp_path))
    assert [tool.name for tool in TOOLS if tool.recognises(source)] == [SAMPLES[name].tool]


def test_a_folder_with_a_file_per_user_is_known(tmp_path):
    for name in ("ann", "bob"):
        write(tmp_path, f"{name}.jsonl", as_lines([doccano(1, "economy")]))
    write(tmp_path, ".DS_Store", b"x")
    found = read_export(tmp_path)
    assert found.tool == "doccano"
    assert found.votes.worker_names.to_pylist() == ["ann", "bob"]


def plain_tables() -> dict[str, tuple[str, bytes]]:
    """Every layout of plain votes that the fuzzer damages, and some that look a little like an export."""
    sys.path.insert(0, str(FUZZ))
    try:
        from readers import SEEDS
    finally:
        sys.path.remove(str(FUZZ))
    suffixes = {"tabs": ".tsv", "jsonl": ".jsonl", "jsonl sets": ".jsonl"}
    tables = {
        f"{name} {number}": (f"votes{suffixes.get(name, '.csv')}", data)
        for name, many in SEEDS.items() for number, data in enumerate(many)
    }  # fmt: skip
    return tables | {
        "crowd-kit": ("a.csv", b"task,worker,label\n1,ann,dog\n"),
        "with an annotation_id": ("a.csv", b"id,item,annotator,annotation_id,label,value\n1,x,ann,5,dog,1\n"),
        "with instance and user": ("a.csv", b"instance_id,user_id,label,value\ns1,w1,dog,1\n"),
        "labels of JSON lines": ("a.jsonl", b'{"instance_id":"s1","user_id":"w1","labels":["dog"]}\n'),
        "answers of JSON lines": ("a.jsonl", b'{"worker":"w","item":"i","label":"dog","answer":"accept"}\n'),
    }


@pytest.mark.parametrize("name", plain_tables())
def test_a_plain_table_is_no_export(name, tmp_path):
    file, data = plain_tables()[name]
    assert not is_export(write(tmp_path, file, data))


def test_a_folder_of_tables_is_no_export(tmp_path):
    write(tmp_path, "votes.csv", b"id,worker,label,value\n1,ann,dog,1\n")
    assert not is_export(tmp_path)


def test_the_format_can_be_said(tmp_path):
    path = write(tmp_path, "ann.jsonl", as_lines([doccano(1, "economy"), doccano(2, "sports")]))
    assert read_votes(path, format="doccano").worker_names.to_pylist() == ["ann"]
    with pytest.raises(ParameterError, match="--format must be one of alttest, argilla, doccano"):
        read_votes(path, format="docano")


def test_a_file_of_two_tools_must_be_named(tmp_path):
    both = task(1, annotation(9, "economy")) | flat(1, 9, "economy", "sports")
    path = write(tmp_path, "a.json", as_json([both]))
    with pytest.raises(InputError, match=r"looks like label-studio .* and label-studio-min .*--format label-studio\."):
        read_votes(path)
    assert read_export(path, format="label-studio").tool == "label-studio"


# -- what must be decided --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.flag])
def test_what_a_file_cannot_say_is_explained(name, tmp_path):
    sample = SAMPLES[name]
    with pytest.raises(InputError) as error:
        read_votes(sample.write(tmp_path))
    assert sample.why in str(error.value)
    assert sample.flag[0] in str(error.value)
    assert len(read_votes(tmp_path / sample.name, **sample.options))


@pytest.mark.parametrize(
    ("name", "options", "flag"),
    [
        ("prodigy", {"empty": "none"}, "--empty"),
        ("prodigy", {"unmentioned": "absent"}, "--unmentioned"),
        ("mturk", {"rejected": "none"}, "--rejected"),
        ("doccano", {"threshold": 0.5}, "--threshold"),
        ("label studio", {"yes": ["good"]}, "--yes"),
        ("zooniverse", {"asked": ["good"]}, "--asked"),
    ],
)
def test_a_decision_that_decides_nothing_is_refused(name, options, flag, tmp_path):
    with pytest.raises(ParameterError, match=f"{flag} decides nothing in a file of"):
        read_votes(SAMPLES[name].write(tmp_path), **options)


@pytest.mark.parametrize("options", [{"columns": {"worker": "annotator"}}, {"zero": "no"}, {"separator": ","}])
def test_options_of_tables_are_refused_for_exports(options, tmp_path):
    with pytest.raises(ParameterError, match=r"can only be said of plain tables; .* Say --format table"):
        read_votes(SAMPLES["label studio"].write(tmp_path), **options)


@pytest.mark.parametrize("name", ["empty", "rejected", "yes", "asked", "question"])
def test_decisions_about_exports_are_refused_for_tables(name, tmp_path):
    path = write(tmp_path, "votes.csv", b"worker,item,label,value\nann,1,dog,1\n")
    with pytest.raises(ParameterError, match=f"--{name} is for exports of other tools"):
        read_votes(path, **{name: "none"})


def test_labels_must_be_all_that_the_file_has(tmp_path):
    with pytest.raises(InputError, match="the file also has 'politics', 'sports'"):
        read_votes(SAMPLES["zooniverse"].write(tmp_path), labels=["economy"])


def test_a_question_must_be_in_the_file(tmp_path):
    with pytest.raises(ParameterError, match="--question must be one of those in the file, 'topics'; got 'topic'"):
        read_votes(SAMPLES["label studio"].write(tmp_path), question="topic")


def test_several_questions_are_not_mixed(tmp_path):
    rows = [mturk("h1", "A", boxes("economy") | {"mood": {"happy": True, "sad": False}, "comment": "fine"})]
    path = write(tmp_path, "a.csv", as_csv(rows))
    with pytest.raises(InputError, match=r"several questions, 'mood', 'topics'.*--question mood"):
        read_votes(path)
    assert read_votes(path, question="mood").label_names.to_pylist() == ["happy", "sad"]


def test_labels_that_nobody_gave_are_offered_by_labels(tmp_path):
    path = SAMPLES["potato jsonl"].write(tmp_path)
    assert any("--labels names more" in note for note in read_export(path).notes)
    assert read_votes(path, labels=[*LABELS, "weather"]).n_labels == 4


def test_the_fields_are_shown_where_one_label_looks_like_any_text(tmp_path):
    path = write(tmp_path, "a.json", as_json([flat(1, 9, "economy"), flat(2, 9)]))
    with pytest.raises(
        InputError, match=r"text: 'text 1', 'text 2'; topics: 'economy'\. Say --labels .*--question top"
    ):
        read_votes(path)
    both = write(tmp_path, "b.json", as_json([flat(1, 9, "economy", mood="sports")]))
    with pytest.raises(InputError, match=r"several questions, 'mood', 'topics'"):
        read_votes(both, labels=list(LABELS))


def test_a_shared_answer_is_nobodys_vote(tmp_path):
    path = write(tmp_path, "a.zip", as_zip({"all.jsonl": as_lines([doccano(1, "economy")])}))
    with pytest.raises(InputError, match=r"all\.jsonl: the users of this project share one answer"):
        read_votes(path)


def test_two_truths_of_one_item_must_agree(tmp_path):
    path = write(tmp_path, "a.json", as_json([task(1, annotation(9, "economy", ground_truth=True),
                 annotation(10, ground_truth=True), annotation(11, "economy"))]))  # fmt: skip
    with pytest.raises(ConflictError):
        read_export(path).truth  # noqa: B018


def test_a_second_answer_can_be_taken(tmp_path):
    rows = [prodigy(1, "ann", "economy") | {"_timestamp": 1}, prodigy(1, "ann", "sports") | {"_timestamp": 2}]
    path = write(tmp_path, "a.jsonl", as_lines(rows))
    with pytest.raises(ConflictError, match="ann"):
        read_votes(path)
    votes = read_votes(path, on_conflict="last").to_arrow().to_pylist()
    assert {row["label"] for row in votes if row["value"] > 0} == {"sports"}


# -- other names -----------------------------------------------------------------------------------------------------


def test_personal_ids_are_numbered_unless_kept(tmp_path):
    path = SAMPLES["mturk"].write(tmp_path)
    found = read_export(path)
    assert found.votes.worker_names.to_pylist() == ["w1", "w2"]
    assert any("--keep-ids" in note for note in found.notes)
    assert read_votes(path, keep_ids=True).worker_names.to_pylist() == ["AAA111", "BBB222"]


def test_a_key_is_made_for_its_owner_and_kept(tmp_path):
    key = read_key(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert read_key(tmp_path / "key") == key
    assert read_key(tmp_path / "other") != key
    assert len(key) == 32


@pytest.mark.parametrize("text", ["", "abc", "f" * 63, "g" * 64, "f" * 65, "é" * 64])
def test_a_key_must_be_one(text, tmp_path):
    (tmp_path / "key").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="must hold a key of 64 hexadecimal digits"):
        read_key(tmp_path / "key")


def test_a_key_needs_a_place(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        read_key(tmp_path / "nowhere" / "key")


def test_pseudonyms_are_the_same_in_all_files_and_hide_everybody(tmp_path):
    rows = [task(1, annotation("secret-ann", "economy"), annotation("secret-bob", was_cancelled=True))]
    export = read_export(write(tmp_path, "a.json", as_json(rows)), pseudonyms=tmp_path / "key")
    table = write(tmp_path, "votes.csv", b"worker,item,label,value\nsecret-ann,1,dog,1\nsecret-bob,1,dog,0\n")
    plain = read_export(table, pseudonyms=tmp_path / "key")
    ann, bob = (keyed(read_key(tmp_path / "key"))(name) for name in ("secret-ann", "secret-bob"))
    assert export.votes.worker_names.to_pylist() == [ann]
    assert plain.votes.worker_names.to_pylist() == [ann, bob]
    assert export.skipped["worker"].to_pylist() == [bob]
    assert export.workers["worker"].to_pylist() == [ann]
    said = [table.to_pylist() for table in (export.skipped, export.workers, export.known, export.texts)]
    assert "secret" not in json.dumps([said, export.notes, plain.notes, plain.votes.notes()])


def test_models_keep_their_kind_under_another_name(tmp_path):
    found = read_export(SAMPLES["argilla"].write(tmp_path), pseudonyms=tmp_path / "key")
    kinds = dict(zip(found.workers["kind"].to_pylist(), found.workers["worker"].to_pylist(), strict=True))
    assert kinds["model"] == keyed(read_key(tmp_path / "key"))("m1")
    assert found.roster is not None


# -- files that are damaged ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_cut_off_is_a_clear_error_or_less_of_the_same(name, tmp_path):
    """Nothing but our own errors; what is read of a shorter file stands in the whole one as well."""
    sample = SAMPLES[name]
    whole = set(_votes(read_export(sample.write(tmp_path), keep_ids=True, **sample.options)))
    for end in range(0, len(sample.data), max(len(sample.data) // 40, 1)):
        path = write(tmp_path, sample.name, sample.data[:end])
        try:
            found = read_export(path, keep_ids=True, format=sample.tool, **sample.options)
        except AmccError as error:
            assert str(error)
        else:
            # The last name may be cut in two.
            assert len(set(_votes(found)) - whole) <= len(LABELS)


def _votes(export):
    return [tuple(row.values()) for row in export.votes.to_arrow().to_pylist()]


DAMAGED = {
    "no list": ("a.json", b'"text"', "label-studio", "must hold a list of records; it holds str"),
    "no object": ("a.json", b"[1]", "label-studio", "record 1 must be an object; it is int"),
    "nested deeply": ("a.json", b"[" * 100_000, "label-studio", "nested more deeply"),
    "a very long number": ("a.json", b"[" + b"1" * 5000 + b"]", "label-studio", "longer than any export"),
    "no UTF-8": ("a.json", b'[{"id": "\xff"}]', "label-studio", "UTF-8"),
    "half a character": ("a.json", as_json([task(1, annotation("\ud83d", "economy"))]), None, "half of a character"),
    "no id": ("a.json", as_json([{"data": {}, "annotations": []}]), None, "record 1 must have a field 'id'"),
    "annotations of a wrong type": (
        "a.json", as_json([task(1), task(2) | {"annotations": ""}]), None, "'annotations' of record 2 must be list"),
    "an annotation of a wrong type": (
        "a.json", as_json([task(1, 5)]), None, "annotation 1 of record 1 must be an object; it is int"),
    "nobody's annotation": ("a.json", as_json([task(1, annotation(None))]), None, "must say who made it"),
    "result of a wrong type": ("a.json", as_json([task(1, annotation(9, result={}))]), None, "be list; it is dict"),
    "marks in a text only": (
        "a.json", as_json([task(1, annotation(9, result=[{"type": "labels", "value": {"labels": ["x"]}}]))]),
        None, "choices that label the whole task; the results are 'labels' only"),
    "a consensus of ours, and no answer": (
        "a.json", as_json([task(1, predictions=[prediction("economy", model="amcc-1")])]), None,
        "none has one. Predictions of amcc are its own consensus, and no votes"),
    "nothing answered": ("a.json", as_json([task(1), task(2, annotation(9, was_cancelled=True))]), None,
                         "at least one answer; of 2 items none has one, 1 were skipped"),
    "a row that is too short": (
        "a.csv", b"HITId,WorkerId,Answer.taskAnswers\nh1,A\n", None, "must have 3 columns; row 1 has 2"),
    "a column twice": (
        "a.csv", b"HITId,WorkerId,WorkerId,Answer.taskAnswers\nh1,A,B,[]\n", None, "column names must be unique"),
    "no JSON in a cell": ("a.csv", b"HITId,WorkerId,Answer.taskAnswers\nh1,A,{\n", None, "of row 1 must be JSON"),
    "another JSON in a cell": ("a.csv", b"HITId,WorkerId,Answer.taskAnswers\nh1,A,7\n", None, "a list of objects"),
    "no worker": ("a.csv", as_csv([mturk("h1", "", boxes())]), None, "row 1 must have a WorkerId"),
    "marks in a picture": (
        "a.csv", as_csv([zooniverse("1", "v", ["economy"]), zooniverse("2", "v", [{"x": 1}])]), None,
        "the answer in row 2 must be a list of texts"),
    "an answer that nobody gives": (
        "a.jsonl", as_lines([prodigy(1, "ann"), prodigy(2, "ann", answer="maybe")]), None, "it is 'maybe'"),
    "spans": ("a.jsonl", as_lines([{"text": "t", "answer": "accept", "_input_hash": 1, "_session_id": "s"}]), None,
              "must have options to choose from"),
    "no session": ("a.jsonl", as_lines([prodigy(1, "ann") | {"_annotator_id": None, "_session_id": None}]), None,
                   "must say who answered"),
    "spans of doccano": (
        "a.zip", as_zip({"ann.jsonl": as_lines([doccano(1) | {"label": [[0, 3, "economy"]]}])}), None,
        "ann.jsonl: 'label' of line 1 must be a list of labels"),
    "a rating": ("a.jsonl", as_lines([potato("s1", "w1") | {"labels": {"mood": {"scale": "7"}}}]), None,
                 "must be true or blank; it is '7'"),
    "an unknown status": ("a.json", as_json([argilla("s1", response("u", "economy", status="lost"))]), None,
                          "it is 'lost'"),
    "no archive": ("a.zip", b"PK\x03\x04 and nothing", "doccano", "a.zip"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_wrong_is_said(name, tmp_path):
    file, data, tool, message = DAMAGED[name]
    path = write(tmp_path, file, data)
    with pytest.raises(InputError) as error:
        read_votes(path, format=tool)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".zip"])
@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_an_empty_file_is_a_clear_error(tool, suffix, tmp_path):
    with pytest.raises(InputError):
        read_votes(write(tmp_path, f"a{suffix}", b""), format=tool)


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path):
    path = write(tmp_path, "a.zip", as_zip({"ann.jsonl": b" " * (8 << 20)}))
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match=r"'ann\.jsonl' in it unpacks to 8,388,608 bytes"):
        read_votes(path, format="doccano")


def test_a_locked_archive_is_a_clear_error(tmp_path):
    data = bytearray(as_zip({"ann.jsonl": as_lines([doccano(1, "economy")])}))
    # The flag of encryption, in the entry itself and in the directory.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert zipfile.ZipFile(io.BytesIO(data)).infolist()[0].flag_bits & 1
    with pytest.raises(InputError, match=r"'ann\.jsonl' cannot be read from the archive \(File .* is encrypted"):
        read_votes(write(tmp_path, "a.zip", bytes(data)), format="doccano")


def test_a_first_line_with_a_picture_is_recognised(tmp_path):
    path = write(tmp_path, "a.jsonl", as_lines([{"image": "x" * (1 << 18)} | prodigy(1, "ann", "economy")]))
    assert read_export(path).tool == "prodigy"


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_may_come_without_a_name(name, tmp_path):
    """As standard input does."""
    path = spool(io.BytesIO(SAMPLES[name].data), tmp_path)
    assert read_export(path, **SAMPLES[name].options).tool == SAMPLES[name].tool


def test_nothing_answered_is_no_table_before_the_first_vote(tmp_path):
    with pytest.raises(EmptyInputError):
        read_votes(write(tmp_path, "a.json", as_json([task(1)])))
