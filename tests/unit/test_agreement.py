from __future__ import annotations

from itertools import permutations
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc.agreement import Agreement, masi_alpha, masi_distances, nominal_alpha_per_label

EXACT = {"rtol": 0, "atol": 1e-12}  # two routes to one number, apart from the order of summation


def rng(seed=0):
    return np.random.default_rng(seed)


def label_sets(*texts, n_labels=4):
    """Bool rows from strings of label codes: "02" affirms labels 0 and 2, "" none."""
    return np.array([[str(label) in text for label in range(n_labels)] for text in texts], dtype=bool)


def set_alpha(answer_item, yes, asked=None, **options):
    """`masi_alpha` where by default everything was asked."""
    asked = np.ones_like(yes) if asked is None else asked
    return masi_alpha(np.asarray(answer_item), yes, asked, **{"rng": rng(), **options})


def random_answers(seed, n_items=30, n_labels=4, noise=0.15, asked_share=1.0):
    """Noisy copies of one set per item; items have 1 to 5 answers, and codes with gaps, in no order."""
    generator = rng(seed)
    n_answers = generator.integers(1, 6, size=n_items)
    item = np.repeat(np.arange(n_items), n_answers)
    truth = generator.random((n_items, n_labels)) < 0.4
    yes = truth[item] ^ (generator.random((len(item), n_labels)) < noise)
    asked = generator.random(yes.shape) < asked_share
    order = generator.permutation(len(item))
    return 10 + 3 * item[order], (yes & asked)[order], asked[order]


def masi_by_definition(left, right):
    """MASI distance of two Python sets."""
    if left == right:
        return 0.0
    if not left & right:
        return 1.0
    monotonicity = 2 / 3 if left <= right or right <= left else 1 / 3
    return 1 - len(left & right) / len(left | right) * monotonicity


def compare(a, b, yes, asked):
    """Distance of two answers on their common labels, None if there is no such label."""
    common = set(np.flatnonzero(asked[a] & asked[b]))
    if not common:
        return None
    return masi_by_definition(set(np.flatnonzero(yes[a])) & common, set(np.flatnonzero(yes[b])) & common)


def set_alpha_by_definition(answer_item, yes, asked):
    """Observed over expected disagreement, pair by pair."""
    answers = [a for a in range(len(yes)) if asked[a].any()]
    of_item = {}
    for a in answers:
        of_item.setdefault(answer_item[a], []).append(a)
    of_item = {item: members for item, members in of_item.items() if len(members) > 1}
    disagreement = weight = 0.0
    for members in of_item.values():
        distances = [compare(a, b, yes, asked) for a, b in permutations(members, 2)]
        defined = [d for d in distances if d is not None]
        disagreement += sum(defined) / (len(members) - 1)
        weight += len(defined) / (len(members) - 1)
    pairable = [a for members in of_item.values() for a in members]
    distances = [compare(a, b, yes, asked) for a, b in permutations(pairable, 2)]
    return 1 - disagreement / weight / np.mean([d for d in distances if d is not None])


def label_alpha_by_definition(votes_of_item):
    """Nominal alpha from lists of single votes, through the coincidence matrix."""
    coincidences = np.zeros((2, 2))
    for votes in votes_of_item:
        for given_vote, other_vote in permutations(votes, 2):
            coincidences[given_vote, other_vote] += 1 / (len(votes) - 1)
    totals = coincidences.sum(axis=0)
    n = totals.sum()
    return 1 - (n - 1) * (coincidences[0, 1] + coincidences[1, 0]) / (n**2 - (totals**2).sum())


