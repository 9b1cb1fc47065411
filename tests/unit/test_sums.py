"""Sums over codes, against loops of Python."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import sums

START = np.array([0, 2, 2, 7, 12])  # the second row has no code
CODE = np.random.default_rng(0).integers(0, 5, 12).astype(np.int32)


@pytest.fixture(params=[sums.FEW, 0], ids=["in one call", "row by row"])
def kinds(request, monkeypatch):
    """Three kinds of values for each of five codes."""
    monkeypatch.setattr(sums, "FEW", request.param)
    return np.random.default_rng(1).random((3, 5))


def test_sums_at_codes(kinds):
    expected = [[sum(row[code] for code in CODE[slice(*ends)]) for ends in pairwise(START)] for row in kinds]
    assert_allclose(sums.sum_at(START, CODE, kinds), expected)
    assert_allclose(sums.sum_at(START, CODE, kinds[0]), expected[0])


def test_sums_by_codes(kinds):
    values, expected = kinds[:, :4], np.zeros((3, 5))
    for row in range(4):
        for code in CODE[START[row] : START[row + 1]]:
            expected[:, code] += values[:, row]
    assert_allclose(sums.sum_by(START, CODE, values, 5), expected)
    assert_allclose(sums.sum_by(START, CODE, values[1], 5), expected[1])


def test_sums_per_code(kinds):
    code = np.array([2, 0, 2, 2, 0])
    found = sums.sum_per_code(code, kinds, 4)
    assert_allclose(found[:, [1, 3]], 0)
    assert_allclose(found[:, 0], kinds[:, 1] + kinds[:, 4])
    assert_allclose(found[:, 2], kinds[:, [0, 2, 3]].sum(axis=1))


def test_sums_of_runs(kinds):
    found = sums.sum_runs(np.array([0, 3, 5]), kinds)
    assert_allclose(found, np.stack([kinds[:, :3].sum(axis=1), kinds[:, 3:].sum(axis=1)], axis=1))
    assert found.flags.c_contiguous


def test_nothing_to_add_up():
    nothing = np.empty(0, np.int32)
    assert sums.sum_at(np.zeros(1, np.int64), nothing, np.ones(3)).shape == (0,)
    assert sums.sum_by(np.zeros(1, np.int64), nothing, np.empty((2, 0)), 3).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_the_loops_are_there_before_the_package():
    """And the package can be imported afterwards, as always."""
    code = """
import sys
from amcc import sums
assert "scipy.sparse" not in sys.modules
import numpy as np
import scipy.sparse
assert (scipy.sparse.eye_array(3).tocsr() @ np.arange(3.0)).tolist() == [0, 1, 2]
assert sums.sum_per_code(np.array([0, 0]), np.ones(2), 1).tolist() == [2]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
