"""An audit by hand, on simulated crowds, and on slices that are not what they should be."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.testing import assert_allclose

from amcc.audit import audit, cross_fitted
from amcc.audit.doubts import standard_errors_apart
from amcc.audit.measures import Cast, _who
from amcc.audit.slices import ConsensusPairs, PeopleAnswers, as_truth, rows_to_table
from amcc.consensus import DawidSkene, MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import EmptyInputError, InputError, ParameterError
from amcc.truth import Truth
from amcc.votes import Votes

# Three items, two labels; people answered i and j completely. The consensus errs on (j, b), of which it was sure.
CONSENSUS = {
    "item": ["i", "i", "j", "j", "k", "k"],
    "label": ["a", "b", "a", "b", "a", "b"],
    "probability": [0.9, 0.3, 0.2, 0.98, 0.6, 0.5],
    "present": [1, 0, 0, 1, 1, 0],
    "settled": [1, 0, 0, 1, 0, 0],
}
TRUTH = Truth.from_frames(pa.table({"item": ["i", "j"], "labels": [["a"], []]}))
VOTES = Votes.from_frame(
    pa.table(
        {
            "worker": ["ann", "ann", "ann", "ann", "bob", "bob", "bob"],
            "item": ["i", "i", "j", "j", "i", "j", "k"],
            "label": ["a", "b", "a", "b", "a", "b", "a"],
            "value": [1, 0, 0, 1, 0, 0, 1],
        }
    )
)


def table(**changes):
    return pa.table({name: column for name, column in {**CONSENSUS, **changes}.items() if column is not None})


def rows(found: pa.Table, key: str) -> dict:
    return {row[key]: row for row in found.to_pylist()}


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=400, n_workers=12, n_labels=5, answers_per_item=4, seed=5))


@pytest.fixture(scope="module")
def model(crowd):
    return DawidSkene().fit(crowd.votes)


def truth_of(crowd, items) -> Truth:
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    sets = [[labels[code] for code in np.flatnonzero(crowd.truth[item])] for item in items]
    return Truth.from_frames(pa.table({"item": [names[item] for item in items], "labels": sets}))


def random_items(crowd, n: int, seed: int = 0):
    return np.random.default_rng(seed).choice(crowd.votes.n_items, n, replace=False)


# -- pairs and places ----------------------------------------------------------------------------------------------


def test_votes_find_their_pairs_by_name():
    """Codes differ: the votes know label c and not b, and item j comes first."""
    pairs = ConsensusPairs.of(table())
    votes = Votes.from_frame(
        pa.table({"worker": ["w"] * 4, "item": ["j", "j", "k", "x"], "label": ["a", "c", "a", "a"], "value": [1] * 4})
    )
    found = pairs.places_of(votes, np.arange(6)).tolist()
    items, labels = votes.item_names.take(pa.array(votes.item)), votes.label_names.take(pa.array(votes.label))
    places = dict(zip(zip(items.to_pylist(), labels.to_pylist(), strict=True), found, strict=True))
    assert places == {("j", "a"): 2, ("j", "c"): -1, ("k", "a"): 4, ("x", "a"): -1}
    assert pairs.places_of(votes, np.array([4, 2])).tolist().count(0) == 1  # k, a stands first among these two


def test_what_several_people_say():
    answers = PeopleAnswers(np.array([3, 3, 2, 0]), np.array([2, 0, 1, 0]))
    assert_allclose(answers.said("majority"), [1, 0, 0.5, np.nan])
    assert_allclose(answers.said("share"), [2 / 3, 0, 0.5, np.nan])


def test_most_people_are_a_truth_and_even_ones_are_not():
    people = Votes.from_dense([[[1, 1, -1]], [[1, -1, -1]]], item_names=["i"], label_names=["a", "b", "c"])
    truth = as_truth(people)
    assert truth.known_pairs.label.to_pylist() == ["a", "c"]
    present, known = truth.on_pairs(people)
    assert (present.tolist(), known.tolist()) == ([True, False, False], [True, False, True])


def test_numbers_that_are_not_defined_are_missing():
    found = rows_to_table([{"a": 1.0, "n": 1, "s": "x"}, {"a": np.nan, "n": 2, "s": None}])
    assert found.to_pylist() == [{"a": 1.0, "n": 1, "s": "x"}, {"a": None, "n": 2, "s": None}]


def test_lists_of_voters_follow_the_places_asked_for():
    cast = Cast(np.array([0, 1, 2, 0]), np.array([5, 5, 1, 7]), np.array([1.0, 0.0, 1.0, 1.0]))
    names = pa.array(["ann", "bob", "cleo"])
    assert _who(cast, np.array([5, 1, 3]), names, 1.0).to_pylist() == [["ann"], ["cleo"], []]
    assert _who(cast, np.array([5]), names, 0.0).to_pylist() == [["bob"]]
    assert _who(cast, np.zeros(0, int), names, 1.0).to_pylist() == []


# -- by hand -------------------------------------------------------------------------------------------------------


def test_errors_by_hand():
    found = audit(table(), VOTES, TRUTH)
    assert (found.n_items, found.n_pairs, found.n_items_all, found.n_pairs_all) == (2, 4, 3, 6)
    errors = rows(found.errors, "pairs")
    assert_allclose(errors["all"]["claimed"], np.mean([0.1, 0.3, 0.2, 0.02, 0.4, 0.5]))
    assert errors["all"]["measured"] == 1 / 4
    assert (errors["settled"]["number"], errors["settled"]["slice"], errors["settled"]["measured"]) == (2, 2, 1 / 2)
    assert (errors["open"]["slice"], errors["open"]["measured"]) == (2, 0)
    assert errors["open"]["high"] > 0.3  # two pairs prove little, though they are two of four
    assert errors["present"]["measured"] == 1 / 2
    assert errors["absent"]["measured"] == 0


def test_frequencies_by_hand():
    found = rows(audit(table(), VOTES, TRUTH).prevalence, "label")
    assert_allclose(found["a"]["consensus_share"], (0.9 + 0.2 + 0.6) / 3)
    assert (found["a"]["slice_share"], found["b"]["slice_share"]) == (1 / 2, 0)
    assert (found["a"]["items"], found["a"]["slice"]) == (3, 2)
    assert found["b"]["share"] == 0  # the consensus said the opposite, and is not used
    assert found["a"]["low"] < found["a"]["share"] < found["a"]["high"]


def test_calibration_by_hand():
    found = rows(audit(table(), VOTES, TRUTH).calibration, "low_edge")
    assert list(found) == [0.2, 0.4, 0.6, 0.8, 0.95]
    assert (found[0.2]["slice"], found[0.2]["claimed"], found[0.2]["measured"]) == (2, 0.25, 0)
    assert (found[0.95]["claimed"], found[0.95]["measured"]) == (0.98, 0)
    assert (found[0.6]["number"], found[0.6]["slice"], found[0.6]["measured"]) == (1, 0, None)


def test_judges_by_hand():
    judges = {(row["worker"], row["label"]): row for row in audit(table(), VOTES, TRUTH).judges.to_pylist()}
    ann, bob = judges["ann", None], judges["bob", None]
    assert (ann["votes"], ann["agreement"], ann["hit_rate"], ann["false_alarm_rate"]) == (4, 3 / 4, 1, 1 / 3)
    assert_allclose(ann["informativeness"], 2 / 3)
    assert (bob["votes"], bob["agreement"], bob["hit_rate"]) == (2, 1 / 2, 0)  # their vote on k was not answered
    assert judges["ann", "b"]["agreement"] == 1 / 2
    assert judges["ann", "b"]["hit_rate"] is None  # no item of the slice has it
    assert ("bob", "b") in judges


def test_decisions_are_judged_like_a_worker():
    found = rows(audit(table(), VOTES, TRUTH).decisions, "label")
    assert (found[None]["votes"], found[None]["agreement"]) == (4, 3 / 4)
    assert (found["a"]["agreement"], found["b"]["agreement"]) == (1, 1 / 2)
    assert found[None]["kappa"] == pytest.approx(0.5)


def test_disagreements_say_who_voted_what_and_the_surest_come_first():
    found = audit(table(present=[0, 0, 0, 1, 1, 0]), VOTES, TRUTH).disagreements.to_pylist()
    assert [(row["item"], row["label"]) for row in found] == [("j", "b"), ("i", "a")]
    assert found[0]["said_yes"] == ["ann"]
    assert found[0]["said_no"] == ["bob"]
    assert (found[0]["consensus"], found[0]["people_yes"], found[0]["people_no"], found[0]["settled"]) == (1, 0, 1, 1)


def test_labels_per_item_needs_items_that_are_known_completely():
    assert audit(table(), VOTES, TRUTH).labels_per_item.slice.estimate == 1 / 2
    pairs = Truth.from_frames(pa.table({"item": ["i", "j"], "label": ["a", "a"], "truth": [1, 0]}))
    found = audit(table(), VOTES, pairs)
    assert found.labels_per_item is None
    assert found.n_pairs == 2


def test_without_the_column_settled_nothing_is_said_about_it():
    found = audit(table(settled=None), VOTES, TRUTH)
    assert list(rows(found.errors, "pairs")) == ["all", "present", "absent"]
    assert "settled" not in found.disagreements.column_names


def test_plain_numbers_for_scripts():
    told = audit(table(), VOTES, TRUTH).to_dict()
    assert told["labels_per_item"]["slice_mean"] == 1 / 2
    assert told["people_disagree"] is None
    assert told["disagreements"] == 1


def test_what_was_not_measured_is_missing_and_nothing_else_breaks():
    nothing_settled = rows(audit(table(settled=[0] * 6), VOTES, TRUTH).errors, "pairs")["settled"]
    assert (nothing_settled["number"], nothing_settled["measured"], nothing_settled["high"]) == (0, None, None)
    one = audit(table(), VOTES, Truth.from_frames(pa.table({"item": ["i"], "label": ["a"], "truth": [1]})))
    found = rows(one.prevalence, "label")
    assert (found["b"]["slice"], found["b"]["share"]) == (0, None)
    assert found["a"]["low"] < 0.3  # one yes
    absent = Votes.from_frame(pa.table({"worker": ["ann"], "item": ["k"], "label": ["a"], "value": [1]}))
    assert audit(table(), absent, TRUTH).judges.num_rows == 0
    json.dumps(one.to_dict(), allow_nan=False)


# -- several people ------------------------------------------------------------------------------------------------


def people(answers: dict[tuple[str, str], str]) -> Votes:
    """Votes of persons 0, 1, 2 …, written like y, n for each pair."""
    given = [(f"p{place}", item, label, sign == "y") for (item, label), signs in answers.items()
             for place, sign in enumerate(signs)]  # fmt: skip
    return Votes.from_frame(
        pa.table(dict(zip(("worker", "item", "label", "value"), zip(*given, strict=True), strict=True)))
    )


def test_majority_and_share_of_people():
    said = people({("i", "a"): "yyn", ("i", "b"): "nn", ("j", "a"): "yn", ("j", "b"): "nny"})
    most, share = (rows(audit(table(), VOTES, said, rule=rule).errors, "pairs") for rule in ("majority", "share"))
    assert_allclose(most["all"]["measured"], (0 + 0 + 1 / 2 + 1) / 4)  # people who are even are half a yes
    assert_allclose(share["all"]["measured"], (1 / 3 + 0 + 1 / 2 + 2 / 3) / 4)


def test_people_disagree():
    said = people({("i", "a"): "yyn", ("i", "b"): "nn", ("j", "a"): "yn", ("j", "b"): "n"})
    found = audit(table(), VOTES, said).people
    assert_allclose(found.estimate, (2 / 3 + 0 + 1) / 3)
    assert found.n == 3
    assert audit(table(), VOTES, people({("i", "a"): "y"})).people is None


def test_pairs_on_which_people_are_even_are_no_disagreements():
    said = people({("i", "a"): "yn", ("j", "b"): "nny"})
    assert [row["label"] for row in audit(table(), VOTES, said).disagreements.to_pylist()] == ["b"]


def test_people_who_also_voted_are_named():
    """ann said yes about (i, a) when she voted: she was asked again, or it is another ann."""
    said = Votes.from_frame(pa.table({"worker": ["ann"], "item": ["i"], "label": ["a"], "value": [0]}))
    (warning,) = [each for each in audit(table(), VOTES, said).warnings if "ann" in each]
    assert "of the slice also voted" in warning


def test_answers_that_are_among_the_votes_measure_nothing():
    answers = {"worker": ["ann", "eve"], "item": ["i", "j"], "label": ["a", "b"], "value": [1, 0]}
    found = audit(table(), VOTES, Votes.from_frame(pa.table(answers)))
    assert found.n_pairs == 1
    assert rows(found.errors, "pairs")["all"]["measured"] == 1  # (j, b), about which eve differs
    assert "1 answers are left out: the same people voted so" in found.warnings[-1]
    ann = Votes.from_frame(pa.table({name: column[:1] for name, column in answers.items()}))
    with pytest.raises(InputError, match="all 1 of the slice are among the votes"):
        audit(table(), VOTES, ann)


def test_what_people_say_matters_and_not_the_order_of_rows(crowd, model):
    consensus = model.pairs(frame="arrow")
    shuffled = consensus.take(pa.array(np.random.default_rng(1).permutation(len(consensus))))
    said = truth_of(crowd, random_items(crowd, 60))
    one, other = (audit(each, crowd.votes, said).to_dict() for each in (consensus, shuffled))
    del one["warnings"], other["warnings"]  # the place in the file is another
    for name, key in (("errors", "pairs"), ("calibration", "low_edge"), ("judges", "worker"), ("prevalence", "label")):
        mine, yours = ({(row[key], row.get("label")): row for row in each[name]} for each in (one, other))
        assert set(mine) == set(yours)
        for place in mine:
            assert list(mine[place].values())[2:] == pytest.approx(list(yours[place].values())[2:])


# -- slices that are not what they should be -----------------------------------------------------------------------


def test_random_slices_are_hardly_ever_suspected(crowd, model):
    suspected = [
        any("not like the rest" in each for each in audit(model, crowd.votes, truth_of(crowd, items)).warnings)
        for items in (random_items(crowd, 60, seed) for seed in range(30))
    ]
    assert sum(suspected) <= 2


def test_slices_that_are_not_random_are_suspected(crowd, model):
    doubt = np.minimum(model.predict_proba(), 1 - model.predict_proba()).mean(axis=1)
    for items, reason in ((np.arange(60), "place in the file"), (np.argsort(-doubt)[:60], "mean doubt")):
        (warning,) = audit(model, crowd.votes, truth_of(crowd, items)).warnings
        assert "hardly drawn at random" in warning
        assert reason in warning


def test_distance_in_standard_errors_by_hand():
    everything = np.arange(10.0)
    error = everything.std(ddof=1) * np.sqrt((1 - 2 / 10) / 2)
    assert_allclose(standard_errors_apart(np.array([9.0, 8.0]), everything), 4 / error)
    assert standard_errors_apart(everything, everything) == 0
    assert standard_errors_apart(np.ones(2), np.ones(5)) == 0


def test_a_small_slice_says_so(crowd, model):
    assert any(
        "small slice" in each for each in audit(model, crowd.votes, truth_of(crowd, random_items(crowd, 8))).warnings
    )


def test_what_a_consensus_was_told_is_left_out_of_every_number(crowd):
    """As if the told items were in neither the consensus nor the slice."""
    items = random_items(crowd, 60)
    truth = truth_of(crowd, items)
    told = DawidSkene().fit(crowd.votes, truth=truth_of(crowd, items[:20]))
    consensus = told.pairs(frame="arrow")
    found = audit(told, crowd.votes, truth)
    assert (found.n_items, found.n_pairs, found.n_items_all, found.n_pairs_told) == (40, 200, 380, 100)
    names = pa.array([crowd.votes.item_names[int(item)].as_py() for item in items[:20]])
    rest = consensus.filter(pc.invert(pc.is_in(consensus["item"], names))).drop_columns("told")
    expected = audit(rest, crowd.votes, truth_of(crowd, items[20:]))
    assert found.warnings == ["100 pairs are left out: the consensus was told their truth, so they do not measure it"]
    assert {**found.to_dict(), "warnings": [], "pairs_told": 0} == expected.to_dict()
    assert found.disagreements == expected.disagreements
    with pytest.raises(EmptyInputError, match=r"told all 100 of them.*--cross-fit"):
        audit(told, crowd.votes, truth_of(crowd, items[:20]))


def test_a_consensus_that_does_not_say_what_it_was_told_is_refused_where_it_shows(crowd):
    items = random_items(crowd, 60)
    for known in (items, items[:20]):  # all of them, or some
        told = DawidSkene().fit(crowd.votes, truth=truth_of(crowd, known)).pairs(frame="arrow").drop_columns("told")
        with pytest.raises(InputError, match=r"must not have seen the answers .* --cross-fit"):
            audit(told, crowd.votes, truth_of(crowd, items))


def test_a_consensus_that_knew_other_items_may_be_audited(crowd):
    items = random_items(crowd, 100)
    told = DawidSkene().fit(crowd.votes, truth=truth_of(crowd, items[50:]))
    assert audit(told, crowd.votes, truth_of(crowd, items[:50])).n_items == 50


def test_probabilities_of_counted_votes_are_certain_without_being_told(crowd):
    counted = MajorityVote().fit(crowd.votes).pairs(frame="arrow")
    share = counted["probability"].to_numpy().round()
    counted = counted.set_column(2, "probability", pa.array(share))
    assert audit(counted, crowd.votes, truth_of(crowd, random_items(crowd, 60))).n_items == 60


def test_names_that_do_not_match():
    other = Truth.from_frames(pa.table({"item": ["x"], "label": ["a"]}))
    with pytest.raises(EmptyInputError, match="none of its 1 items is there"):
        audit(table(), VOTES, other)
    strangers = Votes.from_frame(pa.table({"worker": ["ann"], "item": ["x"], "label": ["a"], "value": [1]}))
    with pytest.raises(InputError, match="no item and label in common"):
        audit(table(), strangers, TRUTH)
    beside = Truth.from_frames(pa.table({"item": ["i", "k"], "label": ["a", "b"], "truth": [1, 0]}))
    with pytest.raises(EmptyInputError, match="they answered none"):
        audit(table().slice(2, 3), VOTES, beside)


def test_what_is_left_out_is_said():
    more = Truth.from_frames(pa.table({"item": ["i", "j", "x"], "label": ["a", "a", "a"]}))
    assert "1 of 3 items of the slice are not in the consensus" in audit(table(), VOTES, more).warnings[0]
    unasked = Truth.from_frames(pa.table({"item": ["i", "j"], "label": ["a", "c"], "truth": [1, 0]}))
    assert "1 of 2 answered pairs are not in the consensus" in audit(table(), VOTES, unasked).warnings[0]


def test_sets_have_nothing_to_audit():
    with pytest.raises(InputError, match="an audit needs probabilities"):
        audit(pa.table({"item": ["i"], "labels": [["a"]]}), VOTES, TRUTH)


def test_parameters_out_of_range():
    with pytest.raises(ParameterError, match="level must be"):
        audit(table(), VOTES, TRUTH, level=95)
    with pytest.raises(ParameterError, match="rule must be"):
        audit(table(), VOTES, TRUTH, rule="mean")


# -- on crowds -----------------------------------------------------------------------------------------------------


def test_a_slice_of_everything_measures_what_evaluate_does(crowd, model):
    from amcc.evaluation import evaluate

    said = truth_of(crowd, np.arange(crowd.votes.n_items))
    found, scores = audit(model, crowd.votes, said), evaluate(model.pairs(frame="arrow"), said).scores
    errors = rows(found.errors, "pairs")
    assert_allclose(errors["all"]["measured"], scores["true_error"])
    assert_allclose(errors["all"]["claimed"], scores["claimed_error"])
    assert_allclose(errors["settled"]["measured"], scores["wrong_among_settled"])
    assert_allclose([row["share"] for row in found.prevalence.to_pylist()], np.sort(crowd.truth.mean(axis=0))[::-1])
    assert_allclose((errors["all"]["low"], errors["all"]["high"]), errors["all"]["measured"])


def test_intervals_of_an_audit_cover_what_is_true_of_everything(crowd, model):
    consensus, votes = model.pairs(frame="arrow"), crowd.votes
    whole = audit(consensus, votes, truth_of(crowd, np.arange(votes.n_items)))
    targets = [(rows(whole.prevalence, "label"), "prevalence", "label", "share"),
               (rows(whole.errors, "pairs"), "errors", "pairs", "measured")]  # fmt: skip
    hits = []
    for seed in range(40):
        found = audit(consensus, votes, truth_of(crowd, random_items(crowd, 50, seed)))
        for true, name, key, number in targets:
            for row in getattr(found, name).to_pylist():
                hits.append(row["low"] <= true[row[key]][number] <= row["high"])
    assert 0.91 < np.mean(hits) < 0.99


# -- learning from the slice ---------------------------------------------------------------------------------------


def test_no_answer_is_measured_by_a_fit_that_has_seen_it(crowd):
    """What is said about an item does not hang on what people say about it."""
    votes, items = crowd.votes, random_items(crowd, 50)
    other = simulate_crowd(CrowdSpec(n_items=400, n_workers=12, n_labels=5, answers_per_item=4, seed=5))
    other.truth[items[0]] = ~other.truth[items[0]]
    one, changed = (cross_fitted(DawidSkene, votes, truth_of(each, items)) for each in (crowd, other))
    mine = np.array([name == votes.item_names[int(items[0])].as_py() for name in one["item"].to_pylist()])
    assert_allclose(one["probability"].to_numpy()[mine], changed["probability"].to_numpy()[mine], rtol=0, atol=0)
    assert not np.array_equal(one["probability"].to_numpy()[~mine], changed["probability"].to_numpy()[~mine])


def test_cross_fitting_can_be_audited(crowd):
    said = truth_of(crowd, random_items(crowd, 60))
    found = audit(cross_fitted(DawidSkene, crowd.votes, said), crowd.votes, said)
    assert found.n_items == 60
    assert 0 < rows(found.errors, "pairs")["all"]["measured"] < 0.3
    assert found.n_pairs_told == 0  # by the fit that speaks of them, however many the others were told


def test_cross_fitting_learns_from_votes_of_people(crowd):
    items, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    said = people({(items[item], labels[label]): "yn"[1 - crowd.truth[item, label]] * 3
                   for item in random_items(crowd, 30).tolist() for label in range(5)})  # fmt: skip
    plain = truth_of(crowd, random_items(crowd, 30))
    one, other = (cross_fitted(DawidSkene, crowd.votes, each) for each in (said, plain))
    assert_allclose(one["probability"].to_numpy(), other["probability"].to_numpy())


def test_cross_fitting_needs_items_for_every_fold(crowd):
    with pytest.raises(EmptyInputError, match="at least 5 of its items"):
        cross_fitted(DawidSkene, crowd.votes, truth_of(crowd, [1, 2]))
    with pytest.raises(ParameterError, match="folds must be at least 2"):
        cross_fitted(DawidSkene, crowd.votes, truth_of(crowd, [1, 2]), folds=1)