class TestNominalAlpha:
    # Two labels over four items.
    # Label 0, items 0-3: votes yyy, yyn, nn, y. The last cannot be paired, so 8 votes, 5 yes and 3 no.
    #   observed = (0 + 2*2*1/2 + 0) / 8 = 1/4, expected = 2*5*3 / (8*7) = 15/28, alpha = 1 - 7/15 = 8/15.
    # Label 1, items 0-1: yn, yn. Observed = (2 + 2) / 4 = 1, expected = 2*2*2 / (4*3) = 2/3, alpha = -1/2.
    pair_item = np.array([0, 0, 1, 1, 2, 3])
    pair_label = np.array([0, 1, 0, 1, 0, 0])
    n_yes = np.array([3, 1, 2, 1, 0, 1])
    n_asked = np.array([3, 2, 3, 2, 2, 1])

    def alpha(self, n_labels=2, **options):
        pairs = self.pair_item, self.pair_label, self.n_yes, self.n_asked
        return nominal_alpha_per_label(*pairs, n_labels, **{"rng": rng(), **options})

    def test_by_hand(self):
        result = self.alpha()
        assert_allclose(result.alpha, [8 / 15, -1 / 2], **EXACT)
        assert result.n_items_used == 3

    def test_labels_without_pairable_votes_are_undefined(self):
        result = nominal_alpha_per_label(
            np.array([0, 1, 0]), np.array([1, 1, 2]), np.array([1, 1, 1]), np.array([1, 1, 2]), 4, rng=rng()
        )
        assert_array_equal(np.isnan(result.alpha), [True, True, False, True])
        assert_array_equal(np.isnan(result.low), np.isnan(result.alpha))
        assert_array_equal(np.isnan(result.high), np.isnan(result.alpha))

    def test_no_pairs_at_all(self):
        nothing = np.array([], dtype=np.int64)
        for n_labels in (0, 2):
            result = nominal_alpha_per_label(nothing, nothing, nothing, nothing, n_labels, rng=rng())
            assert_array_equal(result.alpha, np.full(n_labels, np.nan))
            assert result.n_items_used == 0

    @pytest.mark.parametrize("n_yes", [[0, 0], [3, 2], [3, 0]])
    def test_perfect_agreement_is_one_even_if_only_one_value_occurs(self, n_yes):
        result = nominal_alpha_per_label(
            np.array([0, 1]), np.array([0, 0]), np.array(n_yes), np.array([3, 2]), 1, rng=rng()
        )
        assert result.alpha == result.low == result.high == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_against_the_coincidence_matrix(self, seed):
        generator = rng(seed)
        n_items, n_labels = 25, 3
        votes = [
            [generator.integers(0, 2, size=generator.integers(1, 6)).tolist() for _ in range(n_items)]
            for _ in range(n_labels)
        ]
        pairs = [(i, label, sum(v), len(v)) for label in range(n_labels) for i, v in enumerate(votes[label])]
        columns = generator.permutation(np.array(pairs)).T
        result = nominal_alpha_per_label(*columns, n_labels, rng=rng())
        assert_allclose(result.alpha, [label_alpha_by_definition(v) for v in votes], **EXACT)

    def test_replicates_draw_items_with_replacement(self):
        """Two items allow three replicates, and the percentiles are the two extreme ones."""
        # Items yy and yn. A replicate holds yy,yy (alpha 1), yn,yn (-1/2) or one of each (0).
        result = nominal_alpha_per_label(
            np.array([0, 1]), np.array([0, 0]), np.array([2, 1]), np.array([2, 2]), 1, rng=rng()
        )
        assert_allclose([result.alpha[0], result.low[0], result.high[0]], [0, -1 / 2, 1], **EXACT)

    def test_interval_width_matches_the_spread_over_fresh_samples(self):
        generator = rng(1)

        def sample(n_items):
            n_yes = generator.binomial(4, np.where(generator.random(n_items) < 0.4, 0.8, 0.2))
            items = np.arange(n_items)
            pairs = items, np.zeros_like(items), n_yes, np.full(n_items, 4)
            return nominal_alpha_per_label(*pairs, 1, rng=generator)

        results = [sample(200) for _ in range(100)]
        spread = 2 * 1.96 * np.std([r.alpha[0] for r in results])
        width = np.mean([r.high[0] - r.low[0] for r in results])
        # A standard deviation from 100 samples is known to about 7 %; three times that is allowed.
        assert_allclose(width, spread, rtol=0.2)
        assert all(r.low[0] < r.alpha[0] < r.high[0] for r in results)

    def test_same_seed_same_interval(self):
        first, again, other = self.alpha(), self.alpha(), self.alpha(rng=rng(7), n_boot=20)
        assert_array_equal([first.low, first.high], [again.low, again.high])
        assert_array_equal(first.alpha, other.alpha)
        assert not np.array_equal(first.low, other.low)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
    def test_short_integers_do_not_overflow(self, dtype):
        items, n_yes, n_asked = np.arange(3), np.array([90, 10, 50]), np.array([100, 100, 100])
        labels = np.zeros(3, dtype=dtype)
        short = nominal_alpha_per_label(items, labels, n_yes.astype(dtype), n_asked.astype(dtype), 1, rng=rng())
        votes = [[1] * yes + [0] * (100 - yes) for yes in n_yes]
        assert_allclose(short.alpha, label_alpha_by_definition(votes), rtol=0, atol=1e-9)

    def test_without_replicates_there_is_no_interval(self):
        result = self.alpha(n_boot=0)
        assert_allclose(result.alpha, [8 / 15, -1 / 2], **EXACT)
        assert_array_equal([result.low, result.high], np.full((2, 2), np.nan))

    def test_many_labels_at_once_draw_what_each_alone_would(self):
        """Labels with many and with few kinds of items share a block, and none disturbs the draws of the others."""
        generator = rng(7)
        label = np.sort(generator.integers(150, size=600))
        n_asked = generator.integers(1, 2 + label % 7)
        pairs = np.arange(600), label, generator.integers(0, n_asked + 1), n_asked
        together = nominal_alpha_per_label(*pairs, 152, rng=rng(1), n_boot=20)
        shared = rng(1)
        alone = [
            nominal_alpha_per_label(*(column[label == one] for column in pairs), 152, rng=shared, n_boot=20)
            for one in range(152)
        ]
        for name in ("alpha", "low", "high"):
            one_by_one = [getattr(each, name)[one] for one, each in enumerate(alone)]
            assert_allclose(getattr(together, name), one_by_one, **EXACT)


