"""Choosing settings with a family left out, by hand-made tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import ParameterError
from amcc.experiments.families import mean_and_error
from amcc.experiments.leave_out import Scored, leave_one_family_out, setting_means

# Family a has two cells, which count once. Log-loss by family:
#        a (.3, .5)  b    c          without a   without b   without c
# now    .40         .30  .20        .25         .30         .35
# half   .10         .35  .30        .325        .20         .225
# double .44         .28  .19        .235        .315        .36
TABLE = [
    Scored("now", "a", "a1", 0.30, 0.7),
    Scored("now", "a", "a2", 0.50, 0.5),
    Scored("now", "b", "b", 0.30, 0.8),
    Scored("now", "c", "c", 0.20, 0.9),
    Scored("half", "a", "a1", 0.15, 0.8),
    Scored("half", "a", "a2", 0.05, 0.8),
    Scored("half", "b", "b", 0.35, 0.7),
    Scored("half", "c", "c", 0.30, 0.9),
    Scored("double", "a", "a1", 0.44, 0.6),
    Scored("double", "a", "a2", 0.44, 0.6),
    Scored("double", "b", "b", 0.28, 0.8),
    Scored("double", "c", "c", 0.19, 0.9),
]


def test_choices_by_hand():
    found = leave_one_family_out(TABLE, "now")
    assert [(choice.family, choice.setting) for choice in found.choices] == [
        ("a", "double"), ("b", "half"), ("c", "half"),
    ]  # fmt: skip
    assert_allclose([choice.log_loss for choice in found.choices], [0.44, 0.35, 0.30], rtol=1e-12)
    assert_allclose([choice.log_loss_gain for choice in found.choices], [0.04, 0.05, 0.10], rtol=1e-12)
    assert_allclose([choice.jaccard_gain for choice in found.choices], [0.0, -0.1, 0.0], rtol=0, atol=1e-12)
    # In-sample, half looks best (.25 against .30); out of sample it costs .063.
    assert_allclose(found.log_loss_gain.mean, 0.19 / 3, rtol=1e-12)
    assert_allclose(found.log_loss_gain.error, np.std([0.04, 0.05, 0.10], ddof=1) / 3**0.5, rtol=1e-12)
    assert_allclose(found.jaccard_gain.mean, -0.1 / 3, rtol=1e-12)


def test_means_count_a_family_once():
    means = {mean.setting: mean for mean in setting_means(TABLE, "now")}
    assert list(means) == ["now", "half", "double"]
    assert_allclose(means["half"].log_loss.mean, (0.1 + 0.35 + 0.3) / 3, rtol=1e-12)
    assert_allclose(means["now"].jaccard.mean, (0.6 + 0.8 + 0.9) / 3, rtol=1e-12)
    assert_allclose(means["now"].jaccard.error, np.std([0.6, 0.8, 0.9], ddof=1) / 3**0.5, rtol=1e-12)
    gains = [-0.30, 0.05, 0.10]  # of half over now, family by family
    assert_allclose(means["half"].log_loss_gain, (np.mean(gains), np.std(gains, ddof=1) / 3**0.5), rtol=1e-12)
    assert_allclose(means["half"].jaccard_gain.mean, (0.2 - 0.1 + 0.0) / 3, rtol=1e-12)
    assert means["now"].log_loss_gain == (0.0, 0.0)


def test_the_reference_alone_gains_nothing():
    found = leave_one_family_out(TABLE[:4], "now")
    assert found.log_loss_gain == found.jaccard_gain == (0.0, 0.0)


@pytest.mark.parametrize(
    ("table", "reference", "message"),
    [
        (TABLE[:-1], "now", "'double' has none on 'c'"),
        (TABLE, "then", "one of the settings now, half, double; got 'then'"),
        ([row for row in TABLE if row.family == "a"], "now", "two families or more to leave one out; got a"),
    ],
)
def test_tables_that_cannot_be_used(table, reference, message):
    with pytest.raises(ParameterError, match=message):
        leave_one_family_out(table, reference)


def test_mean_and_error_of_little():
    assert_allclose(mean_and_error([0.5]), (0.5, np.nan))
    assert_allclose(mean_and_error([np.nan]), (np.nan, np.nan))
    assert_allclose(mean_and_error([1.0, np.nan, 3.0]), (2.0, 1.0))
