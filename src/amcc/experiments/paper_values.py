"""Every number that the paper prints about data, consensus and run time, to stand beside ours.

Tables 4 to 6 are data, not code: `paper_scores.csv` beside this file has one line per set and method. The tables carry
the label of the paper's LaTeX source (`LABELS`), so that a test can compare them with it.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Literal, NamedTuple

# Over ten runs: • where AMCC is significantly better than the method (paired t-test, 95 %), ◦ where it is worse.
Mark = Literal["•", "◦", ""]
BETTER: Mark = "•"
WORSE: Mark = "◦"

LABELS = {
    "table2": "dataset",
    "table3": "Table3",
    "table4": "Table4",
    "table5": "metric-result",
    "table6": "sparseresult",
}


class Printed(NamedTuple):
    """A cell of tables 4 to 6: mean, standard deviation and mark over ten runs."""

    mean: float
    sd: float
    mark: Mark = ""


class RealSet(NamedTuple):
    """A row of Table 2; the paper's last column counts labels per answer, not true labels per item."""

    workers: int
    items: int
    labels: int
    annotations: int
    workers_per_item: float
    labels_per_item: float


class MulanSet(NamedTuple):
    """A row of Table 3; the paper repeats the number of labels as number of features."""

    items: int
    labels: int
    labels_per_item: float
    features: int
    annotations: int


# The columns of Table 6: what share of each worker's answers was removed. Its cells are Accuracy.
REMOVED = (0.1, 0.2, 0.3, 0.5)

# Sets in the order of the paper's rows.
TABLE_2 = {
    "SONYC-UST": RealSet(118, 442, 23, 1330, 3, 2.98),
    "Movie": RealSet(89, 100, 19, 6811, 35, 1.95),
    "Affective": RealSet(38, 100, 6, 6000, 10, 6),
    "AppleEkman": RealSet(68, 78, 6, 2978, 30, 1.27),
    "AppleNakamura": RealSet(57, 78, 10, 2768, 30, 1.18),
    "LoveEkman": RealSet(54, 63, 6, 1890, 30, 1.05),
    "LoveNakamura": RealSet(41, 63, 10, 3965, 41, 1.53),
}

TABLE_3 = {
    "Emotions": MulanSet(593, 6, 1.870, 6, 1646),
    "Scene": MulanSet(2407, 6, 1.074, 6, 6742),
    "Yeast": MulanSet(2417, 14, 4.237, 14, 6770),
}

# Minutes that the paper's AMCC takes "on a moderate PC", in its words; not said whether the active part is included.
MINUTES = {
    "SONYC-UST": "about 18",
    **dict.fromkeys([name for name in TABLE_2 if name != "SONYC-UST"], "at most 4"),
    **dict.fromkeys(TABLE_3, "7"),
}

# What the paper's parts cost: part → term, as it writes them. Those of a round are repeated t₁ = 100 times in a fit,
# those of a choice once for every query, of which there are t₂.
ROUND_TERMS = {"C_m": "t₁ W N_l L²", "D_w": "t₁ M L³", "λ_m": "t₁ M N_l L²"}
CHOICE_TERMS = {"pairs": "M L N_u", "workers": "k N_l L² + N_l²", "costs": "nnz(A_w) L"}

# Set → method → cells, in the order of the paper.
Scores = dict[str, dict[str, tuple[Printed, ...]]]


def read_cells(text: str) -> tuple[Printed, ...]:
    """Cells as the paper writes them, separated by spaces.

    >>> read_cells("0.815±0.000• 0.741±0.003")
    (Printed(mean=0.815, sd=0.0, mark='•'), Printed(mean=0.741, sd=0.003, mark=''))
    """
    # Numbers of digits differ, because the paper's do.
    cells = re.findall(r"([\d.]+)±([\d.]+)([•◦]?)", text)
    return tuple(Printed(float(mean), float(sd), mark) for mean, sd, mark in cells)


def _read_scores(table: str) -> Scores:
    """One of the tables of paper_scores.csv: sets and methods in the order of the file, which is the paper's."""
    found: Scores = {}
    with Path(__file__).with_name("paper_scores.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == table:
                found.setdefault(row["set"], {})[row["method"]] = read_cells(row["cells"])
    return found


TABLE_4, TABLE_5, TABLE_6 = map(_read_scores, ("table4", "table5", "table6"))
