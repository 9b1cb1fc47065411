"""A slice of `make kills`: campaigns, packings and outputs are killed while they write, and nothing comes to harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

WRONG_WRITERS = """
import os, random, tempfile
from dataclasses import replace
from pathlib import Path
import kills

def in_place():
    Path("out.csv").write_text("new")

def in_two_steps():
    with Path("out.csv").open("ab", buffering=0) as file:
        file.write(b"one")
        file.write(b"two")

def unsafe_campaign():
    os.fsync = lambda file: None
    kills.run_campaign()

def forgetful_campaign():
    Path("ledger.jsonl").unlink(missing_ok=True)
    kills.run_campaign()

campaign = kills.TASKS[0]
for task in (
    kills.Task("in place", lambda: Path("out.csv").write_text("old"), in_place),
    kills.Task("in two steps", lambda: None, in_two_steps, growing=("out.csv",)),
    replace(campaign, name="unsafe", run=unsafe_campaign),
    replace(campaign, name="forgetful", run=forgetful_campaign),
    kills.Task("as it should be", lambda: Path("new").write_text("x"), lambda: Path("new").replace("out.csv")),
):
    trial = kills.Trial(task, Path(tempfile.mkdtemp(dir=".")).resolve())
    trial.rehearse()
    harm = kills.kill_all([trial], min(len(trial.points), 12), 60, random.Random(0))
    print("result", task.name, "harmed" if harm else "unharmed", sep=":")
"""


def run_here(*arguments: str, cwd: Path) -> list[str]:
    """What a script beside the benchmarks prints."""
    paths = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    if run.returncode == 3:
        pytest.skip(run.stderr)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.splitlines()


def test_nothing_is_harmed_by_kills_while_it_is_written(tmp_path: Path) -> None:
    script = str(BENCHMARKS / "kills.py")
    lines = run_here(script, "--kills", "50", "--seed", "0", "--only", "campaign,pack,append,output", cwd=tmp_path)
    assert lines[0] == "seed 0"
    assert lines[-1] == "harm: 0"
    kills = {line[:16].strip(): int(line.split()[-5]) for line in lines[2:-1]}
    assert kills["all"] >= 50
    assert lines[-2].split()[-2] == "0", "temporary files of killed writers are left"
    assert min(kills.values()) > 0


def test_wrong_writers_are_found(tmp_path: Path) -> None:
    run_here("-c", "import sys, stepper; sys.exit(3 if stepper.can_step() else 0)", cwd=tmp_path)
    results = [line.split(":")[1:] for line in run_here("-c", WRONG_WRITERS, cwd=tmp_path) if line.startswith("result")]
    assert dict(results) == {
        "in place": "harmed",
        "in two steps": "harmed",
        "unsafe": "harmed",
        "forgetful": "harmed",
        "as it should be": "unharmed",
    }
