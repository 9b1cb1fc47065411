"""`amcc settings`: every number set by hand, with its reason and what it is worth."""

from __future__ import annotations

import json

import pytest

from amcc.consensus.default.settings import described_settings, measured_settings
from running import amcc


@pytest.fixture(scope="module")
def shown() -> str:
    return amcc("settings").stdout


def test_every_setting_is_shown_with_value_reason_and_scores(shown):
    found, lines = measured_settings()["settings"], shown.splitlines()
    for row in described_settings():
        place = next(number for number, line in enumerate(lines) if line.startswith(f"{row['name']} "))
        at = found[row["name"]]
        scores = [
            f"{at[column][score]:.4f}" for score in ("jaccard", "log_loss") for column in ("half", "value", "double")
        ]
        assert lines[place].split()[1] == f"{row['value']:g}"
        assert lines[place].split()[-6:] == scores
        reason = " ".join(line.strip() for line in lines[place + 1 : place + 6])
        assert reason.startswith(row["reason"][:60])


def test_groups_are_titles_and_the_last_lines_say_how_it_was_measured(shown):
    lines = shown.splitlines()
    assert [line for line in lines if line in {row["group"] for row in described_settings()}] == list(
        dict.fromkeys(row["group"] for row in described_settings())
    )
    assert "draws, random_state 0)" in lines[-2]
    assert "except truth_spread on 10 known items" in lines[-1]
    assert lines[-2].startswith(f"Measured on {measured_settings()['date']} by python benchmarks/settings.py")


def test_json_has_the_same():
    printed = json.loads(amcc("settings", "--json").stdout)
    assert [row["name"] for row in printed["settings"]] == [row["name"] for row in described_settings()]
    assert set(printed["measured"]) == {"command", "date", "seed", "how", "families"}
    (lean,) = (row for row in printed["settings"] if row["name"] == "lean")
    assert lean["measured"]["half"]["at"] == lean["value"] / 2
    assert lean["least"] < 0 < lean["most"]


def test_narrow_terminals_get_narrow_reasons():
    printed = amcc("settings", COLUMNS="80").stdout
    assert max(len(line) for line in printed.splitlines() if line.startswith("    ")) <= 80
