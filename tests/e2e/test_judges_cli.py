"""--workers as a user gives it: who shares errors, what is refused, what is suggested."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from amcc.io import write_table, write_votes
from running import amcc, said

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from judges import judged_crowd


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes of four judges of one family and three people, and who they are."""
    folder = tmp_path_factory.mktemp("judged")
    judged = judged_crowd(
        0, ((0.8, 0.2),) * 4, "aaaa", ((0.8, 0.1),) * 3, among_all=0.6, in_family=0.3, n_items=60, n_labels=5
    )
    write_votes(judged.votes, folder / "votes.csv")
    roster = judged.roster
    table = pa.table({"worker": roster.worker, "kind": list(roster.kind), "family": roster.family})
    write_table(table, folder / "workers.csv")
    return folder


def test_workers_with_their_kinds_and_families(folder):
    out, err = said("workers", "votes.csv", "--workers", "workers.csv", cwd=folder)
    rows = {row["worker"]: row for row in csv.DictReader(io.StringIO(out))}
    assert rows["judge 0"]["kind"] == "model"
    assert rows["judge 0"]["family"] == "a"
    assert float(rows["judge 0"]["vote_worth"]) < 0.6
    assert (rows["person 1"]["kind"], rows["person 1"]["family"]) == ("human", "")
    assert float(rows["person 1"]["vote_worth"]) == 1
    assert "a: 4 models, 4.0 votes on a pair are worth" in err


def test_families_in_json(folder):
    out, _ = said("workers", "votes.csv", "--workers", "workers.csv", "--json", cwd=folder)
    told = json.loads(out)
    first = told["families"][0]
    assert list(first) == [
        "family", "kind", "members", "votes", "votes_per_pair", "correlation", "effective_votes", "null_low",
        "null_high",
    ]  # fmt: skip
    assert first["effective_votes"] < first["null_low"]
    assert told["suspected_families"] == []
    out, _ = said("consensus", "votes.csv", "--workers", "workers.csv", "--json", cwd=folder)
    assert [row["family"] for row in json.loads(out)["families"]] == ["all models", "a"]


def test_consensus_hears_the_people(folder):
    with_file, _ = said("consensus", "votes.csv", "--workers", "workers.csv", cwd=folder)
    without, _ = said("consensus", "votes.csv", cwd=folder)
    assert with_file != without


def test_a_saved_model_keeps_the_families(folder, tmp_path):
    command = ("consensus", "votes.csv", "--workers", "workers.csv", "-o", tmp_path / "c.csv")
    said(*command, "--save", tmp_path / "m", cwd=folder)
    first = (tmp_path / "c.csv").read_text()
    _, err = said(*command, "--from", tmp_path / "m", cwd=folder)
    assert (tmp_path / "c.csv").read_text() == first
    assert "all models" in err


def test_check_counts_kinds_and_families(folder):
    out, _ = said("check", "votes.csv", "--workers", "workers.csv", cwd=folder)
    assert "model  a       4        1,200" in out
    out, _ = said("check", "votes.csv", "--workers", "workers.csv", "--json", cwd=folder)
    assert json.loads(out)["families"][1] == {"kind": "model", "family": "a", "workers": 4, "votes": 1200}


def test_next_prefers_people_where_judges_repeat_each_other(folder):
    """Judges who agree with each other look worth their higher price, until the file says why they agree."""
    (folder / "more.csv").write_text("item\n" + "".join(f"new{n}\n" for n in range(20)))
    (folder / "prices.csv").write_text("worker,price\n" + "".join(f"judge {n},3\n" for n in range(4)))
    prices = ("--prices", "prices.csv", "--price", "1")
    command = ("next", "votes.csv", "--budget", "60", "--batch", "20", "--items", "more.csv", *prices)

    def people_asked(*options):
        out, _ = said(*command, *options, cwd=folder)
        return sum(row["worker"].startswith("person") for row in csv.DictReader(io.StringIO(out)))

    assert people_asked("--workers", "workers.csv") > 10 > people_asked()


