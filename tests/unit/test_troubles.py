"""Simulated troubles: what workers share, and what experts make of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import csv, parquet

from amcc import ParameterError
from amcc.active import crowd as live
from amcc.data.simulate import (
    CrowdSpec,
    SimulatedWorld,
    crowd_blocks,
    simulate_crowd,
    troubles,
    workers,
    world,
    write_crowd,
)

ALIKE = {"spammers": 0.0, "difficulty": 0.0, "n_specialties": 1, "activity_exponent": 0.0}
"""Fields of a crowd whose workers differ by kind only, and whose items do not differ."""


@pytest.fixture
def equal_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of one kind have the same rates."""
    monkeypatch.setattr(workers, "PERSON_SPREAD", 0.0)
    monkeypatch.setattr(workers, "LABEL_SPREAD", 0.0)


def yes_table(crowd: SimulatedWorld) -> np.ndarray:
    """(n_workers, n_items, n_labels) 1 for yes, 0 for no, NaN where nobody was asked."""
    votes = crowd.votes
    table = np.full((votes.n_workers, votes.n_items, votes.n_labels), np.nan)
    table[votes.worker, votes.item, votes.label] = votes.value > 0
    return table


def correlation(one: np.ndarray, other: np.ndarray, chosen: np.ndarray) -> float:
    """Of two workers' answers on the chosen pairs."""
    return float(np.corrcoef(one[chosen], other[chosen])[0, 1])


def digest(crowd: SimulatedWorld) -> str:
    """Of votes and truth."""
    votes, found = crowd.votes, hashlib.sha256()
    for array in (votes.item, votes.worker, votes.label, votes.value, crowd.truth):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]


class TestWithoutTroubles:
    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            (CrowdSpec(n_items=300, n_workers=20, n_labels=6, n_features=3, seed=4), "a6495c1a710481de"),
            (CrowdSpec.for_votes(10_000, spammers=0.6, seed=1), "37e97986e778fe42"),
            (CrowdSpec.for_votes(30_000, asked_share=0.5), "ad31a94b60e6c716"),
        ],
    )
    def test_crowds_are_what_they_always_were(self, spec: CrowdSpec, expected: str) -> None:
        """Digests of the crowds that these seeds gave before there were troubles."""
        crowd = simulate_crowd(spec)
        assert digest(crowd) == expected
        assert crowd.independent

    def test_workers_are_written_as_before(self, tmp_path: Path) -> None:
        write_crowd(CrowdSpec(n_items=50, n_workers=9, n_labels=4, seed=7), tmp_path)
        assert csv.read_csv(tmp_path / "workers.csv").column_names == ["worker", "kind", "specialty", "price"]
        found = [
            hashlib.sha256((tmp_path / f"{name}.csv").read_bytes()).hexdigest()[:16] for name in ("truth", "workers")
        ]
        assert found == ["ce5431c24e6b82fa", "815e7309b3198d61"]

    def test_a_trouble_changes_only_what_it_must(self) -> None:
        plain = CrowdSpec(n_items=400, seed=2)
        calm, faint = simulate_crowd(plain), simulate_crowd(replace(plain, faint=0.3))
        assert_array_equal(calm.truth, faint.truth)
        assert_array_equal(calm.hit_rate, faint.hit_rate)
        assert_array_equal(calm.votes.worker, faint.votes.worker)
        changed = calm.votes.value != faint.votes.value
        assert np.all(calm.truth[calm.votes.item, calm.votes.label][changed])
        assert np.all(calm.votes.value[changed] == 1)


class TestWithTroubles:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"faint": 0.2, "tempting": 0.1, "pair_spread": 0.5}, "22727c232ca8f116"),
            ({"taste": 1.5, "n_tastes": 3}, "5b9df4b2e801c2c6"),
            ({"n_models": 6, "n_families": 2, "family_correlation": 0.6, "model_correlation": 0.2}, "deff9a3fc99b07ae"),
            ({"n_models": 6, "people_share": 0.25, "asked_share": 0.5}, "90cf837187fcac44"),
            ({"pair_spread": 2.0, "convention": 0.8, "convention_spread": 0.5}, "9626c8e7057c3915"),
        ],
    )
    def test_each_trouble_is_drawn_as_it_always_was(self, changes: dict[str, float], expected: str) -> None:
        """Boards and pages of results are made with these crowds: a seed must not come to mean another one."""
        assert digest(simulate_crowd(CrowdSpec(n_items=200, n_workers=20, seed=3, **changes))) == expected


