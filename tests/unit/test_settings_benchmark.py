"""The script that measures settings: which trials it makes, where, and how they add up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from amcc.consensus.default.settings import Settings, described_settings

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import settings
from settings import NOW, Place, Trial


def test_a_name_alone_is_tried_at_half_and_at_double():
    assert settings.trials_of("pseudo_votes") == [Trial("pseudo_votes", 4), Trial("pseudo_votes", 16)]
    assert settings.trials_of("lean=0.5") == [Trial("lean", 0.5)]
    assert str(Trial("lean", 0.5)) == "lean=0.5"
    assert (str(NOW), NOW.changes) == ("now", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leen", "must be one of usual_hit, .*; got 'leen'"),
        ("lean=much", "lean cannot be set to 'much'"),
        ("lean=99", "must be a number from -5 to 5; got 99"),
    ],
)
def test_trials_that_cannot_be(text, message):
    with pytest.raises(SystemExit, match=message):
        settings.trials_of(text)


def test_every_setting_is_tried_where_it_shows():
    found = settings.trials_by_ground([])
    assert list(found) == ["votes alone", "10 known items"]
    assert all(trials[0] == NOW for trials in found.values())
    tried = [trial.name for trials in found.values() for trial in trials[1:]]
    assert sorted(set(tried)) == sorted(row["name"] for row in described_settings())
    assert all(tried.count(name) == 2 for name in set(tried))
    assert {trial.name for trial in found["10 known items"][1:]} == {"truth_spread"}


def test_the_ground_of_known_items_gives_some():
    places = list(settings.places_of("10 known items", None, 1, 0))
    assert len({place.family for place in places}) == len(places) == 10
    known = places[0].crowd()
    assert known.truth is not None
    assert (~known.draw.known).any(axis=1).sum() == settings.N_KNOWN  # what was given is not scored


def test_trials_are_kept_and_only_new_ones_run(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(settings, "scores", lambda crowd, trial: ran.append(trial) or {"jaccard": 0.5})
    monkeypatch.setattr(Place, "crowd", lambda self: None)
    place, lean = Place("votes alone", "family", "cell", 0, None), Trial("lean", 1.0)
    assert settings.measured_at(place, [NOW], tmp_path) == {"now": {"jaccard": 0.5}}
    assert set(settings.measured_at(place, [NOW, lean], tmp_path)) == {"now", "lean=1"}
    assert ran == [NOW, lean]
    settings.measured_at(Place("votes alone", "family", "cell", 1, None), [NOW], tmp_path)
    assert ran[2:] == [NOW]


ROWS = [
    (Place("votes alone", "a", "a1", 0, None), {"now": 0.4, "lean=1": 0.2}),
    (Place("votes alone", "a", "a1", 1, None), {"now": 0.6, "lean=1": 0.4}),
    (Place("votes alone", "a", "a2", 0, None), {"now": 0.1, "lean=1": 0.1}),
    (Place("votes alone", "b", "b1", 0, None), {"now": 0.7, "lean=1": None}),
]


def rows(score="settled"):
    fixed = {"jaccard": 0.5, "log_loss": 0.3, "settled": 0.5, "wrong_among_settled": None}
    return [(place, {trial: {**fixed, score: value} for trial, value in found.items()}) for place, found in ROWS]


def test_means_are_over_draws_then_cells_then_families():
    assert settings.family_means(rows(), "now", "settled") == pytest.approx([0.3, 0.7])  # (0.5 + 0.1) / 2
    assert settings.means(rows(), "now")["settled"] == 0.5
    assert settings.means(rows(), "lean=1") == {
        "jaccard": 0.5, "log_loss": 0.3, "settled": 0.2, "wrong_among_settled": None,
    }  # fmt: skip


def test_what_is_written_has_three_columns():
    half, double = settings.half_and_double("lean")
    made = [
        (place, {"now": each["now"], f"lean={half}": each["lean=1"], f"lean={double}": each["now"]})
        for place, each in rows()
    ]
    found = settings.as_measured([NOW, Trial("lean", half), Trial("lean", double)], made)
    assert list(found) == ["lean"]
    assert [found["lean"][column]["at"] for column in ("half", "value", "double")] == [half, Settings().lean, double]
    assert found["lean"]["half"]["settled"] == 0.2
    assert found["lean"]["double"]["settled"] == found["lean"]["value"]["settled"] == 0.5
    json.dumps(found)


def test_what_is_shown(capsys):
    now, half = [0.4, 0.3, 0.2], [0.1, 0.35, 0.25]
    jaccard = {"now": [0.7, 0.8, 0.9], "lean=0.15": [0.8, 0.7, 0.9]}
    made = [
        (
            Place("votes alone", family, f"{family}1", 0, None),
            {
                "now": {"log_loss": now[n], "jaccard": jaccard["now"][n]},
                "lean=0.15": {"log_loss": half[n], "jaccard": jaccard["lean=0.15"][n]},
                "pseudo_votes=24": {"log_loss": now[n], "jaccard": jaccard["now"][n]},
            },
        )
        for n, family in enumerate("abc")
    ]
    trials = [NOW, Trial("lean", 0.15), Trial("pseudo_votes", 24)]
    settings.show(trials, settings.scored_rows(made, trials))
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("lean=0.15 ")]
    assert line.split() == ["lean=0.15", "0.2333", "-0.0667", "±", "0.1167", "0.8000", "+0.0000", "±", "0.0577"]
    assert shown.count("changes nothing") == 1
    # Without a, now is best; without b or c, half is: +.05 on both, which gains +.0333 out of sample.
    assert "lean: log-loss +0.0333 ± 0.0167, Jaccard -0.0333 ± 0.0333; chosen now × 1, lean=0.15 × 2" in shown
    assert "any of these: log-loss +0.0333" in shown


def test_scores_are_those_of_a_fit_with_the_setting(crowd):
    draw = settings.Draw(crowd.votes, crowd.truth, np.ones_like(crowd.truth))
    now, other = (settings.scores(settings.Crowd(draw), trial) for trial in (NOW, Trial("steepness", 5.0)))
    assert set(now) == set(settings.SHOWN)
    assert now["log_loss"] != other["log_loss"]
