"""Compiled loops against their numpy twins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import passes
from amcc.passes import Belief


@pytest.fixture
def compiled(monkeypatch):
    """Send even small input through the compiled loops."""
    monkeypatch.setattr(passes, "SMALL", -1)


def random_votes(rng, n_pairs=500, n_coins=60):
    start = np.append(0, np.cumsum(rng.integers(1, 12, size=n_pairs)))  # loops take four votes at a time
    slot = rng.integers(2 * n_coins, size=start[-1]).astype(np.int32)
    return slot, start, rng.normal(size=2 * n_coins, scale=3), rng.normal(size=n_pairs)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("seed", range(3))
def test_posterior_pass_equals_its_twin(seed):
    votes = random_votes(np.random.default_rng(seed))
    before = np.random.default_rng(9).random(len(votes[3]))
    compiled, twin = passes.posterior_pass(*votes, before), passes.posterior_pass_numpy(*votes, before)
    assert compiled.change == pytest.approx(twin.change, rel=1e-12)
    assert_allclose(compiled.proba, twin.proba, rtol=1e-12)
    assert_allclose(compiled.present, twin.present, rtol=1e-12)
    assert compiled.log_odds_sum == pytest.approx(twin.log_odds_sum, rel=1e-12)


def test_posterior_pass_by_hand():
    """One pair with a yes worth +2 and a no worth −1, prior 0: log-odds 1; a second pair without surprise."""
    slot, start = np.array([1, 0, 1], np.int32), np.array([0, 2, 3])
    step = passes.posterior_pass_numpy(slot, start, np.array([-1.0, 2.0]), np.array([0.0, -2.0]))
    assert_allclose(step.proba, [1 / (1 + np.exp(-1)), 0.5], rtol=1e-12)
    assert_allclose(step.present, [step.proba[0], step.proba[0] + 0.5], rtol=1e-12)
    assert step.log_odds_sum == pytest.approx(np.log1p(np.e) + np.log(2))


@pytest.mark.usefixtures("compiled")
def test_extreme_log_odds_stay_numbers():
    step = passes.posterior_pass(
        np.array([0, 1], np.int32), np.array([0, 1, 2]), np.array([900.0, -900.0]), np.zeros(2)
    )
    assert_array_equal(step.proba, [1, 0])
    assert step.log_odds_sum == 900


@pytest.mark.usefixtures("compiled")
def test_count_answers_equals_its_twin():
    rng = np.random.default_rng(0)
    item = np.sort(rng.integers(40, size=2000)).astype(np.int32)
    worker = rng.integers(15, size=2000).astype(np.int32)
    for compiled, twin in zip(
        passes.count_answers(item, worker, 45, 17), passes.count_answers_numpy(item, worker, 45, 17), strict=True
    ):
        assert_array_equal(compiled, twin)


@pytest.mark.usefixtures("compiled")
def test_others_pass_equals_its_twin():
    votes = random_votes(np.random.default_rng(7))
    for compiled, twin in zip(passes.others_pass(*votes), passes.others_pass_numpy(*votes), strict=True):
        assert_allclose(compiled, twin, rtol=1e-12)


def test_others_pass_by_hand():
    """Two votes on one pair: each is judged by the prior 1 and the other vote alone."""
    judged = passes.others_pass_numpy(np.array([0, 1], np.int32), np.array([0, 2]), np.array([-2.0, 3.0]), np.ones(1))
    q = 1 / (1 + np.exp([-4.0, 1.0]))
    assert_allclose(judged.weight, q, rtol=1e-12)
    assert_allclose(judged.square, q**2, rtol=1e-12)


def test_models_give_the_same_on_both_routes(crowd, monkeypatch):
    from amcc.consensus import DawidSkene

    plain = DawidSkene().fit(crowd.votes)
    monkeypatch.setattr(passes, "SMALL", -1)
    compiled = DawidSkene().fit(crowd.votes)
    assert_allclose(compiled.predict_proba(), plain.predict_proba(), rtol=0, atol=1e-9)
    assert_allclose(compiled.objective_history_, plain.objective_history_, rtol=1e-9)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("label_bits", "worker_bits"), [(0, 0), (3, 5), (10, 20)])
def test_unpack_votes_equals_its_twin(label_bits, worker_bits):
    rng = np.random.default_rng(label_bits)
    codes = [rng.integers(2**bits, size=300) for bits in (30, label_bits, worker_bits)]
    yes = rng.integers(2, size=300)
    keys = ((codes[0] << label_bits | codes[1]) << worker_bits | codes[2]) << 1 | yes
    expected = codes[0], codes[2], codes[1], 2 * yes - 1
    for unpack in (passes.unpack_votes, passes.unpack_votes_numpy):
        for given in (keys.copy(), keys[:]):  # memory of its own is given back, that of others is not
            for array, code in zip(unpack(given, label_bits, worker_bits), expected, strict=True):
                assert_array_equal(array, code)
    assert len(keys) == 300


@pytest.mark.usefixtures("compiled")
def test_keys_are_used_up():
    """Or a table would need their memory and that of the votes at the same time."""
    keys = np.arange(100)
    passes.unpack_votes(keys, 3, 3)
    assert len(keys) == 0


def test_no_votes_at_all():
    empty = np.empty(0, np.int32)
    step = passes.posterior_pass(empty, np.zeros(1, np.int64), np.zeros(4), np.empty(0))
    assert len(step.proba) == 0
    assert_array_equal(step.present, np.zeros(4))


def some_round(rng, n_pairs=70_000, n_slots=400, n_labels=5):
    """A pass large enough for the compiled loop, with truth on some pairs."""
    start = np.append(0, np.cumsum(rng.integers(1, 7, n_pairs)))
    slot = rng.integers(n_slots, size=start[-1]).astype(np.int32)
    label = rng.integers(n_labels, size=n_pairs).astype(np.int32)
    known = rng.choice([-1, 0, 0, 1], size=n_pairs).astype(np.int8)
    beliefs = [Belief(rng.normal(size=n_slots), rng.normal(size=n_labels)) for _ in range(2)]
    return slot, start, label, known, *beliefs


@pytest.mark.parametrize("gold", [True, False], ids=["gold", "no gold"])
@pytest.mark.parametrize("begin", ["start", "belief", "kept"])
def test_round_equals_its_twin(gold, begin):
    *votes, known, now, old = some_round(np.random.default_rng(0))
    assert len(votes[0]) > passes.SMALL
    known = known if gold else known[:0]
    kept = passes.round_pass_numpy(*votes, known, old, None).proba
    before = {"start": None, "belief": old, "kept": kept}[begin]
    compiled, twin = (
        passes.round_pass(*votes, known, now, before),
        passes.round_pass_numpy(*votes, known, now, before),
    )
    for one, other in zip(compiled, twin, strict=True):
        assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_round_remembers_or_computes_again():
    """What was before may be given as probabilities or as the belief they came from."""
    *votes, now, old = some_round(np.random.default_rng(1), n_pairs=50)
    kept = passes.round_pass(*votes, old, None).proba
    assert passes.round_pass(*votes, now, old).squares == pytest.approx(passes.round_pass(*votes, now, kept).squares)


def test_round_by_hand():
    """Two pairs: a yes and a no; one yes whose label is known to be absent."""
    slot, start, label = np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), np.array([0, 1], np.int32)
    now = Belief(np.array([-1.0, 2.0]), np.array([0.0, 3.0]))
    step = passes.round_pass(slot, start, label, np.array([0, -1], np.int8), now, None)
    p, q = 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(48))
    assert_allclose(step.proba, [p, q])
    assert_allclose(step.present, [p, p + q])
    assert_allclose(step.label_present, [p, q])
    assert step.prior_sum == pytest.approx(-50 * q, abs=1e-15)
    assert step.change == pytest.approx(p - 0.5)
    assert step.squares == pytest.approx((p - 0.5) ** 2 + q**2)


def test_exponentials_are_exact():
    """To the last digit but one, down to where they vanish; what is not a number stays none."""
    from amcc.loops import votes as vote_loops

    log_odds = np.concatenate([np.linspace(-700, 700, 30_001), np.geomspace(1e-300, 700, 3001), [0.0]])
    assert_allclose([vote_loops.exp_minus(x) for x in log_odds], np.exp(-np.abs(log_odds)), rtol=5e-16)
    beyond = [750.0, -1e6, np.inf, -np.inf, np.nan]
    assert_array_equal([vote_loops.exp_minus(x) for x in beyond], [0, 0, 0, 0, np.nan])


@pytest.mark.parametrize("n_votes", [passes.SMALL, passes.SMALL + 1])
def test_only_large_input_asks_for_compiled_loops(n_votes, monkeypatch):
    """At the limit itself the twin answers."""
    asked = []
    monkeypatch.setattr(passes, "run_pieces", lambda loop, *_: asked.append(loop))
    slot, start = np.zeros(n_votes, np.int32), np.array([0, n_votes])
    passes.sum_over_votes(slot, start, np.ones(2))
    assert asked == (["sum_over_votes"] if n_votes > passes.SMALL else [])


def test_passes_keep_their_names_and_words():
    """Models hand passes to other processes by name, and `help` shows what the loop's function says."""
    import pickle

    for twin, name in ((value, name) for name, value in vars(passes).items() if name.endswith("_numpy")):
        chosen = getattr(passes, name.removesuffix("_numpy"))
        assert pickle.loads(pickle.dumps(chosen)) is chosen
        assert chosen is not twin
        assert chosen.__doc__ != twin.__doc__


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("seed", range(3))
def test_sums_equal_their_twins(seed):
    slot, start, evidence, prior = random_votes(np.random.default_rng(seed))
    by_pair, by_slot = passes.sum_over_votes(slot, start, evidence), passes.sum_over_slots(slot, start, prior, 130)
    close = {"rtol": 0, "atol": 1e-12}  # sums may cancel
    assert_allclose(by_pair, passes.sum_over_votes_numpy(slot, start, evidence), **close)
    assert_allclose(by_slot, passes.sum_over_slots_numpy(slot, start, prior, 130), **close)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_adding_at_coins_equals_its_twin(kind):
    """Sums of counts and of probabilities; coins that are not named stay as they were."""
    rng = np.random.default_rng(0)
    place, values, table = np.flatnonzero(rng.random(50) < 0.4), rng.integers(9, size=100), rng.integers(9, size=100)
    values, compiled, twin = values[: 2 * len(place)].astype(kind), table.astype(kind), table.astype(kind)
    passes.add_at_coins(place, values, compiled)
    passes.add_at_coins_numpy(place, values, twin)
    by_hand = table.reshape(-1, 2).copy()
    by_hand[place] += values.reshape(-1, 2).astype(np.int64)
    assert_array_equal(compiled, by_hand.ravel())
    assert_array_equal(twin, by_hand.ravel())


