"""Kill campaigns, packings, fits and outputs while they write, and look at what is left.

Each task is first run undisturbed: what it leaves is what must come out, and each of its calls that changes a file is
a point to kill it at, before the call or in the middle of a write (see `stepper.py`). Then it is killed there, what is
on the disk is checked, and it is started again, and sometimes killed again, until it ends.

After every kill, inputs must be as they were, outputs the old ones or the new ones, and a ledger a beginning of
the undisturbed one that holds every answer the campaign had counted. At the end, every file must be that of the
undisturbed run, byte for byte.

    make kills                                      1,000 kills
    python benchmarks/kills.py --kills 60 --only campaign,pack
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import chain, cycle
from pathlib import Path

import numpy as np
import stepper
from script import parser_of
from typer.main import get_command

from amcc.active.campaign import Campaign
from amcc.active.crowd import SimulatedCrowd
from amcc.active.prices import Prices
from amcc.active.strategies.baselines import Uniform
from amcc.cli import app
from amcc.consensus import MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine import checkpoint
from amcc.engine.packed import PackedVotes
from amcc.errors import AmccError
from amcc.io import write_table
from amcc.io.pack import pack_votes

Tree = dict[str, bytes]

# Made once: that takes longer than most tasks.
AMCC = get_command(app)

for _name in ("consensus", "pack"):
    AMCC.commands[_name].loaded  # noqa: B018  # now, and not in every process that is killed

# File beside the folder: what a campaign said it had bought and spent, also in the lives before the last.
COUNTED = "counted"

# How often a task that was killed is killed once more after it was started again.
AGAIN = 0.3

WORLD = simulate_crowd(CrowdSpec(n_items=30, n_workers=8, n_labels=3, answers_per_item=3, seed=1))
OTHER = simulate_crowd(CrowdSpec(n_items=20, n_workers=8, n_labels=3, answers_per_item=3, seed=2))
# Of the campaign, in cents: twelve rounds.
BUDGET = 300


class Harm(Exception):  # noqa: N818, it is a finding
    """Something is not as it must be after a kill."""


@dataclass(frozen=True)
class Task:
    """What is killed.

    prepare : makes its inputs, and earlier outputs, in the folder it runs in.
    run : the task.
    growing : files that are written little by little, or that are there on the way only.
    imports : modules that it will ask for; they are imported once, not in each of its processes.
    every : of how many points to kill it at one is used, for tasks that take long and write the same again and again.
    check : looks closer after a kill; gets the folder, the undisturbed end, and sizes that are surely on the disk.
    """

    name: str
    prepare: Callable[[], object]
    run: Callable[[], object]
    growing: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    every: int = 1
    check: Callable[[Path, Tree, dict[str, int]], object] = lambda folder, end, synced: None


# -- the tasks -----------------------------------------------------------------------------------------------------


def command(*arguments: str) -> Callable[[], object]:
    """A command of amcc, as typed."""
    return lambda: AMCC(list(arguments), standalone_mode=False)


def run_campaign() -> None:
    """Spend a budget; say outside of the folder what was counted."""
    with (Path("..") / COUNTED).open("ab", buffering=0) as counted:
        Campaign(
            SimulatedCrowd(WORLD), Uniform(), MajorityVote, Prices(np.full(8, 5), page=2), BUDGET, random_share=0.2,
            stop_settled=False, path="ledger.jsonl",
        ).run(lambda now: counted.write(b"%d %d\n" % (now.n_votes, now.spent)))  # fmt: skip


def check_campaign(folder: Path, end: Tree, synced: dict[str, int]) -> None:
    """The ledger is a beginning, never overdrawn, nobody is paid twice, and what was counted is on the disk."""
    ledger, counted = folder / "ledger.jsonl", folder.parent / COUNTED
    text = ledger.read_bytes() if ledger.exists() else b""
    if not end["ledger.jsonl"].startswith(text):
        raise Harm("the ledger is not a beginning of the undisturbed one")
    said = [tuple(map(int, line.split())) for line in counted.read_text().splitlines()] if counted.exists() else []
    if said != sorted(said):
        raise Harm(f"of answers that had been counted, some were counted again: {said}")
    on_disk = text[: synced.get(str(ledger), 0)]  # a power cut may take the rest
    answers = [line for line in map(json.loads, on_disk.split(b"\n")[:-1]) if line["event"] == "answer"]
    questions = {(line["item"], line["label"], line["worker"]) for line in answers}
    spent = sum(line["price"] for line in answers)
    if len(questions) < len(answers) or spent > BUDGET:
        raise Harm(f"{len(answers)} answers to {len(questions)} questions cost {spent} of {BUDGET}")
    if said and said[-1] > (len(answers), spent):
        raise Harm(f"answers and money counted: {said[-1]}; on the disk: {len(answers), spent}")


def check_packed(folder: Path, end: Tree, synced: dict[str, int]) -> None:
    """A packed folder that is there can be used."""
    if (folder / "packed").exists():
        PackedVotes(folder / "packed").votes()


def check_appended(folder: Path, end: Tree, synced: dict[str, int]) -> None:
    """The packed folder is as it was before, or as it is after, and can be used; other files in it are leftovers."""
    description = (folder / "packed" / "meta.json").read_bytes()
    if description not in (end["packed/meta.json"], (folder.parent / "begin" / "packed" / "meta.json").read_bytes()):
        raise Harm("packed/meta.json is neither what it was nor what it will be")
    PackedVotes(folder / "packed").votes()


def check_checkpoint(folder: Path, end: Tree, synced: dict[str, int]) -> None:
    """A checkpoint that is there can be read."""
    if (folder / "fit.npz").exists():
        with np.load(folder / "fit.npz", allow_pickle=False) as file:
            json.loads(file["meta"].tobytes())


def make_votes() -> None:
    """The input of most tasks."""
    write_table(WORLD.votes.to_arrow(), "v.csv")


def make_packed() -> None:
    """Packed votes as input."""
    make_votes()
    pack_votes("v.csv", "votes", block_votes=120)


def make_old_packed() -> None:
    """Votes, and other votes packed where they will be."""
    make_votes()
    write_table(OTHER.votes.to_arrow(), "old.csv")
    pack_votes("old.csv", "packed")
    Path("old.csv").unlink()


def make_packed_and_new() -> None:
    """Packed votes, and others that will join them: of new workers on some of the items."""
    make_packed()
    Path("votes").rename("packed")
    some = WORLD.votes.select(np.arange(len(WORLD.votes)) < 80)
    write_table(some.with_workers_renamed(lambda name: f"new {name}").to_arrow(), "new.csv")


def make_old_outputs() -> None:
    """Votes, and older files in place of all outputs."""
    make_votes()
    for name in ("out.csv", "out.csv.gz", "out.parquet", "out.jsonl", "model.npz", "report.html"):
        Path(name).write_text("what was there before")


def fit_with_checkpoint(method: str) -> Callable[[], None]:
    """A fit that notes each round, not one in 20 seconds."""

    def fit() -> None:
        checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
        command("consensus", "votes", "--method", method, "--checkpoint", "fit.npz", "-o", "out.csv")()

    return fit


class StoppedClock(datetime):
    """For the report, which says when it was written."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> StoppedClock:
        """Always the same."""
        return cls(2026, 1, 1, tzinfo=tz)


