"""What the constants of the default are worth: each at half and at double its value, on every family of sets.

    python benchmarks/settings.py --data DATA --modules amcc.consensus.models.amcc.readings amcc.consensus.calibration
    python benchmarks/settings.py --data DATA amcc.consensus.models.amcc.presence.LEAN amcc.metrics.NEVER=0.001

A constant is named with its module: alone, it is set to half and to double; with a value, to this one. `--modules`
takes all floats that a module names in capitals. Each setting runs in a process of its own, in which the constant has
the other value from the start: also where other modules import it, derive something from it or use it as a default.
Only loops that numba has compiled before keep the old value; a setting that changes nothing is marked so.

Printed are means over families, in-sample, and what is left of the best choice out of sample: for each family, the
setting that is best in log-loss on all others, scored on the family that was left out. Without --data, the families are
simulated crowds, one per trouble. Results are kept in --output; a setting that was measured is not measured again
until the code changes.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from script import parser_of

NOW = "now"


class Setting(NamedTuple):
    """A constant of a module with another value."""

    module: str
    name: str
    value: float

    def __str__(self) -> str:
        return f"{self.module}.{self.name}={self.value:.12g}"


# -- constants in source code -----------------------------------------------------------------------------------------


def assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """Name and value, where a statement assigns one value to one name."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return None
    return (target.id, value) if isinstance(target, ast.Name) else None


def constants(source: str) -> dict[str, float]:
    """Numbers that a module names in capitals; whole numbers stay whole."""
    found: dict[str, float] = {}
    for name, value in filter(None, map(assigned, ast.parse(source).body)):
        try:
            number = ast.literal_eval(value)
        except ValueError:  # it is computed
            continue
        if name.isupper() and isinstance(number, int | float) and not isinstance(number, bool):
            found[name] = number
    return found


def changed(source: str, name: str, value: float) -> ast.Module:
    """The module with another value for a constant that it assigns."""
    tree = ast.parse(source)
    for statement in tree.body:
        if (pair := assigned(statement)) and pair[0] == name:
            statement.value = ast.copy_location(ast.Constant(value), pair[1])  # type: ignore[attr-defined]
            return tree
    raise SystemExit(f"{name} must be assigned once in its module; it is not.")


class ChangedLoader(SourceFileLoader):
    """Loads a module with one constant changed, and leaves no compiled file of it."""

    setting: Setting

    def get_code(self, fullname: str) -> CodeType:
        """The code of the changed source; never that of a compiled file."""
        path = self.get_filename(fullname)
        source = self.get_source(fullname) or ""
        return compile(changed(source, self.setting.name, self.setting.value), path, "exec", dont_inherit=True)


class ChangedFinder(MetaPathFinder):
    """Finds the module whose constant is changed, before the usual finders do."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The spec with our loader, for this one module."""
        if fullname != self.setting.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        loader = ChangedLoader(fullname, spec.origin)
        loader.setting = self.setting
        return importlib.util.spec_from_file_location(fullname, spec.origin, loader=loader)


# -- which settings ---------------------------------------------------------------------------------------------------


def source_of(module: str) -> str:
    """Source code of a module of amcc, which is found without running it."""
    import amcc  # imports nothing else

    place = Path(amcc.__file__).parents[1].joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if module.split(".")[0] == "amcc" and path.exists():
            return path.read_text()
    raise SystemExit(f"a setting must name a module of amcc; there is no {module!r}.")


def settings_of(text: str) -> list[Setting]:
    """One setting of MODULE.NAME=VALUE; two, at half and at double, of MODULE.NAME."""
    constant, _, wanted = text.partition("=")
    module, _, name = constant.strip().rpartition(".")
    there = constants(source_of(module))
    if name not in there:
        known = ", ".join(there) or "none"
        raise SystemExit(f"a setting must name a number in capitals; {module} has {known}, but no {name!r}.")
    if wanted:
        try:
            value = ast.literal_eval(wanted.strip())
        except (ValueError, SyntaxError):
            value = None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise SystemExit(f"{constant} must be set to a number; got {wanted!r}.")
        return [Setting(module, name, value)]
    return half_and_double(module, name, there[name])


