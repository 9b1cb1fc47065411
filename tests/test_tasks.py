"""The ten tasks of docs/tasks.md: their command lines run in an empty folder, and then the task is done."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from doc_pages import ROOT, run_page
from running import amcc

PAGE = (ROOT / "docs" / "tasks.md").read_text()
TASKS = {int(part[3:].partition(".")[0]): part for part in re.split(r"^(?=## \d)", PAGE, flags=re.MULTILINE)[1:]}


def shown_and_reported(folder: Path, said: str) -> None:
    assert re.search(r"majority +0\.\d+", said) and re.search(r"amcc +0\.\d+", said)
    assert "<html" in (folder / "amcc-demo" / "report.html").read_text()[:500]


def sets_and_settled(folder: Path, said: str) -> None:
    assert len(pd.read_csv(folder / "sets.csv")) == 100
    pairs = pd.read_csv(folder / "consensus.csv")
    assert list(pairs) == ["item", "label", "probability", "present", "settled"]
    assert len(pairs) == 100 * 5
    assert "settled is assumed" in said


def read_as_meant(folder: Path, said: str) -> None:
    assert re.search(r"workers +2 .*items +2 .*labels +3 .*votes +12 in 4 answers", said, flags=re.DOTALL)
    assert list(pd.read_csv(folder / "sets.csv")["item"]) == ["clip1", "clip2"]
    refused = amcc("check", "ticks.csv", code=2, cwd=folder)
    assert "--unmentioned absent" in refused.stderr


def suspects_with_evidence(folder: Path, said: str) -> None:
    workers = pd.read_csv(folder / "workers.csv").set_index("worker")
    assert workers["informativeness"].is_monotonic_decreasing
    kinds = pd.read_csv(folder / "crowd" / "workers.csv").set_index("worker")["kind"]
    accused = workers.index[workers["evidence"].notna()]
    assert set(kinds[accused]) <= {"uniform_spammer", "random_spammer"} and len(accused) >= 3
    assert "looks like a spammer: says yes to 'label_1' in 43 of 43 answers" in said


def answers_used(folder: Path, said: str) -> None:
    assert len(pd.read_csv(folder / "ask.csv")) == 10
    assert re.search(r"jaccard .* ", said) and "over 10 items, 10 pairs" in said
    assert "10 pairs are known" in said
    mine, now = (pd.read_csv(folder / name).set_index(["item", "label"]) for name in ("mine.csv", "consensus.csv"))
    assert (now.loc[mine.index, "present"] == (mine["truth"] == "yes")).all()


def models_weighed(folder: Path, said: str) -> None:
    (worth,) = re.findall(r"all models: 6 models, 6\.0 votes on a pair are worth (\d\.\d) independent ones", said)
    assert float(worth) < 4
    assert len(pd.read_csv(folder / "consensus.csv")) == 100 * 5


def money_adds_up(folder: Path, said: str) -> None:
    asked = pd.read_csv(folder / "ask.csv")
    sums = re.findall(r"budget of 200\.00: (\S+) paid, (\S+) due, (\S+) reserved, (\S+) left", said)
    assert [sum(map(float, row)) for row in sums] == [200, 200]
    assert float(sums[-1][0]) == pytest.approx(asked["price"].sum())
    assert pd.read_csv(folder / "payments.csv")["worker"].nunique() == asked["worker"].nunique()


def answered_and_paid(folder: Path, said: str) -> None:
    assert len(pd.read_csv(folder / "links.csv")) == 3
    votes, payments = (pd.read_csv(folder / name) for name in ("votes.csv", "payments.csv"))
    assert len(votes) > 0
    assert 0 < payments["due"].sum() <= 20
    assert set(pd.read_csv(folder / "consensus.csv")["item"]) <= {"clip1", "clip2", "clip3"}


def same_as_in_memory(folder: Path, said: str) -> None:
    packed, whole, again = (pd.read_csv(folder / f"{name}.csv") for name in ("packed", "whole", "again"))
    assert_allclose(packed["probability"], whole["probability"], atol=1e-6)  # nine digits are promised
    assert_allclose(again["probability"], whole["probability"], atol=0.05)  # a few rounds more


def published(folder: Path, said: str) -> None:
    assert len(re.findall(r"^\d +label_\d +0\.\d+ +0\.\d+ +0\.\d+$", said, flags=re.MULTILINE)) == 5
    (scores,) = re.findall(r"^(0\.\d+) (0\.\d+)$", said, flags=re.MULTILINE)
    assert float(scores[0]) > float(scores[1])
    assert said.rstrip().endswith("True")


DONE: dict[int, Callable[[Path, str], None]] = {
    1: shown_and_reported,
    2: sets_and_settled,
    3: read_as_meant,
    4: suspects_with_evidence,
    5: answers_used,
    6: models_weighed,
    7: money_adds_up,
    8: answered_and_paid,
    9: same_as_in_memory,
    10: published,
}


def test_there_are_ten_tasks_and_each_says_all():
    assert list(TASKS) == list(DONE) == list(range(1, 11))
    for task in TASKS.values():
        for part in ("Situation.", "I want", "Done when", "Answered by"):
            assert f"- **{part}**" in task


@pytest.mark.parametrize("number", TASKS)
def test_task_can_be_done(number, tmp_path):
    DONE[number](tmp_path, "\n".join(run_page(TASKS[number], tmp_path)))
