"""The script that measures constants: which it finds, and that a change reaches all who use them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
import settings  # noqa: E402

SOURCE = """
HALF = 0.5
WHOLE: int = 7
MANY = 1, 2
TWICE = 2 * HALF
lower = 3.0
NEGATIVE = -2.5
IS_SO = True
"""


def test_constants_are_numbers_in_capitals():
    assert settings.constants(SOURCE) == {"HALF": 0.5, "WHOLE": 7, "NEGATIVE": -2.5}


def test_changing_one_changes_what_follows_from_it():
    world: dict[str, object] = {}
    exec(compile(settings.changed(SOURCE, "HALF", 3.0), "changed", "exec"), world)
    assert (world["HALF"], world["TWICE"], world["WHOLE"]) == (3.0, 6.0, 7)
    with pytest.raises(SystemExit, match="GONE must be assigned once"):
        settings.changed(SOURCE, "GONE", 1.0)


def test_half_and_double():
    def values(value):
        return [setting.value for setting in settings.half_and_double("amcc.x", "NAME", value)]

    assert values(0.3) == [0.15, 0.6]
    assert values(7) == [3, 14]
    assert values(1) == [2]
    assert values(0.0) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("numpy.pi", "must name a module of amcc; there is no 'numpy'"),
        ("amcc.nowhere.X", "there is no 'amcc.nowhere'"),
        ("amcc.metrics.NOTHING", "amcc.metrics has NEVER, but no 'NOTHING'"),
        ("amcc.metrics.NEVER=much", "must be set to a number; got 'much'"),
    ],
)
def test_settings_that_cannot_be(text, message):
    with pytest.raises(SystemExit, match=message):
        settings.settings_of(text)


def test_settings_of_modules_are_their_floats():
    found = settings.all_settings(["amcc.metrics.NEVER=0.01"], ["amcc.metrics"])
    assert list(map(str, found)) == ["amcc.metrics.NEVER=0.01", "amcc.metrics.NEVER=5e-05", "amcc.metrics.NEVER=0.0002"]
    assert settings.settings_of(str(found[0])) == found[:1]


def test_a_change_reaches_those_who_import_the_constant():
    """TIE of the summary is imported by the page; the source on disk stays as it is."""
    code = """
import sys
sys.path.append(sys.argv[1])
import settings
(setting,) = settings.settings_of("amcc.experiments.summary.TIE=0.25")
sys.meta_path.insert(0, settings.ChangedFinder(setting))
from amcc.experiments import pages, summary
print(summary.TIE, pages.TIE)
"""
    run = subprocess.run([sys.executable, "-c", code, BENCHMARKS], capture_output=True, text=True, check=True)
    assert run.stdout == "0.25 0.25\n"
    assert ast.literal_eval(str(settings.constants(settings.source_of("amcc.experiments.summary"))["TIE"])) != 0.25


def test_what_is_shown(capsys):
    now = [["a", "a1", 0.4, 0.7], ["b", "b1", 0.3, 0.8], ["c", "c1", 0.2, 0.9]]
    half = [["a", "a1", 0.1, 0.8], ["b", "b1", 0.35, 0.7], ["c", "c1", 0.25, 0.9]]
    settings.show(["now", "m.X=1", "m.X=4", "m.Y=0"], [now, half, now, now])
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("m.X=1 ")]
    assert line.split() == ["m.X=1", "0.2333", "-0.0667", "±", "0.1167", "0.8000", "+0.0000", "±", "0.0577"]
    assert shown.count("changes nothing") == 2
    # Without a, now is best; without b or c, half is: +.05 on both, which gains +.0333 out of sample.
    assert "m.X: log-loss +0.0333 ± 0.0167, Jaccard -0.0333 ± 0.0333; chosen now × 1, 1 × 2" in shown
    assert "any of these: log-loss +0.0333" in shown
