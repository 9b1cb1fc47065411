"""MCMLD and MCMLI against the worked numbers of the specification, §3.5, and their own promises."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import MCMLD, MCMLI, DawidSkene, MajorityVote
from amcc.consensus.learned import Gold
from amcc.consensus.models.mcmld.clusters import count_clusters, leading_variances
from amcc.consensus.models.mcmld.label_sets import improve_sets, mode_of_mixture
from amcc.consensus.models.mcmld.mixture import (
    AskedPairs,
    ClusterMixture,
    MixtureRules,
    average_coin_rates,
    first_mixture,
    mixture_expectation,
    mixture_objective,
    updated_mixture,
)
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits
UNSMOOTHED = {variant: MixtureRules(variant, one_coin=False, smoothing=0.0) for variant in ("paper", "code", "exact")}


def asked(votes):
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    return AskedPairs.of(votes, Gold(nothing, nothing))


def two_clusters(votes, variant):
    mixture = first_mixture(votes, 2, UNSMOOTHED[variant], 0)
    return replace(mixture, label_rate=np.array([[0.7, 0.3], [0.3, 0.7]]))


# -- worked numbers ------------------------------------------------------------------------------------------------


def test_first_rounds_of_mcmli(toy_votes):
    data, rules = asked(toy_votes), UNSMOOTHED["exact"]
    mixture = first_mixture(toy_votes, 1, rules, 0)
    belief = mixture_expectation(mixture, data)
    # w3 was not asked about l1 on i2; reading that as "no" would give 1/65 there
    assert_allclose(belief.proba, [0.8, 0.2, 1 / 17, 64 / 65], rtol=1e-12)
    assert belief.log_likelihood == pytest.approx(-7.477341, abs=5e-7)
    mixture = updated_mixture(mixture, belief, data, rules)
    assert_allclose(mixture.label_rate, [[0.429412, 0.592308]], **PRINTED)
    assert_allclose([mixture.hit[0, 0], mixture.false_alarm[0, 0]], [0.931507, 0.175258], **PRINTED)
    assert_allclose([mixture.hit[0, 4], mixture.false_alarm[0, 4]], 0, rtol=0, atol=1e-12)  # w3 only says no to l1
    assert_allclose(mixture_expectation(mixture, data).proba, [0.955077, 0.041245, 0.005164, 0.999645], **PRINTED)


@pytest.mark.parametrize(
    ("variant", "first_cluster"),
    [("paper", [0.677194, 0.329013]), ("code", [0.677194, 0.329013]), ("exact", [0.753185, 0.264623])],
)
def test_first_round_of_mcmld(toy_votes, variant, first_cluster):
    data, mixture = asked(toy_votes), two_clusters(toy_votes, variant)
    belief = mixture_expectation(mixture, data)
    assert_allclose(belief.cluster[0], [0.726929, 0.174256], **PRINTED)
    assert_allclose(belief.proba, [0.829047, 0.170953, 0.043719, 0.988378], **PRINTED)
    mixture = updated_mixture(mixture, belief, data, UNSMOOTHED[variant])
    assert_allclose(mixture.share, [0.450592, 0.549408], **PRINTED)
    assert_allclose(mixture.label_rate[0], first_cluster, **PRINTED)


def test_coins_of_the_variants(toy_votes):
    """Straight from the definition: "code" weighs pairs by cluster and presence, the others by presence only."""
    data, dense = asked(toy_votes), toy_votes.to_dense()
    for variant in ("paper", "code", "exact"):
        before = two_clusters(toy_votes, variant)
        belief = mixture_expectation(before, data)
        after = updated_mixture(before, belief, data, UNSMOOTHED[variant])
        presence = belief.proba.reshape(2, 2)
        for number, in_cluster in enumerate(belief.cluster if variant == "code" else np.ones((1, 2))):
            for coin, (worker, label) in enumerate(product(range(3), range(2))):
                votes, weight = dense[worker, :, label], in_cluster * presence[:, label]
                expected = weight[votes > 0].sum() / weight[votes != 0].sum()
                assert after.hit[number, coin] == pytest.approx(expected, rel=1e-12)


def test_one_coin_is_the_share_of_right_votes(toy_votes):
    data, rules = asked(toy_votes), MixtureRules("exact", one_coin=True, smoothing=0.0)
    before = first_mixture(toy_votes, 1, rules, 0)
    after = updated_mixture(before, mixture_expectation(before, data), data, rules)
    # w1 said yes to l1 on i1 (present .8) and no on i2 (absent 16/17); w3 was asked on i1 only
    assert_allclose(after.hit[0, [0, 4]], [(0.8 + 16 / 17) / 2, 0.2], rtol=1e-12)
    assert_allclose(after.hit, 1 - after.false_alarm, rtol=1e-12)


# -- two routes to the same result ---------------------------------------------------------------------------------


def test_expectation_equals_the_sum_over_all_label_sets():
    """The authors' form of the E-step: enumerate the 2^L label sets of every item and cluster."""
    rng = np.random.default_rng(0)
    dense = rng.choice([-1, 0, 1], size=(4, 6, 3))
    votes = Votes.from_dense(dense)
    n_coins = len(votes.coins)
    mixture = ClusterMixture(
        np.array([0.3, 0.7]), *(rng.uniform(0.1, 0.9, size=(2, size)) for size in (3, n_coins, n_coins))
    )
    belief = mixture_expectation(mixture, asked(votes))
    pair = 0
    total = 0.0
    for row, item in enumerate(np.unique(votes.item)):
        joint = np.empty((2, 8))
        sets = np.array(list(product([0, 1], repeat=3)))
        for cluster, (number, labels) in product(range(2), enumerate(sets)):
            chance = np.log(mixture.share[cluster])
            chance += np.log(np.where(labels, mixture.label_rate[cluster], 1 - mixture.label_rate[cluster])).sum()
            for coin, (worker, label) in enumerate(zip(votes.coins.worker, votes.coins.label, strict=True)):
                yes = (mixture.hit if labels[label] else mixture.false_alarm)[cluster, coin]
                vote = dense[worker, item, label]
                chance += 0.0 if vote == 0 else np.log(yes if vote > 0 else 1 - yes)
            joint[cluster, number] = chance
        whole = logsumexp(joint)
        total += whole
        assert_allclose(belief.cluster[:, row], np.exp(logsumexp(joint, axis=1) - whole), rtol=1e-10)
        for label in np.unique(votes.label[votes.item == item]):
            with_label = joint[:, sets[:, label] == 1]
            assert belief.proba[pair] == pytest.approx(np.exp(logsumexp(with_label) - whole), rel=1e-10)
            pair += 1
    assert belief.log_likelihood == pytest.approx(total, rel=1e-12)


