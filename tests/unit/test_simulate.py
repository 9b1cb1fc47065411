"""Simulated crowds: the same in memory, in blocks and in files, and as planted."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import csv, parquet

from amcc.data.simulate import (
    HONEST_RATES,
    KINDS,
    CrowdSpec,
    SimulatedWorld,
    crowd_blocks,
    distinct,
    labels,
    simulate_crowd,
    world,
    write_crowd,
)
from amcc.io import read_truth

SMALL = CrowdSpec(n_items=300, n_workers=20, n_labels=6, n_features=3, seed=4)
SEEDS = range(5)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 1000 votes, so that small crowds have several."""
    monkeypatch.setattr(world, "BLOCK_VOTES", 1000)


def assert_same_crowd(one: SimulatedWorld, other: SimulatedWorld) -> None:
    assert one.votes == other.votes
    for part in fields(SimulatedWorld):
        if part.name != "votes":
            assert_array_equal(getattr(one, part.name), getattr(other, part.name), err_msg=part.name)


def count_votes(crowd: SimulatedWorld, chosen: np.ndarray) -> np.ndarray:
    """Chosen votes per worker and label, (n_workers, n_labels)."""
    votes = crowd.votes
    counts = np.zeros((votes.n_workers, votes.n_labels), dtype=int)
    np.add.at(counts, (votes.worker[chosen], votes.label[chosen]), 1)
    return counts


def yes_rates(crowd: SimulatedWorld, chosen: np.ndarray) -> np.ndarray:
    """Share of yes among the chosen votes, (n_workers, n_labels); nan where there are none."""
    n_yes, n_all = count_votes(crowd, chosen & (crowd.votes.value > 0)), count_votes(crowd, chosen)
    return np.divide(n_yes, n_all, out=np.full(n_all.shape, np.nan), where=n_all > 0)


def vote_truth(crowd: SimulatedWorld) -> np.ndarray:
    """Whether the label of each vote is truly present, (n_votes,)."""
    return crowd.truth[crowd.votes.item, crowd.votes.label]


def only_kind(kind: str) -> dict[str, object]:
    """Fields of a spec with this kind of worker alone."""
    return {"spammers": float("spammer" in kind), "kind_weights": dict.fromkeys(KINDS, 0.0) | {kind: 1.0}}


class TestSeed:
    def test_fixes_everything(self) -> None:
        assert_same_crowd(simulate_crowd(SMALL), simulate_crowd(SMALL))

    def test_another_seed_gives_another_crowd(self) -> None:
        one, other = simulate_crowd(SMALL), simulate_crowd(replace(SMALL, seed=5))
        for name in ("truth", "hit_rate", "difficulty", "prices", "features", "worker_kind"):
            assert not np.array_equal(getattr(one, name), getattr(other, name)), name
        assert one.votes != other.votes

    def test_blocks_differ_from_each_other(self, small_blocks: None) -> None:
        first, second, *_ = crowd_blocks(SMALL)
        assert first.truth.shape == second.truth.shape
        assert not np.array_equal(first.truth, second.truth)


