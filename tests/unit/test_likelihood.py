"""The likelihood form: one bound that never falls, integrals done right, groups that mean something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, digamma, expit, logsumexp
from scipy.stats import beta, betabinom

from amcc import AMCC, Roster
from amcc.consensus.default import coins as coin_sums
from amcc.consensus.default.answering import STEPS
from amcc.consensus.default.coins import (
    Counts,
    Explained,
    Usual,
    effective_votes,
    expected_log_rates,
    group_fit,
    mean_rates,
)
from amcc.consensus.default.crowd import (
    CoinCounts,
    Crowd,
    coin_rates,
    crowd_prior,
    slot_evidence,
    start_crowd,
    update_members,
    update_strengths,
)
from amcc.consensus.default.frequency import LabelFrequency, update_usual
from amcc.consensus.default.likelihood import checkable, fit_likelihood
from amcc.consensus.default.rates import NO_INDIVIDUALITY, RatePrior, start_rates, update_group_rates
from amcc.consensus.default.settings import Settings
from amcc.consensus.learned import Gold
from amcc.consensus.rounds import entropy_of, evidence_of_pairs, first_look, met_present, one_round
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory, WholeBlock
from amcc.engine.shards import Shards
from amcc.loops import coins as coin_loops
from amcc.passes import Belief
from amcc.votes import Coins, Votes

W, L, M = 12, 4, 3
SETTINGS = Settings()
PRIOR = crowd_prior(SETTINGS)
RATES = RatePrior(0.5, 8.0, 0.4)


def pair_proba(fit, engine):
    """(n_pairs,) what a fit makes of the pairs."""
    return expit(fit.prior.of(engine.block) + evidence_of_pairs(engine.block, fit.evidence))


def some_coins(rng, share=0.8):
    worker, label = np.nonzero(rng.random((W, L)) < share)
    return Coins(worker.astype(np.int32), label.astype(np.int32), np.empty(0, np.int32))


def some_counts(rng, n_coins, *, whole=False):
    yes, no = rng.gamma(1.0, 3.0, (2, n_coins))
    return Counts(np.round(yes), np.round(no)) if whole else Counts(yes, no)


def some_rates(rng):
    rates = start_rates(RATES, L, rng.normal(size=M))
    return replace(rates, label=rng.normal(size=L), strength=rng.choice([0.5, 4.0, 8.0, 64.0, 500.0], size=M))


def of_one(sums, coins, *explained):
    """What sums over all kinds of rate say where there is one kind."""
    (found,) = sums(coins, [Explained(*explained)])
    return found


def problem(seed, **settings):
    """Random coins, counts, rates and members."""
    rng = np.random.default_rng(seed)
    coins = some_coins(rng)
    counts = some_counts(rng, len(coins), **settings)
    return coins, counts, some_rates(rng), rng.dirichlet(np.ones(M), size=W)


# -- sums over coins ----------------------------------------------------------------------------------------------


def test_group_fit_is_the_integral_over_the_rate():
    coins = Coins(*np.zeros((2, 1), np.int32), np.empty(0, np.int32))
    usual = Usual(np.array([[2.5]]), np.array([[3.5]]))
    value = of_one(group_fit, coins, Counts(np.array([2.5]), np.array([1.5])), usual, np.ones((1, 1)))
    integral = beta(2.5, 3.5).expect(lambda rate: rate**2.5 * (1 - rate) ** 1.5)
    assert value[0, 0] == pytest.approx(np.log(integral), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_group_fit_is_a_beta_binomial(seed):
    """Up to the number of orders in which the votes can come."""
    coins, counts, rates, _ = problem(seed, whole=True)
    usual, total = rates.pseudo_votes, counts.yes + counts.no
    expected = np.zeros((W, M))
    for coin, (w, label) in enumerate(zip(coins.worker, coins.label, strict=True)):
        orders = -np.log(total[coin] + 1) - betaln(counts.yes[coin] + 1, counts.no[coin] + 1)
        for m in range(M):
            law = betabinom(total[coin], usual.yes[m, label], usual.no[m, label])
            expected[w, m] += law.logpmf(counts.yes[coin]) - orders
    assert_allclose(of_one(group_fit, coins, counts, usual, np.ones((W, M))), expected, rtol=1e-8, atol=1e-8)


def test_effective_votes_by_their_definition():
    coins, counts, rates, member = problem(0)
    usual, result = rates.pseudo_votes, of_one(effective_votes, *problem(0)[:2], rates.pseudo_votes, member)
    yes, no = np.zeros((M, L)), np.zeros((M, L))
    for coin, (w, label) in enumerate(zip(coins.worker, coins.label, strict=True)):
        for m in range(M):
            a, b = usual.yes[m, label], usual.no[m, label]
            n_yes, n_no = counts.yes[coin], counts.no[coin]
            yes[m, label] += member[w, m] * a * (digamma(a + n_yes) - digamma(a))
            no[m, label] += member[w, m] * b * (digamma(b + n_no) - digamma(b))
    assert_allclose(result, [yes, no])


def test_one_vote_counts_for_one():
    """Ψ(a + 1) − Ψ(a) = 1 / a; more votes of the same coin add less."""
    coins = Coins(*np.zeros((2, 1), np.int32), np.empty(0, np.int32))
    usual = Usual(np.array([[2.0]]), np.array([[3.0]]))
    one, ten = (
        of_one(effective_votes, coins, Counts(np.array([n]), np.array([0.0])), usual, np.ones((1, 1)))[0, 0, 0]
        for n in (1.0, 10.0)
    )
    assert one == pytest.approx(1)
    assert 1 < ten < 10


def test_expected_log_rates_are_those_of_the_posterior():
    coins = Coins(*np.zeros((2, 1), np.int32), np.empty(0, np.int32))
    counts, usual = Counts(np.array([3.0]), np.array([1.0])), Usual(np.array([[2.5], [6.0]]), np.array([[3.5], [1.0]]))
    member = np.array([[0.3, 0.7]])
    posteriors = beta(2.5 + 3, 3.5 + 1), beta(6 + 3, 1 + 1)
    log_rate, log_rest = of_one(expected_log_rates, coins, counts, usual, member)
    assert log_rate[0] == pytest.approx(member[0] @ [p.expect(np.log) for p in posteriors], rel=1e-6)
    assert log_rest[0] == pytest.approx(member[0] @ [p.expect(lambda x: np.log1p(-x)) for p in posteriors], rel=1e-6)


def test_mean_rates_are_those_of_the_posterior():
    coins, counts, rates, member = problem(1)
    usual = rates.pseudo_votes
    for coin, rate in enumerate(mean_rates(coins, counts, usual, member)):
        label = coins.label[coin]
        means = [
            beta(usual.yes[m, label] + counts.yes[coin], usual.no[m, label] + counts.no[coin]).mean() for m in range(M)
        ]
        assert rate == pytest.approx(member[coins.worker[coin]] @ means)


def test_compiled_sums_equal_numpy(monkeypatch):
    coins, counts, rates, member = problem(2)
    sure = np.eye(M)[np.arange(W) % M]  # everybody in one group: the others need no sums

    def sums():
        for member_of in (member, sure):
            effective = of_one(effective_votes, coins, counts, rates.pseudo_votes, member_of)
            yield from effective
            yield of_one(expected_log_rates, coins, counts, rates.pseudo_votes, member_of)
            yield member_of * of_one(group_fit, coins, counts, rates.pseudo_votes, member_of)

    by_numpy = list(sums())
    monkeypatch.setattr(coin_sums, "FEW_COINS", 7)
    for numpy, compiled in zip(by_numpy, sums(), strict=True):
        assert_allclose(compiled, numpy, rtol=1e-12, atol=1e-12)


def test_kinds_of_rate_do_not_mix():
    """All at once give what each gives alone, also where one has fewer groups."""
    crowd, coins, counts = crowd_of(3)
    kinds = crowd.explains(counts)
    kinds[2] = Explained(
        kinds[2].counts, Usual(*(each[1:] for each in vars(kinds[2].usual).values())), kinds[2].member[:, 1:]
    )
    for sums in (group_fit, expected_log_rates):
        for together, alone in zip(sums(coins, kinds), kinds, strict=True):
            assert_allclose(together, of_one(sums, coins, *alone), rtol=1e-12, atol=1e-12)
    for together, alone in zip(effective_votes(coins, kinds), kinds, strict=True):
        assert_allclose(together, of_one(effective_votes, coins, *alone), rtol=1e-12)


def test_compiled_fit_equals_numpy(crowd, monkeypatch):
    def proba():
        start, engine = start_crowd(crowd.votes.n_workers, crowd.votes.n_labels, 5, PRIOR), InMemory(crowd.votes)
        return pair_proba(fit_likelihood(engine, start, PRIOR, max_iter=10, tol=1e-9), engine)

    by_numpy = proba()
    monkeypatch.setattr(coin_sums, "FEW_COINS", 16)
    assert_allclose(proba(), by_numpy, rtol=0, atol=1e-9)


@given(st.floats(1e-5, 1e6), st.floats(1e-5, 1e6))
def test_compiled_special_functions(a, b):
    rounding = 1e-15 * (a + b) * np.log(a + b + 2)  # of the difference between large terms
    log_beta, slope = np.empty((2, 1))
    coin_loops.log_beta(np.array([a]), np.array([b]), log_beta)
    coin_loops.digamma(np.array([a]), slope)
    assert log_beta[0] == pytest.approx(betaln(a, b), rel=1e-12, abs=1e-12 + rounding)
    assert slope[0] == pytest.approx(digamma(a), rel=1e-12, abs=1e-13)


def test_compiled_logarithm():
    for x in np.concatenate([np.geomspace(1e-300, 1e300, 2001), 1 + np.linspace(-1e-3, 1e-3, 101)]):
        assert coin_loops.log(x) == pytest.approx(np.log(x), rel=5e-16, abs=0)


# -- updates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_members_against_brute_force(seed):
    """Bayes' rule over groups, worker by worker."""
    coins, present, hit, member = problem(seed)
    rng = np.random.default_rng(seed + 100)
    absent, false_alarm = some_counts(rng, len(coins)), some_rates(rng)
    uninformative, share = replace(some_rates(rng), label=rng.normal(size=L)), rng.dirichlet(np.ones(2 * M))
    crowd = Crowd(hit, false_alarm, uninformative, np.tile(member, 2) / 2, share, np.ones(len(member)))
    total = Counts(present.yes + absent.yes, present.no + absent.no)
    log_joint = np.tile(np.log(share), (W, 1))
    for rates, counts, groups in (
        (hit, present, slice(M)),
        (false_alarm, absent, slice(M)),
        (uninformative, total, slice(M, None)),
    ):
        for coin, (w, label) in enumerate(zip(coins.worker, coins.label, strict=True)):
            a, b = rates.strength * rates.commonality[:, label], rates.strength * (1 - rates.commonality[:, label])
            log_joint[w, groups] += betaln(a + counts.yes[coin], b + counts.no[coin]) - betaln(a, b)
    updated, explained = update_members(crowd, Shards(coins), CoinCounts(present, absent))
    assert_allclose(updated.member, np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True)), rtol=1e-7)
    assert_allclose(updated.share, (updated.member.sum(axis=0) + 1) / (W + 2 * M))
    assert explained == pytest.approx(logsumexp(log_joint, axis=1).sum())