def test_one_cluster_is_dawid_and_skene_with_the_same_start(crowd):
    """Both climb the same likelihood with the same pseudo-counts, one from accuracy .8, one from the vote share."""
    smoothing = {"hit_prior": (0.5, 0.5), "false_alarm_prior": (0.5, 0.5), "prevalence_prior": (0.5, 0.5)}
    data, rules = asked(crowd.votes), MixtureRules("exact", one_coin=False, smoothing=0.5)
    share = crowd.votes.n_yes / crowd.votes.pairs.n_votes
    belief = replace(mixture_expectation(first_mixture(crowd.votes, 1, rules, 0), data), proba=share, given=share[None])
    mixture = updated_mixture(first_mixture(crowd.votes, 1, rules, 0), belief, data, rules)
    with pytest.warns(ConvergenceWarning):
        reference = DawidSkene(**smoothing, max_iter=1).fit(crowd.votes)
    assert_allclose(mixture.hit[0], reference.hit_rate_, rtol=1e-12)
    assert_allclose(mixture.false_alarm[0], reference.false_alarm_rate_, rtol=1e-12)
    assert_allclose(mixture_expectation(mixture, data).proba, reference.pair_proba_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", ["paper", "code", "exact"])
def test_mcmli_is_any_variant_of_mcmld_with_one_cluster(crowd, variant):
    assert_allclose(
        MCMLI().fit(crowd.votes).predict_proba(),
        MCMLD(n_clusters=1, variant=variant).fit(crowd.votes).predict_proba(),
        rtol=0, atol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_exact_never_lowers_the_objective(one_coin, smoothing):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=5, asked_share=0.7, seed=2))
    model = MCMLD(n_clusters=3, one_coin=one_coin, smoothing=smoothing, tol=1e-8, max_iter=3000)
    history = np.array(model.fit(crowd.votes).objective_history_)
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