@pytest.mark.usefixtures("compiled")
def test_passes_leave_what_they_are_given():
    slot, start, evidence, _ = votes = random_votes(np.random.default_rng(2), n_pairs=40)
    before = np.random.default_rng(0).random(40)
    label, known = np.zeros(40, np.int32), np.zeros(40, np.int8)
    now, old = Belief(evidence, np.zeros(1)), Belief(evidence[::-1].copy(), np.ones(1))
    copies = [array.copy() for array in (*votes, before, label, known, *now, *old)]
    passes.posterior_pass(*votes, before)
    passes.round_pass(slot, start, label, known, now, old)
    passes.others_pass(*votes)
    passes.sum_over_votes(slot, start, evidence)
    for array, copy in zip((*votes, before, label, known, *now, *old), copies, strict=True):
        assert_array_equal(array, copy)


def test_change_against_nothing_is_one():
    """No fit stops at its first round."""
    votes = random_votes(np.random.default_rng(0), n_pairs=5)
    step = passes.posterior_pass(*votes)
    assert step.change == 1.0


@pytest.mark.usefixtures("compiled")
def test_compiled_change_against_nothing_is_one_too():
    step = passes.posterior_pass(*random_votes(np.random.default_rng(0), n_pairs=5))
    assert step.change == 1.0


