"""Features of items on the command line: who uses them gets them, from every file; who does not says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amcc import pack_votes, write_votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import said


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Votes, and the truth as features in three files."""
    monkeypatch.chdir(tmp_path)
    crowd = simulate_crowd(CrowdSpec(n_items=12, n_workers=5, n_labels=3, answers_per_item=3, seed=3))
    write_votes(crowd.votes, "votes.csv")
    items, numbers = np.array(crowd.votes.item_names.to_pylist())[::-1], crowd.truth[::-1].astype(float)
    np.savez("f.npz", X=numbers, items=items)
    np.save("f.npy", numbers)
    Path("items.txt").write_text("\n".join(items))
    rows = [",".join(map(str, (item, *row))) for item, row in zip(items, numbers, strict=True)]
    Path("f.csv").write_text("\n".join(["item,x,y,z", *rows]))
    return tmp_path


@pytest.fixture
def amcc():
    """Runs a command: what it prints, what it notes."""
    return said


@pytest.mark.parametrize("command", ["consensus", "workers"])
def test_every_file_of_features_is_used(folder, amcc, command):
    plain, _ = amcc(command, "votes.csv", "-m", "nam")
    table, _ = amcc(command, "votes.csv", "-m", "nam", "--features", "f.csv")
    assert table != plain
    assert amcc(command, "votes.csv", "-m", "nam", "--features", "f.npz")[0] == table
    assert amcc(command, "votes.csv", "-m", "nam", "--features", "f.npy", "--features-items", "items.txt")[0] == table


@pytest.mark.parametrize("command", ["consensus", "workers"])
@pytest.mark.parametrize("votes", ["votes.csv", "packed"])
def test_features_that_would_be_ignored_are_refused(folder, amcc, command, votes):
    pack_votes("votes.csv", "packed")
    out, err = amcc(command, votes, "--features", "f.npz", code=2)
    assert out == ""
    assert "AMCC does not use features of items" in err
    assert "NAM (-m nam)" in err
    assert "does not say whose" in amcc(command, votes, "-m", "nam", "--features", "f.npy", code=2)[1]
    assert "give both" in amcc(command, votes, "-m", "nam", "--features-items", "items.txt", code=2)[1]
