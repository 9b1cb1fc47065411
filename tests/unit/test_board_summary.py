"""Reading a board: ranks, verdicts and tables, also where entries are missing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.experiments.board import SCORES, Result
from amcc.experiments.families import MeanWithError, family_means, family_verdict, mean_and_error
from amcc.experiments.pages import (
    FAMILY_HEAD,
    family_rows,
    footer,
    groups_of,
    mean_text,
    page,
    rank_rows,
    score_rows,
    verdict_rows,
)
from amcc.experiments.summary import Board, Share, largest, summarise

NAN = np.nan


def board_of(values: dict[str, tuple[str, list[float | None]]], methods: list[str], n_seeds: int = 1) -> Board:
    """A board with these Jaccard indices by cell; None is no entry."""
    return summarise(
        [
            Result(cell, kind, seed, method, value and {**dict.fromkeys(SCORES, 0.0), "jaccard": value})
            for cell, (kind, row) in values.items()
            for method, value in zip(methods, row, strict=True)
            for seed in range(n_seeds)
        ]
    )


@pytest.fixture
def gaps() -> Board:
    """Cells of all kinds; z is empty on the large cell, the oracle on real ones."""
    return board_of(
        {
            "sim": ("simulated", [0.5, 0.72, 0.6, 0.7]),
            "large": ("simulated", [0.5, 0.65, None, 0.7]),
            "real": ("independent", [0.7, 0.6, 0.603, None]),
            "own": ("own", [0.8, 0.804, 0.5, None]),
        },
        ["majority", "x", "z", "true-rates"],
    )


def test_means_over_seeds():
    results = [
        Result("a", "own", seed, "x", dict.fromkeys(SCORES, value)) for seed, value in enumerate([0.4, 0.5, 0.9])
    ]
    board = summarise(results)
    assert_allclose(board.of("jaccard"), [[0.6]], rtol=1e-12)
    assert board.n_draws == 3


def test_a_cell_that_lacks_a_draw_has_no_entry():
    results = [Result("a", "own", 0, "x", dict.fromkeys(SCORES, 0.5)), Result("a", "own", 1, "x", None)]
    assert_array_equal(summarise(results).of("jaccard"), [[NAN]])


def test_cells_are_ordered_by_kind(gaps):
    assert gaps.cells == ["real", "own", "sim", "large"]
    assert gaps.kinds == ["independent", "own", "simulated", "simulated"]


def test_ranks_by_hand(gaps):
    expected = [[1, 2, 2, NAN], [1, 1, 3, NAN], [3, 1, 2, NAN], [2, 1, NAN, NAN]]
    assert_array_equal(gaps.ranks("jaccard"), expected)


def test_low_scores_are_good_where_they_are_errors():
    results = [Result("a", "own", 0, name, dict.fromkeys(SCORES, error)) for name, error in (("x", 0.1), ("y", 0.2))]
    assert_array_equal(summarise(results).ranks("ece"), [[1, 2]])


def test_verdicts_by_hand(gaps):
    found = gaps.verdict("jaccard", "x")
    assert found.first == {
        "all": Share(3, 4), "independent": Share(0, 1), "own": Share(1, 1), "simulated": Share(2, 2),
    }  # fmt: skip
    assert found.mean_rank == {"all": 1.25, "independent": 2, "own": 1, "simulated": 1}
    assert_allclose(found.worst_loss, 0.1, rtol=1e-12)
    assert found.worst_cell == "real"
    assert found.above_oracle == Share(1, 2)


def test_verdicts_leave_out_what_is_empty(gaps):
    found = gaps.verdict("jaccard", "z")
    assert found.first["all"] == Share(0, 3)
    assert found.first["simulated"] == Share(0, 1)
    assert found.mean_rank["simulated"] == 2
    assert found.worst_cell == "own"
    assert found.above_oracle == Share(0, 1)


def test_the_oracle_does_not_compete(gaps):
    found = gaps.verdict("jaccard", "true-rates")
    assert {share.of for share in found.first.values()} == {0}
    assert found.first["all"].value is None
    assert set(found.mean_rank.values()) == {None}
    assert str(found.above_oracle) == "—"


def test_without_majority_there_is_no_loss():
    found = board_of({"a": ("own", [0.5])}, ["x"]).verdict("jaccard", "x")
    assert (found.worst_loss, found.worst_cell) == (None, None)


def test_a_method_that_is_empty_everywhere():
    board = board_of({"a": ("own", [0.5, None])}, ["majority", "z"])
    found = board.verdict("jaccard", "z")
    assert (found.first["all"], found.mean_rank["all"], found.worst_loss) == (Share(0, 0), None, None)
    assert verdict_rows(board, "jaccard")[1] == ["z", *"—" * 8]


def test_a_cell_that_is_empty_for_all():
    board = board_of({"a": ("own", [None, None])}, ["majority", "z"])
    assert score_rows(board, "jaccard") == [["a", "—", "—"]]
    assert board.verdict("jaccard", "majority").first["all"] == Share(0, 0)


def test_tables(gaps):
    rows = {first: entries for first, *entries in score_rows(gaps, "jaccard", mark="**{}**".format)}
    assert rows["sim"] == ["0.500", "**0.720**", "0.600", "0.700"]
    assert rows["large"] == ["0.500", "**0.650**", "—", "0.700"]
    assert rank_rows(gaps)[:2] == [
        ["Jaccard, all", "1.75", "1.25", "2.33", "—"],
        ["Jaccard, independent", "1.00", "2.00", "2.00", "—"],
    ]
    assert verdict_rows(gaps, "jaccard")[0] == [
        "majority", "2 of 4", "1 of 1", "1 of 1", "0 of 2", "1.75", "—", "—", "0 of 2",
    ]  # fmt: skip


def test_page(gaps):
    text = page(gaps, "amcc board --seeds 1")
    assert "    amcc board --seeds 1\n" in text
    assert "Cells: 4 (1 independent, 1 own, 2 simulated). Seeds per cell: 1" in text
    assert "| x | 3 of 4 | 0 of 1 | 1 of 1 | 2 of 2 | 1.25 | 0.100 | real | 1 of 2 |" in text
    assert "| real | **0.700** | 0.600 | 0.603 | — |" in text
    assert "— no entry: true-rates needs a simulated crowd with independent votes." in text
    for title in ("## Summary", "## Mean ranks", *(f"## {score}" for score in SCORES)):
        assert f"\n{title}\n" in text
    assert "nan" not in text


def test_page_says_up_to_which_size_peers_run():
    text = page(board_of({"a": ("own", [0.5, None])}, ["majority", "crowdkit-glad"]), "amcc board")
    assert "— no entry: crowdkit-glad runs up to 12,000 votes." in text


def test_names_cannot_break_the_page():
    assert "| a\\|b |" in page(board_of({"a|b": ("own", [0.5])}, ["x"]), "amcc board")


# -- families -------------------------------------------------------------------------------------------------------


def results_of(rows: list[tuple[str, str, str, str, dict[str, float | None] | None]]) -> list[Result]:
    """Results from cell, kind, family, method and scores; what is not given is 0."""
    blank = dict.fromkeys(SCORES, 0.0)
    return [
        Result(cell, kind, 0, method, None if scores is None else blank | scores, family, known=int("known" in method))
        for cell, kind, family, method, scores in rows
    ]


@pytest.fixture
def families() -> Board:
    """Family a has two cells, b and c one each; the peer has no entry in a2, and calls nothing settled."""

    def told(jaccard: float, log_loss: float, wrong: float | None = 0.1) -> dict[str, float | None]:
        return {"jaccard": jaccard, "log_loss": log_loss, "wrong_among_settled": wrong}

    table = {
        "a1": ("independent", "a", [told(0.5, 0.6), told(0.7, 0.4, 0.02), told(0.6, 0.5, None), told(0.8, 0.2)]),
        "a2": ("independent", "a", [told(0.6, 0.4), told(0.5, 0.6, None), None, told(0.6, 0.2)]),
        "b1": ("own", "b", [told(0.8, 0.2), told(0.803, 0.1, 0.06), told(0.4, 0.9, None), told(0.7, 0.2)]),
        "c1": ("own", "c", [told(0.3, 0.9), told(0.6, 0.3, 0.04), told(0.1, 0.9, None), told(0.9, 0.2)]),
        "s": ("simulated", "s", [told(0.1, 1.0), told(0.2, 1.0), told(0.3, 1.0), told(0.4, 1.0)]),
    }
    methods = ["majority", "x", "peer", "x, 9 known items"]
    return summarise(
        results_of(
            [
                (cell, kind, family, method, scores)
                for cell, (kind, family, row) in table.items()
                for method, scores in zip(methods, row, strict=True)
            ]
        )
    )


def test_a_family_counts_once(families):
    names, means = family_means(families, "jaccard", "real sets")
    assert names == ["a", "b", "c"]
    assert_allclose(means[:, 1], [0.6, 0.803, 0.6], rtol=1e-12)
    assert_allclose(means[:, 2], [NAN, 0.4, 0.1], rtol=1e-12)  # no entry in one cell, no mean of the family
    assert family_means(families, "jaccard", "simulated crowds")[0] == ["s"]


def test_family_verdicts_by_hand(families):
    found = family_verdict(families, "x", "real sets")
    assert found.n_families == 3
    assert_allclose(found.means["jaccard"].mean, (0.6 + 0.803 + 0.6) / 3, rtol=1e-12)
    losses = [0.5, 0.1, 0.3]
    assert_allclose(found.means["log_loss"], (0.3, np.std(losses, ddof=1) / 3**0.5), rtol=1e-12)
    assert_allclose(
        found.means["wrong_among_settled"].mean, (0.02 + 0.06 + 0.04) / 3, rtol=1e-12
    )  # nothing settled in a2
    gains = [0.05, 0.003, 0.3]  # of Jaccard over majority's .55, .8, .3
    assert_allclose(found.gains["jaccard"], (np.mean(gains), np.std(gains, ddof=1) / 3**0.5), rtol=1e-12)
    assert_allclose(found.gains["log_loss"].mean, (0.0 - 0.1 - 0.6) / 3, rtol=1e-12)
    assert np.isnan(family_verdict(families, "majority", "real sets").gains["jaccard"].mean)
    assert (found.most_wrong_among_settled, found.most_wrong_cell) == (0.06, "b1")
    assert_allclose(found.worst_lead, -0.1, rtol=1e-12)
    assert found.worst_cell == "a2"
    assert found.first == Share(3, 4)


def test_who_calls_nothing_settled_has_no_share_of_it(families):
    found = family_verdict(families, "peer", "real sets")
    assert np.isnan(found.means["wrong_among_settled"].mean)
    assert (found.most_wrong_among_settled, found.most_wrong_cell, found.n_families) == (None, None, 2)
    row = family_rows(families, "real sets")[2]
    assert row[FAMILY_HEAD.index("most wrong among settled")] == "—"


def test_who_knows_truth_takes_no_rank_from_others(families):
    told = families.methods.index("x, 9 known items")
    assert families.informed == [False, False, False, True]
    assert_array_equal(families.ranks("jaccard")[:, told], [1, 1, 3, 1, 1])  # cells a1, a2, b1, c1, s
    assert families.ranks("jaccard")[0].tolist()[:3] == [3, 1, 2]
    assert families.verdict("jaccard", "x").first["all"] == Share(3, 5)


def test_worst_loss_where_low_scores_are_good(families):
    found = families.verdict("log_loss", "x")
    assert_allclose(found.worst_loss, 0.2, rtol=1e-12)
    assert found.worst_cell == "a2"


def test_page_shows_families(families):
    text = page(families, "amcc board")
    assert "### Mean over the families of real sets" in text
    assert "| a | 0.550 | 0.600 | — | 0.700 |" in text
    assert "| x | 3 | 0.668 ± 0.068 | 0.300 ± 0.115 |" in text
    assert "| +0.118 ± 0.092 | -0.233 ± 0.186 | 0.060 | b1 | -0.100 | a2 | 3 of 4 |" in text
    assert "*Known items* were drawn at random and given with their truth" in text
    assert "nan" not in text


def test_scores_without_a_best_are_not_marked(families):
    assert not any("*" in cell for row in score_rows(families, "settled", mark="**{}**".format) for cell in row)


def test_a_score_that_one_draw_lacks_is_the_mean_of_the_others():
    def of(seed: int, wrong: float | None) -> Result:
        return Result("a", "own", seed, "x", {**dict.fromkeys(SCORES, 0.5), "wrong_among_settled": wrong})

    board = summarise([of(0, 0.2), of(1, None), of(2, 0.4)])
    assert_allclose(board.of("wrong_among_settled"), [[0.3]], rtol=1e-12)
    assert_allclose(board.of("jaccard"), [[0.5]], rtol=1e-12)
    assert_array_equal(summarise([of(0, None)]).of("wrong_among_settled"), [[NAN]])


# -- small things ---------------------------------------------------------------------------------------------------


def test_the_largest_and_its_name():
    assert largest(np.array([NAN, 0.2, 0.1]), ["a", "b", "c"]) == (0.2, "b")
    assert largest(np.array([0.2, 0.2]), ["a", "b"]) == (0.2, "a")  # the first of equals
    assert largest(np.array([NAN]), ["a"]) == (None, None)
    assert largest(np.array([]), []) == (None, None)


@pytest.mark.parametrize(("share", "value", "text"), [(Share(1, 4), 0.25, "1 of 4"), (Share(0, 0), None, "—")])
def test_shares_of_nothing_are_dashes(share, value, text):
    assert (share.value, str(share)) == (value, text)


def test_leads_are_turned_so_that_more_is_better(families):
    loss = families.of("log_loss")
    majority, other = families.methods.index("majority"), families.methods[1]
    expected = loss[:, majority] - loss[:, families.methods.index(other)]
    assert_array_equal(families.lead("log_loss", other), expected)
    assert np.isnan(families.lead("jaccard", other, "who is not there")).all()


def test_means_of_nothing_and_of_one():
    assert np.isnan(mean_and_error([])).all()
    assert mean_and_error([NAN, 3.0]).mean == 3.0
    assert np.isnan(mean_and_error([3.0]).error)


def test_means_have_errors_where_there_are_some():
    assert mean_text(MeanWithError(0.5, 0.0123)) == "0.500 ± 0.012"
    assert mean_text(MeanWithError(0.5, NAN), "+.3f") == "+0.500"
    assert mean_text(MeanWithError(NAN, NAN)) == "—"


def test_groups_without_cells_are_not_shown(gaps):
    assert groups_of(gaps) == ["real sets", "simulated crowds"]
    only_real = board_of({"real": ("independent", [0.5, 0.6])}, ["majority", "x"])
    assert groups_of(only_real) == ["real sets"]
    assert "families of simulated crowds" not in page(only_real, "amcc board")


def test_the_footer_says_why_there_are_dashes(gaps):
    assert footer(gaps) == "— no entry: true-rates needs a simulated crowd with independent votes."
    assert footer(board_of({"a": ("own", [0.5])}, ["majority"])) == ""