class TestPairs:
    def test_most_workers_miss_faint_pairs_and_tick_tempting_ones(self) -> None:
        rng = np.random.default_rng(0)
        present = rng.random((20_000, 5)) < 0.3
        offset = troubles.pair_offsets(rng, present, faint=0.2, tempting=0.1, spread=0.0)
        assert set(np.unique(offset)) == {np.float32(troubles.FAINT_SHIFT), 0, np.float32(troubles.TEMPTING_SHIFT)}
        assert_allclose((offset[present] < 0).mean(), 0.2, atol=0.01)
        assert_allclose((offset[~present] > 0).mean(), 0.1, atol=0.01)
        assert not (offset[present] > 0).any()
        assert not (offset[~present] < 0).any()

    def test_the_spread_is_as_wide_as_asked(self) -> None:
        offset = troubles.pair_offsets(
            np.random.default_rng(1), np.zeros((20_000, 3), bool), faint=0, tempting=0, spread=1.5
        )
        assert_allclose([offset.mean(), offset.std()], [0, 1.5], atol=0.03)

    def test_the_crowd_is_wrong_together(self) -> None:
        """With all present pairs faint and all absent ones tempting, most answers of most honest workers are wrong."""
        crowd = simulate_crowd(CrowdSpec(n_items=3000, faint=1.0, tempting=1.0, **ALIKE))
        yes, present = crowd.votes.value > 0, crowd.present[crowd.votes.item, crowd.votes.label]
        assert yes[present].mean() < 0.35
        assert yes[~present].mean() > 0.65
        assert_array_equal(crowd.truth, crowd.present)

    def test_spammers_do_not_look(self) -> None:
        spec = CrowdSpec(n_items=500, spammers=1.0, seed=3)
        assert simulate_crowd(spec).votes == simulate_crowd(replace(spec, faint=0.9, tempting=0.9, taste=3.0)).votes

    def test_votes_are_dependent_given_presence(self, equal_workers: None) -> None:
        spec = CrowdSpec(
            n_items=4000,
            n_workers=3,
            n_labels=4,
            answers_per_item=3,
            kind_weights={"reliable": 0, "sloppy": 0},
            **ALIKE,
        )
        for spread, low, high in ((0.0, -0.03, 0.03), (2.0, 0.25, 0.5)):
            crowd = simulate_crowd(replace(spec, pair_spread=spread))
            yes = yes_table(crowd)
            found = [correlation(yes[one], yes[other], crowd.present) for one, other in combinations(range(3), 2)]
            assert low < min(found) <= max(found) < high, (spread, found)


class TestTaste:
    def test_only_its_labels_are_touched(self) -> None:
        concerned = np.array([True, False, True])
        leaning = troubles.taste_offsets(np.random.default_rng(0), 5000, concerned, n_tastes=2, strength=1.5)
        assert leaning.shape == (5000, 3, 2)
        assert not leaning[:, 1].any()
        assert_allclose(leaning[:, concerned].std(axis=0), 1.5, rtol=0.05)
        assert abs(np.corrcoef(leaning[:, 0].T)[0, 1]) < 0.05  # groups do not agree

    def test_groups_agree_among_themselves_only(self, equal_workers: None) -> None:
        spec = CrowdSpec(
            n_items=4000, n_workers=6, n_labels=4, answers_per_item=6, taste=2.0, taste_labels=0.5,
            kind_weights={"reliable": 0, "sloppy": 0}, seed=1, **ALIKE,
        )  # fmt: skip
        crowd = simulate_crowd(spec)
        assert set(crowd.taste_group) == {0, 1}
        yes = yes_table(crowd)
        within: list[np.ndarray] = []
        across: list[np.ndarray] = []
        for one, other in combinations(range(6), 2):
            of_label = np.array(
                [correlation(yes[one, :, label], yes[other, :, label], crowd.present[:, label]) for label in range(4)]
            )
            (within if crowd.taste_group[one] == crowd.taste_group[other] else across).append(of_label)
        of_taste = np.mean(within, axis=0)
        # Half of the labels are a matter of taste: there, and within a group only, answers are correlated.
        assert np.sort(of_taste > 0.2).tolist() == [False, False, True, True]
        assert_allclose(of_taste[of_taste < 0.2], 0, atol=0.05)
        assert_allclose(np.mean(across, axis=0), 0, atol=0.05)
        assert_array_equal(crowd.truth, crowd.present)


