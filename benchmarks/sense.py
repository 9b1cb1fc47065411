"""Common sense, measured: does a method hold what any consensus should hold on small crowds?

    python benchmarks/sense.py --data DATA                           # the default and majority
    python benchmarks/sense.py --data DATA --methods amcc,majority,dawid-skene --draws 120 --processes 2
    python benchmarks/sense.py --data DATA --only mirror,stranger --variant 'half={"settings": {"lean": 0.5}}'

Rows are points of `amcc.experiments.sense.POINTS`, columns methods. A cell has the mean, the lowest and the highest
value of a draw, and whether the limits hold. Small draws are 60 items and four to eight workers, out of real sets and
of simulated panels; panels of models with a person are measured without and with their workers file. Without --data
only simulated panels are. --sources shows each kind of draw in a row of its own, --json every number.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from script import hush, parser_of

from amcc.errors import AmccError, EmptyInputError, ParameterError
from amcc.experiments import sense, sense_draws
from amcc.experiments.cells import folders_with_truth
from amcc.experiments.entrants import Entrant, entrants_of
from amcc.experiments.sense import POINTS, Record
from amcc.processes import computed

# Items of a whole draw: real sets with all votes.
WHOLE_ITEMS = (100, 300)
PANEL_ITEMS = (100, 200, 300)
# At most this part of a panel's items: small panels would else give the same draw again and again.
PANEL_SHARE = 0.75
# Means over so few draws are steady enough for points with one value a set: a draw has hundreds of pairs.
WHOLE_SHARE, LEAST_SEEDS = 8, 3

Task = tuple[str, str, int]  # kind of draw, folder, number


def tasks_of(data: Path | None, draws: int, points: set[str]) -> Iterator[Task]:
    """What has to be drawn."""
    small, seeds = points & set(sense.SMALL), range(max(LEAST_SEEDS, draws // WHOLE_SHARE))
    if small:
        yield from (("simulated", "", number) for number in range(draws))
    if points & set(sense.CHOICE):
        yield from (("choice", "", number) for number in seeds)
    if points & set(sense.WHOLE):
        yield "whole", "", len(seeds)
    if data is None:
        return
    if not folders_with_truth(data):
        raise EmptyInputError(f"{data} must hold folders with annotations.csv.gz and truth.csv; there is none.")
    if small:
        sets, panels = sense_draws.small_sets(data), [data / name for name in sense_draws.PANELS]
        panels = [folder for folder in panels if folder.exists()]
        # Sets in turn: every set has its share of the draws.
        if sets:
            yield from (("small", str(sets[number % len(sets)]), number) for number in range(draws))
        if panels:
            yield from (("panel", str(panels[number % len(panels)]), number) for number in range(draws))
            yield from (("whole panel", str(panels[number % len(panels)]), number) for number in range(draws))
    if points & set(sense.WHOLE):
        # One task for all seeds of a set: what is limited is their mean.
        yield from (("whole", str(folder), len(seeds)) for folder in folders_with_truth(data))


def work(entrant: Entrant, task: Task, points: list[str], seed: int) -> list[Record]:
    """All numbers of a task."""
    hush()
    kind, folder, number = task
    if kind == "whole":
        seeds = range(seed, seed + number)
        if folder:
            return whole_records(entrant, Path(folder), points, seeds)
        return sense.over_seeds(
            entrant.model, [sense_draws.simulated_panel(each) for each in seeds], points, "simulated"
        )
    # Draws of different numbers have different seeds, and those of another --seed share none of them.
    own_seed = 1000 * seed + number
    if kind == "simulated":
        draw = sense_draws.simulated_panel(own_seed)
    elif kind == "choice":
        draw = sense_draws.single_choice(own_seed)
        return sense.measured(entrant.model, draw, [name for name in points if name in sense.CHOICE], kind, own_seed)
    elif kind == "small":
        draw = sense_draws.small_draw(Path(folder), own_seed)
    elif kind == "panel":
        draw = sense_draws.panel_draw(Path(folder), own_seed)
    else:
        n_items = PANEL_ITEMS[number // 3 % 3]
        draw = sense_draws.whole_draw(Path(folder), n_items, own_seed, most=PANEL_SHARE)
    if draw is None:
        return []
    asked, source = [name for name in points if name in sense.SMALL], f"{kind}, {Path(folder).name}".rstrip(", ")
    ways = sense.both_ways(entrant.model, draw)
    return [record for way in ways for record in sense.measured(entrant.model, way, asked, source, own_seed)]


def whole_records(entrant: Entrant, folder: Path, points: list[str], seeds: range) -> list[Record]:
    """What is a mean over draws of a set: log-loss against counts, and how it rises as votes are added."""
    records = []
    for n_items in WHOLE_ITEMS:
        draws = [sense_draws.whole_draw(folder, n_items, seed) for seed in seeds]
        asked = [name for name in points if name == "counts" or (name == "more" and n_items == WHOLE_ITEMS[0])]
        records += sense.over_seeds(entrant.model, draws, asked, f"{folder.name}, {n_items} items")
    return [sense.on_hard_set(record, folder.name) for record in records]


def run(chosen: argparse.Namespace, entrants: list[Entrant], points: list[str]) -> dict[str, list[Record]]:
    """Records of every entrant."""
    tasks = list(tasks_of(chosen.data, chosen.draws, set(points)))
    jobs = [((e.name, t), (e, t, points, chosen.seed)) for t in tasks for e in entrants]
    records: dict[str, list[Record]] = {entrant.name: [] for entrant in entrants}
    done = sorted(computed(work, jobs, chosen.processes), key=lambda job: (job[0][1], job[0][0]))
    for (name, _), found in done:
        records[name] += found
    return records


def grouped(records: list[Record], by: str) -> dict[tuple[str, bool, str], list[Record]]:
    """Records of each row of the table: all of a point, or those of a kind of draw, or of a set."""
    rows: dict[tuple[str, bool, str], list[Record]] = defaultdict(list)
    for record in records:
        # What is measured once for each set has no other kind than its set.
        kind = record.source if by == "set" or record.point in sense.WHOLE else record.source.split(",")[0]
        rows[record.point, record.file, kind if by else ""].append(record)
    return rows


def cell_of(point: str, records: list[Record]) -> str:
    """Mean, lowest and highest value, and the verdict."""
    if not records:
        return "—"
    found, form = sense.result_of(point, records), ".0e" if point in ("names", "silent", "seed", "idle") else ".3f"
    values = " / ".join(format(value, form) for value in (found.mean, found.lowest, found.highest))
    return f"{values} {'holds' if found.holds else 'FAILS'}"


def table_of(records: dict[str, list[Record]], points: list[str], by: str) -> list[str]:
    """Lines of the table: points are rows, methods columns."""
    rows = {name: grouped(found, by) for name, found in records.items()}
    keys = sorted({key for found in rows.values() for key in found}, key=lambda key: (points.index(key[0]), *key[1:]))
    lines = [["point (mean / lowest / highest)", "file", "draws", *records]]
    for key in keys:
        point, file, source = key
        n_draws = max(len(found.get(key, [])) for found in rows.values())
        title = f"{point}: {POINTS[point].title}" + f" [{source}]" * bool(source)
        lines.append(
            [title, "with" if file else "", str(n_draws), *(cell_of(point, r.get(key, [])) for r in rows.values())]
        )
    width = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return ["  ".join(cell.ljust(size) for cell, size in zip(line, width, strict=True)).rstrip() for line in lines]


def variant_of(text: str) -> tuple[str, tuple[str, dict]]:
    """NAME=JSON: the default with these arguments."""
    name, _, given = text.partition("=")
    try:
        params = json.loads(given)
    except json.JSONDecodeError:
        params = None
    if not name or not isinstance(params, dict):
        raise ParameterError(f'a variant must be NAME={{"argument": value}}; got {text!r}.')
    return name, ("amcc", params)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="folder of real sets")
    parser.add_argument("--methods", default="amcc,majority", help="separated by commas")
    parser.add_argument("--variant", action="append", default=[], help='NAME={"argument": value}: another default')
    parser.add_argument("--draws", type=int, default=40, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(POINTS), help="points, separated by commas")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=1)
    parser.add_argument("--sources", action="store_true", help="a row for each kind of draw")
    parser.add_argument("--json", action="store_true", help="every number")
    chosen, start = parser.parse_args(), time.perf_counter()
    points = [name for name in POINTS if name in chosen.only.split(",")]
    if wrong := set(chosen.only.split(",")) - set(POINTS):
        parser.error(f"--only must be among {', '.join(POINTS)}; got {', '.join(sorted(wrong))}.")
    try:
        methods = [name for name in chosen.methods.split(",") if name]
        entrants = entrants_of(methods, dict(map(variant_of, chosen.variant)))
        records = run(chosen, entrants, points)
    except AmccError as error:
        parser.error(str(error))
    if chosen.json:
        for name, found in records.items():
            for (point, file, source), of_row in grouped(found, "set").items():
                result = asdict(sense.result_of(point, of_row))
                print(json.dumps({"method": name, "point": point, "file": file, "source": source, **result}))
    else:
        print("\n".join(table_of(records, points, "kind" if chosen.sources else "")))
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
