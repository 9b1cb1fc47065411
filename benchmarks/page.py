"""docs/performance.md and its plots, made of the rows in docs/performance.jsonl: `python benchmarks/page.py`."""

from __future__ import annotations

import itertools
import json
import math
import statistics
import textwrap
from collections.abc import Callable, Iterable, Sequence

import instructions
from rows import DOCS, Row, Size, load, size_of

PAGE = DOCS / "performance.md"


def line_of(row: Row) -> str:
    """A row as it is printed while a script runs."""
    what = row.get("stopped") or f"{row['seconds']:9.3f} s {row['megabytes']:6.0f} MB"
    if "turns" in row:
        what += f"  {min(row['turns']):.3f} to {max(row['turns']):.3f} s in {len(row['turns'])} turns"
        what += f", others {row['others']:.0%}"
    quality = f"  Jaccard {row['jaccard']:.3f}" if "jaccard" in row else ""
    size = f"{short(row['votes'])} votes, {row['labels']} labels, {row['workers']} workers"
    return f"{size:40} {row['task']:24} {what}{quality}"


# -- tables ----------------------------------------------------------------------------------------------------------

Titles = dict[str, str]


class Measured:
    """Rows of one script, by task and size."""

    def __init__(self, rows: Iterable[Row], script: str) -> None:
        self.rows = [row for row in rows if row["script"] == script and row["votes"]]
        self.runs = [row for row in rows if row["script"] == script and row["task"] == "run"]
        self.by_task = {(row["task"], size_of(row)): row for row in self.rows}
        self.sizes = sorted({size_of(row) for row in self.rows})

    def of(self, task: str, size: Size) -> Row:
        """The row of a task at a size; empty where it was not tried."""
        return self.by_task.get((task, size), {})

    def largest(self, task: str) -> Row:
        """The row with most votes that came to an end."""
        return max((row for row in self.rows if row["task"] == task and "seconds" in row), key=lambda row: row["votes"])

    def finished(self, task: str) -> bool:
        """Whether a task came to an end at any size."""
        return any(row["task"] == task and "seconds" in row for row in self.rows)


def short(votes: int) -> str:
    """A power of ten as people write it.

    >>> short(10**7), short(3 * 10**5)
    ('10⁷', '3·10⁵')
    """
    digits, exponent = f"{votes:.0e}".split("e")
    power = "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(int(exponent)))
    return power if digits == "1" else f"{digits}·{power}"


def figure(value: float) -> str:
    """Two digits, or all of the whole number.

    >>> figure(0.00234), figure(1.26), figure(123.4), figure(12345678)
    ('0.0023', '1.3', '123', '12,345,678')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """A table as Markdown writes it."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines)] + [""]


def by_size(measured: Measured, titles: Titles, cell: Callable[[Row], str], least: int = 0) -> list[str]:
    """One line per task, one column per size of at least so many votes; where a task stopped, why."""
    sizes = [size for size in measured.sizes if size[0] >= least]
    lines = []
    for task, title in titles.items():
        cells = [_or_why(row, cell) for row in (measured.of(task, size) for size in sizes)]
        if any(cells):
            lines.append([title, *cells])
    return table(["", *_heads(sizes)], lines)


def _or_why(row: Row, cell: Callable[[Row], str]) -> str:
    return row.get("stopped") or (cell(row) if row else "")


def _heads(sizes: list[Size]) -> list[str]:
    """Votes, and what else tells sizes apart."""
    if len({votes for votes, *_ in sizes}) == len(sizes):
        return [short(votes) for votes, *_ in sizes]
    return [f"{short(votes)}, {labels} labels, {workers:,} workers" for votes, labels, workers in sizes]


Times = Callable[[Row], list[float]]


def turns(row: Row) -> list[float]:
    """Seconds of each turn; of the one that there was, where programs did not take turns."""
    return row.get("turns") or ([row["seconds"]] if "seconds" in row else [])


def turns_per_round(row: Row) -> list[float]:
    """The same for each round over the votes; none of a program that makes no rounds."""
    return [seconds / row["rounds"] for seconds in turns(row)] if "rounds" in row else []


def fit_alone(row: Row) -> list[float]:
    """Seconds of the fit without what comes before and after it."""
    return [row["fit"]] if "fit" in row else []


