"""Work in several processes: results, errors, threads, and who speaks of Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from amcc.processes import computed

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def test_one_process_works_in_this_one_and_only_when_asked():
    seen = []

    def work(number: int) -> int:
        seen.append(number)
        return number**2

    results = computed(work, [("two", (2,)), ("three", (3,))], 1)
    assert seen == []
    assert next(results) == ("two", 4)
    assert seen == [2]
    assert dict(results) == {"three": 9}


def test_names_find_their_results_again():
    tasks = [(number, (10, number)) for number in range(1, 6)]
    assert dict(computed(divmod, tasks, 2)) == {1: (10, 0), 2: (5, 0), 3: (3, 1), 4: (2, 2), 5: (2, 0)}


def test_an_error_in_a_process_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        list(computed(divmod, [("wrong", (1, 0)), ("right", (1, 1))], 2))


def test_processes_compute_with_one_thread_and_leave_the_settings_as_they_were(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = {name: os.environ.get(name) for name in THREADS}
    assert dict(computed(os.getenv, [(name, (name,)) for name in THREADS], 2)) == dict.fromkeys(THREADS, "1")
    assert {name: os.environ.get(name) for name in THREADS} == before


def test_no_tasks_need_no_process():
    assert list(computed(divmod, [], 1)) == list(computed(divmod, [], 2)) == []


PATIENT = """
import sys, time
from amcc.processes import computed
if __name__ == "__main__":
    print("started", file=sys.stderr, flush=True)
    try:
        list(computed(time.sleep, [(number, (60,)) for number in range(3)], 2))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
"""


@pytest.mark.parametrize("seconds", [0.5, 4])
def test_only_the_first_process_speaks_of_ctrl_c(seconds, tmp_path):
    """A terminal sends it to all of them, here while they start and while they work."""
    (tmp_path / "patient.py").write_text(PATIENT)
    command = [sys.executable, tmp_path / "patient.py"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stderr.readline() == "started\n"
        time.sleep(seconds)
        os.killpg(run.pid, signal.SIGINT)
        assert run.communicate(timeout=30)[1] == "interrupted\n"