def report() -> None:
    """A consensus with a report."""
    from amcc.report import page

    page.datetime = StoppedClock  # type: ignore[attr-defined, misc]
    command(*CONSENSUS, "--report", "report.html")()


CONSENSUS = ("consensus", "v.csv", "--method", "majority")
PACK = ("pack", "v.csv", "-o", "packed", "--block-votes")
TASKS = [
    Task("campaign", lambda: None, run_campaign, growing=("ledger.jsonl",), check=check_campaign),
    Task("pack", make_votes, command(*PACK, "120"), check=check_packed),
    Task("pack over", make_old_packed, command(*PACK, "200", "--overwrite"), check=check_packed),
    Task(
        "append", make_packed_and_new, command("pack", "new.csv", "--append", "packed"), growing=("packed",),
        check=check_appended,
    ),
    Task(
        "checkpoint", make_packed, fit_with_checkpoint("dawid-skene"), growing=("fit.npz",), check=check_checkpoint,
        imports=("amcc.engine.local", "amcc.loops.votes"),
    ),
    Task(
        "checkpoint amcc", make_packed, fit_with_checkpoint("amcc"), growing=("fit.npz",), check=check_checkpoint,
        every=7,
    ),
    Task("output", make_votes, command(*CONSENSUS, "-o", "out.csv", "--save", "model.npz")),
    Task("output csv", make_old_outputs, command(*CONSENSUS, "-o", "out.csv", "--save", "model.npz")),
    Task("output gz", make_old_outputs, command(*CONSENSUS, "-o", "out.csv.gz", "--sets")),
    Task("output parquet", make_old_outputs, command(*CONSENSUS, "-o", "out.parquet")),
    Task("output jsonl", make_old_outputs, command(*CONSENSUS, "-o", "out.jsonl", "--sets")),
    Task("report", make_old_outputs, report, imports=("amcc.report", "altair", "vl_convert")),
]  # fmt: skip


