"""The parts of a simulated world by hand: kinds, labels, workers, names, and how generators are parted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc.data.simulate import HONEST_RATES, KINDS, CrowdSpec, crowd_blocks, world
from amcc.data.simulate.kinds import IS_SPAMMER, logit, sigmoid
from amcc.data.simulate.labels import draw_labels, draw_presence, zipf_frequencies
from amcc.data.simulate.names import item_names, label_names, numbered, worker_names
from amcc.data.simulate.workers import Workers, _draw_honest_rates, _draw_spam_rates, _fill_shares, draw_workers


def generators(seed: int = 0) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(seed), np.random.default_rng(seed + 1)


def workers_of(spec: CrowdSpec) -> Workers:
    rng, trouble_rng = generators()
    return draw_workers(rng, trouble_rng, spec, draw_labels(rng, trouble_rng, spec).cluster)


class TestKinds:
    def test_honest_kinds_come_first_and_in_the_same_order(self) -> None:
        """A worker's kind is a place in both tables."""
        assert KINDS[: len(HONEST_RATES)] == tuple(HONEST_RATES)
        assert IS_SPAMMER.tolist() == [False, False, False, True, True]

    @given(st.floats(1e-6, 1 - 1e-6))
    def test_log_odds_and_back(self, chance: float) -> None:
        assert_allclose(sigmoid(logit(chance)), chance, rtol=1e-9)

    def test_what_never_and_always_happens_stays_so(self) -> None:
        assert_array_equal(sigmoid(logit([0.0, 1.0]) + 5.0), [0, 1])

    def test_single_precision_stays_single(self) -> None:
        assert sigmoid(np.zeros(3, dtype=np.float32)).dtype == np.float32


class TestLabels:
    @given(n_labels=st.integers(1, 50), share=st.floats(0.001, 0.999))
    def test_frequencies_fall_and_add_up(self, n_labels: int, share: float) -> None:
        frequency = zipf_frequencies(n_labels, total=share * n_labels)
        assert_allclose(frequency.sum(), share * n_labels, rtol=1e-9)
        assert np.all(np.diff(frequency) < 0)
        assert np.all((frequency > 0) & (frequency < 1))

    @pytest.mark.parametrize(("n_labels", "n_clusters", "sizes"), [(7, 3, [2, 2, 3]), (5, 5, [1] * 5), (4, 1, [4])])
    def test_clusters_are_equal_up_to_one(self, n_labels: int, n_clusters: int, sizes: list[int]) -> None:
        labels = draw_labels(*generators(), CrowdSpec(n_labels=n_labels, n_specialties=n_clusters))
        assert sorted(np.bincount(labels.cluster)) == sizes
        # Slices of the first loading: no label of a cluster lies among those of another.
        assert np.all(np.diff(labels.cluster[labels.loading[0].argsort()]) >= 0)

    def test_loadings_are_directions(self) -> None:
        labels = draw_labels(*generators(), CrowdSpec(n_labels=30))
        assert_allclose(np.linalg.norm(labels.loading, axis=0), 1, rtol=1e-6)

    def test_without_troubles_no_label_is_a_matter_of_taste(self) -> None:
        assert not draw_labels(*generators(), CrowdSpec()).tasteful.any()
        assert draw_labels(*generators(), CrowdSpec(taste=1.0, taste_labels=0.3)).tasteful.sum() == 3
        assert draw_labels(*generators(), CrowdSpec(taste=1.0, taste_labels=0.001)).tasteful.sum() == 1

    def test_conventions_are_around_the_common_one(self) -> None:
        fixed = draw_labels(*generators(), CrowdSpec(convention=0.8)).convention
        assert_allclose(fixed, 0.8, rtol=1e-6)
        spread = draw_labels(*generators(), CrowdSpec(n_labels=4000, convention=0.8, convention_spread=0.5)).convention
        assert_allclose([logit(spread).mean(), logit(spread).std()], [logit(0.8), 0.5], atol=0.03)

    def test_full_correlation_leaves_nothing_to_noise(self) -> None:
        spec = CrowdSpec(correlation=1.0)
        labels = draw_labels(*generators(), spec)
        factors = np.random.default_rng(5).standard_normal((200, 3)).astype(np.float32)
        one, other = (draw_presence(np.random.default_rng(seed), spec, labels, factors) for seed in (1, 2))
        assert_array_equal(one, other)
        assert_array_equal(one, factors @ labels.loading > labels.threshold)


