"""The contract can fail: each wrong model, strategy and engine is caught by the test that is there for it."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import mutants
import pytest
import test_engines
import test_models
import test_sense
import test_strategies

from amcc import pack_votes, write_votes
from amcc.consensus import DawidSkene
from amcc.engine.local import LocalEngine
from amcc.experiments.sense import POINTS

Case = tuple[Any, str, dict[str, Any]]

MODELS: list[Case] = [
    (mutants.UnaskedIsNo, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNo, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.UnaskedIsNoInConsensus, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNoInConsensus, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.UnaskedIsNoMajority, "test_unasked_is_not_absent", {}),
    (mutants.UnaskedIsNoMajority, "test_half_of_the_labels_unasked_still_works", {}),
    (mutants.IgnoresTruth, "test_known_truth_teaches_the_consensus", {}),
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
    (mutants.NoIsYes, "test_few_votes_settle_nothing", {"case": "one no"}),
    (mutants.OverwritesArguments, "test_input_is_unchanged", {}),
    (mutants.ModifiesVotes, "test_input_is_unchanged", {}),
    (mutants.NeedsText, "test_names_may_be_numbers", {}),
    (mutants.IgnoresFeatures, "test_features_matter_to_who_takes_them", {}),
    (mutants.ForgetsTheWorkers, "test_new_votes_are_judged_by_learned_workers", {}),
    (mutants.KnowsNothing, "test_probabilities_and_better_than_chance", {}),
]

# Models without common sense: the point that finds them, and whether with a workers file.
SENSE: list[tuple[Any, str, bool]] = [
    (mutants.ReversesTheUnanimous, "unanimous", False),
    (mutants.AlwaysNo, "majority", False),
    (mutants.WantsMoreYes, "mirror", False),
    (mutants.FollowsTheBusiest, "stranger", False),
    (mutants.CountsSamples, "repeat", False),
    (mutants.CountsCopies, "twins", True),
    (mutants.JumpsWithTheCrowd, "smooth", False),
    (mutants.JumpsWithTheCrowd, "elsewhere", False),
    (mutants.AnyRosterMatters, "silent", False),
    (mutants.CountsTheSilent, "idle", False),
    (mutants.OnePersonTurnsAll, "first-vote", True),
    (mutants.LikesTheFrequent, "one-label", False),
    (mutants.LikesTheFrequent, "one-label-pairs", False),
    (mutants.SureOfAll, "counts", False),
    (mutants.SureOfAll, "more", False),
    (mutants.TrustsTheFirst, "names", False),
    (mutants.SeedDecides, "seed", False),
]

STRATEGIES: list[Case] = [
    (mutants.AsksTwice, "test_asks_only_what_is_a_candidate_and_nothing_twice", {}),
    (mutants.AsksTwice, "test_live_crowd_is_not_asked_again", {}),
    (mutants.AsksAnybodyAnything, "test_asks_only_what_is_a_candidate_and_nothing_twice", {}),
    (mutants.AsksAnybodyAnything, "test_live_crowd_is_not_asked_again", {}),
    (mutants.IgnoresPrices, "test_prices", {"cost_blind": False}),
    (mutants.PrefersTheExpensive, "test_prices", {"cost_blind": False}),
    (mutants.DrawsByItself, "test_a_seed_fixes_the_choice", {}),
    (mutants.ChangesBeliefs, "test_beliefs_are_left_alone", {}),
    (mutants.WorstFirst, "test_the_best_come_first_and_say_why", {}),
    (mutants.TakesFeaturesInVain, "test_features_matter_to_who_says_so", {}),
    (mutants.HidesThatItUsesFeatures, "test_features_matter_to_who_says_so", {}),
]


ENGINES = (mutants.LosesABlock, mutants.CountsABlockTwice, mutants.GivesBlocksAsTheyCome)


def named(cases: list[Case]) -> list[Any]:
    return [
        pytest.param(*case, id="-".join(map(str, (case[0].__name__, case[1], *case[2].values())))) for case in cases
    ]


def run(test: Any, request: pytest.FixtureRequest, **given: Any) -> None:
    """Call a test with what is given, and with fixtures for the rest."""
    wanted = inspect.signature(test).parameters
    test(**{name: given[name] if name in given else request.getfixturevalue(name) for name in wanted})


@pytest.mark.parametrize(("mutant", "check", "options"), named(MODELS))
def test_a_wrong_model_is_caught(mutant, check, options, request):
    with pytest.raises(AssertionError):
        run(getattr(test_models, check), request, make=mutant, **options)


@pytest.mark.parametrize(("mutant", "point", "file"), SENSE)
def test_a_model_without_sense_is_caught(mutant, point, file):
    with pytest.raises(AssertionError, match="allowed are"):
        test_sense.test_common_sense(mutant, point, file)


def test_every_point_of_common_sense_has_a_mutant():
    assert {point for _, point, _ in SENSE} == {*POINTS} - {"counts-hard"}  # as counts, with another limit


@pytest.mark.parametrize(("mutant", "check", "options"), named(STRATEGIES))
def test_a_wrong_strategy_is_caught(mutant, check, options, request, beliefs):
    beliefs = copy.deepcopy(beliefs)  # others need them as they are
    with pytest.raises(AssertionError):
        run(getattr(test_strategies, check), request, make=mutant, beliefs=beliefs, **options)


@pytest.mark.parametrize("mutant", ENGINES)
def test_a_wrong_engine_is_caught(mutant, small, tmp_path):
    write_votes(small.votes, tmp_path / "votes.parquet")
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "blocks", block_votes=100)
    expected = {"dawid-skene": DawidSkene().fit(small.votes)}
    test_engines.test_every_engine_gives_the_same("dawid-skene", LocalEngine(packed), expected)
    with pytest.raises(AssertionError):
        test_engines.test_every_engine_gives_the_same("dawid-skene", mutant(packed), expected)


def test_no_mutant_is_left_out():
    there = {kind for kind in vars(mutants).values() if isinstance(kind, type) and kind.__module__ == mutants.__name__}
    assert {*(case[0] for case in [*MODELS, *SENSE, *STRATEGIES]), *ENGINES} == there