class TestFamilies:
    SPEC = CrowdSpec(
        n_items=5000, n_workers=9, n_labels=4, answers_per_item=3, n_models=6, n_families=2,
        kind_weights={"reliable": 0, "sloppy": 0}, **ALIKE,
    )  # fmt: skip

    @pytest.mark.parametrize(("within", "between"), [(0.0, 0.0), (0.3, 0.0), (0.6, 0.0), (0.6, 0.3), (1.0, 1.0)])
    def test_errors_are_correlated_as_asked(self, equal_workers: None, within: float, between: float) -> None:
        crowd = simulate_crowd(replace(self.SPEC, family_correlation=within, model_correlation=between))
        assert crowd.family.tolist() == [-1, -1, -1, 0, 1, 0, 1, 0, 1]
        wrong = yes_table(crowd) != crowd.truth
        for one, other in combinations(range(9), 2):
            same_family = crowd.family[one] == crowd.family[other]
            expected = 0.0 if min(one, other) < 3 else within if same_family else between
            for chosen in (crowd.truth, ~crowd.truth):
                # 4000 and 16000 pairs: five standard errors are .08 and .04; joint errors on absent pairs are rarer.
                assert_allclose(correlation(wrong[one], wrong[other], chosen), expected, atol=0.08)

    def test_rates_stay_what_they_were(self, equal_workers: None) -> None:
        crowd = simulate_crowd(replace(self.SPEC, family_correlation=0.9, model_correlation=0.5))
        yes = yes_table(crowd)
        for planted, chosen in ((crowd.hit_rate, crowd.truth), (crowd.false_alarm_rate, ~crowd.truth)):
            assert_allclose(yes[:, chosen].mean(axis=1), planted[:, 0], atol=0.03)

    def test_worse_members_make_the_errors_of_better_ones(self) -> None:
        """Common luck: with full correlation, whoever has the higher rate says yes wherever the other one does."""
        crowd = simulate_crowd(replace(self.SPEC, n_families=1, family_correlation=1.0, n_items=500))
        yes = yes_table(crowd)
        for one, other in combinations(range(3, 9), 2):
            rate = np.where(crowd.truth, crowd.hit_rate[:, None, :], crowd.false_alarm_rate[:, None, :])
            above = rate[one] >= rate[other]
            assert np.all(yes[one][above] >= yes[other][above])

    def test_models_answer_everything_and_people_a_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(world, "BLOCK_VOTES", 700)
        spec = CrowdSpec(
            n_items=101, n_workers=7, n_labels=3, n_models=6, n_families=3, answers_per_item=1, people_share=0.25,
            family_correlation=0.5,
        )  # fmt: skip
        crowd = simulate_crowd(spec)
        answered = ~np.isnan(yes_table(crowd))
        assert answered[1:].all()
        assert answered[0].sum(axis=1).tolist() == [3 * (number % 4 == 3) for number in range(101)]
        assert len(crowd.votes) == spec.n_votes == 3 * (6 * 101 + 25)
        blocks = list(crowd_blocks(spec))
        assert len(blocks) > 2
        assert all(np.all(np.diff(block.item) >= 0) for block in blocks)

    @pytest.mark.parametrize("share", [0.1, 0.29, 1 / 3, 0.7, 1.0])
    def test_the_covered_share_is_kept_in_every_part(self, share: float) -> None:
        whole = troubles.covered_items(range(0, 300), share)
        parts = [troubles.covered_items(range(start, start + 100), share) + start for start in (0, 100, 200)]
        assert_array_equal(whole, np.concatenate(parts))
        assert [part.size for part in parts] == pytest.approx([100 * share] * 3, abs=1)
        assert whole.size == int(300 * share + 1e-9)

    def test_models_alone(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=20, n_workers=4, n_models=4, family_correlation=0.5))
        assert len(crowd.votes) == 20 * 4 * 10
        assert not np.any(np.char.endswith(crowd.worker_kind, "spammer"))

    def test_models_do_not_spam(self) -> None:
        crowd = simulate_crowd(CrowdSpec(n_items=5, n_workers=60, n_models=20, n_families=4, spammers=1.0))
        spams = np.char.endswith(crowd.worker_kind, "spammer")
        assert_array_equal(spams, crowd.family < 0)
        assert np.bincount(crowd.family[40:]).tolist() == [5, 5, 5, 5]

    def test_workers_are_written_with_kind_and_family(self, tmp_path: Path) -> None:
        spec = CrowdSpec(n_items=10, n_workers=4, n_models=3, n_families=2, answers_per_item=1, seed=1)
        write_crowd(spec, tmp_path)
        written = csv.read_csv(tmp_path / "workers.csv")
        assert written.column_names == ["worker", "kind", "family", "skill", "specialty", "price"]
        told = written.to_pydict()
        assert told["kind"] == ["human", "model", "model", "model"]
        assert told["family"] == ["", "family_1", "family_2", "family_1"]
        assert told["skill"] == simulate_crowd(spec).worker_kind.tolist()
        assert parquet.read_table(tmp_path / "votes.parquet").num_rows == spec.n_votes

    def test_for_votes_counts_models(self) -> None:
        spec = CrowdSpec.for_votes(10_000, n_models=6, answers_per_item=1, people_share=0.25, n_workers=7)
        assert_allclose(spec.n_votes, 10_000, rtol=0.02)
        assert CrowdSpec.for_votes(1000, n_models=30).n_workers >= 35


