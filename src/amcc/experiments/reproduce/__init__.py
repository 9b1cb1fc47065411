"""Every table and figure of the paper, by one command.

plan.py     what a study, a table and a figure are; how large; which data are there
sets.py     the paper's data sets   fits.py    measuring, with a cache      statistics.py   means, intervals, tests
*_tables.py, groups.py, …           one file per family of tables or figures, each with its STUDIES
figures.py  figures of the score tables     rows.py    long tables
output.py   the files               document.py    tables and figures inside of a document
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from amcc.data import DATASETS, is_present
from amcc.errors import EmptyInputError, ParameterError
from amcc.experiments.reproduce import (
    active,
    active_replay,
    convergence,
    data_tables,
    groups,
    runtime,
    score_tables,
    sensitivity,
)
from amcc.experiments.reproduce.fits import run_tasks
from amcc.experiments.reproduce.plan import Reproduction, Scale, Study, StudyPlan
from amcc.experiments.reproduce.sets import MULAN, REAL
from amcc.plotting import check_matplotlib

# Modules with STUDIES; a further family of figures is one more name here.
FAMILIES = data_tables, score_tables, groups, sensitivity, convergence, runtime, active, active_replay

# The paper's name of a set → its name in the registry.
ENTRIES = MULAN | REAL

STUDIES: dict[str, Study] = {study.name: study for family in FAMILIES for study in family.STUDIES}


def chosen_studies(names: Sequence[str]) -> list[Study]:
    """Studies by name; without any, all. Raises where figures are wanted and cannot be drawn."""
    for name in names:
        if name not in STUDIES:
            raise ParameterError(f"what to reproduce must be among {', '.join(STUDIES)}; got {name!r}.")
    studies = [STUDIES[name] for name in dict.fromkeys(names or STUDIES)]
    # Asked before anything is measured.
    if any(study.draws for study in studies):
        check_matplotlib("table2 and table3 do without.")
    return studies


def make_plan(scale: Scale, data: Path | None, cache: Path) -> StudyPlan:
    """The plan for the data that are there."""
    return StudyPlan(
        scale, data, cache, frozenset(name for name in ENTRIES if data and is_present(ENTRIES[name], data))
    )


def run_studies(
    studies: Sequence[Study],
    plan: StudyPlan,
    *,
    n_processes: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Reproduction:
    """Measure what is not in the cache yet, and make tables and figures of it.

    Tasks of all studies are run together: what two of them need is measured once. Raises where no study has anything
    to show, saying which data it would need.
    """
    tasks = [task for study in studies for task in study.tasks(plan)]
    results = run_tasks(tasks, plan.cache, n_processes=n_processes, progress=progress)
    outputs = {study.name: study.present(plan, results) for study in studies}
    if not any(outputs.values()):
        names = ", ".join(study.name for study in studies)
        needs = "needs" if len(studies) == 1 else "need"
        why = " ".join(f"{note}." for note in data_notes(studies, plan))
        raise EmptyInputError(f"{names} {needs} data; nothing was computed: {why}")
    return Reproduction({name: made for name, made in outputs.items() if made}, notes_of(studies, plan))


def by_study(found: Reproduction, plan: StudyPlan) -> dict[str, Reproduction]:
    """What each study has found, with the notes that concern it."""
    return {name: Reproduction({name: made}, notes_of([STUDIES[name]], plan)) for name, made in found.outputs.items()}


def notes_of(studies: Sequence[Study], plan: StudyPlan) -> list[str]:
    """What is missing and why, with the way to get it: sets and methods."""
    missing = plan.missing_methods() if any(study.compares for study in studies) else []
    return data_notes(studies, plan) + missing


def data_notes(studies: Sequence[Study], plan: StudyPlan) -> list[str]:
    """Which sets are missing and why: they are not there, or too slow."""
    wanted = dict.fromkeys(name for study in studies for name in study.sets)
    absent = [name for name in wanted if name not in plan.sets]
    if plan.data is None:
        notes = [
            f"no data sets: {', '.join(absent)} are left out and a generated crowd stands in for them where it can. "
            "Name the folder of data sets with --data or AMCC_DATA; `amcc data list` says where each comes from"
        ] * bool(absent)
    else:
        notes = [
            f"without {name}: {ENTRIES[name]} is not in the folder of data sets. Source: "
            f"{DATASETS[ENTRIES[name]].source}"
            for name in absent
        ]
    # Sets that are there, but too large for a quick look.
    quick = [name for name in wanted if name in MULAN and plan.has(name) and name not in plan.scale.mulan]
    if quick and any(study.draws for study in studies):
        notes.append(f"without {', '.join(quick)}: left out by --quick, for simulating their workers takes long")
    return notes