class TestWorkers:
    def test_shares_by_hand(self) -> None:
        assert _fill_shares(np.array([0.5, 0.0, 0.25, 0.25]), 8).tolist() == [0, 0, 0, 0, 2, 2, 3, 3]
        assert _fill_shares(np.array([0.0, 1.0]), 3).tolist() == [1, 1, 1]
        assert _fill_shares(np.array([0.5, 0.5]), 0).tolist() == []

    def test_shares_below_one_leave_nobody_out(self) -> None:
        """By rounding, or by far: the last kind takes the rest."""
        assert _fill_shares(np.array([0.5, 0.3]), 10).tolist() == [0] * 5 + [1] * 5

    def test_usual_rates_without_spread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("PERSON_SPREAD", "LABEL_SPREAD"):
            monkeypatch.setattr(f"amcc.data.simulate.workers.{name}", 0.0)
        kind = np.array([0, 1, 2], dtype=np.int32)
        shift = np.array([[0.0, np.log(3)], [0.0, 0.0], [np.log(3), 0.0]])
        rates = _draw_honest_rates(np.random.default_rng(0), kind, (0.75, 0.5, 0.25), shift)
        assert_allclose(rates, [[0.75, 0.9], [0.5, 0.5], [0.5, 0.25]], rtol=1e-12)

    def test_specialists_are_uneven_and_not_better(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In log-odds, the mean over clusters of one label each is that of the kind."""
        for name in ("PERSON_SPREAD", "LABEL_SPREAD"):
            monkeypatch.setattr(f"amcc.data.simulate.workers.{name}", 0.0)
        spec = CrowdSpec(n_labels=4, n_specialties=4, spammers=0.0, kind_weights={"reliable": 0, "sloppy": 0})
        workers = workers_of(spec)
        hit, false_alarm = HONEST_RATES["normal"]
        assert_allclose(logit(workers.hit_rate).mean(axis=1), logit(hit), rtol=1e-9)
        assert_allclose(logit(workers.false_alarm_rate).mean(axis=1), logit(false_alarm), rtol=1e-9)

    def test_log_odds_are_indexed_by_presence(self) -> None:
        workers = workers_of(CrowdSpec())
        absent, present = workers.log_odds
        assert_allclose(sigmoid(present.astype(float)), workers.hit_rate, atol=1e-6)
        assert_allclose(sigmoid(absent.astype(float)), workers.false_alarm_rate, atol=1e-6)

    def test_one_label_is_all_that_a_uniform_spammer_can_tick(self) -> None:
        kind = np.full(50, KINDS.index("uniform_spammer"), dtype=np.int32)
        assert_array_equal(_draw_spam_rates(np.random.default_rng(0), kind, 1), np.ones((50, 1)))

    def test_models_come_last_and_families_in_turn(self) -> None:
        workers = workers_of(CrowdSpec(n_workers=12, n_models=5, n_families=2))
        assert workers.family.tolist() == [-1] * 7 + [0, 1, 0, 1, 0]

    def test_activity_falls_with_the_rank(self) -> None:
        workers = workers_of(CrowdSpec(n_workers=5, activity_exponent=2.0))
        assert_allclose(np.sort(workers.activity), [1 / 25, 1 / 16, 1 / 9, 1 / 4, 1])
        assert_array_equal(workers_of(CrowdSpec(n_workers=5, activity_exponent=0.0)).activity, np.ones(5))


class TestNames:
    def test_names_sort_as_codes_do(self) -> None:
        spec = CrowdSpec(n_items=1000, n_workers=10, n_labels=100)
        for names in (item_names(spec, range(1000)), worker_names(spec), label_names(spec)):
            assert names.to_pylist() == sorted(set(names.to_pylist()))

    def test_names_of_a_block_are_those_of_the_crowd(self) -> None:
        spec = CrowdSpec(n_items=120)
        assert item_names(spec, range(98, 101)).to_pylist() == ["i099", "i100", "i101"]
        assert item_names(spec, range(98, 101)).equals(item_names(spec, range(120))[98:101])

    def test_no_names(self) -> None:
        assert numbered("family_", 0).to_pylist() == []


class TestGenerators:
    def test_blocks_do_not_depend_on_how_much_was_drawn_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first blocks of a longer crowd are those of a shorter one."""
        monkeypatch.setattr(world, "BLOCK_VOTES", 1000)
        spec = CrowdSpec(n_items=40)
        short, long = list(crowd_blocks(spec)), list(crowd_blocks(replace(spec, n_items=400)))
        assert len(short) == 2 < len(long)
        for one, other in zip(short, long, strict=False):
            for name in ("item", "worker", "label", "value", "truth", "difficulty"):
                assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)

    def test_an_item_larger_than_a_block_is_a_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(world, "BLOCK_VOTES", 10)
        blocks = list(crowd_blocks(CrowdSpec(n_items=3)))
        assert [(block.first_item, len(block.truth), block.value.size) for block in blocks] == [
            (0, 1, 50), (1, 1, 50), (2, 1, 50),
        ]  # fmt: skip