# -- killing them --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """Where to kill: before the call of this number, or in the middle of it."""

    number: int
    torn: bool
    call: stepper.Call

    def __str__(self) -> str:
        return f"{'in the middle of' if self.torn else 'before'} call {self.number}, {self.call}"


@dataclass
class Trial:
    """A task, what it starts from and ends with, and what was counted on the way."""

    task: Task
    scratch: Path
    begin: Tree = field(default_factory=dict)
    end: Tree = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    synced: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the task runs."""
        return self.scratch / "folder"

    def rehearse(self) -> None:
        """Run it undisturbed; note how it ends and where it can be killed."""
        self.folder.mkdir()
        self._finish(self.task.prepare)
        self.folder.rename(self.scratch / "begin")
        self._reset()
        self.begin = tree(self.folder)
        calls = stepper.run(self.task.run, self.folder, self.scratch / "log", kill_at=0)
        if calls.code:
            raise Harm(f"the undisturbed run ended with {calls.code}: {self._log()}")
        self.end = visible(tree(self.folder))
        for number, call in enumerate(calls.calls, start=1):
            self.points += [Point(number, torn, call) for torn in (False, True)[: 1 + (call.length > 1)]]
        self.points = self.points[:: self.task.every]

    def kill(self, point: Point, rng: random.Random) -> None:
        """Kill it here, and perhaps later again, until it is let to its end."""
        start = time.monotonic()
        self._reset()
        where = [point]
        try:
            killed = self._kill_at(point)
            while killed and rng.random() < AGAIN:
                where.append(rng.choice(self.points))
                killed = self._kill_at(where[-1])
            if killed:
                self._finish(self.task.run)
            self._check_end()
        except Harm as harm:
            raise Harm(f"{self.task.name}, killed {', then '.join(map(str, where))}: {harm}") from None
        self.seconds += time.monotonic() - start

    def _kill_at(self, point: Point) -> bool:
        ending = stepper.run(self.task.run, self.folder, self.scratch / "log", kill_at=point.number, torn=point.torn)
        if not ending.killed:  # it had less to do than at first
            if ending.code:
                raise Harm(f"started again, it ended with {ending.code}: {self._log()}")
            return False
        self.counts["kills"] += 1
        self.counts["torn"] += point.torn
        self.synced |= ending.synced
        self._check_moment()
        return True

    def _check_moment(self) -> None:
        now = visible(tree(self.folder))
        names = {Path(name).parts[0] for name in [*now, *self.begin, *self.end]} - set(self.task.growing)
        for name in sorted(names):
            state, old, new = (part(files, name) for files in (now, self.begin, self.end))
            if state not in (old, new):
                if state or name in self.begin:
                    raise Harm(f"{name} is neither what it was nor what it will be")
                self.counts["absent"] += 1  # a folder, between two renamings
        self.task.check(self.folder, self.end, self.synced)

    def _check_end(self) -> None:
        files = tree(self.folder)
        left = visible(files)
        differ = sorted(name for name in left.keys() | self.end.keys() if left.get(name) != self.end.get(name))
        if differ:
            raise Harm(f"in the end {', '.join(differ)} differ from those of the undisturbed run")
        self.task.check(self.folder, self.end, {str(self.folder / name): len(files[name]) for name in files})
        self.counts["orphans"] += len(list(self.folder.rglob(".*")))

    def _finish(self, run: Callable[[], object]) -> None:
        code = stepper.run(run, self.folder, self.scratch / "log").code
        if code:
            raise Harm(f"left alone, it ended with {code}: {self._log()}")

    def _reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.scratch / COUNTED).unlink(missing_ok=True)
        self.synced.clear()
        shutil.copytree(self.scratch / "begin", self.folder)

    def _log(self) -> str:
        return (self.scratch / "log").read_text(errors="replace")[-2000:]


def tree(folder: Path) -> Tree:
    """All files in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def visible(files: Tree) -> Tree:
    """Without what begins with a dot: nobody takes that for a result."""
    return {name: content for name, content in files.items() if not any(p.startswith(".") for p in Path(name).parts)}


