"""amcc check: validate votes and describe them.

The first command to run on a new file. Reading refuses what is wrong (with the line and the way out), and notes say how
columns were understood. What is printed then should look familiar to whoever collected the votes: how many workers,
items and labels, how many answers per item, and how far people agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from amcc.cli.console import DASH, notes, screen, titled_table
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, print_json
from amcc.io.exchange import tool_named
from amcc.roster import WORKER_KINDS, Seats
from amcc.votes import Description, Interval, LabelDescription, Votes

# More rows than anybody reads; the terminal's table takes about a millisecond for each.
LABELS_SHOWN = 1_000


def check(*, path: VotesPath, roster: WorkersFile = None, as_json: Json = False, reading: ReadingOptions) -> None:
    """Validate a file of votes and describe what is in it; with --workers also who gave them."""
    export = reading.export(path)
    votes = export.votes
    # Other commands leave it out: once is enough to see that a file is read as it is meant.
    taken = [f"what is what: {tool_named(export.tool).about}"] if export.tool else []
    # Checked as well: a name that is spelt otherwise in the workers file is found here and not after a fit.
    listed = listed_workers(roster, votes.worker_names, export.roster)
    description = votes.describe()
    families = [] if listed is None else _families(votes, listed.seats(votes.worker_names))
    if as_json:
        said = [*export.notes, *taken, *votes.notes()] + ([] if listed is None else listed.notes(votes.worker_names))
        print_json({**description.to_dict(), "families": families, "notes": said})
        return
    for note in taken:
        notes.print(note, style="dim")
    screen.print(_summary(description))
    if families:
        screen.print(_families_table(families))
    # Last, as it is the longest: what stands above it is what most people look for.
    screen.print(_labels(description))
    if description.labels > LABELS_SHOWN:
        notes.print(f"the {LABELS_SHOWN:,} labels with the most votes of {description.labels:,}; --json lists all")


def _families(votes: Votes, seats: Seats) -> list[dict[str, Any]]:
    """Kind, family, workers and votes of every family, and of those of a kind that have none."""
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    # Workers of no family have the code -1, which finds the last name.
    names = [*seats.family_names.to_pylist(), None]
    rows = []
    for kind, family in sorted(set(zip(seats.kind.tolist(), seats.family.tolist(), strict=True))):
        members = (seats.kind == kind) & (seats.family == family)
        counts = {"workers": int(members.sum()), "votes": int(n_votes[members].sum())}
        rows.append({"kind": WORKER_KINDS[kind], "family": names[family], **counts})
    return rows


def _families_table(families: list[dict[str, Any]]) -> Table:
    return titled_table(
        ["kind", "family", "workers", "votes"],
        [[row["kind"], row["family"] or "none", f"{row['workers']:,}", f"{row['votes']:,}"] for row in families],
    )


def _summary(description: Description) -> Table:
    """The sizes, and one number for agreement: α is 1 where all answers are the same, 0 where they are as by chance."""
    per_item = f"from {description.answers_per_item_min} to {description.answers_per_item_max}"
    return titled_table(
        [],
        [
            ("workers", f"{description.workers:,} ({description.workers_with_one_answer:,} with a single answer)"),
            ("items", f"{description.items:,} ({description.items_without_answer:,} without an answer)"),
            ("labels", f"{description.labels:,}"),
            ("votes", f"{description.votes:,} in {description.answers:,} answers"),
            ("answers per item", f"{description.answers_per_item_mean:.2f} ({per_item})"),
            ("labels per answer", f"{description.labels_per_answer:.2f}"),
            ("not asked", f"{description.share_unasked:.1%} of the labels of an answer"),
            ("agreement on sets", f"{_interval(description.agreement)} (Krippendorff's α, MASI distance)"),
        ],
    )


def _labels(description: Description) -> Table:
    """How often people were asked about each label, how often they said yes, and how far they agreed on it."""
    rows = []
    for label in _most_asked(description):
        share = DASH if label.yes_share is None else f"{label.yes_share:.1%}"
        rows.append([label.label, f"{label.asked:,}", share, _interval(label.agreement)])
    return titled_table(["label", "votes", "yes", "agreement (α)"], rows)


def _most_asked(description: Description) -> list[LabelDescription]:
    """The labels with the most votes, in their order; all of them unless there are very many."""
    # Ranked to choose, then sorted by code again: the order of the file is the one that people know.
    ranked = sorted(range(description.labels), key=lambda code: -description.by_label[code].asked)
    return [description.by_label[code] for code in sorted(ranked[:LABELS_SHOWN])]


def _interval(interval: Interval) -> str:
    """An estimate of agreement with its bounds, or why there is none."""
    if interval.estimate is None:
        return "not defined (no question was answered twice)"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