def test_votes_of_the_uninformative_say_nothing():
    coins, present, *_ = problem(0)
    absent = some_counts(np.random.default_rng(1), len(coins))
    member = np.eye(4)[np.where(np.arange(W) < 3, 3, 0)]  # three of them do not look
    crowd = replace(start_crowd(W, L, 4, PRIOR), member=member)
    counts = CoinCounts(present, absent)
    evidence = slot_evidence(coins, crowd, counts).reshape(-1, 2)
    assert_array_equal(evidence[coins.worker < 3], 0.0)
    assert np.abs(evidence[coins.worker >= 3]).min() > 0
    rates = coin_rates(crowd, coins, counts)
    assert_array_equal(*rates[:, coins.worker < 3])
    assert (rates[0] > rates[1])[coins.worker >= 3].any()


@pytest.mark.parametrize(("n_groups", "n_uninformative"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (9, 2)])
def test_number_of_uninformative_groups(n_groups, n_uninformative):
    crowd = start_crowd(3, 2, n_groups, PRIOR)
    assert crowd.member.shape == (3, n_groups)
    assert crowd.uninformative_member.shape[1] == n_uninformative == len(crowd.uninformative.strength)
    assert crowd.commonality.shape == (2, n_groups, 2)


def value(rates, coins, counts, member):
    return (member * of_one(group_fit, coins, counts, rates.pseudo_votes, np.ones((W, M)))).sum() + rates.log_prior(
        RATES
    )