class TestStream:
    def test_blocks_hold_the_votes_in_memory(self, small_blocks: None) -> None:
        blocks = list(crowd_blocks(SMALL))
        crowd = simulate_crowd(SMALL)
        assert len(blocks) == 10
        assert [block.first_item for block in blocks] == list(range(0, 300, 33))
        columns = ("item", "worker", "label", "value")
        streamed = np.concatenate([[getattr(block, name) for name in columns] for block in blocks], axis=1)
        stored = np.array([getattr(crowd.votes, name) for name in columns])
        assert_array_equal(streamed[:, np.lexsort(streamed)], stored[:, np.lexsort(stored)])
        assert_array_equal(np.concatenate([block.truth for block in blocks]), crowd.truth)

    def test_a_block_keeps_to_its_size(self) -> None:
        sparse = CrowdSpec(n_items=9000, n_labels=1000, asked_share=0.006)
        sizes = [(block.value.size, block.truth.size) for block in crowd_blocks(sparse)]
        assert len(sizes) == 3
        assert max(sizes)[0] <= world.BLOCK_VOTES
        assert max(truths for _, truths in sizes) <= world.BLOCK_TRUTHS

    def test_files_hold_the_crowd_in_memory(self, small_blocks: None, tmp_path: Path) -> None:
        write_crowd(SMALL, tmp_path / "new" / "folder")
        folder = tmp_path / "new" / "folder"
        crowd = simulate_crowd(SMALL)
        assert sorted(path.name for path in folder.iterdir()) == [
            "features.parquet",
            "truth.csv",
            "votes.parquet",
            "workers.csv",
        ]

        by_name = [("item", "ascending"), ("worker", "ascending"), ("label", "ascending")]
        written = parquet.read_table(folder / "votes.parquet")
        assert written.column_names == ["worker", "item", "label", "value"]
        assert written.schema.field("value").type == pa.int8()
        assert pa.types.is_dictionary(written.schema.field("item").type)
        names = {role: np.array(getattr(crowd.votes, f"{role}_names")) for role in ("worker", "item", "label")}
        expected = pa.table(
            {role: names[role][getattr(crowd.votes, role)] for role in names} | {"value": crowd.votes.value}
        )
        assert written.cast(expected.schema).sort_by(by_name).equals(expected.sort_by(by_name))

        true, known = read_truth(folder / "truth.csv").matrices(crowd.votes.item_names, crowd.votes.label_names)
        assert_array_equal(true, crowd.truth)
        assert known.all()
        assert not crowd.truth.any(axis=1).all()  # some items have no label, which is known, too

        workers = csv.read_csv(folder / "workers.csv").to_pydict()
        assert workers["worker"] == names["worker"].tolist()
        assert workers["kind"] == crowd.worker_kind.tolist()
        assert workers["price"] == crowd.prices.tolist()
        assert workers["specialty"] == [None if code < 0 else code for code in crowd.specialty.tolist()]

        features = parquet.read_table(folder / "features.parquet")
        assert features.column_names == ["item", "feature_1", "feature_2", "feature_3"]
        assert_array_equal(np.column_stack(features.columns[1:]), crowd.features)

    def test_names_are_padded_to_the_size(self) -> None:
        votes = simulate_crowd(CrowdSpec(n_items=100, n_workers=7)).votes
        ends = [(names[0].as_py(), names[-1].as_py()) for names in (votes.item_names, votes.worker_names)]
        assert ends == [("i001", "i100"), ("w1", "w7")]
        assert votes.label_names.to_pylist()[8:] == ["label_09", "label_10"]

    def test_progress_counts_up_to_all_votes(self, small_blocks: None, tmp_path: Path) -> None:
        calls: list[tuple[int, int]] = []
        write_crowd(SMALL, tmp_path, progress=lambda done, total: calls.append((done, total)))
        assert {total for _, total in calls} == {SMALL.n_votes}
        assert calls[0][0] == 33 * SMALL.votes_per_item
        assert calls[-1][0] == SMALL.n_votes
        assert len(calls) == 10

    def test_an_interrupted_run_leaves_the_folder_as_it_was(self, small_blocks: None, tmp_path: Path) -> None:
        def stop_halfway(done: int, total: int) -> None:
            if done > total / 2:
                raise KeyboardInterrupt

        (tmp_path / "truth.csv").write_text("of an earlier run")
        with pytest.raises(KeyboardInterrupt):
            write_crowd(SMALL, tmp_path, progress=stop_halfway)
        assert [path.name for path in tmp_path.iterdir()] == ["truth.csv"]
        assert (tmp_path / "truth.csv").read_text() == "of an earlier run"

    def test_features_of_an_earlier_crowd_do_not_stay(self, tmp_path: Path) -> None:
        write_crowd(SMALL, tmp_path)
        write_crowd(replace(SMALL, n_features=0), tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["truth.csv", "votes.parquet", "workers.csv"]


class TestTruth:
    def test_has_the_asked_cardinality(self) -> None:
        for cardinality in (0.5, 2.0, 9.0):
            spec = CrowdSpec(n_items=5000, labels_per_item=cardinality, correlation=0.3)
            assert_allclose(simulate_crowd(spec).truth.sum(axis=1).mean(), cardinality, rtol=0.05)

    def test_frequencies_are_unequal(self) -> None:
        frequency = np.sort(simulate_crowd(CrowdSpec(n_items=5000)).truth.mean(axis=0))
        odds = frequency / (1 - frequency)
        # Planted: the odds of the most frequent label are 6.3 times those of the rarest.
        assert_allclose(odds[-1] / odds[0], 10**labels.ZIPF_EXPONENT, rtol=0.25)

    def test_zipf_odds_add_up(self) -> None:
        frequency = labels.zipf_frequencies(1000, total=6.0)
        assert_allclose(frequency.sum(), 6.0, rtol=1e-9)
        odds = frequency / (1 - frequency)
        assert_allclose(odds[0] / odds[99], 100**labels.ZIPF_EXPONENT, rtol=1e-9)

    def test_correlation_grows_with_its_strength(self) -> None:
        def mean_correlation(strength: float) -> float:
            truth = simulate_crowd(CrowdSpec(n_items=4000, answers_per_item=1, correlation=strength)).truth
            return float(np.abs(np.corrcoef(truth.T)[np.triu_indices(10, 1)]).mean())

        strengths = [mean_correlation(strength) for strength in (0.0, 0.4, 0.8, 1.0)]
        assert np.all(np.diff(strengths) > 0.02), strengths
        assert strengths[0] < 0.02  # chance alone: sqrt(2 / (pi * 4000)) = 0.013

    def test_features_show_the_labels(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=2000, n_features=6))
        centred = crowd.features - crowd.features.mean(axis=0)
        weights, *_ = np.linalg.lstsq(centred, crowd.truth - crowd.truth.mean(axis=0), rcond=None)
        explained = (centred @ weights).var(axis=0) / crowd.truth.var(axis=0)
        assert explained.mean() > 0.15
        assert explained.max() < 0.9

    def test_no_features_unless_asked(self) -> None:
        assert simulate_crowd(replace(SMALL, n_features=0)).features is None


