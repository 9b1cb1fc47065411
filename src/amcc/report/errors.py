"""How wrong the decisions are: what the model claims, and beside it what known truth measures.

A model that was told the truth of some pairs keeps what it would have said without it. So the errors that it would have
made there can be counted, as an audit counts them (`amcc.audit`), with intervals that allow for errors of one item
going together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from amcc.audit import LEVEL, measures
from amcc.audit.slices import ConsensusPairs, PeopleAnswers, Slice
from amcc.report.audit import calibration_panel, errors_table, percent_with_interval
from amcc.report.findings import Findings
from amcc.report.html import Html, element, table
from amcc.report.page import Panel


@dataclass(frozen=True)
class Measured:
    """What known pairs say about a fit that had not seen them; tables as in `amcc.audit.Audit`."""

    n_pairs: int
    n_items: int
    errors: pa.Table
    calibration: pa.Table

    @property
    def overall(self) -> dict[str, float]:
        """The row of all pairs: claimed, measured, low and high."""
        row: dict[str, float] = self.errors.to_pylist()[0]
        return row


def measured_errors(findings: Findings) -> Measured | None:
    """Errors on known pairs; None where no truth is known."""
    model = findings.model
    known, unseen = model.pair_known_, model.pair_unseen_
    if known is None or unseen is None or not known.any():
        return None
    columns = {"item": model.item_names_.take(pa.array(model.pair_item_)), "probability": pa.array(unseen)}
    columns["label"] = model.label_names_.take(pa.array(model.pair_label_))
    columns["present"] = pa.array((unseen > 0.5).astype(np.int8))
    pairs = ConsensusPairs.of(pa.table(columns))
    answers = PeopleAnswers(known.astype(np.int64), (known & (model.pair_proba_ > 0.5)).astype(np.int64))
    slice_ = Slice(pairs, answers, answers.said("majority"), LEVEL)
    return Measured(len(slice_.chosen), slice_.n_items, measures.errors(slice_), measures.calibration(slice_))


def errors_panel(findings: Findings, measured: Measured | None) -> Panel:
    """Claimed errors, and measured ones where truth is known."""
    say = findings.say
    if measured is None:
        body = _claimed(findings)
        return Panel(say("errors.title"), say("errors.claimed_only"), body=body, name="errors")
    body = errors_table(measured.errors, say)
    n, items = say.number(measured.n_pairs), say.counted(measured.n_items, "item")
    return findings.panel("errors", body=body, notes=[say("errors.note")], n=n, items=items)


def _claimed(findings: Findings) -> Html:
    """Decisions of each kind, and how many of them are expected to be wrong."""
    say, model, doubt = findings.say, findings.model, findings.doubt
    present, settled = model.pair_proba_ > 0.5, model.pair_settled_
    chosen = {"all": np.ones(len(doubt), bool), "settled": settled, "open": ~settled, "present": present}
    chosen["absent"] = ~present
    rows = (
        (
            say(f"errors.{name}"),
            say.number(each.sum()),
            say.number(doubt[each].sum(), 1),
            say.percent(float(doubt[each].mean()) if each.any() else None),
        )
        for name, each in chosen.items()
    )
    header = [say(f"errors.{name}") for name in ("pairs", "number", "wrong", "claimed")]
    return table(say("errors.caption"), header, rows)


def calibration(findings: Findings, measured: Measured | None) -> Panel | None:
    """Whether probabilities mean what they say; None where no truth is known."""
    return None if measured is None else calibration_panel(measured.calibration, findings.say)


def overall(findings: Findings, measured: Measured | None) -> Html:
    """The measured error with its interval, or that nobody measured it."""
    if measured is None:
        return element("span", findings.say("tiles.not_measured"))
    return element("span", percent_with_interval(measured.overall, "measured", say=findings.say))