def ratios(measured: Measured, pairs: dict[str, tuple[str, str]], times: Times = turns) -> list[str]:
    """How many times as long one task takes as another, at every size; see `ratio`."""
    lines = []
    for title, (task, other) in pairs.items():
        cells = []
        for size in measured.sizes:
            row, base = measured.of(task, size), measured.of(other, size)
            cells.append(ratio(times(row), times(base)) or row.get("stopped", ""))
        if any(cells):
            lines.append([title, *cells])
    return table(["", *_heads(measured.sizes)], lines)


def ratio(times: list[float], base: list[float]) -> str:
    """The median of the ratios within each turn, and their range; empty where one of both was not measured.

    >>> ratio([4.0, 6.0, 5.0], [2.0, 2.0, 2.0]), ratio([4.0], [2.0]), ratio([], [2.0])
    ('2.5 × (2–3)', '2 ×', '')
    """
    of_turns = [time / other for time, other in zip(times, base, strict=False)]  # who is slow takes fewer turns
    return f"{figure(statistics.median(of_turns))} ×{spread(of_turns)}" if of_turns else ""


def spread(values: list[float]) -> str:
    """The smallest and the largest, if there are several.

    >>> spread([0.5, 0.25, 1.0]), spread([0.5])
    (' (0.25–1)', '')
    """
    return f" ({figure(min(values))}–{figure(max(values))})" if len(values) > 1 else ""


def growth(measured: Measured, titles: Titles) -> list[str]:
    """Exponents by which times grow from size to size: 1 is linear."""
    steps = list(itertools.pairwise(measured.sizes))
    lines = []
    for task, title in titles.items():
        cells = []
        for small, large in steps:
            before, after = measured.of(task, small), measured.of(task, large)
            known = "seconds" in before and "seconds" in after
            cells.append(f"{_exponent(before, after):.2f}" if known else "")
        if any(cells):
            lines.append([title, *cells])
    return table(["", *(f"{short(small[0])} to {short(large[0])}" for small, large in steps)], lines)


def _exponent(small: Row, large: Row) -> float:
    return math.log(large["seconds"] / small["seconds"]) / math.log(large["votes"] / small["votes"])


# Below, memory that grows with the votes is lost among that of the packages.
ENOUGH_VOTES = 10**6


def bytes_per_vote(row: Row) -> str:
    """Memory beyond what the process held before."""
    return f"{row['growth'] * 2**20 / row['votes']:.0f}"


# -- the page --------------------------------------------------------------------------------------------------------

READING: Titles = {"read_parquet": "reading the file, no more"}
OURS: Titles = {
    "amcc_majority": "amcc, majority",
    "amcc_dawid_skene": "amcc, Dawid–Skene",
    "amcc_default": "amcc, default",
}
OTHERS: Titles = {
    "crowdkit_majority": "crowd-kit, majority",
    "cleanlab_majority": "cleanlab, majority",
    "crowdkit_dawid_skene": "crowd-kit, Dawid–Skene",
    "snorkel_label_model": "Snorkel, label model",
}
FASTEST = {
    "majority: crowd-kit": ("crowdkit_majority", "amcc_majority"),
    "majority: cleanlab": ("cleanlab_majority", "amcc_majority"),
    "Dawid–Skene: crowd-kit": ("crowdkit_dawid_skene", "amcc_dawid_skene"),
    "Snorkel's label model, to our Dawid–Skene": ("snorkel_label_model", "amcc_dawid_skene"),
    "crowd-kit's Dawid–Skene, to our default": ("crowdkit_dawid_skene", "amcc_default"),
}
LIMITS = {
    "majority, to reading the Parquet file": ("amcc_majority", "read_parquet"),
    "Dawid–Skene, to reading the Parquet file": ("amcc_dawid_skene", "read_parquet"),
    "default, to reading the Parquet file": ("amcc_default", "read_parquet"),
    "`amcc check` of a CSV, to reading it": ("amcc_check_csv", "read_csv"),
}
EQUAL_QUALITY: Titles = {"amcc_equal_quality": "amcc, Dawid–Skene", "crowdkit_equal_quality": "crowd-kit, Dawid–Skene"}
EQUAL_RATIO = {"Dawid–Skene: crowd-kit": ("crowdkit_equal_quality", "amcc_equal_quality")}
IN_ROUNDS = {task: (OURS | OTHERS)[task] for task in ("amcc_dawid_skene", "amcc_default", "crowdkit_dawid_skene")}
PER_ROUND = {
    "Dawid–Skene: crowd-kit": ("crowdkit_dawid_skene", "amcc_dawid_skene"),
    "crowd-kit's Dawid–Skene, to our default": ("crowdkit_dawid_skene", "amcc_default"),
}
PACKED: Titles = {
    "read_parquet": "reading the Parquet file",
    "pack": "`amcc pack`",
    "majority_kept": "majority",
    "dawid_skene_kept": "Dawid–Skene",
    "dawid_skene_dask_1": "Dawid–Skene, Dask, 1 process",
    "dawid_skene_dask_2": "Dawid–Skene, Dask, 2 processes",
    "amcc_kept": "default",
    "amcc_out_of_core": "default, out of core",
}
PACKED_RATIOS = {
    "`amcc pack`, to reading the Parquet file": ("pack", "read_parquet"),
    "majority, to reading the Parquet file": ("majority_kept", "read_parquet"),
    "default out of core, to all blocks kept": ("amcc_out_of_core", "amcc_kept"),
}
PROCESSES = {"Dask: 1 process, to 2 on the same blocks": ("dawid_skene_dask_1", "dawid_skene_dask_2")}