@pytest.mark.parametrize("seed", range(8))
def test_commonality_never_lowers_the_bound(seed):
    coins, counts, rates, member = problem(seed)
    values = [value(rates, coins, counts, member)]
    for _ in range(20):
        effective = effective_votes(coins, [Explained(counts, rates.pseudo_votes, member)])
        (rates,) = update_group_rates([rates], [RATES], effective)
        values.append(value(rates, coins, counts, member))
    assert np.diff(values).min() >= -1e-9 * abs(values[0])
    assert values[-1] > values[0]


def crowd_of(seed):
    """Random coins, counts and a crowd with other rates of each kind."""
    coins, present, hit, member = problem(seed)
    rng = np.random.default_rng(seed + 100)
    absent, false_alarm, uninformative = some_counts(rng, len(coins)), some_rates(rng), some_rates(rng)
    crowd = Crowd(hit, false_alarm, uninformative, np.tile(member, 2) / 2, np.ones(2 * M) / (2 * M), np.ones(W))
    return crowd, coins, CoinCounts(present, absent)


@pytest.mark.parametrize("seed", range(8))
def test_strengths_never_lower_the_bound(seed):
    crowd, coins, counts = crowd_of(seed)

    def values():
        """Each kind's share of the bound."""
        kinds = zip(crowd.rates, crowd.explains(counts), strict=True)
        return [value(rates, coins, explained.counts, explained.member) for rates, explained in kinds]

    found = [values()]
    for _ in range(10):
        crowd = update_strengths(crowd, PRIOR, Shards(coins), counts)
        found.append(values())
    assert np.diff(found, axis=0).min() >= -1e-9 * np.abs(found[0]).max()
    assert (found[-1] > found[0]).all()


