"""How strategies choose: batches without near-duplicates, and each strategy's own rule on beliefs made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.active import scores
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Anything, Recorded
from amcc.active.picking import best_places, distinct, in_groups, pick_batch
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies import STRATEGIES, baselines
from amcc.active.strategies.common import votes_on_pairs
from amcc.errors import ParameterError
from amcc.votes import Votes

EXACT = {"rtol": 0, "atol": 1e-12}
SINGLE = {"rtol": 1e-6, "atol": 0}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def triplets(*rows: tuple[int, int, int]) -> Triplets:
    return Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def as_rows(asked: Triplets) -> list[tuple[int, int, int]]:
    return list(zip(asked.item.tolist(), asked.label.tolist(), asked.worker.tolist(), strict=True))


def select(name: str, beliefs: CurrentBeliefs, batch: int, *, prices=None, candidates=None, seed: int = 0, **options):
    prices = np.ones(beliefs.votes.n_workers) if prices is None else np.asarray(prices, float)
    candidates = candidates or Anything(beliefs.votes)
    return STRATEGIES[name](**options).select(beliefs, candidates, prices, batch, rng(seed))


@pytest.fixture
def beliefs() -> CurrentBeliefs:
    """Three items, two labels, three workers: the first is good, the second fair, the third unknown."""
    dense = np.zeros((3, 3, 2), dtype=int)
    dense[0, 0], dense[0, 1], dense[1, 0], dense[1, 1] = (1, -1), (-1, 1), (1, 1), (-1, 1)
    votes = Votes.from_dense(dense)
    return CurrentBeliefs(
        votes=votes,
        proba=np.array([[0.9, 0.45], [0.2, 0.7], [0.4, 0.4]]),
        hit=np.array([[0.9, 0.9], [0.8, 0.6], [0.7, 0.7]]),
        false_alarm=np.array([[0.1, 0.1], [0.2, 0.4], [0.3, 0.3]]),
        experience=votes.answers_per_worker,
        correlation=np.eye(2),
        commonality=np.array([[1.0, -0.5], [-0.5, 1.0]]),
    )


# -- choosing --------------------------------------------------------------------------------------------------------


def test_best_places_are_sorted_and_skip_nan():
    score = np.array([[0.1, np.nan, 0.7], [0.9, 0.3, np.nan]])
    assert_array_equal(best_places(score, 3, rng()), [3, 2, 4])
    assert_array_equal(best_places(score, 99, rng()), [3, 2, 4, 0])
    assert len(best_places(np.full(3, np.nan), 2, rng())) == len(best_places(score, 0, rng())) == 0


def test_equal_places_are_equally_likely():
    score = np.array([1.0, 2.0, 1.0 + 1e-12, 1.0])  # the third differs by a rounding error
    chosen = np.array([best_places(score, 2, rng(seed)) for seed in range(300)])
    assert_array_equal(chosen[:, 0], 1)
    assert np.all(np.bincount(chosen[:, 1], minlength=4)[[0, 2, 3]] > 70)
    negative_and_zero = np.array([-1.0, 0.0, -1.0, 0.0])
    assert {tuple(best_places(negative_and_zero, 4, rng(seed))) for seed in range(50)} == {
        (1, 3, 0, 2), (1, 3, 2, 0), (3, 1, 0, 2), (3, 1, 2, 0)
    }  # fmt: skip


def test_distinct_is_unique():
    code = np.array([[7, 2], [2, 9]])
    values, place = distinct(code)
    assert_array_equal(values, [2, 7, 9])
    assert_array_equal(values[place], code)
    assert len(distinct(np.empty(0, np.int64))[0]) == 0


@pytest.mark.parametrize("n_groups", [5, 10**6], ids=["few groups", "many groups"])
def test_groups_are_sorted_as_by_lexsort(n_groups):
    """Equals, of which there are many, stay in order."""
    group = rng(1).integers(0, n_groups, 3000) // 7 * 7
    first, second = rng(2).integers(-3, 3, (2, 3000)) / 2
    first[first == -1.5] = -np.inf
    second[second == 1.0] = np.inf
    assert_array_equal(in_groups(group, first), np.lexsort((-first, group)))
    assert_array_equal(in_groups(group, first, second), np.lexsort((-second, -first, group)))
    assert len(in_groups(group[:0], first[:0])) == 0


def test_one_question_per_pair():
    asked = triplets((0, 0, 0), (0, 0, 1), (1, 0, 0))
    questions = pick_batch(asked, np.array([0.9, 0.8, 0.1]), 3, rng())
    assert as_rows(questions.asked) == [(0, 0, 0), (1, 0, 0)]


def test_one_question_per_item_and_worker_as_long_as_there_are_others():
    asked = triplets((0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 0))
    utility = np.array([0.9, 0.8, 0.2, 0.1])
    assert as_rows(pick_batch(asked, utility, 3, rng()).asked) == [(0, 0, 0), (0, 1, 1), (1, 0, 0)]
    only_him = triplets((0, 0, 0), (0, 1, 0), (1, 0, 0))
    rows = as_rows(pick_batch(only_him, np.array([0.9, 0.8, 0.1]), 3, rng()).asked)
    assert rows == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]


def test_batch_keeps_parts_and_drops_what_must_not_be_asked():
    asked = triplets((0, 0, 0), (1, 0, 0), (2, 0, 0))
    questions = pick_batch(asked, np.array([0.1, np.nan, 0.3]), 5, rng(), parts={"c": np.array([1.0, 2.0, 3.0])})
    assert as_rows(questions.asked) == [(2, 0, 0), (0, 0, 0)]
    assert_array_equal(questions.parts["c"], [3.0, 1.0])
    assert_array_equal(questions.utility, [0.3, 0.1])
    assert len(pick_batch(triplets(), np.empty(0), 5, rng())) == 0


def test_worker_score_decides_within_a_pair_only():
    asked = triplets((0, 0, 0), (0, 0, 1), (1, 0, 2))
    questions = pick_batch(asked, np.array([0.9, 0.9, 0.5]), 2, rng(), worker_score=np.array([0.1, 0.2, 0.99]))
    assert as_rows(questions.asked) == [(0, 0, 1), (1, 0, 2)]


def test_equal_workers_take_turns():
    asked = triplets(*((0, 0, worker) for worker in range(4)))
    chosen = [as_rows(pick_batch(asked, np.ones(4), 1, rng(seed)).asked)[0][2] for seed in range(200)]
    assert np.all(np.bincount(chosen, minlength=4) > 30)


def greedy(asked: Triplets, utility: np.ndarray, batch: int) -> list[tuple[int, int, int]]:
    """The rule of `pick_batch`, one question after the other."""
    rows = [as_rows(asked)[place] for place in np.argsort(-utility)]
    chosen: list[tuple[int, int, int]] = []
    for strict in (True, False):
        for item, label, worker in rows:
            new_pair = (item, label) not in {row[:2] for row in chosen}
            new_answer = (item, worker) not in {(row[0], row[2]) for row in chosen}
            if len(chosen) < batch and new_pair and (new_answer or not strict):
                chosen.append((item, label, worker))
    return chosen


@pytest.mark.parametrize("seed", range(8))
def test_batch_is_that_of_looking_at_every_question(seed):
    """In any order, and as candidates give them, pair by pair, with more workers than can be taken."""
    random = rng(seed)
    every = np.argwhere(random.random((5, 4, 6) if seed % 2 else (12, 2, 9)) < 0.5)
    asked = triplets(*(tuple(row) for row in (random.permutation(every) if seed % 2 else every).tolist()))
    utility = random.random(len(asked))
    for batch in (3, 12, 40):
        assert as_rows(pick_batch(asked, utility, batch, rng()).asked) == greedy(asked, utility, batch)


def test_votes_on_pairs(toy_votes):
    first, count = votes_on_pairs(toy_votes, np.array([0, 1, 1]), np.array([1, 0, 1]))
    assert_array_equal(count, [3, 2, 3])
    assert_array_equal(toy_votes.item[first], [0, 1, 1])
    assert_array_equal(toy_votes.label[first], [1, 0, 1])
    nothing = toy_votes.select(np.zeros(len(toy_votes), dtype=bool))
    assert_array_equal(votes_on_pairs(nothing, np.array([0]), np.array([1]))[1], [0])


# -- AMCC ------------------------------------------------------------------------------------------------------------


def amcc_by_hand(beliefs: CurrentBeliefs, item: int, label: int, worker: int, price: float, mix: float) -> float:
    """eq13 with one neighbour, the other answered item (the first two items are answered, on both labels)."""
    p = beliefs.proba
    unqueried = 2 if item == 2 else 0
    u2 = (1.0 + 0.5) / 2 if unqueried == 2 else 0.0
    u = mix * u2 + (1 - mix) * (1 - abs(0.5 - p[item, label]))
    distances = {other: np.linalg.norm(p[item] - p[other]) for other in (0, 1) if other != item}
    near = min(distances, key=distances.get)
    right = np.where(p[near] > 0.5, beliefs.hit[worker], 1 - beliefs.false_alarm[worker])
    return u * (1 / (1 + distances[near])) * np.sqrt(right.prod()) / price


@pytest.mark.parametrize(("name", "mix"), [("amcc", 0.3), ("amcc-nlc", 0.0)])
def test_amcc_by_hand(beliefs, name, mix):
    prices = [2.0, 1.0, 1.5]
    questions = select(name, beliefs, 6, prices=prices, n_neighbors=1)
    assert {row[:2] for row in as_rows(questions.asked)} == {(item, label) for item in range(3) for label in range(2)}
    for row, utility in zip(as_rows(questions.asked), questions.utility, strict=True):
        assert_allclose(utility, amcc_by_hand(beliefs, *row, prices[row[2]], mix), **SINGLE)
    best = max(
        amcc_by_hand(beliefs, item, label, worker, prices[worker], mix)
        for item in range(3) for label in range(2) for worker in range(3) if worker == 2 or item == 2
    )  # fmt: skip
    assert_allclose(questions.utility[0], best, **SINGLE)
    assert set(questions.parts) == {"u1", "u2", "u", "q", "c"}


def test_amcc_by_features_where_there_are_any(beliefs):
    features = np.array([[0.0], [5.0], [1.0]])
    both = [replace(beliefs, features=each) for each in (features, features[[1, 0, 2]])]
    nearer, other = (select("amcc", each, 6, n_neighbors=1) for each in both)
    q = [dict(zip(as_rows(each.asked), each.parts["q"], strict=True)) for each in (nearer, other)]
    row = next(row for row in q[0] if row[0] == 2 and row in q[1])
    # item 2 is 1 away from item 0 in one world, from item 1 in the other
    p, worker = beliefs.proba, row[2]
    for near, credibility in zip((0, 1), (q[0][row], q[1][row]), strict=True):
        right = np.where(p[near] > 0.5, beliefs.hit[worker], 1 - beliefs.false_alarm[worker])
        assert_allclose(credibility, 0.5 * np.sqrt(right.prod()), **SINGLE)


def test_amcc_without_votes_goes_by_the_rates(beliefs):
    nothing = beliefs.votes.select(np.zeros(len(beliefs.votes), dtype=bool))
    unanswered = replace(beliefs, votes=nothing, experience=nothing.answers_per_worker)
    questions = select("amcc", unanswered, 3)
    assert_array_equal(questions.asked.worker, [0, 0, 0])  # the best rates; one question per item


def test_ablations_leave_one_part_to_chance(beliefs):
    rw = [select("amcc-rw", beliefs, 2, seed=seed) for seed in range(40)]
    assert {as_rows(each.asked)[0][:2] for each in rw} == {(2, 0), (2, 1)}  # equal u, the highest
    assert {as_rows(each.asked)[0][2] for each in rw} == {0, 1, 2}
    rsl = [select("amcc-rsl", beliefs, 1, seed=seed) for seed in range(60)]
    assert {as_rows(each.asked)[0][:2] for each in rsl} == {(item, label) for item in range(3) for label in range(2)}
    assert {as_rows(each.asked)[0][2] for each in rsl if as_rows(each.asked)[0][0] == 2} == {0}


@pytest.mark.parametrize(
    ("name", "options"),
    [("amcc", {"correlation_mix": 1.5}), ("amcc", {"n_neighbors": 0}), ("amcc-rw", {"correlation_mix": -0.1}),
     ("amcc-rsl", {"n_neighbors": 0}), ("ceal", {"n_neighbors": 0}), ("nam-a", {"labels_per_item": 0}),
     ("amcc", {"correlation": "cosine"}), ("amcc", {"shortlist": 0}), ("mv-rsw", {"set_size": 0})],
)  # fmt: skip
def test_parameters_out_of_range(name, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        STRATEGIES[name](**options)


# -- the others ------------------------------------------------------------------------------------------------------


def test_sac_asks_the_most_accurate_about_the_most_uncertain(beliefs):
    questions = select("sac", beliefs, 1)
    # (0, 1) is nearest to ½, yet the first two workers have answered it
    assert as_rows(questions.asked) == [(0, 1, 2)]
    questions = select("sac", beliefs, 3)
    # p = .4 next; worker 0 agrees with the consensus in 4 of 4 votes, worker 1 in 3 of 4, worker 2 is unknown
    assert as_rows(questions.asked)[1][2] == 0
    assert_allclose(questions.parts["accuracy"][:2], [1 / 2, 5 / 6], **EXACT)


def test_nam_a_takes_the_likeliest_labels_of_the_strangest_item(beliefs):
    proba = np.array([[0.9, 0.8], [0.2, 0.7], [0.4, 0.3]])
    # sets of 2, 1 and 0 labels; 1.5 on average where answered; asked 4, 4 and 0 times → QCI .125, .125 and 3
    strange = replace(beliefs, proba=proba)
    assert_allclose(baselines.cardinality_scores(strange), [0.125, 0.125, 3.0], **EXACT)
    questions = select("nam-a", strange, 2, labels_per_item=1)
    assert as_rows(questions.asked)[0] == (2, 0, 0)  # .4 before .3; worker 0 is right most often
    assert as_rows(questions.asked)[1][0] != 2
    assert [row[:2] for row in sorted(as_rows(select("nam-a", strange, 2).asked))] == [(2, 0), (2, 1)]


def test_ceal_by_hand(beliefs):
    questions = select("ceal", beliefs, 6, prices=[1.0, 1.0, 2.0])
    first = as_rows(questions.asked)[0]
    # only workers 0 and 1 have a record; of item 2, which both may be asked about, both labels have p = .4
    assert first[0] == 2
    distance = np.linalg.norm(beliefs.proba[2] - beliefs.proba[:2], axis=1)
    right = {0: {0: (1, 1), 1: (1, 1)}, 1: {0: (1, 1), 1: (0, 1)}}[first[2]][first[1]]
    q = (np.array(right) / (1 + distance)).sum() / 2
    assert_allclose(questions.parts["q"][0], q, **EXACT)
    assert_allclose(questions.utility[0], 0.8 * q, **EXACT)


def test_activelab_asks_about_the_least_sure_consensus(beliefs):
    quality, weight = baselines.crowdlab_of_labels(beliefs)
    open_pairs = Anything(beliefs.votes).open_pairs()
    questions = select("activelab", beliefs, 1, prices=[1.0, 1.0, 1.0])
    item, label, _ = as_rows(questions.asked)[0]
    assert open_pairs.all()
    assert quality[item, label] == quality.min()
    assert weight.shape == (3, 2)


def test_activelab_judges_each_label_by_its_own_votes(beliefs):
    quality, _ = baselines.crowdlab_of_labels(beliefs)
    votes = beliefs.votes
    of_label = votes.label == 1
    share, model = np.array([0.5, 1.0]), beliefs.proba[:2, 1]
    temperature = scores.best_temperature(share, model)
    known = scores.crowdlab(
        votes.item[of_label], votes.worker[of_label], votes.value[of_label] > 0,
        scores.at_temperature(beliefs.proba[:, 1], temperature), 3,
    )  # fmt: skip
    assert_allclose(quality[:, 1], scores.activelab_quality(known), **EXACT)


def test_okg_prefers_pairs_nobody_knows_and_better_workers(beliefs):
    questions = select("okg", beliefs, 1)
    item, _, worker = as_rows(questions.asked)[0]
    assert item == 2  # nobody was asked about it
    reliability = scores.reliability_of_workers(beliefs.votes, beliefs.proba)
    assert worker in np.flatnonzero(np.round(reliability, 2) == np.round(reliability, 2).max())
    one = np.ones(1)
    assert_allclose(questions.utility, scores.optimistic_gain(one, one, np.round(reliability[[worker]], 2)), **EXACT)


def test_okg_replays_the_votes_of_a_pair(beliefs):
    reliability = np.array([1.0, 0.5, 0.9])
    yes, no = baselines.beta_of_pairs(beliefs.votes, reliability, np.array([0, 1, 2]), np.array([1, 0, 0]))
    # (0, 1): a perfect no and a coin's yes; (1, 0): a perfect no and a coin's no; (2, 0): nothing
    assert_allclose(yes, [1, 1, 1], **EXACT)
    assert_allclose(no, [2, 2, 1], **EXACT)


def test_okg_from_counts(beliefs):
    gain = baselines.gain_from_counts(beliefs.votes)
    # yes/no: (0, 0) 2/0, (0, 1) 1/1, (1, 0) 0/2, (1, 1) 2/0, none about item 2
    assert_allclose(gain, [[0.0625, 0.1875], [0.0625, 0.0625], [0.25, 0.25]], **EXACT)


def test_uniform_is_uniform(beliefs):
    pool = Votes.from_dense(np.ones((2, 2, 1), dtype=int))
    small = replace(beliefs, votes=pool, proba=beliefs.proba[:2, :1])
    candidates = Recorded(pool, np.zeros(4, dtype=bool))
    seen: list[tuple[int, int, int]] = []
    for seed in range(400):
        questions: Questions = select("uniform", small, 1, candidates=candidates, seed=seed)
        seen += as_rows(questions.asked)
    counts = [seen.count((item, 0, worker)) for item in range(2) for worker in range(2)]
    assert min(counts) > 60  # 100 expected, standard deviation 9


def test_mv_rsw_asks_a_set_of_workers_about_one_label_of_a_random_item(beliefs):
    seen_pairs, seen_sets = set(), set()
    for seed in range(60):
        rows = as_rows(select("mv-rsw", beliefs, 4, set_size=2, seed=seed).asked)
        assert len(rows) == len(set(rows)) == 4
        sets = {}
        for item, label, worker in rows:
            sets.setdefault((item, label), set()).add(worker)
        # item 2 is open to all three workers, so its set is full; on the others only worker 2 is left
        assert all(len(workers) == (2 if item == 2 else 1) for (item, _), workers in sets.items())
        assert len({item for item, _ in list(sets)[:3]}) == 3  # every item once before one comes again
        seen_pairs.add(next(iter(sets)))
        seen_sets |= {frozenset(workers) for (item, _), workers in sets.items() if item == 2}
    assert seen_pairs == {(item, label) for item in range(3) for label in range(2)}
    assert seen_sets == {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2))}


def test_models_that_strategies_were_published_with():
    given = {name: make().model for name, make in STRATEGIES.items() if make().model != "amcc"}
    assert given == {"amcc-paper": "amcc-frobenius", "sac": "dawid-skene", "nam-a": "nam", "mv-rsw": "majority"}
