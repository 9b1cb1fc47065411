"""The board for people: tables, and the page that holds them all.

The command prints some of these tables, board.md holds all of them. Every function takes a `Board` and gives rows of
text; what they are written with is in `text.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import numpy as np

import amcc
from amcc.experiments import peers
from amcc.experiments.board import NEITHER_IS_BETTER, SCORES
from amcc.experiments.cells import KINDS, MOST_SIMULATED_SEEDS
from amcc.experiments.families import GAINS, GROUPS, MEANS, MeanWithError, family_means, family_verdict
from amcc.experiments.peers import ORACLE, PEERS
from amcc.experiments.summary import BASELINE, JUDGED, TIE, Board
from amcc.experiments.text import EMPTY, Rows, markdown_table, number

# Firsts are told by kind of truth as well: on sets with their own truth, majority is hard to beat.
FIRST_HEAD = [f"first ({kind})" for kind in ("all", *KINDS)]
VERDICT_HEAD = ["method", *FIRST_HEAD, "mean rank", "worst loss", "where", f"above {ORACLE}"]


def verdict_rows(board: Board, score: str) -> Rows:
    """One row per method under `VERDICT_HEAD`: on how many cells it is first, its mean rank, and its worst loss."""
    rows = []
    for method in board.methods:
        verdict = board.verdict(score, method)
        first = [str(verdict.first[kind]) for kind in ("all", *KINDS)]
        worst = [number(verdict.worst_loss), verdict.worst_cell or EMPTY]
        rows.append([method, *first, number(verdict.mean_rank["all"], ".2f"), *worst, str(verdict.above_oracle)])
    return rows


def score_rows(board: Board, score: str, mark: Callable[[str], str] = lambda text: text) -> Rows:
    """One row per cell with the entries of all methods; the best competitor is marked, where there is a best.

    mark : what to do with the text of the best, such as to print it bold.
    """
    values = board.of(score)
    # Where neither more nor less is better, nothing is best.
    judged = board.competes & (score not in NEITHER_IS_BETTER)
    goodness = np.where(judged, board.goodness(score), -np.inf)
    best = np.nan_to_num(goodness, nan=-np.inf).max(axis=1, initial=-np.inf)
    return [
        [
            cell,
            *(mark(number(v)) if g == top and np.isfinite(g) else number(v) for v, g in zip(row, goods, strict=True)),
        ]
        for cell, row, goods, top in zip(board.cells, values, goodness, best, strict=True)
    ]


def rank_rows(board: Board) -> Rows:
    """One row per judged score and kind of cell with the mean ranks of all methods.

    A rank is one more than how many are better: ties share the best, and means of few cells are rough.
    """
    rows = []
    for score, name in JUDGED.items():
        verdicts = [board.verdict(score, method) for method in board.methods]
        for kind in ("all", *dict.fromkeys(board.kinds)):
            rows.append([f"{name}, {kind}", *(number(verdict.mean_rank[kind], ".2f") for verdict in verdicts)])
    return rows


def footer(board: Board) -> str:
    """Why there are dashes, as far as there may be; empty where none of these methods takes part."""
    reasons = [f"{method} runs up to {PEERS[method].max_votes:,} votes" for method in board.methods if method in PEERS]
    reasons += [f"{ORACLE} needs a simulated crowd with independent votes"] if ORACLE in board.methods else []
    return f"{EMPTY} no entry: {'; '.join(reasons)}." if reasons else ""


# -- families ---------------------------------------------------------------------------------------------------------

# Columns in the order of the question: how good, how sure and with what right, and where it is worst.
FAMILY_HEAD = [
    "method",
    "families",
    *MEANS.values(),
    *(f"{MEANS[score]} − {BASELINE}'s" for score in GAINS),
    *("most wrong among settled", "where"),
    *(f"worst against {BASELINE}", "where"),
    "first or tied",
]


def mean_text(value: MeanWithError, form: str = ".3f") -> str:
    """A mean with its standard error, where there is one.

    >>> mean_text(MeanWithError(0.7, 0.012)), mean_text(MeanWithError(0.7, np.nan), "+.2f")
    ('0.700 ± 0.012', '+0.70')
    """
    told = number(value.mean, form)
    return told if np.isnan(value.error) else f"{told} ± {number(value.error)}"


def family_rows(board: Board, group: str) -> Rows:
    """One row per method under `FAMILY_HEAD`: means over the families of a group of cells, and the worst cells."""
    rows = []
    for method in board.methods:
        found = family_verdict(board, method, group)
        worst = [number(found.worst_lead, "+.3f"), found.worst_cell or EMPTY]
        settled = [number(found.most_wrong_among_settled), found.most_wrong_cell or EMPTY]
        means = [mean_text(found.means[score]) for score in MEANS]
        means += [mean_text(found.gains[score], "+.3f") for score in GAINS]
        rows.append([method, str(found.n_families), *means, *settled, *worst, str(found.first)])
    return rows


def family_score_rows(board: Board, score: str, group: str) -> Rows:
    """One row per family with the means of all methods over its cells; a dash where a method lacks one of them."""
    families, means = family_means(board, score, group)
    return [[family, *map(number, row)] for family, row in zip(families, means, strict=True)]


def groups_of(board: Board) -> list[str]:
    """Groups that have cells: means over real sets and over simulated crowds are never mixed."""
    return [group for group, kinds in GROUPS.items() if kinds & set(board.kinds)]


# -- the page -------------------------------------------------------------------------------------------------------


FAMILY_NOTE = (
    "A family is one source, however many sets it gave: it counts once. ± is the standard error of the mean over "
    "families; differences are paired. *Settled* is the share of known pairs called so, *claimed error* how many "
    "decisions would be wrong by the method's own probabilities. Worst, and first or tied, are about Jaccard, cell by "
    "cell."
)


def page(board: Board, command: str) -> str:
    """The whole of board.md; `command` made it.

    Means over families come first: they are what a method is judged by. Every score of every cell is at the end.
    """
    # Kinds in the order of the cells, with how many of each.
    kinds = ", ".join(f"{board.kinds.count(kind)} {kind}" for kind in dict.fromkeys(board.kinds))
    lines = [
        "# Board",
        "",
        f"Written on {date.today()} with amcc {amcc.__version__}, crowd-kit {peers.crowdkit_version() or EMPTY}:",
        "",
        f"    {command}",
        "",
        f"Cells: {len(board.cells)} ({kinds}). Seeds per cell: {board.n_draws} (sets that are used whole: 1,",
        f"simulated crowds: at most {MOST_SIMULATED_SEEDS}). Truth is *independent* of the votes, or the crowd's *own*",
        "(made from all its votes, of which the methods see a part), or *simulated*.",
        "",
        "## Summary",
        "",
        f"First is who is within {TIE} of the best of a cell; a rank counts those who are better by more than that.",
        f"Both are among the methods with an entry. The worst loss is against {BASELINE}; negative, it is a gain.",
    ]
    if ORACLE in board.methods:
        lines += [
            f"{ORACLE} is given the true rates of simulated workers, which nobody knows, so it does not compete; the",
            "last column says on how many simulated cells a method is above it.",
        ]
    if any(board.informed):
        lines += [
            "*Known items* were drawn at random and given with their truth; scored are the others. On a set that is",
            "used whole, they are drawn as often as other sets are thinned. These rows take no rank from others.",
        ]
    for group in groups_of(board):
        lines += ["", f"### Mean over the families of {group}", "", FAMILY_NOTE, ""]
        lines += markdown_table(FAMILY_HEAD, family_rows(board, group))
    for score, name in JUDGED.items():
        lines += ["", f"### {name}", "", *markdown_table(VERDICT_HEAD, verdict_rows(board, score))]
    lines += ["", "## Mean ranks", "", *markdown_table(["score, cells", *board.methods], rank_rows(board))]
    # By family: the decisions, and the probabilities behind them; the other scores are by cell.
    for group in groups_of(board):
        for score in ("jaccard", "log_loss"):
            lines += ["", f"## {JUDGED[score]}, families of {group}", ""]
            lines += markdown_table(["family", *board.methods], family_score_rows(board, score, group))
    for score in SCORES:
        rows = score_rows(board, score, mark="**{}**".format)
        # More settled pairs are neither good nor bad by themselves.
        bold = "" if score in NEITHER_IS_BETTER else ", the best of each row in bold"
        lines += ["", f"## {score}", "", f"Means over seeds{bold}.", ""]
        lines += markdown_table(["cell", *board.methods], rows)
        if any(EMPTY in row for row in rows):
            lines += ["", footer(board)]
    return "\n".join([*lines, ""])
