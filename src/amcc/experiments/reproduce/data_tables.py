"""Tables 2 and 3: the data sets, counted, with the paper's numbers in brackets.

Nothing is measured: both studies have no tasks, draw nothing, and show nothing where no set is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from amcc.data import ANSWERED_SHARE, TRAINING_SHARES, FeatureSet
from amcc.experiments.cells import Draw
from amcc.experiments.paper_values import TABLE_2, TABLE_3, MulanSet
from amcc.experiments.reproduce.fits import Results
from amcc.experiments.reproduce.plan import Study, StudyPlan, Table, View
from amcc.experiments.reproduce.sets import MULAN, REAL, feature_set, printed_name
from amcc.experiments.text import EMPTY

# What is counted → what tables call it. "Annotations" of the paper are labels given, answers or votes, by set.
REAL_HEAD = {
    "workers": "workers",
    "items": "items",
    "labels": "labels",
    "annotations": "annotations (labels given)",
    "answers": "answers",
    "votes": "votes",
    "workers_per_item": "workers per item",
    "labels_per_item": "labels given per answer",
}
MULAN_HEAD = dict(zip(MulanSet._fields, ("items", "labels", "labels per item", "features", "annotations"), strict=True))

# What is counted → the number: a whole one, or a mean.
SetCounts = Mapping[str, float]


def count_real(draw: Draw) -> SetCounts:
    """What Table 2 counts, and what else its annotations may be.

    annotations : labels given. answers : a worker about an item. votes : a worker about a label of an item.
    """
    votes = draw.votes
    n_answers, n_given = int(votes.answers_per_item.sum()), int((votes.value > 0).sum())
    return {
        "workers": int((votes.answers_per_worker > 0).sum()),  # who gave nothing is none
        "items": votes.n_items,
        "labels": votes.n_labels,
        "annotations": n_given,
        "answers": n_answers,
        "votes": len(votes),
        "workers_per_item": n_answers / votes.n_items,
        "labels_per_item": n_given / n_answers,
    }


def present_real(plan: StudyPlan, results: Results) -> Sequence[Table]:
    """Table 2."""
    if not plan.real:  # a table of the paper's numbers alone would be no reproduction
        return []
    ours = {name: count_real(plan.paper_set(name).draw(0)) for name in plan.real}
    caption = (
        "Counted, with the paper's figure in brackets. Its annotations are labels given, but votes on Affective, and "
        "answers on SONYC-UST and LoveEkman; its last column is labels given per answer, not true labels per item. "
        "SONYC-UST 2+ is without the 110 workers who answered once, as the paper says of its own; one item is then "
        "left without an answer and left out too. The paper's items are those of 2+, its annotations the answers of "
        "all 301 workers, and its 118 workers are those with more than two answers."
    )
    # Every reading of a set beside what the paper counts, in its order.
    paper = {name: row for theirs, row in TABLE_2.items() for name in REAL if printed_name(name) == theirs}
    return [_table(("table2", "Table 2. Real data sets", caption), REAL_HEAD, ours, paper)]


def present_mulan(plan: StudyPlan, results: Results) -> Sequence[Table]:
    """Table 3."""
    names = plan.among(MULAN)
    if not names:
        return []
    ours = {name: count_mulan(feature_set(plan.paper_set(name))) for name in names}
    caption = (
        "Counted, with the paper's figure in brackets. The paper repeats the number of labels as number of features. "
        "Its annotations are answers of the seven simulated workers to 80 % of half of the items."
    )
    return [_table(("table3", "Table 3. Sets whose workers are simulated", caption), MULAN_HEAD, ours, TABLE_3)]


def count_mulan(found: FeatureSet) -> SetCounts:
    """What Table 3 counts: an annotation is an answer of a classifier; spammers do not count."""
    n_items, n_labels = found.truth.shape
    # The items that are not learned from: the larger half where their number is odd.
    n_answers = len(TRAINING_SHARES) * round(ANSWERED_SHARE * (n_items - n_items // 2))
    labels_per_item = float(found.truth.sum(axis=1).mean())
    return MulanSet(n_items, n_labels, labels_per_item, found.features.shape[1], n_answers)._asdict()


def _table(
    about: tuple[str, str, str], head: dict[str, str], ours: Mapping[str, SetCounts], paper: Mapping[str, NamedTuple]
) -> Table:
    """Sets in rows, what is counted in columns; also what the paper counts of sets that are not there.

    about : name, title and caption.
    """
    entries = [
        (name, column, ours.get(name, {}).get(column), getattr(row, column, None))
        for name, row in paper.items()
        for column in head
    ]
    rows = [[name, *(_cell(*numbers) for of, _, *numbers in entries if of == name)] for name in paper]
    sets, columns, values, printed = zip(*entries, strict=True)
    data = {"set": sets, "column": columns, "ours": _floats(values), "paper": _floats(printed)}
    return Table(*about, pa.table(data), [View("", ["set", *head.values()], rows)])


def _floats(values: Sequence[float | None]) -> pa.Array:
    """Typed, for counts and means stand in one column, and all may be missing."""
    return pa.array(values, pa.float64())


def _cell(value: float | None, printed: float | None) -> str:
    """Ours, and the paper's in brackets."""
    return _number(value) if printed is None else f"{_number(value)} ({_number(printed)})"


def _number(value: float | None) -> str:
    """Counts in full, means with three digits.

    >>> _number(6811), _number(2.9832), _number(None)
    ('6,811', '2.98', '—')
    """
    if value is None:
        return EMPTY
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


# Without tasks, for counting takes no time, and without matplotlib.
STUDIES = (
    Study("table2", "statistics of the real sets", lambda plan: [], present_real, tuple(REAL), draws=False),
    Study("table3", "statistics of the feature sets", lambda plan: [], present_mulan, tuple(MULAN), draws=False),
)