class TestWorkers:
    def test_planted_rates_are_recovered(self) -> None:
        """On items of one difficulty, the share of yes of each worker and label is the planted rate."""
        for seed in SEEDS:
            spec = CrowdSpec(n_items=6000, n_workers=8, n_labels=4, n_specialties=2, difficulty=0.0, seed=seed)
            crowd = simulate_crowd(spec)
            present = vote_truth(crowd)
            for planted, chosen in ((crowd.hit_rate, present), (crowd.false_alarm_rate, ~present)):
                error = np.sqrt(planted * (1 - planted) / count_votes(crowd, chosen))
                # Five standard errors; 320 rates are compared.
                assert np.all(np.abs(yes_rates(crowd, chosen) - planted) <= 5 * error)

    def test_kinds_have_their_usual_rates(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=1, n_workers=4000, n_specialties=1))
        for kind, usual in HONEST_RATES.items():
            members = crowd.worker_kind == kind
            medians = np.median(crowd.hit_rate[members]), np.median(crowd.false_alarm_rate[members])
            assert_allclose(medians, usual, atol=0.015)
            # Neither the workers of a kind nor the labels of a worker are all alike.
            assert crowd.hit_rate[members].mean(axis=1).std() > 0.02
            assert crowd.hit_rate[members].std(axis=1).mean() > 0.02

    def test_shares_are_kept(self) -> None:
        kind, count = np.unique(simulate_crowd(CrowdSpec(n_items=1, n_workers=100)).worker_kind, return_counts=True)
        counted = dict(zip(kind.tolist(), count.tolist(), strict=True))
        assert counted == {"reliable": 16, "normal": 32, "sloppy": 32, "random_spammer": 10, "uniform_spammer": 10}

    def test_spammers_and_weights_move_the_shares(self) -> None:
        spec = CrowdSpec(spammers=0.6, kind_weights={"uniform_spammer": 3, "reliable": 0, "normal": 0})
        assert_allclose(spec.kind_shares, [0, 0, 0.4, 0.15, 0.45])

    def test_uniform_spammers_always_tick_the_same_one_or_two_labels(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=400, n_workers=40, difficulty=3.0, **only_kind("uniform_spammer")))
        rates = yes_rates(crowd, np.full(len(crowd.votes), True))
        assert set(np.unique(rates)) == {0.0, 1.0}
        assert set(rates.sum(axis=1)) == {1.0, 2.0}

    def test_random_spammers_ignore_truth_label_and_difficulty(self) -> None:
        spec = CrowdSpec(n_items=4000, n_workers=8, n_labels=4, difficulty=3.0, **only_kind("random_spammer"))
        crowd = simulate_crowd(spec)
        assert_array_equal(crowd.hit_rate, crowd.false_alarm_rate)
        assert_array_equal(crowd.hit_rate, np.tile(crowd.hit_rate[:, :1], 4))
        assert np.unique(crowd.hit_rate[:, 0]).size == 8
        present, hard = vote_truth(crowd), crowd.difficulty[crowd.votes.item] > 0
        for chosen in (present, ~present, hard, ~hard):
            assert_allclose(yes_rates(crowd, chosen), crowd.hit_rate, atol=0.09)

    def test_specialists_are_better_on_their_own_labels(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=1, n_workers=400, n_labels=12, n_specialties=4))
        honest = crowd.specialty >= 0
        assert_array_equal(honest, [kind in HONEST_RATES for kind in crowd.worker_kind])
        assert_array_equal(np.bincount(crowd.label_cluster), [3, 3, 3, 3])
        own = crowd.specialty[honest, None] == crowd.label_cluster
        hit_rate, false_alarm_rate = crowd.hit_rate[honest], crowd.false_alarm_rate[honest]
        assert hit_rate[own].mean() > hit_rate[~own].mean() + 0.15
        assert false_alarm_rate[own].mean() < false_alarm_rate[~own].mean() - 0.04

    def test_hard_items_hide_their_labels(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=4000, difficulty=1.0, **only_kind("normal")))
        assert_allclose(crowd.difficulty.mean(), 0, atol=0.06)
        present, said_yes = vote_truth(crowd), crowd.votes.value > 0
        hard, easy = (crowd.difficulty[crowd.votes.item] > 1.5), (crowd.difficulty[crowd.votes.item] < -0.5)
        assert said_yes[present & hard].mean() < 0.5 < 0.75 < said_yes[present & easy].mean()
        assert said_yes[~present & hard].mean() > said_yes[~present & easy].mean() + 0.02

    def test_prices_follow_skill_loosely(self) -> None:
        correlations = []
        for seed in SEEDS:
            crowd = simulate_crowd(CrowdSpec(n_items=1, n_workers=400, seed=seed))
            assert crowd.prices.dtype.kind == "i"
            assert crowd.prices.min() >= 1
            skill = (crowd.hit_rate - crowd.false_alarm_rate).mean(axis=1)
            correlations.append(np.corrcoef(skill, crowd.prices)[0, 1])
        assert min(correlations) > 0.4
        assert max(correlations) < 0.8

    def test_activity_is_heavy_tailed(self) -> None:
        def busiest_share(exponent: float) -> float:
            crowd = simulate_crowd(CrowdSpec(n_items=2000, n_workers=200, activity_exponent=exponent))
            n_answers = np.sort(count_votes(crowd, np.full(len(crowd.votes), True))[:, 0])
            return float(n_answers[-20:].sum() / n_answers.sum())

        flat, default, steep = busiest_share(0.0), busiest_share(0.7), busiest_share(1.5)
        assert_allclose(flat, 0.1, atol=0.03)
        assert flat + 0.15 < default < steep - 0.15


