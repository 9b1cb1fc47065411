"""A strategy is one file that enters itself in the registry."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import ClassVar

import pytest

from amcc.active import strategies
from amcc.active.strategies import STRATEGIES, make_strategy
from amcc.active.strategies.amcc import PaperCriterion
from amcc.active.strategies.baselines import RandomSets
from amcc.active.strategy import register
from amcc.errors import ParameterError

NEW_FILE = """
from dataclasses import dataclass
from typing import ClassVar
from amcc.active.strategy import register

@register("first-come")
@dataclass(frozen=True)
class FirstCome:
    model: ClassVar[str] = "majority"
    uses_features: ClassVar[bool] = False

    def select(self, beliefs, candidates, prices, batch, rng):
        return None
"""


@pytest.fixture
def registry() -> Iterator[None]:
    """The registry, left as it was afterwards."""
    before = dict(STRATEGIES)
    yield
    STRATEGIES.clear()
    STRATEGIES.update(before)


LOOK_IN = """
import sys, types
from importlib.util import module_from_spec, spec_from_file_location
package, copy = sys.argv[1:]
# A stand-in for `amcc.active`, which would import the strategies before the copy of their folder is in place.
sys.modules["amcc.active"] = types.ModuleType("amcc.active")
sys.modules["amcc.active"].__path__ = [package]
spec = spec_from_file_location("amcc.active.strategies", copy + "/__init__.py", submodule_search_locations=[copy])
found = sys.modules["amcc.active.strategies"] = module_from_spec(spec)
spec.loader.exec_module(found)
print(*found.STRATEGIES)
"""


def test_a_new_strategy_is_one_file_and_nothing_else(tmp_path: Path) -> None:
    """In a copy of the folder, a file that nobody mentions is found, in its place by name."""
    folder = Path(strategies.__file__).parent
    copytree(folder, tmp_path / "strategies")
    (tmp_path / "strategies" / "first_come.py").write_text(NEW_FILE)
    command = [sys.executable, "-c", LOOK_IN, folder.parent, tmp_path / "strategies"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert found == [*list(STRATEGIES)[:-2], "first-come", "voi-decision", "voi"]


@pytest.mark.usefixtures("registry")
def test_a_name_is_entered_with_its_settings() -> None:
    @register("plain")
    @register("careful", caution=2)
    @dataclass(frozen=True)
    class Cautious:
        caution: int = 1
        model: ClassVar[str] = "amcc"
        uses_features: ClassVar[bool] = False

    assert isinstance(make_strategy("plain"), Cautious)
    assert [make_strategy(name).caution for name in ("plain", "careful")] == [1, 2]
    assert STRATEGIES["careful"](caution=5).caution == 5


def test_two_strategies_cannot_have_one_name() -> None:
    with pytest.raises(ParameterError, match="a strategy must have a name of its own; 'voi' is taken"):
        register("voi")


def test_names_and_strategies_are_both_taken() -> None:
    assert make_strategy("amcc-nlc") == PaperCriterion(correlation_mix=0.0)
    assert make_strategy("mv-rsw") == RandomSets()
    mine = PaperCriterion(n_neighbors=3)
    assert make_strategy(mine) is mine
    with pytest.raises(ParameterError, match=r"strategy must be one of amcc, amcc-paper, .*; got 'magic'"):
        make_strategy("magic")
