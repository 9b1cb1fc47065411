"""Shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

# Tests run on all cores already: threads of one would only wait for those of another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.votes import Votes


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real crowd data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("AMCC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "README.md").exists():
        pytest.skip(f"no real crowd data in {folder} (set AMCC_DATA to the folder)")
    return folder


@pytest.fixture(scope="session")
def toy_votes() -> Votes:
    """Toy data T1 of the specification: three workers, two items, two labels, one question not asked."""
    return Votes.from_dense(
        np.array([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]]),
        worker_names=["w1", "w2", "w3"],
        item_names=["i1", "i2"],
        label_names=["l1", "l2"],
    )


@pytest.fixture(scope="session")
def crowd() -> SimulatedWorld:
    """A simulated crowd with spammers, small enough for every test."""
    return simulate_crowd(CrowdSpec(n_items=200, n_workers=25, n_labels=6, answers_per_item=5, seed=3))