def test_strength_stays_without_individuality():
    _, coins, counts = crowd_of(0)
    fixed = crowd_prior(SETTINGS, individuality=False)
    crowd = start_crowd(W, L, M, fixed)
    assert update_strengths(crowd, fixed, Shards(coins), counts) is crowd
    rates = crowd.hit
    assert_array_equal(rates.strength, NO_INDIVIDUALITY)


@pytest.mark.parametrize("seed", range(3))
def test_frequency_never_lowers_its_bound(seed):
    rng = np.random.default_rng(seed)
    frequency = LabelFrequency(rng.gamma(1.0, 5.0, 6), rng.gamma(1.0, 50.0, 6), 0.5, SETTINGS.pseudo_votes)
    values = [frequency.bound(SETTINGS)]
    for _ in range(20):
        frequency = update_usual(frequency, SETTINGS)
        values.append(frequency.bound(SETTINGS))
    assert np.diff(values).min() >= -1e-9
    assert values[-1] > values[0]


def test_frequency_bound_is_the_integral_over_frequencies():
    usual, n_present, n_absent = 0.3, np.array([2.0, 5.5]), np.array([7.0, 1.0])
    settings = Settings(pseudo_votes=5.0, usual_yes=0.2)  # one pair present, four absent
    law = beta(5 * usual, 5 * (1 - usual))
    integrals = [law.expect(lambda f, a=a, b=b: f**a * (1 - f) ** b) for a, b in zip(n_present, n_absent, strict=True)]
    start = np.log(usual) + 4 * np.log(1 - usual)
    found = LabelFrequency(n_present, n_absent, usual, 5.0).bound(settings)
    assert found == pytest.approx(np.log(integrals).sum() + start, rel=1e-6)