class TestAnswers:
    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param(CrowdSpec(n_items=500, n_workers=400, activity_exponent=1.2), id="redrawing"),
            pytest.param(CrowdSpec(n_items=500, n_workers=7, activity_exponent=2.0), id="racing"),
            pytest.param(CrowdSpec(n_items=500, n_workers=5), id="everybody answers everything"),
            pytest.param(CrowdSpec(n_items=500, asked_share=0.3), id="some labels asked"),
            pytest.param(CrowdSpec(n_items=500, n_labels=400, asked_share=0.01), id="few of many labels asked"),
        ],
    )
    def test_each_item_gets_different_workers_and_each_answer_different_labels(self, spec: CrowdSpec) -> None:
        votes = simulate_crowd(spec).votes
        assert len(votes) == spec.n_votes
        assert len(set(zip(votes.item, votes.worker, votes.label, strict=True))) == spec.n_votes
        answers, n_asked = np.unique(np.stack([votes.item, votes.worker]), axis=1, return_counts=True)
        assert_array_equal(np.bincount(answers[0]), np.full(500, spec.answers_per_item))
        assert_array_equal(n_asked, np.full(n_asked.size, spec.labels_per_answer))

    def test_asked_labels_change_from_answer_to_answer(self) -> None:
        (block,) = crowd_blocks(CrowdSpec(n_items=2000, asked_share=0.3))
        asked = np.sort(block.label.reshape(2000, 5, 3), axis=2)
        assert_allclose(np.bincount(asked.ravel()) / 10_000, np.full(10, 0.3), atol=0.03)
        # Chance of one set for all five answers: 120 sets of three labels, so 120 ** -4.
        assert np.all((asked != asked[:, :1]).any(axis=(1, 2)))

    def test_redrawing_and_racing_draw_alike(self) -> None:
        weight = np.arange(1.0, 13.0) ** -1.0
        shares = [
            np.bincount(draw(np.random.default_rng(3), weight, 40_000, 4).ravel(), minlength=12) / 40_000
            for draw in (distinct.draw_by_redrawing, distinct.draw_by_racing)
        ]
        assert_allclose(shares[0], shares[1], atol=0.015)

    def test_races_in_chunks_fill_every_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(distinct, "RACE_CELLS", 100)
        codes = distinct.draw_by_racing(np.random.default_rng(0), np.ones(9), 50, 8)
        assert np.all(np.diff(np.sort(codes, axis=1), axis=1) > 0)
        assert (codes.min(), codes.max()) == (0, 8)