def test_questions_to_the_requester_know_the_families(folder):
    command = ("next", "votes.csv", "--for-expert", "--drawn", "0", "--json")
    with_file, without = (
        [question["probability"] for question in json.loads(said(*command, *more, cwd=folder)[0])["questions"]]
        for more in (("--workers", "workers.csv"), ())
    )
    assert with_file != without


def test_packed_votes_are_read(folder, tmp_path):
    said("pack", "votes.csv", "-o", tmp_path / "packed", cwd=folder)
    packed, _ = said("workers", tmp_path / "packed", "--workers", "workers.csv", cwd=folder)
    assert packed == said("workers", "votes.csv", "--workers", "workers.csv", cwd=folder)[0]


def test_workers_from_standard_input_are_refused_beside_votes(folder):
    assert "can be read once" in amcc("workers", "-", "--workers", "-", code=2, cwd=folder).stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("worker,kind\njudge 0,robot\n", "other.csv: a kind must be human, model or code, or empty for human; column"),
        ("worker,kind\nsomebody,model\n", "other.csv: a workers file must name workers of the votes"),
        ("worker,kind\njudge 0,model\njudge 0,human\n", "'judge 0' is model, family none in row 1 and human"),
        ("worker,family\njudge 0,a\n", "kind is missing"),
        ("worker,kind\n", "at least one worker"),
    ],
)
@pytest.mark.parametrize("command", ["workers", "consensus", "check"])
def test_bad_workers_files(folder, command, content, says):
    (folder / "other.csv").write_text(content)
    _, err = said(command, "votes.csv", "--workers", "other.csv", code=2, cwd=folder)
    assert says in err


def test_methods_that_cannot_use_it_say_so(folder):
    _, err = said("consensus", "votes.csv", "--workers", "workers.csv", "-m", "majority", code=2, cwd=folder)
    assert "MajorityVote() does not use kinds and families of workers" in err


def test_names_of_language_models_and_a_file_to_correct(tmp_path):
    rows = [f"{who},{item},a,{said}\n" for who in ("gpt-4o", "claude-3", "anna") for item, said in ((1, 1), (2, 0))]
    (tmp_path / "v.csv").write_text("worker,item,label,value\n" + "".join(rows))
    _, err = said("consensus", "v.csv", cwd=tmp_path)
    assert "'claude-3', 'gpt-4o' are named like language models" in err
    said("workers", "v.csv", "--suggest-workers", "w.csv", cwd=tmp_path)
    assert (tmp_path / "w.csv").read_text() == "worker,kind,family\nclaude-3,model,claude\ngpt-4o,model,gpt\n"
    _, err = said("consensus", "v.csv", "--workers", "w.csv", cwd=tmp_path)
    assert "1 of 3 workers are not in the workers file and count as people without a family: 'anna'" in err
    assert "named like" not in err


def test_a_model_asked_three_times(tmp_path):
    rows = [f"gpt,{item},a,{said},{n}\n" for item, said in ((1, 1), (2, 0)) for n in range(3)]
    rows += [f"{who},{item},a,{said},0\n" for who in "pq" for item, said in ((1, 1), (2, 0))]
    (tmp_path / "v.csv").write_text("worker,item,label,value,sample\n" + "".join(rows))
    out, err = said("workers", "v.csv", cwd=tmp_path)
    assert "4 votes are further samples of a worker who was asked before; together they count as one" in err
    assert "gpt,2," in out
    without = (tmp_path / "v.csv").read_text().replace("sample", "note")
    (tmp_path / "v.csv").write_text(without)
    assert said("workers", "v.csv", "--on-conflict", "samples", cwd=tmp_path)[0] == out
    (tmp_path / "v.csv").write_text(without.replace(",note", ",sample"))
    _, err = said("pack", "v.csv", "-o", "packed", code=2, cwd=tmp_path)
    assert "packed votes hold one vote of each worker on a question; 4 are further samples" in err