def test_change_by_hand():
    """Probabilities ½ and ½ after ¼ and ½: the largest change is ¼."""
    slot, start = np.array([0, 1], np.int32), np.array([0, 1, 2])
    step = passes.posterior_pass(slot, start, np.zeros(2), np.zeros(2), np.array([0.25, 0.5]))
    assert step.change == 0.25


def test_a_round_over_nothing():
    empty, known = np.empty(0, np.int32), np.empty(0, np.int8)
    step = passes.round_pass(empty, np.zeros(1, np.int64), empty, known, Belief(np.ones(4), np.ones(2)), None)
    assert (len(step.proba), step.change, step.squares) == (0, 0.0, 0.0)
    assert_array_equal(step.present, np.zeros(4))
    assert_array_equal(step.label_present, np.zeros(2))


def test_shares_of_yes_by_hand():
    slot, start = np.array([1, 0, 3, 2], np.int32), np.array([0, 3, 4])
    assert_allclose(passes.share_of_yes(slot, start, np.empty(0, np.int8)), [2 / 3, 0])
    assert_allclose(passes.share_of_yes(slot, start, np.array([-1, 1], np.int8)), [0, 1])
    assert passes.share_of_yes(slot[:0], start[:1], np.empty(0, np.int8)).shape == (0,)


def test_a_lone_vote_is_judged_by_the_prior_alone():
    judged = passes.others_pass(np.array([1], np.int32), np.array([0, 1]), np.array([0.0, 99.0]), np.array([-1.0]))
    assert judged.weight[1] == pytest.approx(1 / (1 + np.e))


def test_many_labels_of_one_answer_count_once():
    item, worker = np.array([0, 0, 0, 0], np.int32), np.array([1, 0, 1, 0], np.int32)
    assert [counts.tolist() for counts in passes.count_answers(item, worker, 1, 2)] == [[2], [1, 1]]


NOWHERE_TO_KEEP = """
import numpy as np
from amcc import passes
from amcc.loops import votes as vote_loops
from amcc.loops import coins, hashes, sets
passes.SMALL = -1
slot, start = np.array([1, 0, 1], np.int32), np.array([0, 2, 3])
print(vote_loops.__file__, passes.sum_over_votes(slot, start, np.array([-1.0, 2.0])))
"""


def test_loops_are_compiled_where_nothing_can_be_kept(tmp_path):
    """Neither beside the source nor at home, not even by root: there are files where the folders would be."""
    package = tmp_path / "amcc"
    shutil.copytree(Path(passes.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    nowhere = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PYTHONPATH": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | nowhere
    run = subprocess.run(
        [sys.executable, "-c", NOWHERE_TO_KEEP], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert run.stdout == f"{package / 'loops' / 'votes.py'} [1. 2.]\n", run.stderr