HOW_OTHERS_RUN = """\
Times of one machine mean little. Ratios mean more: they come from one run on the same crowds. Every program starts with
the Parquet file of the votes and ends with the labels of all items. Imports and compiling (once per machine) are left
out. Programs take turns, three to five times; a time is the median of the turns, with the range in parentheses, and a
ratio is the median of the ratios within each turn. Who has taken two minutes takes no further turn. The other programs
know one label at a time, so they run label by label, as crowd-kit's own `BinaryRelevance` does. cleanlab and Snorkel
need a table of items × workers: making it is not timed, but its memory counts. For Snorkel, workers are labelling
functions that abstain where they were not asked. cleanlab's CROWDLAB is not here: it needs predictions of a classifier,
and these crowds have none.
""".splitlines()


HEAD = "How long a consensus takes and how much memory it needs, beside other programs. Written by `make bench`."


def write_page() -> None:
    """The page and its plots, from the rows in the file."""
    rows = load()
    crowds, packed = Measured(rows, "consensus"), Measured(rows, "engines")
    lines = ["# Speed and memory", "", HEAD, ""]
    if crowds.rows:
        lines += against_others(crowds)
    if packed.rows:
        lines += packed_votes(packed)
    if (new := Measured(rows, "incremental")).rows:
        lines += new_votes(new)
    if (small := Measured(rows, "start")).rows:
        lines += small_and_quick(small)
    lines += instruction_counts()
    PAGE.write_text("\n".join(lines).rstrip("\n") + "\n")
    if crowds.rows:
        from plots import draw

        draw(series(crowds, packed, "seconds"), "seconds", DOCS / "performance-time.svg")
        draw(series(crowds, packed, "megabytes"), "peak memory in MB", DOCS / "performance-memory.svg")


def against_others(crowds: Measured) -> list[str]:
    """The sections about votes in memory."""
    return [*_about(crowds), *HOW_OTHERS_RUN, "", *_speed(crowds), *_memory_and_quality(crowds)]


