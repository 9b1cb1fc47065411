"""amcc settings: the numbers set by hand that shape the default's probabilities, with reasons and what they do.

Scores are not computed here: they come with the package, as `benchmarks/settings.py --write` measured them. With --json
every row also holds the range of the setting, its group, and how many pairs are settled, and wrongly so.
"""

from __future__ import annotations

import textwrap
from typing import Any

from amcc.cli.console import screen
from amcc.cli.output import Json, print_json
from amcc.consensus.default.settings import described_settings, measured_settings

# Columns of the table. The reason is a line of its own below them: in a column it would be one word wide.
ROW = "{:<25} {:>6}   {:<20} {:<20} {:<20}"
# Of reasons, so that an eye can follow the names down the page.
INDENT = "    "


def settings(as_json: Json = False) -> None:
    """List the settings of the default: value, reason, and scores at half, at the value and at double.

    Change them in Python by AMCC(settings={"lean": 0.5}). Scores are means over families of data sets.
    """
    found = measured_settings()
    rows = [{**row, "measured": found["settings"].get(row["name"])} for row in described_settings()]
    if as_json:
        about = {name: value for name, value in found.items() if name != "settings"}
        print_json({"measured": about, "settings": rows})
        return
    _print(ROW.format("setting", "value", "tried at", "mean Jaccard", "mean log-loss"))
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            _print("")
            _print(group)
        tried = [_three(row["measured"], score) for score in ("at", "jaccard", "log_loss")]
        _print(ROW.format(row["name"], f"{row['value']:g}", *tried))
        for line in textwrap.wrap(row["reason"], screen.width - len(INDENT)):
            _print(INDENT + line)
    _print("")
    elsewhere = [row for row in rows if row["measured"] and row["measured"]["ground"] != "votes alone"]
    others = ", ".join(f"{row['name']} on {row['measured']['ground']}" for row in elsewhere)
    _print(f"Measured on {found['date']} by {found['command']} ({found['seed']}): {found['how']}.")
    _print(f"On votes alone, except {others}: their scores cannot be compared with those of the other settings.")


def _print(line: str) -> None:
    """One line, however long it is: scripts and narrow terminals get it whole."""
    screen.print(line.rstrip(), soft_wrap=True)


def _three(at: dict[str, Any] | None, name: str) -> str:
    """Numbers at half, at the value and at double; dashes where there are none."""
    # A setting may be newer than the file: a developer has to see it before the benchmark was run.
    if at is None:
        return "not measured"
    numbers = [at[column][name] for column in ("half", "value", "double")]
    shape = "{:g}" if name == "at" else "{:.4f}"
    return " ".join("—" if number is None else shape.format(number) for number in numbers)
