"""What the settings of the default are worth: each at half and at double its value, on every family of sets.

    python benchmarks/settings.py --data DATA
    python benchmarks/settings.py --data DATA lean steepness=2
    python benchmarks/settings.py --data DATA --processes 2 --write

A setting that is named alone is tried at half and at double (`half_and_double`), with a value at this one; without
names, all of them are. A trial is one fit of `AMCC(settings={name: value})`. Where a setting shows depends on what the
fit is given, so each is tried on one *ground*:

    votes alone       the cells of the board; without --data, simulated crowds, one family per trouble
    10 known items    the same with the truth of ten items, for what known truth corrects

Printed are means over families, in-sample, and what is left of the best choice out of sample: for each family, the
value that is best in log-loss on all others, scored on the family that was left out. `--write` keeps the means in the
package, where `amcc settings` shows them. Trials are kept in --output by the hash of the models' code, and are not run
twice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from script import parser_of

from amcc import AMCC
from amcc.consensus.default.settings import MEASURED, described_settings, half_and_double, settings_with
from amcc.errors import ConvergenceWarning, ParameterError
from amcc.experiments.board import Consensus, scores_of
from amcc.experiments.cells import Cell, Draw, cells_of, with_known_items
from amcc.experiments.leave_out import Scored, leave_one_family_out, setting_means
from amcc.truth import Truth

VOTES, KNOWN = GROUNDS = ("votes alone", "10 known items")
N_KNOWN = 10
SHOWN = ("jaccard", "log_loss", "settled", "wrong_among_settled")
PACKAGE = Path(sys.modules[settings_with.__module__].__file__ or "").parent


class Trial(NamedTuple):
    """A setting with another value, or none: the default as it is."""

    name: str = ""
    value: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}={self.value:.12g}" if self.name else "now"

    @property
    def changes(self) -> dict[str, float]:
        """What `AMCC(settings=…)` gets."""
        return {self.name: self.value} if self.name else {}


NOW = Trial()


# -- which trials -----------------------------------------------------------------------------------------------------


def ground_of(name: str) -> str:
    """Where a setting shows."""
    (row,) = (row for row in described_settings() if row["name"] == name)
    return KNOWN if row["group"] == "known truth" else VOTES


def trials_of(text: str) -> list[Trial]:
    """One trial of NAME=VALUE; two, at half and at double, of NAME."""
    name, _, wanted = text.partition("=")
    default = settings_with(None)
    if not hasattr(default, name):
        raise SystemExit(f"a setting must be one of {', '.join(vars(default))}; got {name!r}.")
    if not wanted:
        return [Trial(name, value) for value in half_and_double(name) if value != getattr(default, name)]
    try:
        found = Trial(name, json.loads(wanted))
        settings_with(found.changes)
    except (json.JSONDecodeError, ParameterError) as error:
        raise SystemExit(f"{name} cannot be set to {wanted!r}: {error}") from None
    return [found]


def trials_by_ground(texts: Sequence[str]) -> dict[str, list[Trial]]:
    """The default, then what was named, or everything, on the ground where it shows."""
    found: dict[str, list[Trial]] = {}
    for text in texts or [row["name"] for row in described_settings()]:
        for trial in trials_of(text):
            found.setdefault(ground_of(trial.name), [NOW]).append(trial)
    return {ground: list(dict.fromkeys(found[ground])) for ground in GROUNDS if ground in found}


# -- measuring --------------------------------------------------------------------------------------------------------


class Crowd(NamedTuple):
    """What a trial is fitted to and scored on."""

    draw: Draw
    truth: Truth | None = None


class Place(NamedTuple):
    """A crowd by name, made only where it is needed: processes make their own."""

    ground: str
    family: str
    cell: str
    seed: int
    source: Cell

    def crowd(self) -> Crowd:
        """Make it."""
        draw = self.source.draw(self.seed)
        if self.ground == VOTES:
            return Crowd(draw)
        truth, scored = with_known_items(draw, N_KNOWN, self.seed)
        return Crowd(scored, truth)


def places_of(ground: str, data: Path | None, seeds: int, most_votes: int) -> Iterator[Place]:
    """All crowds of a ground."""
    for cell in cells_of(data, n_seeds=seeds, sizes=[10_000]):
        if data is None or (cell.kind != "simulated" and len(cell.draw(0).votes) <= most_votes):
            yield from (Place(ground, cell.family, cell.name, seed, cell) for seed in range(cell.n_seeds))


def scores(crowd: Crowd, trial: Trial) -> dict[str, float | None]:
    """How good the default is with this setting."""
    votes = crowd.draw.votes
    model = AMCC(settings=trial.changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(votes, truth=crowd.truth)
    settled = np.zeros_like(crowd.draw.known)
    settled[votes.pairs.item, votes.pairs.label] = model.pair_settled_
    found = scores_of(Consensus(model.predict(), model.predict_proba(), settled), crowd.draw)
    return {name: found[name] for name in SHOWN}


def measured_at(place: Place, trials: Sequence[Trial], folder: Path) -> dict[str, Any]:
    """Scores of all trials on one crowd, those in its file first; what is new is written there."""
    path = folder / f"{hashlib.sha256(repr(place[:4]).encode()).hexdigest()[:16]}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    missing = [trial for trial in trials if str(trial) not in found]
    if missing:
        crowd = place.crowd()
        for trial in missing:
            found[str(trial)] = scores(crowd, trial)
        path.write_text(json.dumps(found))
    return found


def code_version() -> str:
    """Hash of the code of all models: a trial after a change is another one."""
    files = sorted(PACKAGE.parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


# -- adding up --------------------------------------------------------------------------------------------------------


def family_means(rows: Sequence[tuple[Place, Mapping[str, Any]]], trial: str, score: str) -> list[float]:
    """Mean of a score in each family: over draws, then cells; a family without the score (nothing settled) is out."""
    by_cell: dict[tuple[str, str], list[float]] = {}
    for place, found in rows:
        if found[trial][score] is not None:
            by_cell.setdefault((place.family, place.cell), []).append(found[trial][score])
    by_family: dict[str, list[float]] = {}
    for (family, _), values in by_cell.items():
        by_family.setdefault(family, []).append(float(np.mean(values)))
    return [float(np.mean(values)) for values in by_family.values()]


def means(rows: Sequence[tuple[Place, Mapping[str, Any]]], trial: str) -> dict[str, float | None]:
    """Means of all scores over families."""
    found = {score: family_means(rows, trial, score) for score in SHOWN}
    return {score: round(float(np.mean(values)), 4) if values else None for score, values in found.items()}


def scored_rows(rows: Sequence[tuple[Place, Mapping[str, Any]]], trials: Sequence[Trial]) -> list[Scored]:
    """The same row by row, as `leave_out` wants them: means over the draws of a cell."""
    cells = dict.fromkeys((place.family, place.cell) for place, _ in rows)
    found = []
    for trial in map(str, trials):
        for family, cell in cells:
            here = [scores[trial] for place, scores in rows if (place.family, place.cell) == (family, cell)]
            log_loss, jaccard = (float(np.mean([each[name] for each in here])) for name in ("log_loss", "jaccard"))
            found.append(Scored(trial, family, cell, log_loss, jaccard))
    return found


def show(trials: Sequence[Trial], scored: Sequence[Scored]) -> None:
    """Means of every trial, then the choices with a family left out."""
    now = str(NOW)
    print(f"{'in-sample, means over families':40s} {'log-loss':8s} {'difference':18s} {'Jaccard':8s} difference")
    for mean in setting_means(scored, now):
        parts = ((mean.log_loss, mean.log_loss_gain), (mean.jaccard, mean.jaccard_gain))
        told = "  ".join(f"{value.mean:.4f}   {gain.mean:+.4f} ± {gain.error:.4f} " for value, gain in parts)
        same = mean.setting != now and [row[1:] for row in scored if row.setting == mean.setting] == [
            row[1:] for row in scored if row.setting == now
        ]
        print(f"{mean.setting:40s} {told}{'  changes nothing' if same else ''}")
    print("out of sample: chosen by the log-loss of all other families, against now, paired over families")
    by_name: dict[str, list[str]] = {}
    for trial in trials[1:]:
        by_name.setdefault(trial.name, []).append(str(trial))
    groups = by_name | ({"any of these": [str(trial) for trial in trials[1:]]} if len(by_name) > 1 else {})
    for title, members in groups.items():
        found = leave_one_family_out([row for row in scored if row.setting in (now, *members)], now)
        gains = ((found.log_loss_gain, "log-loss"), (found.jaccard_gain, "Jaccard"))
        told = ", ".join(f"{name} {gain.mean:+.4f} ± {gain.error:.4f}" for gain, name in gains)
        chosen = [choice.setting for choice in found.choices]
        counts = ", ".join(f"{name} × {chosen.count(name)}" for name in dict.fromkeys(chosen))
        print(f"{title}: {told}; chosen {counts}")


def as_measured(trials: Sequence[Trial], rows: Sequence[tuple[Place, Mapping[str, Any]]]) -> dict[str, Any]:
    """For the file: by name, the scores at half, at the value and at double."""
    found: dict[str, Any] = {}
    now = means(rows, str(NOW))
    for name in dict.fromkeys(trial.name for trial in trials[1:]):
        value, (half, double) = getattr(settings_with(None), name), half_and_double(name)
        columns = {"half": half, "value": value, "double": double}
        found[name] = {"ground": ground_of(name)}
        for column, tried in columns.items():
            scores = now if tried == value else means(rows, str(Trial(name, tried)))
            found[name][column] = {"at": tried, **scores}
    return found


def main() -> None:
    """Run all trials, print what they are worth, and write it where that is wanted."""
    parser = parser_of(__doc__)
    parser.add_argument("settings", nargs="*", help="NAME or NAME=VALUE; without any, all at half and at double")
    parser.add_argument("--data", type=Path, help="folder of crowd data; without it, simulated crowds")
    parser.add_argument("--seeds", type=int, default=2, help="draws where sets are thinned, or simulated")
    parser.add_argument("--most-votes", type=int, default=200_000, help="leave out larger sets")
    parser.add_argument("--output", type=Path, default=Path("settings"), help="folder that keeps trials")
    parser.add_argument("--processes", type=int, default=1, help="crowds at a time")
    parser.add_argument("--write", action="store_true", help=f"write {MEASURED} of the package")
    options = parser.parse_args()
    if options.write and options.settings:
        parser.error("--write is for all settings; name none.")
    folder = options.output / code_version()
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Any] = {}
    families: dict[str, list[str]] = {}
    for ground, trials in trials_by_ground(options.settings).items():
        places = list(places_of(ground, options.data, options.seeds, options.most_votes))
        work = partial(measured_at, trials=trials, folder=folder)
        rows = []
        with ProcessPoolExecutor(options.processes) as pool:
            for place, found in zip(places, pool.map(work, places), strict=True):
                rows.append((place, found))
                print(f"{ground}: {len(rows)} of {len(places)} crowds", file=sys.stderr, flush=True)
        print(f"\n-- {ground} --")
        show(trials, scored_rows(rows, trials))
        families[ground] = list(dict.fromkeys(place.family for place in places))
        written |= as_measured(trials, rows) if options.write else {}
    if options.write:
        about = {
            "command": " ".join(["python benchmarks/settings.py", *_told(options)]),
            "date": date.today().isoformat(),
            "seed": "one draw, random_state 0" if options.seeds == 1 else f"{options.seeds} draws, random_state 0",
            "how": "means over families; half and double are of the odds where a setting lies between 0 and 1",
            "families": families,
        }
        (PACKAGE / MEASURED).write_text(json.dumps({**about, "settings": written}, indent=1, ensure_ascii=False) + "\n")


def _told(options: argparse.Namespace) -> list[str]:
    """The options that decide what is measured, without the place of anybody's data."""
    data = ["--data", "DATA"] if options.data else []
    return [*data, "--seeds", str(options.seeds), "--most-votes", str(options.most_votes), "--write"]


if __name__ == "__main__":
    main()
