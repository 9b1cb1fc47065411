"""Draws on which common sense is asked for, and the table of what holds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from amcc.experiments import sense, sense_draws
from amcc.experiments.sense import Record

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import sense as board


def asked_of_all(votes) -> bool:
    return all(
        len(np.unique(getattr(votes, role))) == getattr(votes, f"n_{role}s") for role in ("item", "worker", "label")
    )


def test_simulated_panels_have_models_of_families_and_one_person():
    for seed in range(5):
        draw = sense_draws.simulated_panel(seed)
        seats = draw.roster.seats(draw.votes.worker_names)
        assert 3 <= (seats.kind == 1).sum() <= 8 and (seats.kind == 0).sum() == 1
        assert len(np.unique(seats.family[seats.kind == 1])) > 1
        assert draw.votes == sense_draws.simulated_panel(seed).votes


def test_single_choice_answers_have_one_label_and_groups_share_no_item():
    votes = sense_draws.single_choice(1).votes
    dense = votes.to_dense()
    answered = (dense != 0).any(axis=2)
    assert ((dense > 0).sum(axis=2) == answered).all()
    half = votes.n_workers // 2
    assert not (answered[:half].any(axis=0) & answered[half:].any(axis=0)).any()


def test_draws_of_real_sets_hold_only_what_was_voted_on(shared_data):
    small = sense_draws.small_draw(shared_data / "affective", 0)
    assert small.votes.n_items == 60 and 4 <= small.votes.n_workers <= 8 and asked_of_all(small.votes)
    panel = sense_draws.panel_draw(shared_data / "llm_framing", 0)
    kind = panel.roster.seats(panel.votes.worker_names).kind
    assert (kind == 0).sum() <= 1 and 3 <= (kind == 1).sum() <= 7 and asked_of_all(panel.votes)
    whole = sense_draws.whole_draw(shared_data / "llm_framing", 100, 0)
    assert whole.votes.n_items == 100 and whole.truth.shape == (100, whole.votes.n_labels)


def test_limits_are_of_the_mean_and_of_each_draw():
    def holds(values, *, file=False):
        return sense.result_of("stranger", [Record("stranger", file, "", value) for value in values]).holds

    assert holds([-0.09, 0.09])
    assert not holds([-0.02, -0.02])  # in the mean
    assert not holds([-0.11, 0.3])  # one draw
    assert holds([-0.19, 0.3], file=True)
    pairs = [Record("unanimous", False, "", 1.0, weight=1), Record("unanimous", False, "", 0.0, weight=999)]
    assert sense.result_of("unanimous", pairs).mean == pytest.approx(0.001)


def test_the_table_says_what_holds(monkeypatch, capsys):
    def table(*options: str) -> str:
        monkeypatch.setattr(sys, "argv", ["sense.py", "--draws", "2", *options])
        board.main()
        return capsys.readouterr().out

    shown = table("--only", "mirror,first-vote", "--variant", 'few={"n_groups": 2}').splitlines()
    assert [line.split(":")[0] for line in shown[1:]] == ["mirror", "mirror", "first-vote"]
    assert shown[0].split()[-3:] == ["amcc", "majority", "few"]
    assert "holds" in shown[1] or "FAILS" in shown[1]
    for wrong in (["--variant", "few"], ["--only", "glass"], ["--data", str(Path(__file__).parent)]):
        with pytest.raises(SystemExit):
            table(*wrong)
        assert "must" in capsys.readouterr().err
