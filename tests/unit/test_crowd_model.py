"""Groups of workers and kinds of rate: priors, the start, newcomers, and the frequency of labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import norm

from amcc.consensus.default.coins import Counts
from amcc.consensus.default.crowd import (
    UNINFORMATIVE_STARTS,
    CoinCounts,
    Crowd,
    crowd_prior,
    known_to,
    slot_evidence,
    start_crowd,
    update_members,
    update_rates,
    update_strengths,
)
from amcc.consensus.default.frequency import LabelFrequency, lent_to_all, update_usual
from amcc.consensus.default.rates import (
    CROWD_SPREAD,
    GROUP_SPREAD,
    LONGEST_RATE_STEP,
    NO_INDIVIDUALITY,
    RatePrior,
    Rates,
    start_rates,
    update_group_rates,
)
from amcc.consensus.default.settings import Settings
from amcc.engine.shards import Shards
from amcc.votes import Coins

SETTINGS = Settings()
PRIOR = crowd_prior(SETTINGS)


def coins_of(n_workers, n_labels):
    worker, label = np.divmod(np.arange(n_workers * n_labels), n_labels)
    return Coins(worker.astype(np.int32), label.astype(np.int32), np.empty(0, np.int32))


# -- priors and the start ---------------------------------------------------------------------------------------------


def test_without_individuality_all_strengths_are_fixed():
    prior = crowd_prior(SETTINGS, individuality=False)
    assert {each.strength for each in prior[:3]} == {NO_INDIVIDUALITY}
    crowd = start_crowd(2, 3, 5, prior)
    for rates in (crowd.hit, crowd.false_alarm, crowd.uninformative):
        assert_array_equal(rates.strength, NO_INDIVIDUALITY)


def test_log_prior_is_that_of_normal_distributions():
    prior = RatePrior(0.3, 8.0, 0.4)
    rates = Rates(0.5, np.array([0.2, 1.0]), np.array([-1.0, 0.5]), np.array([8.0, 2.0]))
    other = Rates(0.3, np.array([0.3, 0.3]), np.zeros(2), np.array([1.0, 1.0]))

    def by_scipy(each):
        return (
            norm(each.centre, 0.4).logpdf(each.label).sum()
            + norm(0, GROUP_SPREAD).logpdf(each.shift).sum()
            + norm(0.3, CROWD_SPREAD).logpdf(each.centre)
        )

    found = rates.log_prior(prior) - other.log_prior(prior)  # constants of the densities cancel
    assert found == pytest.approx(by_scipy(rates) - by_scipy(other))


def test_start_sets_groups_apart_and_mirrors_hits_and_false_alarms():
    crowd = start_crowd(4, 2, 5, PRIOR)
    assert_allclose(crowd.hit.shift, [1, 0, -1])
    assert_allclose(crowd.false_alarm.shift, -crowd.hit.shift)
    assert_allclose(crowd.uninformative.strength, SETTINGS.pseudo_votes * np.array(UNINFORMATIVE_STARTS))
    assert_allclose(crowd.uninformative.commonality, SETTINGS.usual_yes)
    assert_array_equal(crowd.commonality[0, 3:], crowd.commonality[1, 3:])  # one rate, whatever is there
    assert_allclose(crowd.looks, 0.6)


def test_rates_must_be_there_for_every_group():
    crowd = start_crowd(2, 2, 4, PRIOR)
    with pytest.raises(ValueError, match="must have rates of every group"):
        replace(crowd, share=np.full(3, 1 / 3))


def test_known_to_gives_newcomers_what_is_usual():
    crowd = start_crowd(3, 2, 4, PRIOR)
    member = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]])
    share = np.array([0.5, 0.3, 0.1, 0.1])
    hit = replace(crowd.hit, label=np.array([2.0, -2.0]), centre=0.25)
    crowd = replace(crowd, member=member, share=share, hit=hit, weight=np.array([0.5, 1.0, 0.8]))
    found = known_to(crowd, np.array([2, -1]), np.array([-1, 0, 1]))
    assert_allclose(found.member, [member[2], share])
    assert_allclose(found.weight, [0.8, 1.0])
    assert_allclose(found.hit.label, [0.25, 2.0, -2.0])


# -- a round ----------------------------------------------------------------------------------------------------------


def counts_for(coins, hit, false_alarm, n=40.0):
    """Votes of workers with these rates, as many on present as on absent labels."""
    yes, wrong = n * hit[coins.worker], n * false_alarm[coins.worker]
    return CoinCounts(Counts(yes, n - yes), Counts(wrong, n - wrong))


def test_members_are_told_by_their_rates():
    coins = coins_of(3, 4)
    counts = counts_for(coins, np.array([0.9, 0.5, 0.15]), np.array([0.02, 0.12, 0.15]))
    crowd = start_crowd(3, 4, 5, PRIOR)
    crowd, _ = update_members(crowd, Shards(coins), counts)
    assert crowd.member[0].argmax() == 0
    assert crowd.member[1, :3].sum() > 0.9
    assert crowd.looks[2] < 0.1


def test_a_group_that_nobody_tries_stays_empty_unless_thorough():
    coins = coins_of(2, 3)
    counts = counts_for(coins, np.array([0.9, 0.9]), np.array([0.02, 0.02]))
    alone = replace(start_crowd(2, 3, 4, PRIOR), member=np.tile([0.0, 1.0, 0.0, 0.0], (2, 1)))
    quick, thorough = (update_members(alone, Shards(coins), counts, thorough=wanted)[0] for wanted in (False, True))
    assert_array_equal(quick.member, alone.member)
    assert (thorough.member[:, 0] > 0.9).all()


def test_rates_move_towards_the_votes():
    coins = coins_of(6, 4)
    counts = counts_for(coins, np.full(6, 0.9), np.full(6, 0.02))
    crowd = start_crowd(6, 4, 1, PRIOR)
    for number in range(20):
        crowd, _ = update_members(crowd, Shards(coins), counts)
        if number % 3 == 0:
            crowd = update_strengths(crowd, PRIOR, Shards(coins), counts)
        crowd = update_rates(crowd, PRIOR, Shards(coins), counts)
    assert_allclose(crowd.hit.commonality, 0.9, atol=0.03)
    assert_allclose(crowd.false_alarm.commonality, 0.02, atol=0.01)
    assert (crowd.hit.strength > SETTINGS.pseudo_votes).all()  # all workers are alike


def test_votes_that_count_for_half_add_half():
    coins = coins_of(2, 3)
    counts = counts_for(coins, np.array([0.8, 0.8]), np.array([0.1, 0.1]))
    crowd = start_crowd(2, 3, 4, PRIOR, weight=np.array([1.0, 0.5]))
    evidence = slot_evidence(coins, crowd, counts).reshape(2, 3, 2)
    assert_allclose(evidence[1], 0.5 * evidence[0])
    assert (evidence[0, :, 1] > 0).all()
    assert (evidence[0, :, 0] < 0).all()


def test_counts_of_slots_are_never_negative():
    found = CoinCounts.of_slots(np.array([1.0, 3.0, 0.0, 2.0]), np.array([1.0 - 1e-12, 4.0, 0.0, 2.0]))
    assert_array_equal(found.present.yes, [3, 2])
    assert_array_equal(found.absent.no, [0, 0])
    assert_allclose(found.total.yes, [4, 2])


def test_newton_steps_are_cut_and_reach_the_maximum():
    prior = RatePrior(0.0, 8.0, 1.0)
    rates = start_rates(prior, 1, np.zeros(1))
    effective = np.array([[[5000.0]], [[10.0]]])
    (first,) = update_group_rates([rates], [prior], [effective])
    assert 0 < first.label[0] <= LONGEST_RATE_STEP
    for _ in range(300):
        (first,) = update_group_rates([first], [prior], [effective])
    # At the maximum the slope is 0: votes minus what is expected, minus the pull of the prior.
    label, shift = first.label[0], first.shift[0]
    slope = 5000 - 5010 * expit(label + shift)
    assert slope == pytest.approx(label - first.centre, abs=1e-5)
    assert slope == pytest.approx(shift / GROUP_SPREAD**2, abs=1e-5)


# -- how often labels are present -------------------------------------------------------------------------------------


def test_frequency_of_a_label_without_pairs_is_the_usual_one():
    found = LabelFrequency(np.array([0.0, 30.0]), np.array([0.0, 10.0]), 0.2, 8.0)
    assert_allclose(found.mean, [0.2, (30 + 1.6) / 48])
    assert found.log_odds[0] < logit(0.2)  # the logarithm is concave: rare labels are expected to be rarer


def test_common_frequency_is_held_to_the_usual_one():
    assert_allclose(lent_to_all(Settings(usual_yes=0.25, pseudo_votes=4.0)), [1, 3])
    nothing = LabelFrequency(np.zeros(3), np.zeros(3), 0.6, 8.0)
    assert update_usual(nothing, SETTINGS).usual == pytest.approx(SETTINGS.usual_yes)
    many = LabelFrequency(np.full(50, 400.0), np.full(50, 600.0), 0.15, 8.0)
    for _ in range(200):
        many = update_usual(many, SETTINGS)
    assert many.usual == pytest.approx(0.4, abs=0.02)


def test_crowd_is_what_a_file_needs():
    """Fields are arrays and rates only: priors are no part of what was learned."""
    assert set(Crowd.__dataclass_fields__) == {"hit", "false_alarm", "uninformative", "member", "share", "weight"}
    assert set(Rates.__dataclass_fields__) == {"centre", "label", "shift", "strength"}
