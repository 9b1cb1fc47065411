"""Families that nobody declared: found where they are a minority, and nobody accused where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from amcc import Roster, Votes, read_votes
from amcc.consensus.undeclared import MODEL_NAMES, Suspicion, _clusters, _skills, suggested_roster, suspected_families

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


# -- single steps ----------------------------------------------------------------------------------------------------


def test_sentences_name_eight_workers_and_give_the_way_out():
    names = pa.array([f"w{code}" for code in range(12)])
    told = Suspicion(tuple(range(12)), 0.61, 0.08).sentence(names)
    assert "'w7' and 4 others make the same mistakes" in told
    assert "'w8'" not in told
    assert "correlation of errors 0.61, usual is 0.08" in told
    assert "--suggest-workers FILE" in told
    assert "others" not in Suspicion(tuple(range(8)), None, None).sentence(names)
    assert Suspicion((1, 3), 0.5, 0.1).as_json(names) == {"workers": ["w1", "w3"], "correlation": 0.5, "usual": 0.1}


def test_families_without_a_name_are_numbered_and_nobody_is_in_two():
    names = pa.array(["ann", "bob", "gpt-4", "cleo"])
    rows = suggested_roster([Suspicion((0, 2), 0.5, 0.1), Suspicion((0, 1), 0.5, 0.1)], names).to_pylist()
    assert [row["worker"] for row in rows] == ["ann", "bob", "gpt-4"]
    assert [row["family"] for row in rows] == ["family 1", "family 2", "gpt"]
    assert {row["kind"] for row in rows} == {"model"}


@pytest.mark.parametrize("n_workers", [0, 1, 3])
def test_crowds_that_cannot_be_compared_get_no_warning(n_workers):
    dense = np.where(np.random.default_rng(0).random((max(n_workers, 1), 100, 1)) < 0.5, 1, -1)
    votes = Votes.from_dense(dense)
    assert suspected_families(votes.select(np.zeros(len(votes), dtype=bool)) if n_workers == 0 else votes) == []


def test_clusters_hold_together():
    """0, 1 and 2 are linked with each other; 3 with 0 only, which is less than half of the others."""
    linked = np.zeros((6, 6), dtype=bool)
    for one, other in ((0, 1), (0, 2), (1, 2), (0, 3)):
        linked[one, other] = linked[other, one] = True
    assert [group.tolist() for group in _clusters(linked)] == [[0, 1, 2]]
    linked[4, 5] = linked[5, 4] = True
    assert [group.tolist() for group in _clusters(linked)] == [[0, 1, 2], [4, 5]]
    assert _clusters(np.zeros((3, 3), dtype=bool)) == []


def test_skills_are_found_where_truth_is_all_that_is_shared():
    skill, compared = np.linspace(0.5, 0.8, 30), ~np.eye(30, dtype=bool)
    seen = np.outer(skill, skill)
    found = _skills(seen, compared)
    assert np.abs(found - skill).max() < 0.05  # a usual worker lends one comparison of thirty
    seen[0, 1] = seen[1, 0] = 0.95
    assert np.abs(_skills(seen, compared) - found).max() < 0.01  # two who share something else do not count