class TestSmallest:
    @pytest.mark.parametrize(
        ("change", "shape"),
        [
            ({"n_workers": 1, "answers_per_item": 1}, (1000, 1, 10)),
            ({"n_labels": 1, "labels_per_item": 0.4, "n_specialties": 1}, (1000, 50, 1)),
            ({"n_items": 1}, (1, 50, 10)),
            ({"n_labels": 2, "labels_per_item": 1.999, "n_specialties": 2}, (1000, 50, 2)),
            ({"spammers": 1.0}, (1000, 50, 10)),
            ({"asked_share": 1e-9}, (1000, 50, 10)),
        ],
    )
    def test_crowds_at_the_edge_are_whole(self, change: dict[str, object], shape: tuple[int, ...]) -> None:
        spec = CrowdSpec(**change)
        crowd = simulate_crowd(spec)
        assert (crowd.votes.n_items, crowd.votes.n_workers, crowd.votes.n_labels) == shape
        assert len(crowd.votes) == spec.n_votes > 0
        assert crowd.truth.shape == (shape[0], shape[2])

    def test_one_of_everything(self) -> None:
        spec = CrowdSpec(n_items=1, n_workers=1, n_labels=1, answers_per_item=1, labels_per_item=0.5, n_specialties=1)
        votes = simulate_crowd(spec).votes
        assert (votes.item[0], votes.worker[0], votes.label[0]) == (0, 0, 0)
        assert abs(votes.value[0]) == 1


def test_default_crowd_is_neither_trivial_nor_hopeless() -> None:
    """Majority vote finds about two thirds of the label sets' mass."""
    scores = []
    for seed in SEEDS:
        crowd = simulate_crowd(CrowdSpec.for_votes(10**5, seed=seed))
        balance = np.zeros(crowd.truth.shape)
        np.add.at(balance, (crowd.votes.item, crowd.votes.label), crowd.votes.value)
        both, either = (balance > 0) & crowd.truth, (balance > 0) | crowd.truth
        scores.append(np.where(either.any(axis=1), both.sum(axis=1) / np.maximum(either.sum(axis=1), 1), 1).mean())
    assert 0.55 < np.mean(scores) < 0.75