def test_frequency_mean_and_log_odds_are_those_of_the_posterior():
    frequency = LabelFrequency(np.array([2.0]), np.array([7.0]), 0.3, 5.0)
    posterior = beta(2.0 + 5 * 0.3, 7.0 + 5 * 0.7)
    assert frequency.mean[0] == pytest.approx(posterior.mean())
    assert frequency.log_odds[0] == pytest.approx(posterior.expect(lambda f: np.log(f / (1 - f))), rel=1e-6)


def test_entropy_is_that_of_independent_pairs(toy_votes):
    rng = np.random.default_rng(0)
    evidence = rng.normal(size=2 * len(toy_votes.coins))
    prior = rng.normal(size=toy_votes.n_labels)
    block = WholeBlock(toy_votes)
    step = one_round(block, Belief(evidence, prior), None)
    p = expit(prior[toy_votes.pairs.label] + evidence_of_pairs(block, evidence))
    assert entropy_of(step) == pytest.approx(-(p * np.log(p) + (1 - p) * np.log(1 - p)).sum())


# -- fits ---------------------------------------------------------------------------------------------------------

CROWDS = {
    "all asked": {},
    "60 % asked": {"asked_share": 0.6},
    "many spammers": {"spammers": 0.6},
    "few answers": {"answers_per_item": 2, "n_workers": 60},
}


def falls(history):
    """How far the bound falls in a round, at most."""
    return -np.diff(history).min(initial=0.0) / abs(history[0])


