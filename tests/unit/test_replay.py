"""Replays: the books are right, and a good strategy is cheaper than chance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC
from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.active.curves import Curve, compared, cost_of_goals, largest_lead, mean_curve
from amcc.active.pool import refused_share
from amcc.active.replay import Recording, first_votes, purchases, replay
from amcc.active.strategies import STRATEGIES
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.worth import worker_costs
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ParameterError
from amcc.io import read_truth, read_votes
from amcc.metrics import jaccard
from amcc.roster import Roster
from amcc.votes import Votes


@pytest.fixture(scope="module")
def recording():
    crowd = simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=5, answers_per_item=6, seed=2))
    return Recording(crowd.votes, crowd.truth, np.ones_like(crowd.truth))


def run(recording, strategy="voi", model=DawidSkene, prices=None, **settings):
    prices = np.ones(recording.votes.n_workers) if prices is None else prices
    return replay(recording, STRATEGIES[strategy](), model, prices, **settings)


# -- what curves say together ----------------------------------------------------------------------------------------


def curve_of(*jaccard, first=0.2, last=1.0, end="all"):
    share = np.linspace(first, last, len(jaccard))
    return Curve(share, share, np.array(jaccard, dtype=np.float64), end=end)


def test_area_is_the_mean_quality_over_the_money():
    assert curve_of(0.2, 0.6).area() == pytest.approx(0.4)
    assert curve_of(0.2, 0.6).area(0.6, 1.0) == pytest.approx(0.5)
    assert curve_of(0.3, first=0.2).area() == 0.3  # the budget paid for the first votes only


def test_strategies_are_compared_seed_by_seed():
    """Seeds differ by far more than strategies do, and the difference shows nevertheless."""
    base = np.array([0.1, 0.5, 0.9])
    reference = [curve_of(each, each) for each in base]
    better = [curve_of(each + gap, each + gap) for each, gap in zip(base, (0.02, 0.03, 0.025), strict=True)]
    found = compared(better, reference, [0.11, 0.51, 0.91])
    assert found.area.mean == pytest.approx(0.025)
    low, high = found.area.interval
    assert (high - low) / 2 == pytest.approx(4.302653 * 0.005 / 3**0.5)
    assert found.area.verdict(more_is_better=True) == "ahead"
    assert compared(reference, better, 0.5).area.verdict(more_is_better=True) == "behind"
    assert compared(better[:2], reference[:2], 0.5).area.verdict(more_is_better=True) == "not told apart"
    # All runs of the reference end 0.01 below: each counts with all the money, beside 20 % from the first votes on.
    assert found.missed == (0, 3)
    assert_allclose(found.cost.of_runs, 0.2 - 1.0)


def test_what_ended_early_is_compared_as_far_as_it_went():
    early, whole = curve_of(0.4, 0.6, last=0.6, end="money"), curve_of(0.4, 0.6, 0.8)
    found = compared([early] * 3, [whole] * 3, 0.9)
    assert (found.first, found.last) == (0.2, 0.6)
    assert_allclose(found.area.of_runs, 0, atol=1e-12)


def test_lead_after_the_first_tenth_and_where_both_are_known():
    chance, chosen = curve_of(0.9, 0.5, 0.6, first=0.0, last=0.8), curve_of(0.1, 0.55, 0.1, 0.1, first=0.0, last=1.2)
    assert largest_lead(chance, chosen) == pytest.approx(0.5)  # at 80 %; what is ahead at the start does not count
    assert largest_lead(chosen, curve_of(0.8, 0.8)) == 0


def test_what_the_pool_refuses():
    """Each of two workers was asked about one of two items: whoever is wished for besides is not for sale."""
    votes = Votes.from_dense([[[1], [0]], [[0], [1]]])
    first = np.array([True, False])
    shares = [
        refused_share(
            votes, first, STRATEGIES["uniform"](), Learner(MajorityVote), np.ones(2), 3, np.random.default_rng(seed)
        )
        for seed in range(3)
    ]
    assert shares == pytest.approx([2 / 3] * 3)


def test_the_money_of_every_worker_adds_up(recording):
    prices = np.arange(1.0, 16.0)
    curve = run(recording, "uniform", model=MajorityVote, prices=prices, batch=500)
    assert_allclose(curve.by_worker.sum(axis=1), curve.cost_share)
    votes = np.bincount(recording.votes.worker, minlength=15)
    assert_allclose(curve.by_worker[-1], prices * votes / (prices * votes).sum())


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
def test_a_model_that_uses_the_roster_gets_it(recording):
    seen = []

    class Asking(AMCC):
        def fit(self, votes, features=None, truth=None, roster=None):
            seen.append(roster)
            return super().fit(votes, features, truth, roster)

    names = recording.votes.worker_names
    roster = Roster.from_frame(pa.table({"worker": names, "kind": ["model"] * 15, "family": ["one"] * 15}))
    run(recording, "uniform", model=Asking, batch=1500, roster=roster)
    assert seen and all(each is roster for each in seen)
    assert run(recording, "uniform", model=MajorityVote, batch=1500, roster=roster).end == "all"  # does without


# -- running ---------------------------------------------------------------------------------------------------------


def test_one_answer_per_item_at_the_start(recording):
    votes = recording.votes
    start = votes.select(first_votes(votes, "one", np.random.default_rng(0)))
    assert_array_equal(start.answers_per_item, 1)
    assert len(start) == votes.n_items * votes.n_labels  # whole answers
    assert not first_votes(votes, "none", np.random.default_rng(0)).any()
    assert first_votes(votes, 0.5, np.random.default_rng(0)).mean() == pytest.approx(0.5, abs=0.02)
    assert first_votes(votes, 1.0, np.random.default_rng(0)).all()


def test_start_out_of_range(recording):
    with pytest.raises(ParameterError, match="start must be 'none', 'one' or a share from 0 to 1; got 2"):
        run(recording, start=2.0)


def test_everything_is_bought_once_and_the_end_is_all_votes(recording):
    curve = run(recording, batch=200)
    assert curve.cost_share[0] == pytest.approx(1 / 6)
    assert curve.cost_share[-1] == pytest.approx(1)
    assert curve.n_votes[-1] == len(recording.votes)
    assert (np.diff(curve.n_votes) > 0).all()


def test_the_last_point_is_a_fresh_fit_of_all_votes(recording):
    """Workers are judged anew only now and then, but the end must not depend on what was believed before."""
    curve = run(recording, model=AMCC, start=0.9, batch=30, growth=10.0)
    votes, truth = recording.votes, recording.truth
    assert curve.jaccard[-1] == jaccard(truth, AMCC().fit(votes).predict(), recording.known)


def test_workers_are_judged_anew_when_it_pays(recording):
    """A twentieth more votes and nothing less is worth a fit; all votes count at once."""
    votes, learner, models = recording.votes, Learner(DawidSkene), []
    for share in (0.5, 0.52, 0.524, 0.526):
        beliefs = learner.learn(votes.select(np.arange(len(votes)) < share * len(votes)))
        models.append(learner.model)
        assert beliefs.votes.pairs.n_votes.sum() == np.ceil(share * len(votes))
    assert models[0] is models[1] is models[2] is not models[3]


def test_only_the_last_fit_counts(recording):
    """A learner that knows only the votes of the last fit goes on like one that saw them grow."""
    votes = recording.votes
    moments = [votes.select(np.arange(len(votes)) < share * len(votes)) for share in (0.2, 0.3, 0.6, 0.61, 0.75)]
    whole, late = Learner(AMCC), Learner(AMCC)
    for moment in moments[:4]:  # the fourth has too few new votes for a fit
        whole.learn(moment)
    late.learn(moments[2])
    for moment in moments[3:]:
        assert_array_equal(whole.learn(moment).proba, late.learn(moment).proba)


def vague_crowd():
    """A small crowd that judges by taste: 38 workers, 100 items, 6 labels, 10 answers per item."""
    rng = np.random.default_rng(2)
    truth = rng.random((100, 6)) < 0.3
    hit, false_alarm = rng.beta(6, 4, (38, 1, 6)), rng.beta(2.5, 7.5, (38, 1, 6))
    answer = np.where(rng.random((38, 100, 6)) < np.where(truth, hit, false_alarm), 1, -1)
    asked = rng.random((38, 100)).argsort(axis=0).argsort(axis=0) < 10
    return Recording(Votes.from_dense(answer * asked[:, :, None]), truth, np.ones_like(truth))


def affective(folder):
    votes, truth = read_votes(folder / "affective" / "annotations.csv.gz"), read_truth(folder / "affective/truth.csv")
    return Recording(votes, *truth.matrices(votes.item_names, votes.label_names))


def assert_first_purchases_do_no_harm(recording, seed):
    """A few second votes must not undo what the first ones said."""
    curve = run(recording, "uniform", model=AMCC, budget=0.14 * len(recording.votes), seed=seed)
    assert len(curve.jaccard) >= 5
    assert (curve.jaccard > curve.jaccard[0] - 0.03).all()


def test_the_first_purchases_do_no_harm():
    assert_first_purchases_do_no_harm(vague_crowd(), seed=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_first_purchases_do_no_harm_on_real_data(shared_data, seed):
    assert_first_purchases_do_no_harm(affective(shared_data), seed)


@pytest.mark.parametrize("without", [[], ["counts", "degrees"], ["coins"], ["correlation"]], ids=str)
def test_few_second_votes_stay_near_majority(without):
    """Whatever is trusted: single votes cannot be checked, so they do not say that everybody errs."""
    crowd = vague_crowd()
    rng = np.random.default_rng(2)
    bought = first_votes(crowd.votes, "one", rng)
    bought[rng.permutation(np.flatnonzero(~bought))[:30]] = True
    votes = crowd.votes.select(bought)
    model = AMCC(without=without).fit(votes)
    by_majority = jaccard(crowd.truth, MajorityVote().fit(votes).predict(), crowd.known)
    assert jaccard(crowd.truth, model.predict(), crowd.known) > by_majority - 0.02
    assert model.converged_
    assert (np.diff(model.objective_history_) >= -1e-9).all()


def test_cost_is_the_sum_of_prices(recording):
    prices = np.arange(1.0, 16.0)
    curve = run(recording, prices=prices, batch=500)
    total = prices[recording.votes.worker].sum()
    assert curve.cost_share[-1] == pytest.approx(1)
    budget = 0.6 * total
    part = run(recording, prices=prices, batch=50, budget=budget)
    assert part.cost_share[-1] * total <= budget + 1e-6
    assert part.cost_share[-1] > 0.55


def bought(recording, prices, strategy="voi", **settings):
    """The moments of a replay that begins with one answer per item."""
    votes = recording.votes
    first = first_votes(votes, "one", np.random.default_rng(0))
    settings = {"batch": 150, "rng": np.random.default_rng(1), **settings}
    chooser = STRATEGIES[strategy]() if isinstance(strategy, str) else strategy
    return list(purchases(votes, first, chooser, Learner(DawidSkene), prices, **settings))


def test_prices_that_never_change_are_those_of_an_array(recording):
    prices = np.linspace(1.0, 2.0, recording.votes.n_workers) ** 2
    fixed, told = (bought(recording, each, limit=900.0) for each in (prices, lambda model, votes: prices))
    assert [moment.spent for moment in fixed] == [moment.spent for moment in told]
    assert all(np.array_equal(one.asked, other.asked) for one, other in zip(fixed, told, strict=True))


def test_what_was_bought_keeps_its_price(recording):
    """Prices rise by 1 with each batch: the first votes cost 1, those of the first batch 2, and so on."""
    n_workers, calls = recording.votes.n_workers, []

    def rising(model, votes):
        calls.append((model is not None, len(votes)))
        return np.full(n_workers, float(len(calls)))

    moments = bought(recording, rising)
    n_votes = np.array([moment.asked.sum() for moment in moments])
    assert [moment.spent for moment in moments] == np.cumsum(
        np.diff(n_votes, prepend=0) * np.arange(1, len(moments) + 1)
    ).tolist()
    assert calls == [(False, 0), *((True, n) for n in n_votes[:-1])]  # before the first vote, then before each batch


def test_prices_that_change_never_overspend(recording):
    limit = 900.7
    moments = bought(recording, lambda model, votes: 1.0 + 0.3 * worker_costs(model, votes), limit=limit, batch=40)
    assert limit - 2 < moments[-1].spent <= limit


def test_the_strategy_sees_what_workers_cost_by_eq12_now(recording):
    """Constant prices in their place would show: every batch has its own, by the last fit and the votes so far."""
    seen = []

    class Spy:
        model, uses_features, chooser = "ds", False, STRATEGIES["amcc"]()

        def select(self, beliefs, candidates, prices, batch, rng):
            seen.append((prices, beliefs.votes))
            return self.chooser.select(beliefs, candidates, prices, batch, rng)

    moments = bought(recording, worker_costs, Spy())
    assert len(seen) > 8
    for prices, votes in seen[:8]:
        fresh = worker_costs(DawidSkene().fit(votes), votes)  # at first, every batch is large enough for a fit
        assert_allclose(prices, fresh, rtol=1e-6)
        assert np.ptp(prices) > 0.05
    everybody_alike = bought(recording, np.ones(recording.votes.n_workers), "amcc")
    assert not np.array_equal(moments[1].asked, everybody_alike[1].asked)  # cheaper workers are asked


def test_shares_are_of_what_all_votes_cost_in_the_end(recording):
    votes = recording.votes
    curve = run(recording, prices=worker_costs, batch=300)
    total = worker_costs(DawidSkene().fit(votes), votes)[votes.worker].sum()
    assert curve.cost_share[0] == pytest.approx(votes.n_items * votes.n_labels / total)  # the first votes cost 1 each
    assert curve.n_votes[-1] == len(votes)
    doubled = run(recording, prices=worker_costs, batch=300, total=2 * total)
    assert_allclose(doubled.cost_share, curve.cost_share / 2)


@pytest.mark.parametrize(
    ("patience", "n_looks"),
    [(1, 4), (2, 5), (3, 11), (20, 31)],  # 31: all votes are bought
)
def test_without_progress_a_replay_ends(recording, monkeypatch, patience, n_looks):
    """The expected error falls until the third look, then again from the sixth to the eighth."""
    errors = iter([0.4, 0.3, 0.2, 0.3, 0.2, 0.1, 0.09, 0.08, *[0.5] * 16, 0.07, *[0.6] * 9])
    monkeypatch.setattr(CurrentBeliefs, "expected_error", lambda beliefs: next(errors))
    curve = run(recording, "uniform", model=MajorityVote, batch=100, patience=patience)
    assert (len(curve.jaccard), curve.end) == (n_looks, "all" if patience == 20 else "patience")


def test_why_a_replay_ended(recording):
    """Patience that is never lost changes nothing, and neither does a rule that nobody asked for."""
    patient, without = (run(recording, model=MajorityVote, batch=400, patience=each) for each in (100, None))
    assert (patient.end, without.end) == ("all", "all")
    assert_array_equal(patient.jaccard, without.jaccard)
    assert run(recording, model=MajorityVote, batch=400, budget=1500).end == "money"
    assert run(recording, model=MajorityVote, batch=30, budget=1500, patience=1).end == "patience"


@pytest.mark.parametrize("patience", [0, -1, 1.5, True])
def test_patience_is_a_number_of_rounds(recording, patience):
    with pytest.raises(ParameterError, match="patience must be a whole number of batches of at least 1; got"):
        run(recording, patience=patience)


def test_value_of_information_is_cheaper_than_chance(recording):
    curves = {
        name: mean_curve([run(recording, name, seed=seed, budget=0.6 * len(recording.votes)) for seed in range(2)])
        for name in ("voi", "uniform")
    }
    share = np.linspace(0.3, 0.55, 6)
    voi, uniform = (np.interp(share, curve.cost_share, curve.jaccard) for curve in curves.values())
    assert (voi > uniform + 0.03).all()


def test_a_seed_fixes_the_curve(recording):
    first, again, other = (run(recording, model=MajorityVote, batch=400, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(first.jaccard, again.jaccard)
    assert not np.array_equal(first.jaccard, other.jaccard)


def test_cold_start(recording):
    curve = run(recording, start="none", batch=100, budget=1000)
    assert curve.cost_share[0] == 0
    assert curve.jaccard[-1] > curve.jaccard[0]


def test_cost_is_where_quality_stays():
    """Not where a noisy curve first touches it."""
    share = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    curve = Curve(share, 10 * share, np.array([0.2, 0.8, 0.7, 0.81, 0.8]))
    assert curve.sustained_cost(0.75) == 0.7
    assert curve.sustained_cost(0.7) == 0.3
    assert curve.sustained_cost(0.1) == 0.1
    assert curve.sustained_cost(0.9) is None
    assert curve.sustained_cost(0.805) is None  # it was there, and did not stay


def test_cost_of_goals_over_runs():
    share = np.array([0.1, 0.2, 0.3])
    curves = [Curve(share, share, np.array(jaccard)) for jaccard in ([0.8, 0.7, 0.8], [0.8, 0.8, 0.8], [0.9, 0.9, 0.5])]
    whole = cost_of_goals(curves, 0.8)[1.0]
    assert whole.of_runs == (0.3, 0.1, None)
    assert (whole.median, whole.least, whole.most) == (0.3, 0.1, None)
    assert cost_of_goals(curves, 0.804)[1.0] == whole  # 0.005 below counts as the same
    assert cost_of_goals(curves, 0.806)[1.0].of_runs == (None, None, None)
    assert cost_of_goals(curves[:2], 0.8)[1.0].median == pytest.approx(0.2)


def test_mean_of_curves():
    curve = Curve(np.array([0.1, 0.3, 0.5]), np.array([1.0, 3.0, 5.0]), np.array([0.2, 0.8, 0.7]))
    mean = mean_curve([curve, Curve(curve.cost_share, curve.n_votes, curve.jaccard + 0.1)], n_points=3)
    assert_allclose(mean.jaccard, curve.jaccard + 0.05)