def _speed(crowds: Measured) -> list[str]:
    """How fast, how far from the limit, and how it grows."""
    everybody = READING | OURS | OTHERS
    speed = [
        [title, f"{row['votes'] / row['seconds']:,.0f}", short(row["votes"])]
        for task, title in everybody.items()
        if crowds.finished(task)
        for row in [crowds.largest(task)]
    ]
    return [
        "## Which is fastest?",
        "",
        "Time of the other programs, as a multiple of ours. Columns are numbers of votes.",
        "",
        *ratios(crowds, FASTEST),
        "crowd-kit's Dawid–Skene stops when a label has settled, so its time depends on the crowd. The same for each",
        "round over all votes, reading and writing included:",
        "",
        *ratios(crowds, PER_ROUND, turns_per_round),
        "Rounds of each:",
        "",
        *by_size(crowds, IN_ROUNDS, lambda row: figure(row["rounds"]) if "rounds" in row else ""),
        "At equal quality: each with the fewest of 1, 2, 4 … rounds whose label sets are as good, to .002 in Jaccard,",
        "as those of the less good of both in the end.",
        "",
        *ratios(crowds, EQUAL_RATIO),
        *by_size(crowds, EQUAL_QUALITY, _rounds_and_quality),
        "![Seconds by votes](performance-time.svg)",
        "",
        "Our times on more than 10⁷ votes are those on packed votes, see below.",
        "",
        "The same in seconds:",
        "",
        *by_size(crowds, everybody, lambda row: figure(row["seconds"]) + spread(turns(row))),
        "Votes per second, at the largest size that was finished:",
        "",
        *table(["", "votes per second", "votes"], speed),
        "## How far from the limit?",
        "",
        "No program can be faster than reading the file (polars, on all cores).",
        "",
        *ratios(crowds, LIMITS),
        "## How does it grow?",
        "",
        "The exponent of the time from one size to the next. 1 is linear; less than 1 shows a fixed cost.",
        "",
        *growth(crowds, everybody),
    ]


def _rounds_and_quality(row: Row) -> str:
    return f"{figure(row['rounds'])} rounds, {row['jaccard']:.3f}"


def _memory_and_quality(crowds: Measured) -> list[str]:
    """What it takes beside time, and what it gives."""
    everybody = READING | OURS | OTHERS
    return [
        "## How much memory?",
        "",
        "Bytes per vote beyond what the process held after imports and a small crowd, from a million votes on:",
        "",
        *by_size(crowds, OURS | OTHERS, bytes_per_vote, ENOUGH_VOTES),
        "![Peak memory by votes](performance-memory.svg)",
        "",
        "Peak of the whole process, in MB:",
        "",
        *by_size(crowds, everybody, lambda row: f"{row['megabytes']:,.0f}"),
        "## How good is it?",
        "",
        "Jaccard index of the label sets with the truth, on the same crowds:",
        "",
        *by_size(crowds, OURS | OTHERS, lambda row: f"{row['jaccard']:.3f}" if "jaccard" in row else ""),
    ]


def packed_votes(packed: Measured) -> list[str]:
    """The sections about packed votes."""
    loops = [line for row in packed.rows if row["task"] == "hot_loop" for line in row["lines"]]
    packed.rows = [row for row in packed.rows if row["task"] != "hot_loop"]
    packed.sizes = sorted({size_of(row) for row in packed.rows})
    out_of_core = max((row["memory"] for row in packed.rows if "memory" in row), default=0) / 1e9
    return [
        "## Packed votes",
        "",
        *_about(packed),
        "From a packed folder to a Parquet file of probabilities. Dask's processes are started and warm before the",
        f"clock starts. Out of core means `--memory {out_of_core:.0f}GB`. Empty: not tried.",
        "",
        *ratios(packed, PACKED_RATIOS),
        "Speed-up of the fit alone, without writing results:",
        "",
        *ratios(packed, PROCESSES, fit_alone),
        "In seconds:",
        "",
        *by_size(packed, PACKED, lambda row: figure(row["seconds"])),
        "Peak memory of the process in MB; with Dask, of the leading process:",
        "",
        *by_size(packed, PACKED, lambda row: f"{row['megabytes']:,.0f}"),
        "On disk, in bytes per vote:",
        "",
        *by_size(
            packed, {"pack": "packed"}, lambda row: f"{row['bytes_on_disk']:.1f}" if "bytes_on_disk" in row else ""
        ),
        "The hot loop, on all cores, beside two limits of the same run. One is to read as many bytes from memory in",
        "order. The other is to look up a number of each vote's coin and add to it, without any arithmetic.",
        "",
        *loops,
        "",
    ]


