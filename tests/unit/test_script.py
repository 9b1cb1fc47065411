"""What the scripts of benchmarks share: options, times, and measurements in processes of their own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from amcc.errors import ConvergenceWarning

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import child
import consensus
import page
import rows as kept_rows
import script


def test_help_keeps_the_lines_of_the_docstring():
    text = script.parser_of("First.\n\n    an example\n").format_help()
    assert "\n    an example\n" in text


@pytest.mark.parametrize(("text", "value"), [("1e4", 10_000), ("300", 300), ("2.5e1", 25)])
def test_numbers_of_votes_are_read_as_typed(text, value):
    assert script.whole_number(text) == value


def test_seconds_are_those_of_the_task():
    assert 0.05 <= script.seconds_of(lambda: time.sleep(0.05)) < 5


def test_fits_that_stopped_early_are_not_told():
    with warnings.catch_warnings():
        script.hush()
        warnings.warn("not yet", ConvergenceWarning, stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("something else", UserWarning, stacklevel=1)


# -- processes ------------------------------------------------------------------------------------------------------

TASKS = {"double": None, "other": None}


def options(monkeypatch, *typed: str):
    monkeypatch.setattr(sys, "argv", ["script.py", *typed])
    return child.options_of(script.parser_of("doc"), TASKS, lambda name, folder: {"task": name, "in": str(folder)})


def test_all_tasks_are_measured_unless_some_are_named(monkeypatch):
    assert options(monkeypatch).only == ["double", "other"]
    chosen = options(monkeypatch, "--only", "other", "--write")
    assert (chosen.only, chosen.write, chosen.resume) == (["other"], True, False)


def test_a_process_of_one_task_prints_its_result_and_does_no_more(monkeypatch, capsys):
    assert options(monkeypatch, "--child", "double", "--folder", "x") is None
    assert json.loads(capsys.readouterr().out) == {"task": "double", "in": "x"}


def test_unknown_tasks_are_refused(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        options(monkeypatch, "--child", "triple")
    assert "invalid choice: 'triple'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("print('noise'); print('{\"seconds\": 1}')", {"seconds": 1}),
        ("raise MemoryError", {"stopped": "out of memory"}),
        ("import no_such_module_at_all", {"stopped": "no_such_module_at_all is not installed"}),
        ("raise ValueError('x')", {"stopped": "failed"}),
        ("import time; time.sleep(60)", {"stopped": "not within 0 min"}),
    ],
)
def test_what_goes_wrong_in_a_process_is_a_result(tmp_path, body, result):
    path = tmp_path / "task.py"
    path.write_text(body)
    timeout = 3 if "sleep" in body else 60
    assert child.measure_apart(str(path), "task", tmp_path, timeout) == result


def test_a_program_is_another_until_it_was_ours():
    """What we started and waited for counts as our own."""
    others = child.Others()
    _, own, _ = others.start
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    time.sleep(1)
    seen = others.share()
    spinning.kill()
    spinning.wait()
    busy, ours, capacity = child.Others._used()
    assert 0 < seen <= 1 + 1e-9  # shares of a busy machine are quotients of clocks
    assert ours - own > 0.1  # seconds: even where many share the processors
    assert busy < capacity


def test_the_machine_is_looked_at(capsys):
    found = child.look_around(seconds=0.2)
    assert 0 <= found["others"] <= 1 + 1e-9 and found["load"] >= 0
    assert "of the processors" in capsys.readouterr().out


def test_programs_take_turns():
    """Each once, then each again; who stopped or had enough is left out."""
    log = []
    seconds = {"quick": 1.0, "slow": 70.0}

    def measure(name):
        log.append(name)
        if name == "lost":
            return {"stopped": "out of memory"}
        return {"seconds": seconds[name] + len(log), "megabytes": len(log), "growth": 0.0, "jaccard": 0.5}

    found = consensus.in_turns(["quick", "lost", "slow"], 3, measure)
    assert log == ["quick", "lost", "slow", "quick", "slow", "quick"]
    assert found["lost"] == {"stopped": "out of memory"}
    assert found["quick"]["turns"] == [2, 5, 7] and found["quick"]["seconds"] == 5
    assert found["quick"]["megabytes"] == 6 and found["quick"]["jaccard"] == 0.5
    assert found["slow"]["turns"] == [73, 75]


def test_what_leads_nowhere_is_not_tried():
    stopped = [{"task": "snorkel_label_model", "votes": 10**5, "stopped": "not within 3 min"}]
    assert consensus.hopeless("snorkel_label_model", 10**6, stopped) == "not tried"
    assert consensus.hopeless("snorkel_label_model", 10**4, stopped) == ""
    assert consensus.hopeless("cleanlab_majority", 10**7, []).startswith("not tried: 4 GB")
    assert consensus.hopeless("amcc_default", 10**7, stopped) == ""


def test_pauses_take_no_time():
    clock = child.Stopwatch()
    start = clock.now()
    with clock.paused():
        time.sleep(0.2)
    assert clock.now() - start < 0.15


# -- the page -------------------------------------------------------------------------------------------------------


def rows() -> list[dict]:
    base = {"script": "consensus", "labels": 20, "workers": 50}
    return [
        {**base, "task": "fast", "votes": 1_000, "seconds": 0.5},
        {**base, "task": "fast", "votes": 10_000, "seconds": 5.0},
        {**base, "task": "slow", "votes": 1_000, "seconds": 2.0},
        {**base, "task": "slow", "votes": 10_000, "stopped": "out of memory"},
    ]


def test_ratios_and_growth_by_hand():
    measured = page.Measured(rows(), "consensus")
    ratio = page.ratios(measured, {"slow to fast": ("slow", "fast")})
    assert ratio[2] == "| slow to fast | 4 × | out of memory |"
    assert page.growth(measured, {"fast": "fast", "slow": "slow"})[2] == "| fast | 1.00 |"
    assert len(page.growth(measured, {"slow": "slow"})) == 3  # head, line and blank: what stopped has no growth
    assert measured.largest("slow")["votes"] == 1_000
    assert measured.finished("slow") and not measured.finished("other")


def test_ratios_are_those_within_a_turn():
    """A turn in which all take twice as long changes nothing; rounds are divided out."""
    ours = {"turns": [1.0, 2.0, 1.0], "seconds": 1.0, "rounds": 10}
    theirs = {"turns": [4.0, 8.0, 5.0], "seconds": 5.0, "rounds": 20.0}
    assert page.ratio(page.turns(theirs), page.turns(ours)) == "4 × (4–5)"
    assert page.ratio(page.turns_per_round(theirs), page.turns_per_round(ours)) == "2 × (2–2.5)"
    assert page.ratio(page.turns_per_round({"seconds": 1.0}), page.turns_per_round(ours)) == ""


def test_the_page_says_who_else_was_busy():
    run = {"script": "consensus", "task": "run", "votes": 0, "labels": 0, "workers": 0, "date": "2026-11-18"}
    run |= {"cores": 2, "versions": "amcc 1", "others": 0.031, "load": 0.24}
    measured = [{**row, "others": 0.02} for row in rows()]
    text = " ".join(page._about(page.Measured([run, *measured], "consensus")))
    assert (
        "others took 3% of the processors (load average 0.2). While programs ran, others took 2%, at worst 2%." in text
    )


def test_the_page_has_the_counts_of_all_loops():
    text = "\n".join(page.instruction_counts())
    assert "| `group_fit` | " in text and "numba" in text


def test_a_record_takes_up_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_rows, "ROWS", tmp_path / "rows.jsonl")
    first = kept_rows.Record("script", kept=True, resume=False)
    assert first.row("task", (1, 2, 3), lambda: {"seconds": 1.0})["seconds"] == 1.0
    again = kept_rows.Record("script", kept=True, resume=True)
    assert again.row("task", (1, 2, 3), lambda: pytest.fail("it is there"))["seconds"] == 1.0
    assert again.has("task", (1, 2, 3)) and not again.has("task", (9, 2, 3))
    later = again.row("task", (9, 2, 3), lambda: {"seconds": 2.0})
    assert later["later"] is True
    fresh = kept_rows.Record("script", kept=True, resume=False)
    assert [row["task"] for row in fresh.rows] == ["run"]


def test_options_are_a_namespace(monkeypatch):
    assert isinstance(options(monkeypatch), argparse.Namespace)