def part(files: Tree, name: str) -> Tree:
    """A file, or all files of a folder."""
    return {path: content for path, content in files.items() if Path(path).parts[0] == name}


def in_turn(trials: Sequence[Trial], rng: random.Random) -> Iterator[tuple[Trial, Point]]:
    """Each point of each task once, in random order, so that a run that is cut short has seen all tasks; then again."""
    points = [(trial, point) for trial in trials for point in trial.points]
    return chain.from_iterable(rng.sample(points, len(points)) for _ in cycle([0]))


def kill_all(trials: Sequence[Trial], n_kills: int, seconds: float, rng: random.Random) -> list[str]:
    """Kill until there were enough kills or the time is over; gives the harm that was found."""
    deadline, harm = time.monotonic() + seconds, []
    for trial, point in in_turn(trials, rng):
        try:
            trial.kill(point, rng)
        except Harm as found:
            harm.append(str(found))
            print(f"HARM: {found}", flush=True)
        done = sum(each.counts["kills"] for each in trials)
        print(f"\r{done} kills ", end="", file=sys.stderr, flush=True)
        if done >= n_kills or time.monotonic() > deadline:
            print(file=sys.stderr)
            return harm
    return harm


def warm_up(tasks: Sequence[Task]) -> None:
    """Load what the tasks need before their processes are made of this one."""
    for module in chain.from_iterable(task.imports for task in tasks):
        importlib.import_module(module)
    with suppress(AmccError):
        command("evaluate", "missing.csv", "missing.csv")()  # the command line loads its parts when it is first used
    gc.freeze()  # what is there is not looked at again in every process: that would copy it


def main() -> None:
    """Kill as often as asked; exit 1 where anything was harmed."""
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=900, help="stop after this time, with however many kills")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)), help="default: another every time")
    parser.add_argument("--only", default=",".join(task.name for task in TASKS), help="tasks, separated by commas")
    options = parser.parse_args()
    if problem := stepper.can_step():
        parser.exit(3, f"cannot kill at chosen calls: {problem}\n")
    print(f"seed {options.seed}", flush=True)
    wanted = [task for task in TASKS if task.name in options.only.split(",")]
    warm_up(wanted)
    with tempfile.TemporaryDirectory() as scratch:
        trials = [Trial(task, Path(tempfile.mkdtemp(dir=scratch)).resolve()) for task in wanted]
        for trial in trials:
            trial.rehearse()
        harm = kill_all(trials, options.kills, options.seconds, random.Random(options.seed))
    columns = ("points", "kills", "torn", "absent", "orphans", "seconds")
    print(f"{'':16}" + "".join(f"{name:>9}" for name in columns))
    rows = [(t.task.name, [len(t.points), *(t.counts[name] for name in columns[1:-1]), t.seconds]) for t in trials]
    for name, numbers in [*rows, ("all", [sum(column) for column in zip(*(row[1] for row in rows), strict=True)])]:
        print(f"{name:16}" + "".join(f"{number:9.0f}" for number in numbers))
    print(f"harm: {len(harm)}")
    sys.exit(1 if harm else 0)


if __name__ == "__main__":
    main()