@pytest.mark.parametrize("gold_share", [0.0, 0.3], ids=["no gold", "gold"])
@pytest.mark.parametrize("changes", CROWDS.values(), ids=CROWDS)
def test_bound_never_falls(changes, gold_share):
    crowd = simulate_crowd(CrowdSpec(**{"n_items": 150, "n_workers": 20, "n_labels": 5, "seed": 1, **changes}))
    votes, pairs = crowd.votes, crowd.votes.pairs
    gold = Gold(crowd.truth[pairs.item, pairs.label], pairs.item < gold_share * votes.n_items)
    start = start_crowd(votes.n_workers, votes.n_labels, 5, PRIOR)
    engine = InMemory(votes, gold.signs)
    fit = fit_likelihood(engine, start, PRIOR, max_iter=60, tol=1e-4)
    assert falls(fit.monitor.history) <= 1e-6
    assert_allclose(pair_proba(fit, engine)[gold.known], gold.present[gold.known], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("given", ["votes", "roster", "samples", "one group", *STEPS])
def test_bound_of_the_default_never_falls(given, seed):
    """With a roster, with several samples of each answer, and whatever is switched off."""
    spec = CrowdSpec(n_items=80, n_workers=12, n_labels=4, answers_per_item=6, n_models=6, n_families=2, seed=seed)
    crowd = simulate_crowd(spec)
    votes, roster = crowd.votes, None
    if given in ("roster", "families", "reference"):
        kinds = np.where(crowd.family >= 0, "model", "human")
        families = [f"f{each}" if each >= 0 else None for each in crowd.family]
        roster = Roster.from_frame(pa.table({"worker": votes.worker_names, "kind": kinds, "family": families}))
    if given == "samples":
        table = votes.to_arrow()
        flipped = np.where(np.random.default_rng(seed).random(len(table)) < 0.2, -1, 1) * table["value"].to_numpy()
        other = table.set_column(table.column_names.index("value"), "value", pa.array(flipped, table["value"].type))
        both = [each.append_column("sample", pa.array([n] * len(each))) for n, each in enumerate((table, other))]
        votes = Votes.from_frame(pa.concat_tables(both))
    model = AMCC(without=[given] if given in STEPS else (), n_groups=1 if given == "one group" else None, max_iter=60)
    history = model.fit(votes, roster=roster).objective_history_
    assert len(history) > 3
    assert falls(history) <= 1e-6


def test_one_worker_who_answers_at_random_does_not_decide_what_is_present():
    """Eight careful workers, rare labels and a stranger: by plain shares of yes the stranger becomes the truth."""
    spec = {"labels_per_item": 0.7, "answers_per_item": 2, "spammers": 0.0, "pair_spread": 1.5}
    crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=8, n_labels=23, seed=0, **spec))
    rng, pairs = np.random.default_rng(0), crowd.votes.pairs
    table = crowd.votes.to_arrow()
    item, label = (
        crowd.votes.item_names.take(pa.array(pairs.item)),
        crowd.votes.label_names.take(pa.array(pairs.label)),
    )
    said = pa.array(rng.choice([-1, 1], len(pairs)), table["value"].type)
    worker = pa.array(["stranger"] * len(pairs), table["worker"].type)
    more = pa.table({"item": item, "worker": worker, "label": label, "value": said}).select(table.column_names)
    votes = Votes.from_frame(pa.concat_tables([table, more.cast(table.schema)]))

    def accuracy(without):
        model = AMCC(without=without).fit(votes)
        return ((model.pair_proba_ > 0.5) == crowd.truth[model.pair_item_, model.pair_label_]).mean()

    assert accuracy([]) > 0.9
    assert accuracy(["start"]) < accuracy([]) - 0.05


def chosen_crowd(seed, n_workers=12, shape=(150, 6)):
    """Votes as they are bought: one on every pair, six more on the fifth that people see most differently; and truth.

    Two families, each of which misreads a tenth of the pairs.
    """
    rng = np.random.default_rng(seed)
    present = rng.random(shape) < 0.5
    seen = present ^ (rng.random((2, *shape)) < 0.1)
    says = rng.random((n_workers, *shape)) < np.where(seen[np.arange(n_workers) % 2], 0.7, 0.3)
    order = rng.random(says.shape).argsort(axis=0).argsort(axis=0)  # who is asked first, second …
    split = np.abs(says.mean(axis=0) - 0.5)
    n_asked = np.where(split <= np.quantile(split, 0.2), 7, 1)
    return Votes.from_dense(np.where(order < n_asked, np.where(says, 1, -1), 0)), present


@pytest.mark.parametrize("seed", [0, 1])
def test_votes_that_were_chosen_do_not_make_all_labels_absent(seed):
    """Most pairs have one vote, which nothing checks, though there are more further votes than pairs."""
    votes, present = chosen_crowd(seed)
    assert len(votes) > 2 * len(votes.pairs)
    engine = InMemory(votes)
    fit = fit_likelihood(engine, start_crowd(12, 6, 5, PRIOR), PRIOR, max_iter=60, tol=5e-4)
    found = pair_proba(fit, engine) > 0.5
    assert 0.35 < found.mean() < 0.65
    assert (found == present[votes.pairs.item, votes.pairs.label]).mean() > 0.6


def test_how_far_votes_can_be_checked():
    """Of four pairs one has three votes, and of one with a single vote the truth is known."""
    votes = Votes.from_dense([[[1, 1], [-1, 1]], [[1, 0], [0, 0]], [[-1, 0], [0, 0]]])
    assert checkable(InMemory(votes).total(first_look, None)) == 1 / 4
    assert checkable(InMemory(votes, np.array([0, 1, 0, 0], np.int8)).total(first_look, None)) == 2 / 4
    assert checkable(InMemory(votes, np.array([1, 0, 0, 0], np.int8)).total(first_look, None)) == 1 / 4


