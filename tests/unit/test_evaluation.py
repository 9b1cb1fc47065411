from __future__ import annotations

import math

import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from amcc.errors import ColumnError, EmptyInputError, IdError, InputError, VoteValueError
from amcc.evaluation import evaluate, evaluate_soft
from amcc.soft_truth import SoftTruth
from amcc.truth import Truth

EXACT = {"rtol": 0, "atol": 1e-12}

# Truth: i has a and b, j has b. The consensus: i has a, j has a and b.
TRUTH = Truth.from_frames(pa.table({"item": ["i", "i", "j"], "label": ["a", "b", "b"]}))
PAIRS = {
    "item": ["i", "i", "j", "j"],
    "label": ["a", "b", "a", "b"],
    "probability": [0.9, 0.4, 0.6, 0.8],
    "present": [1, 0, 1, 1],
}


def pairs(**changes):
    return pa.table({name: column for name, column in {**PAIRS, **changes}.items() if column is not None})


def test_scores_by_hand():
    result = evaluate(pairs(), TRUTH)
    assert (result.n_items, result.n_pairs, result.n_items_unknown, result.n_pairs_unknown) == (2, 4, 0, 0)
    assert result.notes == []
    assert_allclose(result.scores["jaccard"], (1 / 2 + 1 / 2) / 2, **EXACT)
    assert_allclose(result.scores["precision"], (1 + 1 / 2) / 2, **EXACT)
    assert_allclose(result.scores["recall"], (1 / 2 + 1) / 2, **EXACT)
    assert_allclose(result.scores["brier"], (0.1**2 + 0.6**2 + 0.6**2 + 0.2**2) / 4, **EXACT)
    assert result.labels["label"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    "present", [None, ["1", "0", "1", "1"], ["true", "false", "yes", "TRUE"], [True, False, True, True]]
)
def test_present_in_the_spellings_people_use(present):
    assert evaluate(pairs(present=present), TRUTH).scores == evaluate(pairs(), TRUTH).scores


def test_present_counts_and_not_the_probability():
    scores = evaluate(pairs(present=[1, 1, 0, 1]), TRUTH).scores
    assert scores["jaccard"] == 1
    assert scores["brier"] == evaluate(pairs(), TRUTH).scores["brier"]


def test_probabilities_as_text():
    text = pa.array(["0.9", "0.4", "0.6", "0.8"])
    for column in (text, text.dictionary_encode()):
        assert evaluate(pairs(probability=column), TRUTH).scores == evaluate(pairs(), TRUTH).scores


def test_numbers_and_their_text_are_the_same_item():
    truth = Truth.from_frames(pa.table({"item": [1, 1, 2], "label": ["a", "b", "b"]}))
    for items in ([1, 1, 2, 2], ["1", "1", "2", "2"]):
        assert evaluate(pairs(item=items), truth).scores == evaluate(pairs(), TRUTH).scores


def test_items_that_the_consensus_lacks_count_as_having_no_label():
    result = evaluate(pairs()[:2], TRUTH)
    assert result.notes == ["1 items of the truth are not in the consensus; they count as having no label"]
    assert result.n_items == 2
    assert_allclose(result.scores["jaccard"], (1 / 2 + 0) / 2, **EXACT)
    assert_allclose(result.scores["brier"], (0.1**2 + 0.6**2) / 2, **EXACT)  # only where there is a probability


def test_partial_truth_scores_only_what_it_covers():
    positives = pa.table({"item": ["i", "i", "j"], "label": ["a", "b", "b"]})
    by_item = Truth.from_frames(positives, known_items=pa.table({"item": ["i"]}))
    assert evaluate(pairs(), by_item).n_items == 1
    assert_allclose(evaluate(pairs(), by_item).scores["jaccard"], 1 / 2, **EXACT)
    by_pair = Truth.from_frames(positives, known_pairs=pa.table({"item": ["i", "j"], "label": ["a", "b"]}))
    assert evaluate(pairs(), by_pair).scores["jaccard"] == 1


@pytest.mark.parametrize(
    "truth, scored, unknown",
    [
        ({"item": ["i", "i"], "label": ["a", "b"]}, (1, 2), (1, 2)),
        ({"item": ["i", "j"], "labels": ["a|b", ""]}, (2, 4), (0, 0)),
        ({"item": ["i", "j"], "label": ["a", "b"], "truth": ["yes", "no"]}, (2, 2), (0, 2)),
    ],
)
def test_what_the_truth_does_not_mention_is_not_scored(truth, scored, unknown):
    result = evaluate(pairs(), Truth.from_frames(pa.table(truth)))
    assert (result.n_items, result.n_pairs) == scored
    assert (result.n_items_unknown, result.n_pairs_unknown) == unknown
    assert result.scores["jaccard"] == {(1, 2): 1 / 2, (2, 4): 1 / 4, (2, 2): 1 / 2}[scored]