class TestMasiDistances:
    @pytest.mark.parametrize(
        ("left", "right", "expected"),
        [
            ("01", "01", 0),
            ("", "", 0),
            ("", "0", 1),
            ("0", "1", 1),
            ("0", "01", 1 - 1 / 2 * 2 / 3),
            ("012", "0", 1 - 1 / 3 * 2 / 3),
            ("01", "12", 1 - 1 / 3 * 1 / 3),
            ("012", "123", 1 - 2 / 4 * 1 / 3),
        ],
    )
    def test_by_hand(self, left, right, expected):
        yes = label_sets(left, right)
        distance, comparable = masi_distances(yes, np.ones_like(yes))
        assert_allclose(distance, [[0, expected], [expected, 0]], **EXACT)
        assert comparable.all()

    def test_only_labels_asked_of_both_count(self):
        yes, asked = label_sets("01", "0", "3"), label_sets("012", "02", "3")
        distance, comparable = masi_distances(yes, asked)
        assert_array_equal(comparable, [[True, True, False], [True, True, False], [False, False, True]])
        assert_array_equal(distance, np.zeros((3, 3)))

    @pytest.mark.parametrize("n_labels", [3, 64, 65, 300])
    def test_any_number_of_labels_against_the_definition(self, n_labels):
        generator = rng(n_labels)
        asked = generator.random((70, n_labels)) < 0.5  # more rows than one block holds
        yes = asked & (generator.random(asked.shape) < generator.choice([0.01, 0.5, 1], size=(70, 1)))
        distance, comparable = masi_distances(yes, asked)
        for a in range(70):
            for b in range(70):
                expected = compare(a, b, yes, asked)
                assert comparable[a, b] == (expected is not None)
                assert_allclose(distance[a, b], expected or 0, **EXACT)