def test_fit_needs_no_votes(toy_votes):
    nothing = toy_votes.select(toy_votes.value == 0)
    fit = fit_likelihood(InMemory(nothing), start_crowd(3, 2, 5, PRIOR), PRIOR, max_iter=50, tol=1e-3)
    assert pair_proba(fit, InMemory(nothing)).shape == (0,)
    assert fit.monitor.converged
    assert np.isfinite(fit.monitor.history).all()


def test_sums_over_votes_and_slots(toy_votes):
    rng = np.random.default_rng(0)
    evidence, proba = rng.normal(size=2 * len(toy_votes.coins)), rng.random(len(toy_votes.pairs))
    by_pair, by_slot = np.zeros(len(proba)), np.zeros(len(evidence))
    pair_of_vote = np.repeat(np.arange(len(proba)), toy_votes.pairs.n_votes)
    for slot, pair in zip(toy_votes.coins.slot, pair_of_vote, strict=True):
        by_pair[pair] += evidence[slot]
        by_slot[slot] += proba[pair]
    assert_allclose(evidence_of_pairs(WholeBlock(toy_votes), evidence), by_pair)
    assert_allclose(met_present(WholeBlock(toy_votes), proba), by_slot)


def test_start_has_reliable_workers_first_and_spammers_last():
    crowd = start_crowd(3, 2, 5, PRIOR)
    informativeness = (crowd.hit.commonality - crowd.false_alarm.commonality).mean(axis=1)
    assert np.diff(informativeness).max() < 0
    assert_allclose(crowd.member.sum(axis=1), 1)
    assert_array_equal(crowd.hit.strength, SETTINGS.pseudo_votes)
    assert_array_equal(crowd.false_alarm.strength, 4 * SETTINGS.pseudo_votes)


def test_single_group_starts_at_the_usual_rates():
    alone = start_crowd(3, 2, 1, PRIOR)
    assert_allclose(alone.hit.commonality, 0.7)
    assert_allclose(alone.false_alarm.commonality, 0.05)


def test_commonality_is_label_plus_shift():
    rates = replace(start_rates(RATES, 2, np.array([-1.0, 1.0])), label=np.array([0.3, -0.4]))
    assert_allclose(rates.commonality, expit([[-0.7, -1.4], [1.3, 0.6]]))
    assert_allclose(rates.pseudo_votes.total, 8.0)


# -- spammers -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.2, 0.6])
def spammed(request):
    """Share of spammers, (n_workers,) kind of worker, (n_workers,) weight of their group."""
    crowd = simulate_crowd(CrowdSpec.for_votes(10_000, spammers=request.param, seed=1))
    model = AMCC().fit(crowd.votes)
    return request.param, crowd.worker_kind, model.group_weights_[model.worker_group_]


def test_spammers_weigh_less_than_the_reliable(spammed):
    _, kind, weight = spammed
    spammer = np.char.endswith(kind, "spammer")
    assert np.mean(weight[spammer][:, None] < weight[kind == "reliable"]) >= 0.9
    assert weight[spammer].max() <= weight[kind == "reliable"].max()


def test_spammers_of_each_kind_are_in_the_groups_of_lowest_weight(spammed):
    """All of those who always tick the same; most of those who tick at random, for some of them are like the sloppy."""
    _, kind, weight = spammed
    spammer = np.char.endswith(kind, "spammer")
    assert np.all(weight[kind == "uniform_spammer"] == weight.min())
    assert np.mean(weight[spammer] == weight.min()) >= 0.5
    assert np.mean(weight[spammer] <= np.unique(weight)[1]) >= 0.9
    assert np.mean(weight[~spammer] == weight.min()) <= 0.15