def test_names_that_the_consensus_does_not_know():
    with pytest.raises(EmptyInputError, match=r"none of its 2 items is there.*'1', '2'; the consensus 'i'"):
        evaluate(pairs(), Truth.from_frames(pa.table({"item": [1, 2], "label": ["a", "b"]})))
    strange_labels = Truth.from_frames(pa.table({"item": ["i", "j"], "label": ["A", "B"]}))
    with pytest.raises(EmptyInputError, match="labels of the consensus; none of its 2 labels"):
        evaluate(pairs(), strange_labels)
    sets = pa.table({"item": ["i", "j"], "labels": [["a"], []]})  # they list what was found, not what was asked
    result = evaluate(sets, strange_labels)
    assert result.scores["jaccard"] == 0
    assert "2 of 2 true pairs have labels that the consensus never names, such as 'A'; they count as missed" in (
        result.notes
    )


def test_sets_have_no_calibration():
    result = evaluate(pa.table({"item": ["i", "j"], "labels": [["a"], ["a", "b"]]}), TRUTH)
    assert not {"ece", "brier", "log_loss"} & set(result.scores)
    assert result.notes == ["sets have no probabilities: calibration (ece, brier, log-loss) is left out"]


def test_calibration_is_undefined_where_no_probability_has_a_known_truth():
    truth = Truth.from_frames(pa.table({"item": ["i"], "label": ["b"], "truth": ["no"]}))
    scores = evaluate(pairs().take([0, 3]), truth).scores
    assert math.isnan(scores["ece"])
    assert math.isnan(scores["brier"])


@pytest.mark.parametrize("labels", [[["a"], ["a", "b"]], ["a", "b | a"]])
def test_a_table_of_sets(labels):
    result = evaluate(pa.table({"item": ["i", "j"], "labels": labels}), TRUTH)
    assert result.scores["jaccard"] == evaluate(pairs(), TRUTH).scores["jaccard"]


def test_crowd_kit_output_as_a_frame():
    frame = pd.Series([["a"], ["a", "b"]], index=pd.Index(["i", "j"], name="task"), name="label").reset_index()
    assert evaluate(frame, TRUTH).scores["jaccard"] == 0.5


def test_an_empty_set_is_an_answer():
    """Item k has no label, in truth as in the consensus: it is right, and it is not missing."""
    table = pa.table({"item": ["i", "j", "k"], "labels": [["a", "b"], [], []]})
    truth = Truth.from_frames(pa.table({"item": ["i", "j", "k"], "labels": [["a", "b"], ["b"], []]}))
    result = evaluate(table, truth)
    assert result.n_items == 3
    assert not [note for note in result.notes if "items of the truth" in note]
    assert_allclose(result.scores["jaccard"], (1 + 0 + 1) / 3, **EXACT)
    nothing = evaluate(pa.table({"item": ["i", "j"], "labels": [[], []]}), TRUTH)
    assert nothing.scores["recall"] == 0


@pytest.mark.parametrize(
    "table, error, message",
    [
        (pairs(item=None), ColumnError, "column for the item"),
        (pairs(label=None), ColumnError, "column for the label"),
        (pairs(probability=None), ColumnError, "must have the column 'probability'.*`amcc consensus`"),
        (pairs(probability=[0.1, 0.2, 1.5, 0.3]), InputError, "between 0 and 1; row 3 has 1.5"),
        (pairs(probability=[0.1, -0.2, 0.5, 0.3]), InputError, "row 2 has -0.2"),
        (pairs(probability=[0.1, None, 0.5, 0.3]), InputError, "row 2 has nan"),
        (pairs(probability=["high"] * 4), InputError, "must hold numbers"),
        (pairs(probability=[[0.1]] * 4), InputError, "must hold numbers"),
        (pairs(present=["maybe"] * 4), VoteValueError, "'maybe' in row 1"),
        (pairs(label=["a", "b", "a", "a"]), InputError, "pair must stand in the consensus once; row 4 repeats row 3"),
        (pairs(item=["i", "i", None, "j"]), IdError, "row 3"),
        (pairs()[:0], EmptyInputError, "at least one row"),
        (pa.table({"item": ["i", "j", "i"], "labels": [["a"], [], ["b"]]}), InputError, "item .* row 3 repeats row 1"),
        (pa.table({"item": ["i"], "labels": [["a", "a"]]}), InputError, "pair .* row 1 repeats row 1"),
    ],
)
def test_bad_consensus_tables(table, error, message):
    with pytest.raises(error, match=message):
        evaluate(table, TRUTH)