class TestMasiAlpha:
    def test_by_hand(self):
        # Items: 7 {0},{0},{0,1}; 9 {1},{1}; 4 {0} alone, not pairable.
        # Distances: {0}-{0,1} and {1}-{0,1} 2/3, {0}-{1} 1. Five answers: {0} twice, {0,1} once, {1} twice.
        # Observed: item 7 has 4 ordered pairs at 2/3, over m - 1 = 2: 4/3; item 9: 0; over 5 answers: 4/15.
        # Expected: 2 * (2*1*2/3 + 2*2*1 + 1*2*2/3) / (5*4) = 2/3. Alpha = 1 - 4/15 * 3/2 = 3/5.
        result = set_alpha([7, 9, 7, 4, 9, 7], label_sets("0", "1", "0", "0", "1", "01"))
        assert_allclose(result.alpha, 3 / 5, **EXACT)
        assert result.n_items_used == 2

    def test_partial_asking_by_hand(self):
        # Item 0: {0} of {0,1}; {0,2} of {0,2}; {3} of {3}. Item 1: {} of {0,3}; {} of {0}.
        # Comparable are, on label 0, a-b and d-e (distance 0), a-d, a-e, b-d, b-e (1), and on label 3 c-d (1).
        # Observed 0 / (2/2 + 2/1) = 0, so alpha is 1 whatever is expected (5 of 7 pairs differ).
        yes, asked = label_sets("0", "02", "3", "", ""), label_sets("01", "02", "3", "03", "0")
        assert set_alpha([0, 0, 0, 1, 1], yes, asked).alpha == 1
        # If e affirms 0: d-e costs 1, a-e and b-e nothing. Observed (0 + 2*1/1) / (2/2 + 2/1) = 2/3;
        # expected: a-d, b-d, c-d, d-e of 7 pairs = 4/7. Alpha = 1 - 2/3 * 7/4 = -1/6.
        yes[4, 0] = True
        assert_allclose(set_alpha([0, 0, 0, 1, 1], yes, asked).alpha, -1 / 6, **EXACT)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("asked_share", [1.0, 0.7, 0.25])
    def test_against_the_definition(self, seed, asked_share):
        data = random_answers(seed, asked_share=asked_share)
        assert_allclose(masi_alpha(*data, rng=rng()).alpha, set_alpha_by_definition(*data), **EXACT)

    def test_one_label_asked_of_all_is_the_nominal_alpha(self):
        item, yes, asked = random_answers(0, n_labels=1, noise=0.3)
        codes, row = np.unique(item, return_inverse=True)
        n_yes, n_asked = np.bincount(row, yes[:, 0]).astype(int), np.bincount(row)
        nominal = nominal_alpha_per_label(codes, np.zeros_like(codes), n_yes, n_asked, 1, rng=rng())
        result = masi_alpha(item, yes, asked, rng=rng())
        assert_allclose(result.alpha, nominal.alpha[0], **EXACT)
        assert result.n_items_used == nominal.n_items_used

    @given(st.randoms(use_true_random=False), st.integers(0, 2**32 - 1))
    @settings(max_examples=25, deadline=None)
    def test_order_of_answers_and_names_of_items_do_not_matter(self, shuffler, seed):
        item, yes, asked = random_answers(seed, n_items=6, asked_share=0.8)
        order = list(range(len(item)))
        shuffler.shuffle(order)
        renamed = masi_alpha(1000 - item[order], yes[order], asked[order], rng=rng(), n_boot=0)
        assert_allclose(renamed.alpha, masi_alpha(item, yes, asked, rng=rng(), n_boot=0).alpha, **EXACT)

    def test_perfect_agreement_is_one(self):
        result = set_alpha([0, 0, 1, 1], label_sets("01", "01", "2", "2"))
        assert (result.alpha, result.high) == (1, 1)

    def test_two_empty_sets_agree(self):
        assert set_alpha([0, 0, 1, 1], label_sets("", "", "2", "2")).alpha == 1
        assert set_alpha([0, 0, 1, 1], label_sets("", "", "", "")) == Agreement(1.0, 1.0, 1.0, n_items_used=2)

    def test_a_single_worker_is_undefined(self):
        result = set_alpha([0, 1, 2], label_sets("0", "1", "2"))
        assert isnan(result.alpha) and isnan(result.low) and isnan(result.high)
        assert result.n_items_used == 0

    @pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
    def test_no_answers_at_all(self, shape):
        assert isnan(set_alpha(np.zeros(shape[0], dtype=np.int64), np.zeros(shape, dtype=bool)).alpha)

    def test_answers_without_a_common_label_are_undefined(self):
        result = set_alpha([0, 0, 1, 1], label_sets("0", "1", "0", "1"), label_sets("0", "1", "0", "1"))
        assert isnan(result.alpha) and isnan(result.low) and isnan(result.high)

    def test_an_answer_that_was_asked_nothing_is_no_answer(self):
        yes, asked = label_sets("0", "0", "01", "1", "1", ""), label_sets(*["0123"] * 5, "")
        # The example by hand again; were the last answer counted, item 7 would have m = 4.
        result = set_alpha([7, 7, 7, 9, 9, 7], yes, asked)
        assert_allclose(result.alpha, 3 / 5, **EXACT)

    def test_a_yes_that_was_not_asked_for_is_ignored(self):
        item, yes, asked = random_answers(3, asked_share=0.6)
        assert masi_alpha(item, yes | ~asked, asked, rng=rng()) == masi_alpha(item, yes, asked, rng=rng())

    def test_interval_contains_the_estimate_and_narrows_with_more_items(self):
        few = masi_alpha(*random_answers(0, n_items=100), rng=rng())
        many = masi_alpha(*random_answers(0, n_items=1600), rng=rng())
        for result in (few, many):
            assert result.low < result.alpha < result.high
        # Sixteen times the items, a quarter of the width; 200 replicates know each width to about 10 %.
        assert_allclose((few.high - few.low) / (many.high - many.low), 4, rtol=0.4)

    def test_replicates_equal_alpha_of_repeated_items(self):
        """Two items allow three replicates: both items (the data), or one of them twice."""
        first, second = label_sets("0", "01"), label_sets("2", "23", "02")

        def alpha(*items):
            item = np.repeat(np.arange(len(items)), [len(rows) for rows in items])
            yes = np.vstack(items)
            return set_alpha_by_definition(item, yes, np.ones_like(yes))

        result = set_alpha([0, 0, 1, 1, 1], np.vstack([first, second]))
        possible = [alpha(first, first), alpha(second, second), alpha(first, second)]
        assert_allclose(result.alpha, alpha(first, second), **EXACT)
        assert_allclose([result.low, result.high], [min(possible), max(possible)], **EXACT)

    def test_same_seed_same_result(self):
        data = random_answers(0)
        assert masi_alpha(*data, rng=rng(1)) == masi_alpha(*data, rng=rng(1))
        assert masi_alpha(*data, rng=rng(1)).low != masi_alpha(*data, rng=rng(2)).low

    def test_without_replicates_there_is_no_interval(self):
        result = set_alpha([7, 7, 7, 9, 9], label_sets("0", "0", "01", "1", "1"), n_boot=0)
        assert_allclose(result.alpha, 3 / 5, **EXACT)
        assert isnan(result.low) and isnan(result.high)


