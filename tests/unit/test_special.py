"""The functions of scipy are the same ones, however they were imported."""

from __future__ import annotations

import subprocess
import sys

import pytest
import scipy.special

from amcc import special


@pytest.mark.parametrize("name", special.__all__)
def test_functions_are_those_of_scipy(name):
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    arguments = (0.3, 0.4, 0.5)[: ours.nin]
    assert ours(*arguments) == theirs(*arguments)


def test_the_whole_package_can_be_imported_afterwards():
    code = """
import sys
from amcc import special
assert "scipy.special" not in sys.modules
import scipy.special
assert scipy.special.logsumexp([0.0, 0.0]) > 0.69
assert scipy.special.expit(0.3) == special.expit(0.3)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_versions_may_keep_the_functions_elsewhere():
    code = """
import sys
sys.modules["scipy.special._ufuncs"] = None
try:
    from amcc import special
except ImportError:  # this version of scipy needs them there itself
    sys.exit()
assert special.expit(0.0) == 0.5
"""
    subprocess.run([sys.executable, "-c", code], check=True)
