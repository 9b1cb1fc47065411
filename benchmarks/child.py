"""Measurements in processes of their own, so that peak memory and imports are those of one task."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def measure_apart(script: str, task: str, folder: Path, timeout: float | None = None) -> dict[str, float]:
    """What `script --child task --folder folder` prints in its last line; nothing where it fails."""
    command = [sys.executable, script, "--child", task, "--folder", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if run.returncode:
        print(run.stderr[-2000:], file=sys.stderr)
        return {}
    result: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return result