def test_the_report_shows_families(folder, tmp_path):
    pytest.importorskip("vl_convert")
    out = ("-o", tmp_path / "c.csv", "--report", tmp_path / "r.html")
    said("consensus", "votes.csv", "--workers", "workers.csv", *out, cwd=folder)
    page = (tmp_path / "r.html").read_text()
    assert "Families of workers" in page
    assert "all models" in page


# -- people, models and you in one choice ------------------------------------------------------------------------------

PRICED = ("--workers", "workers.csv", "--kind-price", "model=0.0005", "--kind-price", "human=0.08", "--decimals", "4")


def test_the_plan_says_whom_to_ask(folder):
    (folder / "new.csv").write_text("item\nnew0\nnew1\nnew2\n")
    command = ("next", "votes.csv", "--items", "new.csv", "--budget", "1", "--batch", "9", *PRICED, "--json")
    out, err = said(*command, cwd=folder)
    told = json.loads(out)
    assert sum(sum(row.get(kind, 0) for kind in ("model", "human")) for row in told["plan"]) == len(told["questions"])
    assert sum(row["cost"] for row in told["plan"]) == pytest.approx(told["cost"])
    assert all(row["ask"].startswith("ask ") for row in told["plan"])
    assert told["plan"][0]["ask"] in err
    assert {row["price"] for row in told["questions"]} <= {0.0005, 0.08}


def test_you_are_asked_and_told_how_to_answer(folder):
    options = ("--price", "9", "--budget", "4", "--my-price", "2")  # nobody else can be paid
    out, err = said("next", "votes.csv", "--workers", "workers.csv", *options, cwd=folder)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["worker"] for row in rows] == ["you", "you"]
    assert all("you, as an expert" in row["why"] for row in rows)
    assert "ask yourself (" in err
    assert "2 questions for you: put your answers in a table item,label,truth (yes or no) and hand it back" in err
    answers = "".join(f"{row['item']},{row['label']},yes\n" for row in rows)
    (folder / "mine.csv").write_text("item,label,truth\n" + answers)
    out, _ = said("next", "votes.csv", "--workers", "workers.csv", *options, "--truth", "mine.csv", cwd=folder)
    again = {(row["item"], row["label"]) for row in csv.DictReader(io.StringIO(out))}
    assert again.isdisjoint({(row["item"], row["label"]) for row in rows})  # what you answered is known


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kind-price", "model=2"), "say so in a workers file (--workers FILE)"),
        (("--kind-price", "robot=2"), "a kind must be human, model or code; --kind-price robot=2 has 'robot'"),
        (("--kind-price", "2"), "--kind-price must be KIND=AMOUNT, like model=0.002; got '2'"),
        (("--kind-price", "model=2", "--kind-price", "Model=3"), "model has two"),
        (("--workers", "workers.csv", "--kind-price", "code=2", "--price", "1"), "nobody is of kind 'code'"),
        (("--workers", "workers.csv", "--kind-price", "model=-2", "--price", "1"), "kind 'model' must not be negative"),
        (("--workers", "workers.csv", "--kind-price", "model=2"), "there is none for 'person 0'"),
        (("--kind-price", "model=2", "--prices", "eq12"), "is for everybody already; leave --kind-price"),
        (("--page-price", "-1"), "the page price must not be negative"),
        (("--page-price", "1", "--page-price", "2"), "--page-price must be KIND=AMOUNT"),
        (("--my-price", "0"), "your price must be above 0"),
        (
            ("--my-price", "2", "--me", "judge 0"),
            "a name that no worker has; got 'judge 0'. Choose another (--me NAME)",
        ),
        (("--me", "boss"), "say with --my-price"),
    ],
)
def test_senseless_prices_of_people_models_and_you(folder, options, says):
    out, err = said("next", "votes.csv", "--budget", "9", *options, code=2, cwd=folder)
    assert says in " ".join(err.split())
    assert out == ""


def test_nobody_is_paid_where_only_you_are_asked(folder):
    _, err = said("next", "votes.csv", "--for-expert", "--my-price", "2", code=2, cwd=folder)
    assert "--my-price would change nothing" in " ".join(err.split())
