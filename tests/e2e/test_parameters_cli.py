"""`--param`: a parameter of the method, wherever -m names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from amcc import load_model
from running import amcc

ROWS = [
    f"{worker},{item},{label},{'yes' if (item + len(label)) % 2 else 'no'}"
    for worker in ("ann", "bob", "cid")
    for item in range(4)
    for label in ("cat", "bird")
]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["worker,item,label,value", *ROWS]))
    return path


def test_parameters_reach_the_model(votes, tmp_path):
    saved = tmp_path / "model.amcc"
    said = "-m", "amcc-frobenius", "--param", "rows=unit", "--param", "n_groups=3"
    amcc("consensus", votes, *said, "--save", saved)
    assert repr(load_model(saved)) == "PaperAMCC(n_groups=3, rows='unit')"


def test_wrong_parameters_end_with_the_way_out(votes, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("item,label\n0,cat\n")
    for command in (["consensus", votes], ["workers", votes], ["audit", votes, people]):
        run = amcc(*command, "-m", "majority", "--param", "score=hard", code=2)
        assert "error: -m majority has no parameter 'score'; it has scores." in run.stderr
        run = amcc(*command, "-m", "majority", "--param", "scores=soft", code=2)
        assert "error: --param scores=VALUE must be 'fraction' or 'hard'; got 'soft'." in run.stderr


def test_what_would_be_ignored_is_refused(votes, tmp_path):
    saved = tmp_path / "model.amcc"
    amcc("consensus", votes, "--save", saved)
    run = amcc("consensus", votes, "--from", saved, "--param", "n_groups=2", code=2)
    assert "--from goes on with the parameters of the saved model" in run.stderr
    run = amcc("audit", votes, votes, "--consensus", votes, "--param", "n_groups=2", code=2)
    assert "--consensus is measured as it is" in run.stderr