def test_truth_that_covers_nothing():
    nothing = pa.table({"item": pa.array([], pa.string()), "label": pa.array([], pa.string())})
    with pytest.raises(EmptyInputError, match="covers none"):
        evaluate(pairs(), Truth.from_frames(nothing, known_items=nothing))


def test_told_pairs_are_not_scored():
    """i was told completely, of j only that a is there, which is wrong: what remains is (j, b), which is right."""
    result = evaluate(pairs(told=[1, 1, 1, 0], settled=[1] * 4), TRUTH)
    assert (result.n_items, result.n_pairs, result.n_pairs_told, result.n_pairs_unknown) == (1, 1, 3, 0)
    assert result.notes == ["3 pairs are left out: the consensus was told their truth, so they do not measure it"]
    assert (result.scores["jaccard"], result.scores["true_error"], result.scores["wrong_among_settled"]) == (1, 0, 0)
    assert_allclose(result.scores["brier"], 0.2**2, **EXACT)
    assert_allclose(result.scores["claimed_error"], 0.2, **EXACT)
    with pytest.raises(EmptyInputError, match=r"told all 4 of them\. Keep some items back from --truth.*--cross-fit"):
        evaluate(pairs(told=["yes"] * 4), TRUTH)


def test_an_item_that_was_told_completely_has_no_score_for_what_nobody_was_asked():
    """Label c is in neither set of truth: an item with nothing else would be called right."""
    truth = Truth.from_frames(pa.table({"item": ["i", "i", "j", "k"], "label": ["a", "b", "b", "c"]}))
    result = evaluate(pairs(told=[1, 1, 0, 0]), truth)
    assert (result.n_items, result.n_pairs_told) == (2, 3)
    assert_allclose(result.scores["jaccard"], (1 / 2 + 0) / 2, **EXACT)  # j and k


def test_sets_leave_out_items_of_which_anything_was_told():
    sets = {"item": ["i", "j"], "labels": ["a", "a|b"]}
    result = evaluate(pa.table({**sets, "told_labels": ["a|b", None]}), TRUTH)
    assert (result.n_items, result.n_pairs_told, result.scores["jaccard"]) == (1, 2, 1 / 2)
    with pytest.raises(EmptyInputError, match="told all 4 of them"):
        evaluate(pa.table({**sets, "told_labels": [["a"], ["b"]]}), TRUTH)


def test_shares_of_people_are_not_compared_with_told_pairs():
    people = SoftTruth.from_frame(pa.table({"item": ["i", "j"], "label": ["a", "b"], "share": [1.0, 0.5]}))
    found = evaluate_soft(pairs(told=[1, 0, 0, 0]), people)
    assert (found.n_pairs, found.n_pairs_told) == (1, 1)
    assert_allclose(found.manhattan, 0.3, **EXACT)
    with pytest.raises(EmptyInputError, match="told all 2 of them"):
        evaluate_soft(pairs(told=[1, 0, 0, 1]), people)


def test_claimed_and_true_error_by_hand():
    scores = evaluate(pairs(), TRUTH).scores
    assert_allclose(scores["claimed_error"], (0.1 + 0.4 + 0.4 + 0.2) / 4, **EXACT)
    assert_allclose(scores["true_error"], 2 / 4, **EXACT)
    assert not {"settled", "wrong_among_settled"} & set(scores)


def test_claimed_error_is_that_of_the_decisions_not_of_the_likelier_side():
    scores = evaluate(pairs(present=[1, 1, 1, 1]), TRUTH).scores
    assert_allclose(scores["claimed_error"], (0.1 + 0.6 + 0.4 + 0.2) / 4, **EXACT)


def test_wrong_among_settled_by_hand():
    scores = evaluate(pairs(settled=["1", "0", "1", "1"]), TRUTH).scores
    assert_allclose(scores["settled"], 3 / 4, **EXACT)
    assert_allclose(scores["wrong_among_settled"], 1 / 3, **EXACT)
    assert math.isnan(evaluate(pairs(settled=[0] * 4), TRUTH).scores["wrong_among_settled"])


def test_settled_pairs_of_unknown_truth_do_not_count():
    positives = pa.table({"item": ["i", "j"], "label": ["a", "b"]})
    known = Truth.from_frames(positives, known_pairs=pa.table({"item": ["i", "j"], "label": ["a", "a"]}))
    scores = evaluate(pairs(settled=[1, 1, 0, 1]), known).scores
    assert (scores["settled"], scores["wrong_among_settled"], scores["true_error"]) == (0.5, 0.0, 0.5)