def half_and_double(module: str, name: str, value: float) -> list[Setting]:
    """Whole numbers stay whole, and at least 1; nothing that stays the same."""
    both = [max(1, value // 2), value * 2] if isinstance(value, int) else [value / 2, value * 2]
    return [Setting(module, name, other) for other in both if other != value]


def all_settings(texts: Iterable[str], modules: Iterable[str]) -> list[Setting]:
    """Those named, and those of all floats of the modules."""
    found = [setting for text in texts for setting in settings_of(text)]
    for module in modules:
        for name, value in constants(source_of(module)).items():
            if isinstance(value, float):
                found += half_and_double(module, name, value)
    return list(dict.fromkeys(found))


# -- measuring --------------------------------------------------------------------------------------------------------


def measure(setting: str, data: Path | None, seeds: int, most_votes: int, output: Path) -> list[list[Any]]:
    """Family, cell, log-loss and Jaccard of the default under a setting, in this process."""
    if setting != NOW:
        (chosen,) = settings_of(setting)
        sys.meta_path.insert(0, ChangedFinder(chosen))
    from amcc.experiments.board import run_board
    from amcc.experiments.cells import cells_of
    from amcc.experiments.summary import summarise

    cells = cells_of(data, n_seeds=seeds, sizes=[10_000])
    if data is not None:
        cells = [cell for cell in cells if cell.kind != "simulated" and len(cell.draw(0).votes) <= most_votes]
    summary = summarise(run_board(cells, ["amcc"], output / setting / "cache"))
    log_loss, jaccard = (summary.of(score)[:, 0].tolist() for score in ("log_loss", "jaccard"))
    return [list(row) for row in zip(summary.families, summary.cells, log_loss, jaccard, strict=True)]


def measured(setting: str, arguments: Sequence[str]) -> list[list[Any]]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--measure", setting, *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode:
        raise SystemExit(f"{setting} could not be measured; see above.")
    return list(json.loads(run.stdout))


# -- showing ----------------------------------------------------------------------------------------------------------


def show(names: Sequence[str], tables: Sequence[list[list[Any]]]) -> None:
    """Means of every setting, then the choices with a family left out."""
    from amcc.experiments.leave_out import Scored, leave_one_family_out, setting_means

    scored = {
        name: [Scored(name, family, cell, log_loss, jaccard) for family, cell, log_loss, jaccard in table]
        for name, table in zip(names, tables, strict=True)
    }
    rows = [row for table in scored.values() for row in table]
    print("in-sample: means over families, and the difference to now, paired over families")
    print(f"{'setting':60s} {'log-loss':8s} {'difference':18s} {'Jaccard':8s} difference")
    for mean in setting_means(rows, NOW):
        same = mean.setting != NOW and [row[2:] for row in scored[mean.setting]] == [row[2:] for row in scored[NOW]]
        parts = ((mean.log_loss, mean.log_loss_gain), (mean.jaccard, mean.jaccard_gain))
        told = "  ".join(f"{value.mean:.4f}   {gain.mean:+.4f} ± {gain.error:.4f} " for value, gain in parts)
        print(f"{mean.setting:60s} {told}{'  changes nothing' if same else ''}")
    print("\nout of sample: chosen by the log-loss of all other families, against now, paired over families")
    by_constant: dict[str, list[str]] = {}
    for name in names[1:]:
        by_constant.setdefault(name.partition("=")[0], []).append(name)
    groups = by_constant | ({"any of these": list(names[1:])} if len(by_constant) > 1 else {})
    for title, members in groups.items():
        found = leave_one_family_out([row for name in (NOW, *members) for row in scored[name]], NOW)
        gains = ((found.log_loss_gain, "log-loss"), (found.jaccard_gain, "Jaccard"))
        told = ", ".join(f"{name} {gain.mean:+.4f} ± {gain.error:.4f}" for gain, name in gains)
        chosen = [
            choice.setting.rpartition("=")[2] if title in by_constant else choice.setting for choice in found.choices
        ]
        counts = ", ".join(f"{name} × {chosen.count(name)}" for name in dict.fromkeys(chosen))
        print(f"{title}: {told}; chosen {counts}")


def main() -> None:
    """Measure now and every setting, and print what they are worth."""
    parser = parser_of(__doc__)
    parser.add_argument("constants", nargs="*", help="MODULE.NAME or MODULE.NAME=VALUE")
    parser.add_argument("--modules", nargs="*", default=[], help="modules all of whose floats are tried")
    parser.add_argument("--data", type=Path, help="folder of crowd data; without it, simulated crowds")
    parser.add_argument("--seeds", type=int, default=2, help="draws where sets are thinned, or simulated")
    parser.add_argument("--most-votes", type=int, default=200_000, help="leave out larger sets")
    parser.add_argument("--output", type=Path, default=Path("settings"), help="folder that keeps results")
    parser.add_argument("--processes", type=int, default=1, help="settings at a time")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.data, options.seeds, options.most_votes, options.output)))
        return
    settings = all_settings(options.constants, options.modules)
    if not settings:
        parser.error("name a constant, or modules with floats in capitals; there is nothing to change.")
    passed = ["--seeds", str(options.seeds), "--most-votes", str(options.most_votes), "--output", str(options.output)]
    passed += ["--data", str(options.data)] if options.data else []
    names = [NOW, *map(str, settings)]
    tables = []
    with ThreadPoolExecutor(options.processes) as pool:  # each thread waits for a process
        for done, table in enumerate(pool.map(lambda name: measured(name, passed), names), start=1):
            tables.append(table)
            print(f"{done} of {len(names)} settings", file=sys.stderr, flush=True)
    show(names, tables)


if __name__ == "__main__":
    main()
