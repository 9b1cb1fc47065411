"""docs/deviations.md explains every deviation, and names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path


def deviations() -> dict[str, str]:
    page = (Path(__file__).parents[1] / "docs" / "deviations.md").read_text()
    entries = re.split(r"^## (D\d+)\. ", page, flags=re.MULTILINE)
    return dict(zip(entries[1::2], entries[2::2], strict=True))


def test_every_deviation_is_explained():
    entries = deviations()
    assert list(entries) == [f"D{number}" for number in range(1, 20)]
    for name, text in entries.items():
        for part in ("Printed", "If followed", "We do", "Why", "Tests?"):
            assert re.search(rf"\*{part}\*", text), f"{name} does not say *{part}*"


def test_tests_named_in_the_deviations_exist():
    folder = Path(__file__).parent
    existing = set(re.findall(r"def (test_\w+)", "".join(path.read_text() for path in folder.rglob("test_*.py"))))
    named = re.findall(r"`(?:Test\w+::|::)?(test_\w+)`", "".join(deviations().values()))
    assert len(named) > 30
    assert set(named) <= existing