# -- label sets ------------------------------------------------------------------------------------------------------


def test_most_likely_set_where_labels_exclude_each_other():
    """Each label is more likely present than absent, yet the set of both has .115 and that of the first .41."""
    cluster, present = np.array([[0.5, 0.5]]), np.array([[[0.95, 0.15], [0.1, 0.88]]])
    by_hand = {sets: sum(
        0.5 * np.prod([rate if chosen else 1 - rate for rate, chosen in zip(rates, sets, strict=True)])
        for rates in present[0]
    ) for sets in product([0, 1], repeat=2)}  # fmt: skip
    assert max(by_hand, key=by_hand.get) == (1, 0)
    assert_array_equal(mode_of_mixture(cluster, present), [[True, False]])
    assert np.all(cluster[0] @ present[0] > 0.5)


def test_most_likely_sets_equal_enumeration():
    rng = np.random.default_rng(0)
    cluster, present = rng.dirichlet(np.ones(3), size=300), rng.beta(0.4, 0.4, size=(300, 3, 6))
    sets = np.array(list(product([False, True], repeat=6)))
    chance = np.where(sets[:, None, None, :], present, 1 - present).prod(axis=3)  # sets × items × clusters
    best = sets[np.einsum("snk,nk->sn", chance, cluster).argmax(axis=0)]
    assert (mode_of_mixture(cluster, present) == best).all(axis=1).mean() > 0.99


def test_most_likely_sets_of_one_cluster_are_those_of_predict(crowd):
    model = MCMLI().fit(crowd.votes)
    assert_array_equal(model.most_likely_sets(crowd.votes), model.predict())


def test_most_likely_sets_of_fitted_votes():
    crowd = simulate_crowd(CrowdSpec(n_items=700, n_workers=30, n_labels=6, asked_share=0.6, seed=4))
    model = MCMLD(n_clusters=3).fit(crowd.votes)
    sets = model.most_likely_sets(crowd.votes)
    assert 0.9 < (sets == model.predict()).mean() < 1
    assert metrics.jaccard(crowd.truth, sets) > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict())


# -- how many clusters -----------------------------------------------------------------------------------------------


def test_number_of_clusters_by_explained_variance():
    """Columns a, a, b: components explain 2/3 and 1/3."""
    dense = np.array([[[1, 1, 1]], [[1, 1, -1]], [[-1, -1, 1]], [[-1, -1, -1]]])
    votes = Votes.from_dense(dense)
    variance, total = leading_variances(votes, 12)
    assert_allclose(variance / total, [2 / 3, 1 / 3, 0], rtol=0, atol=1e-12)
    assert [count_clusters(votes, share) for share in (0.1, 0.7, 0.8, 0.9)] == [1, 1, 1, 2]


def test_unasked_labels_do_not_vary():
    asked_only = np.array([[[1, 0]], [[-1, 0]], [[0, 1]], [[0, -1]]])
    variance, total = leading_variances(Votes.from_dense(asked_only), 12)
    assert_allclose([*variance, total], [2, 2, 4], rtol=1e-12)


def test_many_labels_take_the_sparse_route():
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(3, 150))
    dense = np.where(rng.normal(size=(200, 3)) @ weight + rng.normal(size=(200, 150)) > 0.5, 1, -1)[:, None, :]
    votes = Votes.from_dense(dense)
    expected = np.linalg.eigvalsh(np.cov(dense[:, 0], rowvar=False) * 199)[::-1]
    variance, total = leading_variances(votes, 12)
    assert_allclose(variance, expected[:12], rtol=1e-8)
    assert total == pytest.approx(expected.sum())
    assert 1 < count_clusters(votes, 0.5) <= 12


def test_answers_without_variance_make_one_cluster():
    assert len(MCMLD().fit(Votes.from_dense(np.ones((3, 4, 2)))).cluster_share_) == 1


