"""`Votes.from_…`: one constructor for each tool, for a path or for records that are in memory."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

import amcc
import judge_records as jr
from amcc.errors import InputError
from amcc.io.exchange import TOOLS, Records
from amcc.votes import Decided
from amcc.votes.from_tools import FromTools

EXPECTED = amcc.Votes.from_frame(__import__("pandas").DataFrame(jr.rows()))
TASK = {
    "id": 7, "data": {"text": "…", "ask": [{"value": "a"}, {"value": "b"}]}, "predictions": [],
    "annotations": [{"completed_by": 9, "result": [
        {"from_name": "t", "to_name": "x", "type": "choices", "value": {"choices": ["a"]}}]}],
}  # fmt: skip


def same(votes: amcc.Votes) -> bool:
    """Whether these are the votes of the records, in whatever order their names are."""
    rows = [sorted(map(str, each.to_pandas().astype(str).to_numpy().tolist())) for each in (votes, EXPECTED)]
    return rows[0] == rows[1]


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_every_tool_has_a_constructor(tool):
    make = getattr(amcc.Votes, f"from_{tool.replace('-', '_')}")
    assert f'"{tool}"' in inspect.getsource(make)
    assert make.__doc__


def test_every_decision_is_a_keyword_of_the_constructors():
    from dataclasses import fields

    from amcc.io.exchange import Decisions

    assert {each.name for each in fields(Decisions)} <= Decided.__annotations__.keys()
    assert issubclass(amcc.Votes, FromTools)


@pytest.mark.parametrize("tool", jr.JUDGES)
def test_records_in_memory_and_files_give_the_same(tmp_path, tool):
    records = [jr.JUDGES[tool](*each) for each in jr.SAID]
    (tmp_path / "records.json").write_text(json.dumps(records))
    make = getattr(amcc.Votes, f"from_{tool}")
    assert same(make(records))
    assert same(make(each for each in records))
    assert make(records) == make(tmp_path / "records.json") == make(str(tmp_path / "records.json"))
    assert amcc.read_export(records).tool == tool  # known by what they hold, too


def test_decisions_are_keywords():
    records = [jr.langfuse("ann", "s1", "a", 4, "NUMERIC"), jr.langfuse("m1", "s1", "a", 2, "NUMERIC")]
    with pytest.raises(InputError, match="'a': 4, 2"):
        amcc.Votes.from_langfuse(records)
    assert amcc.Votes.from_langfuse(records, threshold=3).value.tolist() == [1, -1]


def test_other_tools_from_memory(tmp_path):
    assert len(amcc.Votes.from_label_studio([TASK])) == 2
    assert same(amcc.Votes.from_lewidi(jr.LEWIDI))
    assert same(amcc.Votes.from_huggingface(jr.rows()))
    assert same(amcc.Votes.from_excel(jr.rows()))
    assert same(amcc.Votes.from_alttest({**jr.PEOPLE, **jr.MODELS}))
    assert same(amcc.Votes.from_judges({"item": i, "judge": w, "label": n, "value": yes} for w, i, n, yes in jr.SAID))


def test_objects_of_libraries_are_records():
    class Model:
        def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
            assert (mode, by_alias) == ("json", True)
            return {"id": 1}

    class Entity:
        def to_dictionary(self) -> dict[str, Any]:
            return {"id": 2}

    @dataclass
    class Data:
        id: int

    assert [record for _, record in Records([Model(), Entity(), Data(3), {"id": 4}]).records()] == [
        {"id": number} for number in (1, 2, 3, 4)
    ]
    assert list(Records([{"WorkerId": 7, "note": None}]).rows()) == [("record 1", {"WorkerId": "7", "note": ""})]


def test_records_of_nobody_are_refused():
    with pytest.raises(InputError, match=r"look like none\. Say whose they are"):
        amcc.read_export([{"colour": "red"}])
    with pytest.raises(InputError, match="record 1 must be an object; it is str"):
        amcc.Votes.from_langfuse(["name"])


def test_votes_alone_find_the_reader():
    """Votes know no files: the front door tells them who reads, without importing it before."""
    code = """
import sys
from amcc.votes import Votes
assert "amcc.io" not in sys.modules
votes = Votes.from_mlflow([{"assessment_name": "a", "trace_id": "t", "feedback": {"value": True},
                            "source": {"source_type": "HUMAN", "source_id": "ann"}}])
assert len(votes) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