class TestConvention:
    SPEC = CrowdSpec(n_items=3000, pair_spread=2.0, **ALIKE)

    def test_seen_shares_by_hand(self) -> None:
        log_odds = np.log([[[1.0, 3.0]], [[1.0, 1 / 3]]])  # two kinds, one item, two labels
        shift = np.array([[0.0, np.log(3)]], dtype=np.float32)
        seen = troubles.share_seen(log_odds, shift, np.array([0.25, 0.75]))
        assert_allclose(seen, [[0.5, 0.25 * 0.9 + 0.75 * 0.5]], rtol=1e-6)

    def test_experts_keep_what_enough_workers_see(self) -> None:
        """Pairs that the crowd says yes to in the convention's share are the border of truth."""
        spec = replace(self.SPEC, n_workers=60, answers_per_item=60, n_items=300)
        for convention in (1 / 3, 0.8):
            crowd = simulate_crowd(replace(spec, convention=convention))
            share = np.nanmean(yes_table(crowd), axis=0)
            assert crowd.truth[share > convention + 0.15].mean() > 0.97
            assert crowd.truth[share < convention - 0.15].mean() < 0.03

    def test_strict_experts_keep_a_part_of_what_lenient_ones_keep(self) -> None:
        lenient, strict = (simulate_crowd(replace(self.SPEC, convention=share)) for share in (1 / 3, 0.8))
        assert np.all(lenient.truth[strict.truth])
        assert lenient.truth.mean() > 2 * strict.truth.mean() > 0.02
        assert lenient.votes == strict.votes
        assert_array_equal(lenient.present, strict.present)
        assert not np.array_equal(lenient.truth, lenient.present)

    def test_labels_may_have_conventions_of_their_own(self) -> None:
        def kept(spread: float) -> np.ndarray:
            return simulate_crowd(replace(self.SPEC, convention=0.5, convention_spread=spread)).truth

        one, other = kept(0.0), kept(1.5)
        more, less = (other & ~one).any(axis=0), (one & ~other).any(axis=0)
        assert np.all(more ^ less)  # each label's border moved one way
        assert more.any() and less.any()

    def test_blocks_hold_both(self) -> None:
        (block,) = crowd_blocks(replace(self.SPEC, n_items=50, convention=1 / 3))
        crowd = simulate_crowd(replace(self.SPEC, n_items=50, convention=1 / 3))
        assert_array_equal(block.truth, crowd.truth)
        assert_array_equal(block.present, crowd.present)


def test_all_troubles_together_stream_to_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "BLOCK_VOTES", 2000)
    spec = CrowdSpec(
        n_items=200, n_workers=20, faint=0.1, tempting=0.1, pair_spread=0.5, taste=1.0, n_tastes=3, n_models=6,
        n_families=2, family_correlation=0.5, model_correlation=0.2, people_share=0.5, convention=1 / 3,
        convention_spread=0.5, asked_share=0.5, seed=5,
    )  # fmt: skip
    write_crowd(spec, tmp_path)
    crowd = simulate_crowd(spec)
    assert not crowd.independent
    written = parquet.read_table(tmp_path / "votes.parquet")
    assert written.num_rows == len(crowd.votes) == spec.n_votes
    assert sum(written["value"].to_pylist()) == crowd.votes.value.sum()


def test_blocks_are_smaller_where_each_pair_holds_more() -> None:
    wide = CrowdSpec(n_items=300, n_labels=1000, asked_share=0.005, n_models=40, n_families=40, family_correlation=0.5)
    sizes = [len(block.truth) for block in crowd_blocks(wide)]
    assert max(sizes) * 1000 * 41 <= world.BLOCK_TRUTHS


@pytest.mark.parametrize(
    "trouble", [{"faint": 0.1}, {"taste": 1.0}, {"n_models": 3, "family_correlation": 0.5}, {"convention": 0.3}]
)
def test_a_live_crowd_has_no_troubles(trouble: dict[str, float]) -> None:
    world = simulate_crowd(CrowdSpec(n_items=10, **trouble))
    with pytest.raises(ParameterError, match=r"must have independent votes.*Replay"):
        live.SimulatedCrowd(world)
    live.SimulatedCrowd(simulate_crowd(CrowdSpec(n_items=10, n_models=3)))