def new_votes(measured: Measured) -> list[str]:
    """The section about going on from an earlier fit."""
    lines = []
    for row in measured.rows:
        quality = [f"{row[name]:.3f}" for name in ("jaccard", "jaccard_going_on")]
        differing = [f"{row[name]:.2%}" for name in ("differing", "differing_seed")]
        far = [f"{row[name]:.3f}" for name in ("far", "far_seed")]
        share = row["seconds"] / row["whole"]
        lines.append([short(row["votes"]), f"{share:.1%}", figure(row["whole"]), *quality, *differing, *far])
    head = ["votes", "time, share of a fit", "a fit, s", "Jaccard, fit", "going on"]
    head += ["decisions that differ", "other seed", "root mean square", "other seed"]
    return [
        "## New votes",
        "",
        *_about(measured),
        "1 % of the answers is new. `AMCC(warm_start=True)` continues from the fit without them; it is compared with a",
        "fit to all votes. The difference between both: decisions that differ, and the root mean square of the",
        "differences between probabilities. Beside it, the same for a fit with another `random_state`.",
        "",
        *table(head, lines),
    ]


def small_and_quick(measured: Measured) -> list[str]:
    """The section about what a small consensus takes from the command to its rows."""
    lines = [
        [
            short(row["votes"]), f"{row['workers']:,}", f"{row['task']}", f"{row['seconds']:.2f}",
            f"{min(row['turns']):.2f}–{max(row['turns']):.2f}", f"{row['least']:.2f}", str(row["modules"]),
        ]
        for row in measured.rows
    ]  # fmt: skip
    return [
        "## Small and quick",
        "",
        *_about(measured),
        "Seconds of `amcc consensus` from the start of Python to the written rows, with everything that is imported on",
        "the way: median and range of the turns, and the least that any turn took of the processors. Modules are those",
        "that were imported; numba is among them where there are many workers (`python benchmarks/start.py --write`,",
        "seed 1).",
        "",
        *table(["votes", "workers", "file", "seconds", "range", "of processors, least", "modules imported"], lines),
    ]


def instruction_counts() -> list[str]:
    """The section about the compiled loops."""
    reference = json.loads(instructions.REFERENCE.read_text())
    versions = (
        f"numba {reference['numba']}, llvmlite {reference['llvmlite']}, {reference['machine']} without extensions"
    )
    return [
        "## Instructions",
        "",
        f"What the compiled loops take, counted by valgrind ({versions};",
        "`python benchmarks/instructions.py --write`, seed 0). Unlike times, counts do not depend on who else uses the",
        "machine. The tests fail where a loop takes over 10 % more. The first two are for each vote, the others for",
        "each coin (worker, label) of a worker who may belong to half of five groups.",
        "",
        *table(["loop", "instructions"], [[f"`{name}`", f"{n:.1f}"] for name, n in reference["counts"].items()]),
    ]


def _about(measured: Measured) -> list[str]:
    """When, where and with what; several where a run was taken up again with other packages."""
    about = [f"Measured on {run['date']} on {run['cores']} cores, with {run['versions']}." for run in measured.runs]
    about += [
        f"Before it began, others took {run['others']:.0%} of the processors (load average {run['load']:.1f})."
        for run in measured.runs
        if "others" in run
    ]
    if taken := [row["others"] for row in measured.rows if "others" in row]:
        about.append(f"While programs ran, others took {statistics.median(taken):.0%}, at worst {max(taken):.0%}.")
    later = [f"{row['task']} at {short(row['votes'])}" for row in measured.rows if row.get("later")]
    if later:
        about.append(f"Measured later than the rest, so ratios with them are not from one run: {', '.join(later)}.")
    return [*textwrap.wrap(" ".join(about), 120), ""]


def series(crowds: Measured, packed: Measured, key: str) -> dict[str, list[tuple[int, float]]]:
    """Lines of a plot: task to (votes, value), as far as a task came to an end."""
    tasks = READING | OURS | OTHERS
    lines = {
        title: [(row["votes"], row[key]) for size in crowds.sizes if key in (row := crowds.of(task, size))]
        for task, title in tasks.items()
    }
    for task, title in {"majority_kept": "amcc, majority", "amcc_out_of_core": "amcc, default"}.items():
        most = [row for row in packed.rows if row["task"] == task and key in row]
        lines[title] += [(row["votes"], row[key]) for row in most if row["votes"] > max(crowds.sizes)[0]]
    return {title: points for title, points in lines.items() if points}


if __name__ == "__main__":
    write_page()