class TestLimits:
    def test_answers(self):
        item, yes, asked = np.arange(300) // 3, *random_tables(300)
        result = masi_alpha(item, yes, asked, rng=rng(), max_answers=100)
        assert result.n_items_used == 33
        assert masi_alpha(item, yes, asked, rng=rng(), max_answers=300).n_items_used == 100

    def test_patterns(self):
        # Every item brings two patterns of its own.
        yes = (np.arange(40)[:, None] >> np.arange(6)) % 2 == 1
        item = np.arange(40) // 2
        used = [set_alpha(item, yes, max_patterns=limit).n_items_used for limit in (39, 9, 8, 40)]
        assert used == [19, 4, 4, 20]

    def test_used_items_are_whole_and_drawn_at_random(self):
        """Items agree in themselves and differ in size: alpha stays 1, the number of items used varies."""
        item = np.repeat(np.arange(20), np.arange(20) + 2)
        yes = np.eye(2, dtype=bool)[item % 2]
        results = [set_alpha(item, yes, rng=rng(seed), max_answers=100) for seed in range(8)]
        assert all(result.alpha == 1 for result in results)
        assert len({result.n_items_used for result in results}) > 1

    def test_a_subset_estimates_the_whole(self):
        data = random_answers(0, n_items=4000)
        whole = masi_alpha(*data, rng=rng())
        part = masi_alpha(*data, rng=rng(), max_answers=3000)
        assert part.n_items_used < whole.n_items_used / 2
        assert part.low < whole.alpha < part.high

    def test_nothing_fits(self):
        result = set_alpha([0, 0, 0], label_sets("0", "1", "2"), max_answers=2)
        assert isnan(result.alpha)
        assert result.n_items_used == 0


def random_tables(n_answers, n_labels=4):
    yes = rng(0).random((n_answers, n_labels)) < 0.5
    return yes, np.ones_like(yes)
