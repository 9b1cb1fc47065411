"""The contract can fail: each wrong model is caught by the test that is there for it."""

from __future__ import annotations

import inspect
from typing import Any

import mutants
import pytest
import test_models

Case = tuple[Any, str, dict[str, Any]]

MODELS: list[Case] = [
    (mutants.UnaskedIsNo, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNo, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.UnaskedIsNoInConsensus, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNoInConsensus, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.UnaskedIsNoMajority, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNoMajority, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.IgnoresTruth, "test_known_truth_is_kept_and_teaches", {}),
    (mutants.IgnoresTruth, "test_known_truth_teaches_the_consensus", {}),
    (mutants.JudgesWithoutTruth, "test_known_truth_is_kept_and_teaches", {}),
    (mutants.SharesState, "test_instances_share_no_state", {}),
    (mutants.RemembersTheLastFit, "test_a_second_fit_forgets_the_first", {}),
    (mutants.IgnoresTheSeed, "test_same_seed_same_result", {}),
    (mutants.SeedsEverybody, "test_same_seed_same_result", {}),
    (mutants.DependsOnRowOrder, "test_order_of_votes_does_not_matter", {}),
    (mutants.TrustsTheFirst, "test_names_do_not_matter", {"role": "item"}),
    (mutants.TrustsTheFirst, "test_names_do_not_matter", {"role": "worker"}),
    (mutants.TrustsTheFirst, "test_names_do_not_matter", {"role": "label"}),
    (mutants.SettlesOnOneVote, "test_few_votes_settle_nothing", {"case": "one yes"}),
    (mutants.SettlesOnOneVote, "test_few_votes_settle_nothing", {"case": "one no"}),
    (mutants.SettlesOnOneVote, "test_few_votes_settle_nothing", {"case": "two yes, one no"}),
    (mutants.NoIsYes, "test_few_votes_settle_nothing", {"case": "one no"}),
    (mutants.OverwritesArguments, "test_input_is_unchanged", {}),
    (mutants.ModifiesVotes, "test_input_is_unchanged", {}),
    (mutants.NeedsText, "test_names_may_be_numbers", {}),
    (mutants.IgnoresFeatures, "test_features_matter_to_who_takes_them", {}),
    (mutants.ForgetsTheWorkers, "test_new_votes_are_judged_by_learned_workers", {}),
    (mutants.KnowsNothing, "test_probabilities_and_better_than_chance", {}),
]


def named(cases: list[Case]) -> list[Any]:
    return [pytest.param(*case, id="-".join([case[0].__name__, case[1], *case[2].values()])) for case in cases]


def arguments_of(check: Any, request: pytest.FixtureRequest, **given: Any) -> dict[str, Any]:
    """What a test asks for: what is given, and fixtures for the rest."""
    wanted = inspect.signature(check).parameters
    return {name: given[name] if name in given else request.getfixturevalue(name) for name in wanted}


@pytest.mark.parametrize(("mutant", "check", "options"), named(MODELS))
def test_a_wrong_model_is_caught(mutant, check, options, request):
    test = getattr(test_models, check)
    with pytest.raises(AssertionError):
        test(**arguments_of(test, request, make=mutant, **options))


def test_no_mutant_is_left_out():
    wrong = {name for name, value in vars(mutants).items() if getattr(value, "__module__", "") == mutants.__name__}
    assert {case[0].__name__ for case in MODELS} == {name for name in wrong if isinstance(getattr(mutants, name), type)}
