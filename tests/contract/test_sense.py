"""Common sense: what every method must hold on small crowds, or is listed here with the reason why it cannot.

Points and limits: `amcc.experiments.sense`. Every test takes `make`, as in `test_models.py`: `test_mutants.py` hands
wrong models to the same tests. More draws, and a table: `make sense`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from amcc.consensus import METHODS
from amcc.consensus.registry import class_of
from amcc.experiments import sense, sense_draws
from amcc.experiments.sense import CHOICE, POINTS, SMALL, WHOLE, Record
from amcc.experiments.sense_measures import Make

# Simulated panels, crowds with one label of four, and panels of whose log-loss a mean is taken.
N_PANELS, N_CHOICE, N_WHOLE = 10, 4, 4
# Small draws of each real set; the panels with their workers file.
N_REAL = 3
# Panels of which only the fit itself is looked at: reversals are rare, and one fit is cheap.
N_MORE_PANELS, OF_THE_FIT = 10, ("unanimous", "majority")
REAL_SMALL = ("affective", "varierr_nli", "llm_civilcomments")
# Draws of so many items with all their votes; the crowd of media_bias shares a taste, and looks independent.
WHOLE_ITEMS, REAL_WHOLE = 100, ("media_bias", "llm_framing")

# Not asked here, for they take longer than all others together: `python benchmarks/sense.py --methods ml-jmf,ebcc`.
LEFT_OUT = ("ml-jmf", "ebcc")

STARTS = "the start is random, and another one, or a few votes less, may end elsewhere"
PRIORS = "the priors of hits and false alarms differ: a yes is worth more than a no"
PULLED = "rates lean to the label that is frequent in one group of workers and rare in the other"
SURE = "votes count as independent, and probabilities come near 0 and 1"
ONE_NAME = "D8: eq6 as printed names one label per item"
ALIKE = "items that are alike in all votes are told apart by their number, and neighbours are found by it"
ONLY_COUNTED = "shares of yes are no probabilities: three of three votes would be certain"
# Methods, on what crowds, and the points that they cannot hold.
CANNOT: dict[tuple[str, str], dict[str, str]] = {
    ("amcc-frobenius", "simulated"): {
        "smooth elsewhere seed": STARTS, "mirror": "D1: as printed, only a yes has to be explained",
        "one-label-pairs": PULLED, "counts more": SURE,
    },
    ("amcc-printed", "simulated"): {
        "unanimous majority mirror one-label elsewhere": ONE_NAME, "counts more": ONE_NAME,
    },
    ("c-ds", "simulated"): {"one-label-pairs": PULLED, "counts more": SURE},
    ("dawid-skene", "simulated"): {"mirror": PRIORS, "one-label-pairs": PULLED, "counts more": SURE},
    ("ds-tree", "simulated"): {"one-label one-label-pairs": PULLED, "counts more": SURE},
    ("ibcc", "simulated"): {"one-label-pairs": PULLED, "counts more": SURE},
    ("mace", "simulated"): {
        "smooth elsewhere seed": STARTS, "one-label one-label-pairs": PULLED, "counts more": SURE,
    },
    ("mcmld", "simulated"): {
        "smooth elsewhere seed": STARTS, "one-label one-label-pairs": PULLED, "counts more": SURE,
    },
    ("mcmli", "simulated"): {"one-label one-label-pairs": PULLED, "counts more": SURE},
    ("nam", "simulated"): {"smooth elsewhere seed": STARTS, "names": ALIKE, "counts more": SURE},
    ("rakel-glad", "simulated"): {"seed": STARTS, "counts more": SURE},
    ("majority", "real"): {"counts more": ONLY_COUNTED},
}  # fmt: skip
PERSON = "what the only person says is taken for what people say, and models are nearer to the truth of these panels"
COPIES = "the copied model is heard twice as long as the votes do not say how alike the two are: .016 against .01"
# What the default does not hold: a point, and whether with a workers file.
FEW = "ten panels are few: in the mean over all draws of `make sense` it holds"
NOT_YET: dict[str, dict[tuple[str, bool], str]] = {
    "simulated": {("majority", True): PERSON, ("twins", True): COPIES, ("mirror", False): FEW, ("stranger", True): FEW},
    "real": {},
}


def asked(method: str) -> Iterator[tuple[str, bool]]:
    """The points that a method can be asked, without and with a workers file."""
    model = class_of(METHODS[method])
    for point in POINTS:
        if point == "counts-hard" or (point == "seed" and "random_state" not in inspect.signature(model).parameters):
            continue
        if point not in ("twins", "first-vote") and (point != "silent" or model.uses_roster):
            yield point, False
        if point not in ("silent", *CHOICE) and model.uses_roster:
            yield point, True


def cases(where: str, methods: Iterator[str]) -> list[object]:
    """Parameters of a test: method, point, file; what is listed above is expected to fail, strictly."""
    made = []
    for method in methods:
        reasons = {
            point: reason for points, reason in CANNOT.get((method, where), {}).items() for point in points.split()
        }
        for point, file in asked(method):
            reason = reasons.get(point)
            if method == "amcc":
                reason = NOT_YET[where].get((point, file))
            marks = [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []
            name = f"{method}-{point}" + "-with file" * file
            made.append(pytest.param(METHODS[method], point, file, marks=marks, id=name))
    return made


@functools.cache
def records(make: Make) -> list[Record]:
    """All numbers of simulated crowds."""
    panels = [sense_draws.simulated_panel(seed) for seed in range(N_PANELS)]
    found = []
    for seed, panel in enumerate(panels):
        for draw in sense.both_ways(make, panel):
            found += sense.measured(make, draw, SMALL, "panel", seed)
    for seed in range(N_CHOICE):
        found += sense.measured(make, sense_draws.single_choice(seed), CHOICE, "choice", seed)
    return found + sense.over_seeds(make, panels[:N_WHOLE], WHOLE, "panel")


@functools.cache
def real_records(make: Make, data: Path) -> list[Record]:
    """All numbers of real sets."""
    found = []
    for seed in range(N_REAL):
        draws = {name: sense_draws.small_draw(data / name, seed) for name in REAL_SMALL}
        draws |= {name: sense_draws.panel_draw(data / name, seed) for name in sense_draws.PANELS}
        for name, each in draws.items():
            if each is not None:
                for draw in sense.both_ways(make, each):
                    found += sense.measured(make, draw, SMALL, name, seed)
    for seed in range(N_REAL, N_REAL + N_MORE_PANELS):
        for name in sense_draws.PANELS:
            for draw in sense.both_ways(make, sense_draws.panel_draw(data / name, seed)):
                found += sense.measured(make, draw, OF_THE_FIT, name, seed)
    for name in REAL_WHOLE:
        draws = [sense_draws.whole_draw(data / name, WHOLE_ITEMS, seed) for seed in range(N_REAL)]
        found += sense.over_seeds(make, draws, WHOLE, name)
    return found


def check(found: list[Record], point: str, file: bool) -> None:
    """Fail, with the numbers, where they are not within the limits of the point."""
    mine = [record for record in found if (record.point, record.file) == (point, file)]
    assert mine, f"nothing was measured of {point}"
    result = sense.result_of(point, mine)
    assert result.holds, f"{POINTS[point].title}: {result}; allowed are {POINTS[point].limit}"


pytestmark = pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")


@pytest.mark.parametrize(("make", "point", "file"), cases("simulated", (m for m in METHODS if m not in LEFT_OUT)))
def test_common_sense(make, point, file):
    check(records(make), point, file)


@pytest.mark.parametrize(
    ("make", "point", "file"),
    [case for case in cases("real", iter(["amcc", "majority"])) if case.values[1] not in CHOICE],
)
def test_common_sense_on_real_sets(make, point, file, shared_data):
    check(real_records(make, shared_data), point, file)
