"""Families that nobody declared: found where they are a minority, and nobody accused where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from amcc import Roster, Votes, read_votes
from amcc.consensus.undeclared import MODEL_NAMES, suggested_roster, suspected_families

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from judges import judged_crowd


def crowd(seed, family_sizes, n_people, shared=0.8, share=0.5):
    """Judges of families that share nothing with each other, and people of mixed skill."""
    rng = np.random.default_rng(seed)
    names = [chr(97 + number) for number, size in enumerate(family_sizes) for _ in range(size)]
    judges = [(rng.uniform(0.65, 0.85), rng.uniform(0.1, 0.25)) for _ in names]
    people = [(rng.uniform(0.6, 0.9), rng.uniform(0.05, 0.2)) for _ in range(n_people)]
    return judged_crowd(seed, judges, names, people, among_all=0.0, in_family=shared, share=share, n_labels=6)


def found_in(judged, seats=None):
    return [suspicion.workers for suspicion in suspected_families(judged.votes, seats)]


@pytest.mark.parametrize(
    ("sizes", "n_people", "expected"),
    [((2,), 6, [(0, 1)]), ((4,), 8, [(0, 1, 2, 3)]), ((2, 2), 8, [(0, 1), (2, 3)]), ((), 8, []), ((), 25, [])],
)
@pytest.mark.parametrize("seed", range(2))
def test_planted_families(sizes, n_people, expected, seed):
    assert sorted(found_in(crowd(seed, sizes, n_people))) == expected


def test_people_are_not_accused_where_the_family_outnumbers_them():
    assert found_in(crowd(0, (4,), 2)) == []


def test_what_was_declared_is_no_news():
    judged = crowd(0, (4,), 8)
    assert found_in(judged, judged.roster.seats(judged.votes.worker_names)) == []
    others = Roster.from_frame(pa.table({"worker": ["judge 0"], "kind": ["human"]}))
    assert found_in(judged, others.seats(judged.votes.worker_names)) == [(0, 1, 2, 3)]


def test_samples_of_one_worker_are_no_family():
    table = crowd(0, (), 8).votes.to_arrow()
    twice = pa.concat_tables([table.append_column("sample", pa.array([n] * len(table))) for n in range(2)])
    assert suspected_families(Votes.from_frame(twice)) == []


@pytest.mark.parametrize(
    "name", ["gpt-4o", "openai/gpt-4o-mini", "Claude-3.5", "claude_haiku", "Llama-3.2-1B", "Qwen2.5-7B", "llm_3", "LLM"]
)
def test_names_of_language_models(name):
    assert MODEL_NAMES.search(name)


@pytest.mark.parametrize("name", ["w001", "anna", "person00", "egpta", "philip", "Yi Chen", "llmars", "A1B2C3"])
def test_names_of_others(name):
    assert not MODEL_NAMES.search(name)


def test_workers_who_are_named_like_models_are_pointed_out():
    votes = Votes.from_dense([[[1]], [[1]], [[-1]]], worker_names=["gpt-4o", "claude-3", "anna"])
    (suspicion,) = suspected_families(votes)
    assert suspicion.workers == (0, 1)
    assert suspicion.sentence(votes.worker_names).startswith("'gpt-4o', 'claude-3' are named like language models")
    rows = suggested_roster([suspicion], votes.worker_names).to_pylist()
    assert rows == [
        {"worker": "gpt-4o", "kind": "model", "family": "gpt"},
        {"worker": "claude-3", "kind": "model", "family": "claude"},
    ]
    assert suggested_roster([], votes.worker_names).num_rows == 0


@pytest.mark.parametrize(
    "name",
    ["affective", "apple_nakamura", "crowdtruth_medical", "nih_four_findings", "ecg_ribeiro", "sonyc_ust_fine_val"],
)
def test_no_false_alarm_on_real_crowds(shared_data, name):
    assert suspected_families(read_votes(shared_data / name / "annotations.csv.gz")) == []
