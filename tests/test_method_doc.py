"""The page about the method names what there is, and every step and setting, so that it cannot drift from the code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest

import amcc
from amcc import AMCC, Votes
from amcc.consensus import default
from amcc.consensus.default.answering import STEPS
from amcc.consensus.default.settings import Settings
from amcc.consensus.models.paper import PaperAMCC

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text()
# A page that grows is not read to its end.
MOST_WORDS = 2600
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
NAMES = [span for span in SPANS if re.fullmatch(r"[A-Za-z_][\w.]*(\(.*\))?", span) and not re.match(r"eq\d+$", span)]
SETTINGS = re.findall(r"[`(](\w+)=[^`]+`", PAGE)


def package() -> dict[str, object]:
    """Everything that has a name: modules by their last parts, what is in them, and what is in their classes."""
    names = {"amcc": amcc}
    for found in pkgutil.walk_packages(amcc.__path__, "amcc."):
        if found.name == "amcc.__main__":
            continue
        module = importlib.import_module(found.name)
        parts = found.name.split(".")
        for place in range(len(parts)):
            names.setdefault(".".join(parts[place:]), module)
        for name, value in vars(module).items():
            names.setdefault(name, value)
            names[f"{found.name}.{name}"] = names[f"{parts[-1]}.{name}"] = value
            if inspect.isclass(value) and value.__module__.startswith("amcc"):
                fields = {**vars(value), **inspect.get_annotations(value)}
                for field in fields:
                    names.setdefault(field, value)
                    names[f"{name}.{field}"] = value
    votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    for model in (AMCC(), PaperAMCC()):
        names |= vars(model.fit(votes))
    return names


@pytest.fixture(scope="module")
def known() -> dict[str, object]:
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return package() | dict.fromkeys(re.findall(r"def (test_\w+)", tests))


def test_page_names_much():
    assert len(NAMES) > 100
    assert {"AMCC()", "update_members", "independent_z", "amcc.decode", "presence_at"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name, known):
    assert name.partition("(")[0] in known


def test_settings_exist():
    assert set(SETTINGS) <= {*AMCC().get_params(), *PaperAMCC().get_params()}
    assert "printed" in SETTINGS


def test_every_step_has_its_switch_and_every_module_its_place():
    assert set(re.findall(r"`without=(\w+)`", PAGE)) == set(STEPS)
    assert {module.name for module in pkgutil.iter_modules(default.__path__)} - {"settings"} <= set(NAMES)


def test_every_number_set_by_hand_has_its_place():
    assert {each.name for each in fields(Settings)} <= set(re.findall(r"\w+", PAGE))


def test_page_stays_short_and_its_links_lead_somewhere():
    lines = PAGE.splitlines()
    assert len(PAGE.split()) <= MOST_WORDS
    assert max(map(len, lines)) <= 120
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
