"""Methods are known by the names of files; a file is imported when its method is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from amcc.consensus import METHODS, MajorityVote, make_model
from amcc.consensus.registry import HOLD, Methods, class_of
from amcc.errors import ParameterError


def test_files_are_called_like_the_methods_in_them():
    """In a process of its own, where nothing was imported before: names first, then all models."""
    code = """
import sys
from amcc.consensus import METHODS
names = list(METHODS)
assert not [name for name in sys.modules if name.startswith("amcc.consensus.models.")]
for make in METHODS.values():
    assert callable(make)
assert list(METHODS) == names
assert len(METHODS) == len(names)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_holds_other_methods_than_its_own_does():
    for file, names in HOLD.items():
        homes = {class_of(METHODS[name]).__module__.split(".")[3] for name in names}
        assert homes == {file}


def test_a_file_without_the_method_it_is_called_like_is_an_error(monkeypatch):
    methods = Methods()
    monkeypatch.setitem(methods._homes, "better", "amcc.consensus.models.majority")  # imported already, and has no such method
    with pytest.raises(ImportError, match="majority must hold the method 'better'"):
        methods["better"]


def test_models_from_elsewhere_join():
    class Mine(MajorityVote, methods={"mine": {}}):
        pass

    try:
        assert "mine" in METHODS
        assert isinstance(make_model("mine"), Mine)
    finally:
        del METHODS["mine"]
    with pytest.raises(ParameterError, match="got 'mine'"):
        make_model("mine")