# -- what clusters are good for --------------------------------------------------------------------------------------


def two_kinds_of_items(seed=0, n_items=400):
    """Items have labels {0, 1, 2} or {3, 4, 5}; workers are right three times out of four; half is not asked."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.random((n_items, 1)) < 0.5, 3, axis=1)
    truth = np.concatenate([truth, ~truth], axis=1)
    right = rng.random((6, n_items, 6)) < 0.75
    dense = np.where(right == truth, 1, -1) * (rng.random((6, n_items, 6)) < 0.5)
    return Votes.from_dense(dense), truth


def test_clusters_find_label_dependence():
    votes, truth = two_kinds_of_items()
    together = (MCMLD(n_clusters=2).fit(votes).predict() == truth).mean()
    apart = (MCMLI().fit(votes).predict() == truth).mean()
    assert together > 0.97 > 0.9 > apart


def test_unasked_labels_are_predicted_by_the_item_s_cluster():
    votes, truth = two_kinds_of_items()
    votes = votes.select((votes.label != 5) | (votes.item >= 200))
    model = MCMLD(n_clusters=2).fit(votes)
    assert (model.predict()[:200, 5] == truth[:200, 5]).mean() > 0.95
    assert_allclose(model.predict_proba(votes), model.predict_proba(), rtol=0, atol=1e-9)
    assert ["5" in map(str, labels) for labels in model.sets()["labels"].to_list()[:200]] == (
        model.predict()[:200, 5].tolist()
    )


def test_a_dead_cluster_stays_finite(toy_votes):
    """Without smoothing, a cluster that no item belongs to keeps its rates."""
    data, rules = asked(toy_votes), UNSMOOTHED["exact"]
    mixture = replace(first_mixture(toy_votes, 2, rules, 0), label_rate=np.array([[0.6, 0.4], [0.5, 0.5]]))
    belief = mixture_expectation(mixture, data)
    belief = replace(belief, cluster=np.array([[1.0, 1.0], [0.0, 0.0]]))
    after = updated_mixture(mixture, belief, data, rules)
    assert_allclose(after.label_rate[1], [0.5, 0.5], rtol=1e-12)
    assert_allclose(after.share, [1, 0], rtol=0, atol=1e-12)
    assert np.isfinite(mixture_expectation(after, data).log_likelihood)


def test_a_thousand_votes_on_one_pair_do_not_underflow():
    dense = np.ones((1000, 2, 2))
    dense[:, 1] = -1
    for variant in ("paper", "code", "exact"):
        proba = MCMLD(n_clusters=2, variant=variant).fit(Votes.from_dense(dense)).predict_proba()
        assert_allclose(proba[:, 0], [1, 0], rtol=0, atol=1e-9)


def test_known_truth_teaches_about_workers_and_clusters():
    """Known to be absent is believed against any number of votes, and clusters see it."""
    votes, _ = two_kinds_of_items()
    known = votes.pairs.item < 200
    contrary = Gold(~(votes.pairs.label < 3), known)
    mixture = first_mixture(votes, 2, UNSMOOTHED["exact"], 0)
    belief = mixture_expectation(mixture, AskedPairs.of(votes, contrary))
    assert_array_equal(belief.given[:, known], np.broadcast_to(contrary.present[known], (2, known.sum())))
    assert np.isfinite(belief.log_likelihood)


def test_random_state_changes_the_start_only(crowd):
    votes = crowd.votes
    first, second = (first_mixture(votes, 3, UNSMOOTHED["exact"], seed).label_rate for seed in (0, 1))
    assert not np.isclose(first, second).any()
    assert_array_equal(MCMLD().fit(votes).predict_proba(), MCMLD().fit(votes).predict_proba())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"explained": 0.0}, "explained must lie in"),
        ({"variant": "best"}, "variant must be one of paper, code, exact"),
        ({"smoothing": -1.0}, "smoothing must be a number >= 0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        MCMLD(**params).fit(toy_votes)


def test_too_few_rounds_are_told(crowd):
    with pytest.warns(ConvergenceWarning, match="MCMLD stopped after 2 iterations"):
        MCMLD(n_clusters=3, max_iter=2).fit(crowd.votes)


# -- parts -----------------------------------------------------------------------------------------------------------


def test_one_coin_has_one_accuracy(toy_votes):
    """A yes is right where the label is present, a no where it is absent: both count for the same rate."""
    data, rules = asked(toy_votes), MixtureRules("exact", one_coin=True, smoothing=0.0)
    mixture = first_mixture(toy_votes, 1, rules, 0)
    belief = mixture_expectation(mixture, data)
    after = updated_mixture(mixture, belief, data, rules)
    # w1 says yes to l1 on i1 (present with .8) and no on i2 (present with 1/17)
    assert after.hit[0, 0] == pytest.approx((0.8 + 16 / 17) / 2)
    assert_allclose(after.false_alarm, 1 - after.hit, rtol=1e-12)


def test_unanswered_items_have_the_shares_of_clusters(toy_votes):
    votes = Votes.from_dense(np.concatenate([toy_votes.to_dense(), np.zeros((3, 1, 2))], axis=1))
    data = asked(votes)
    spread = data.spread(np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0.6, 0.4]), 3)
    assert_allclose(spread, [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], rtol=1e-12)
    assert_array_equal(data.row, [0, 0, 1, 1])
    assert_array_equal(data.first, [0, 2])


def test_average_coins_are_those_of_all_votes(toy_votes):
    """One worker with all votes has the rates of the average."""
    data, rules = asked(toy_votes), UNSMOOTHED["exact"]
    belief = mixture_expectation(first_mixture(toy_votes, 1, rules, 0), data)
    hit, false_alarm = average_coin_rates(toy_votes, belief, data, rules)
    present, yes, n_votes = belief.proba, toy_votes.n_yes, toy_votes.pairs.n_votes
    for label in range(2):
        of_label = toy_votes.pairs.label == label
        expected = (present * yes)[of_label].sum() / (present * n_votes)[of_label].sum()
        assert hit[0, label] == pytest.approx(expected)
        expected = ((1 - present) * yes)[of_label].sum() / ((1 - present) * n_votes)[of_label].sum()
        assert false_alarm[0, label] == pytest.approx(expected)


def test_objective_counts_each_parameter_once(toy_votes):
    """Smoothing is a Beta prior of every rate; one coin has one rate, one cluster has no share."""
    data = asked(toy_votes)
    for one_coin, n_rates in ((False, 2 + 6 + 6), (True, 2 + 6)):
        rules = MixtureRules("exact", one_coin=one_coin, smoothing=0.5)
        half = np.full((1, 6), 0.5)
        mixture = ClusterMixture(np.ones(1), np.full((1, 2), 0.5), half, half)
        belief = mixture_expectation(mixture, data)
        expected = belief.log_likelihood + 0.5 * n_rates * 2 * np.log(0.5)
        assert mixture_objective(mixture, belief, rules) == pytest.approx(expected)


def test_improving_sets_never_lowers_their_score():
    rng = np.random.default_rng(1)
    log_empty, log_odds = rng.normal(size=(50, 3)), rng.normal(size=(50, 3, 5), scale=2)
    sets = rng.random((50, 5)) < 0.5
    untouched = sets.copy()

    def score(of_sets):
        return logsumexp(log_empty + np.einsum("nkl,nl->nk", log_odds, of_sets), axis=1)

    better, end = improve_sets(sets, log_empty, log_odds)
    assert (end >= score(sets) - 1e-12).all()
    assert_allclose(end, score(better), rtol=1e-12)
    assert_array_equal(sets, untouched)
    for label in range(5):
        changed = better.copy()
        changed[:, label] ^= True
        assert (score(changed) <= end + 1e-8).all()


def test_new_votes_with_a_new_label_and_a_new_worker(crowd):
    model = MCMLD(n_clusters=2, variant="code").fit(crowd.votes)
    votes = Votes.from_dense(np.ones((2, 1, 1)), worker_names=["new", "other"], label_names=["new"])
    proba = model.predict_proba(votes)
    assert 0.5 < proba[0, 0] < 1
    assert model.most_likely_sets(votes).all()
