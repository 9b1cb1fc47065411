"""The Makefile where it can be tried without the network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_python_that_is_too_old_is_told(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\ncase "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac\n')
    old.chmod(0o755)
    run = subprocess.run(["make", f"PYTHON={old}", "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0
    assert "amcc needs Python 3.11 or newer" in run.stderr
    assert "Python 3.9.2" in run.stderr
    assert "make PYTHON=python3.12 demo" in run.stderr
    assert not (tmp_path / ".venv").exists()
