"""amcc evaluate as a user runs it, on a consensus of two items that is right about both."""

from __future__ import annotations

import json

import pytest

from running import said

CONSENSUS = "item,label,probability,present\n1,cat,0.9,1\n1,dog,0.1,0\n2,cat,0.1,0\n2,dog,0.9,1\n"
COUNTS = ("items_scored", "pairs_scored", "items_unknown", "pairs_unknown")


@pytest.fixture
def amcc_evaluate(tmp_path):
    """Runs the command in this process with the truth as it is written: what it prints, what it notes."""
    (tmp_path / "c.csv").write_text(CONSENSUS)
    (tmp_path / "sets.csv").write_text("item,labels\n1,cat\n2,dog\n")

    def run(truth: str, *options: str, consensus: str = "c.csv", code: int = 0) -> tuple[str, str]:
        (tmp_path / "truth.csv").write_text(truth)
        return said("evaluate", consensus, "truth.csv", *options, code=code, cwd=tmp_path)

    return run


def test_table_and_labels(amcc_evaluate):
    out, err = amcc_evaluate("item,label\n1,cat\n2,dog\n", "--by-label")
    assert "over 2 items, 4 pairs" in out
    assert "jaccard" in out
    assert "cat" in out
    assert err == ""


def test_known_items_and_known_pairs(amcc_evaluate, tmp_path):
    (tmp_path / "known.csv").write_text("item\n1\n")
    assert "over 1 items, 2 pairs" in amcc_evaluate("item,label\n1,cat\n2,cat\n", "--known-items", "known.csv")[0]
    (tmp_path / "pairs.csv").write_text("item,label\n1,cat\n9,cat\n")
    out, err = amcc_evaluate("item,label\n1,cat\n2,cat\n", "--known-pairs", "pairs.csv", "--json")
    assert json.loads(out)["jaccard"] == 1  # item 9 has no true label and none was found
    assert "1 items of the truth" in err


def test_what_the_truth_does_not_mention_is_not_scored_unless_told(amcc_evaluate):
    out, err = amcc_evaluate("item,label\n1,cat\n", "--json")
    scores = json.loads(out)
    assert scores["jaccard"] == 1
    assert [scores[name] for name in COUNTS] == [1, 2, 1, 2]
    assert "1 items and 2 pairs of the consensus are not scored: the truth does not cover them. If" in err
    out, err = amcc_evaluate("item,label\n1,cat\n", "--truth-unmentioned", "absent", "--json")
    assert json.loads(out)["jaccard"] == 1 / 2
    assert err == ""


def test_no_is_never_read_as_yes(amcc_evaluate):
    scores = json.loads(amcc_evaluate("item,label,truth\n1,cat,yes\n1,dog,no\n2,dog,yes\n", "--json")[0])
    assert scores["jaccard"] == 1
    assert [scores[name] for name in COUNTS] == [2, 3, 0, 1]
    _, err = amcc_evaluate("worker,item,label,value\nann,1,cat,yes\nann,1,dog,no\n", code=2)
    assert "column 'worker' makes this a table of votes" in err


def test_other_names(amcc_evaluate):
    _, err = amcc_evaluate("item,label\none,cat\ntwo,dog\n", code=2)
    assert "none of its 2 items is there. It names 'one', 'two'; the consensus '1', '2'." in err


def test_sets_without_calibration(amcc_evaluate):
    out, err = amcc_evaluate("item,label\n1,cat\n2,dog\n", "--json", consensus="sets.csv")
    assert json.loads(out)["jaccard"] == 1
    assert not {"ece", "brier", "log_loss"} & set(json.loads(out))
    assert "sets have no probabilities: calibration (ece, brier, log-loss) is left out" in err


def test_settled_is_scored_where_the_consensus_says_it(amcc_evaluate, tmp_path):
    (tmp_path / "s.csv").write_text(
        "item,label,probability,present,settled\n1,cat,0.9,1,1\n1,dog,0.1,0,1\n2,cat,0.1,0,0\n2,dog,0.9,1,0\n"
    )
    out, _ = amcc_evaluate("item,label\n1,dog\n2,dog\n", "--json", consensus="s.csv")
    scores = json.loads(out)
    assert (scores["settled"], scores["wrong_among_settled"], scores["true_error"]) == (0.5, 1.0, 0.5)
    assert scores["claimed_error"] == pytest.approx(0.1)
    assert scores["log_loss"] > 1
    out, _ = amcc_evaluate("item,label\n1,dog\n2,dog\n", consensus="s.csv")
    assert all(name in out for name in ("claimed_error", "true_error", "settled", "wrong_among_settled"))
    out, _ = amcc_evaluate("item,label\n1,cat\n2,dog\n", "--json", consensus="sets.csv")
    assert "claimed_error" not in json.loads(out)


SOFT = "item,label,probability,present,soft\n1,cat,0.9,1,0.75\n1,dog,0.1,0,0.25\n2,cat,0.1,0,0.5\n"


def test_soft_truth_alone_and_beside_the_truth(amcc_evaluate, tmp_path):
    (tmp_path / "soft.csv").write_text(SOFT)
    (tmp_path / "shares.csv").write_text("item,label,share\n1,cat,1\n1,dog,0.25\n9,dog,0\n")
    out, _ = said("evaluate", "soft.csv", "--soft-truth", "shares.csv", "--json", cwd=tmp_path)
    result = json.loads(out)
    assert set(result) == {"soft"}
    assert result["soft"]["column"] == "soft"
    assert result["soft"]["n_pairs"] == 2
    assert result["soft"]["manhattan"] == pytest.approx(0.125)
    out, _ = amcc_evaluate("item,label\n1,cat\n2,dog\n", "--soft-truth", "shares.csv", "--json")
    both = json.loads(out)
    assert both["jaccard"] == 1
    assert both["soft"]["column"] == "probability"
    assert both["soft"]["manhattan"] == pytest.approx((0.1 + 0.15) / 2)
    out, _ = amcc_evaluate("item,label\n1,cat\n2,dog\n", "--soft-truth", "shares.csv")
    assert "jaccard" in out
    assert "soft score of column probability" in out
    assert "cross_entropy" in out


def test_votes_of_others_as_soft_truth(tmp_path):
    (tmp_path / "soft.csv").write_text(SOFT)
    (tmp_path / "votes.csv").write_text("worker,item,label,value\na,1,cat,1\nb,1,cat,1\nc,1,cat,1\nd,1,cat,0\n")
    out, _ = said("evaluate", "soft.csv", "--soft-truth", "votes.csv", "--json", cwd=tmp_path)
    assert json.loads(out)["soft"]["manhattan"] == 0


def test_soft_truth_that_cannot_be_used(tmp_path):
    (tmp_path / "soft.csv").write_text(SOFT)
    (tmp_path / "sets.csv").write_text("item,labels\n1,cat\n")
    (tmp_path / "other.csv").write_text("item,label,share\none,cat,0.5\n")
    (tmp_path / "wrong.csv").write_text("item,label,share\n1,cat,5\n")
    for arguments, message in (
        (["soft.csv"], "something to compare with: TRUTH, --soft-truth FILE, or both"),
        (["soft.csv", "--soft-truth", "other.csv"], "it covers none. Write items and labels alike"),
        (["soft.csv", "--soft-truth", "wrong.csv"], "wrong.csv: column 'share' must lie between 0 and 1; row 1 has 5"),
        (["sets.csv", "--soft-truth", "other.csv"], "this consensus has sets. Write it without --sets"),
    ):
        assert message in said("evaluate", *arguments, code=2, cwd=tmp_path)[1]
