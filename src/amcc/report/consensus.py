"""The page about a fitted model: the answer first, then what it rests on.

| file | what it makes |
|---|---|
| `answer.py` | the first chapter: what to do next, whom to ask, what not to trust |
| `errors.py`, `confidence.py` | claimed and measured errors; how sure the model is; convergence of the fit |
| `labels.py`, `label_entries.py` | label frequencies, labels that occur together; one entry for each label |
| `correlation.py` | label correlation; its strongest links |
| `workers.py`, `worker_entries.py` | worker map, tables of workers; one entry for each worker |
| `groups.py` | families of workers; groups; individuality |
| `disagreement.py` | most disputed items; kinds of disagreement |
| `questions.py` | the next questions, to you and to the crowd |
| `items.py` | the table of all items |
| `made.py` | the last chapter: numbers, and what the model made of them on the way |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.report import confidence, correlation, disagreement, errors, groups, labels, questions, workers
from amcc.report.answer import Known, answer_chapter, quoted
from amcc.report.entries import entries_of, packed_entries
from amcc.report.findings import Findings, names_of
from amcc.report.html import NO_HTML, Html, element
from amcc.report.items import items_chapter
from amcc.report.label_entries import LabelFacts, label_entries, label_table_panel
from amcc.report.language import Language, language
from amcc.report.made import made_chapter
from amcc.report.page import Chapter, Panel, make_page
from amcc.report.worker_entries import worker_entries
from amcc.votes import Votes

# Texts that the script which looks things up needs, by the name that it has for them.
TEXTS = {
    "found": "look.found", "items_found": "look.items_found", "page": "look.page", "earlier": "look.earlier",
    "later": "look.later", "absent": "look.absent", "yes_no": "table.yes_no", "more": "items.more",
    "failed": "page.failed",
}  # fmt: skip


def consensus_page(model: ConsensusModel, votes: Votes, title: str | None, code: str, source: str) -> str:
    """The page as text. Raises a `ParameterError` if the model was fitted to other votes.

    code : of the language; source : what people type to name the file of the votes
    """
    say = language(code)
    _check_fitted_to(model, votes)
    findings = Findings(model, votes, votes.describe(), say, quoted(source))
    known = Known(
        findings, errors.measured_errors(findings), questions.for_you(findings), questions.for_crowd(findings),
        LabelFacts(findings),
    )  # fmt: skip
    label_chapter, other_labels = _labels(findings, known.labels)
    worker_chapter, other_workers = _workers(findings)
    item_chapter, item_data = items_chapter(findings)
    chapters = [
        answer_chapter(known), _sureness(known), label_chapter, worker_chapter, _disagreement(findings),
        _questions(known), item_chapter, made_chapter(findings),
    ]  # fmt: skip
    data = {
        "texts": {name: say(key) for name, key in TEXTS.items()},
        "names": _names(findings),
        "entries": packed_entries([other_labels, other_workers]),
        "items": item_data.get("items"),
    }
    return make_page(title or say("page.title"), NO_HTML, [each for each in chapters if each], say=say, data=data)


def _names(findings: Findings) -> dict[str, list[str]]:
    """Names of workers and labels by code."""
    votes = findings.votes
    vocabularies = {"worker": (votes.worker_names, votes.n_workers), "label": (votes.label_names, votes.n_labels)}
    return {kind: names_of(names, np.arange(n)) for kind, (names, n) in vocabularies.items()}


def _panels(panels: Iterable[Panel | None]) -> list[Panel]:
    """Those that have something to show."""
    return [panel for panel in panels if panel is not None]


def _sureness(known: Known) -> Chapter:
    """How wrong decisions are, as claimed and as measured, and how sure the model is of each."""
    findings, measured = known.findings, known.measured
    panels = (
        errors.errors_panel(findings, measured),
        errors.calibration(findings, measured),
        confidence.confidence_panel(findings),
    )
    return Chapter("sure", findings.say("sure.title"), _panels(panels))


def _labels(findings: Findings, facts: LabelFacts) -> tuple[Chapter, dict[str, str]]:
    """All about labels, and the entries that are not in the page."""
    panels = (
        labels.frequency_panel(findings),
        label_table_panel(findings, facts),
        labels.cooccurrence_panel(findings),
        correlation.correlation_panel(findings),
        correlation.links_panel(findings),
    )
    command = f"amcc consensus {findings.source} -o consensus.csv"
    entries, others = entries_of(findings, "label", label_entries(findings, facts), command)
    body = _one_by_one(findings.say, "label", entries)
    return Chapter("labels", findings.say("labels.title"), _panels(panels), body=body), others


def _workers(findings: Findings) -> tuple[Chapter, dict[str, str]]:
    """All about workers, and the entries that are not in the page."""
    panels = (
        workers.worker_map_panel(findings),
        workers.workers_panel(findings),
        groups.families_panel(findings),
        groups.groups_panel(findings),
        groups.individuality_panel(findings),
    )
    command = f"amcc workers {findings.source} --worker NAME"
    entries, others = entries_of(findings, "worker", worker_entries(findings), command)
    body = _one_by_one(findings.say, "worker", entries)
    return Chapter("crowd", findings.say("crowd.title"), _panels(panels), body=body), others


def _one_by_one(say: Language, kind: str, entries: Html) -> Html:
    heading = element("h3", say(f"{kind}.one_by_one"))
    return element("section", heading, element("p", say(f"{kind}.explanation")), entries, id=f"{kind}-one-by-one")


def _disagreement(findings: Findings) -> Chapter:
    """Why people disagree, and where it matters most."""
    panels = [disagreement.disagreement_panel(findings), disagreement.disputed_panel(findings)]
    return Chapter("disagreement", findings.say("disagreement.title"), panels)


def _questions(known: Known) -> Chapter | None:
    """What to ask next; None where nothing is left to ask."""
    findings = known.findings
    panels: list[Any] = [
        questions.for_you_panel(findings, known.for_you),
        questions.for_crowd_panel(findings, known.for_crowd),
    ]
    return Chapter("questions", findings.say("questions.title"), _panels(panels)) if _panels(panels) else None


def _check_fitted_to(model: ConsensusModel, votes: Votes) -> None:
    """Refuse votes that the model was not fitted to: the page would mix the numbers of two crowds.

    Models do not keep votes, so what they do keep is compared: the pairs, and how many answers each worker gave.
    """
    same = (
        np.array_equal(model.pair_item_, votes.pairs.item)
        and np.array_equal(model.pair_label_, votes.pairs.label)
        and np.array_equal(model.worker_rates_.answers, votes.answers_per_worker)
        and len(model.item_names_) == votes.n_items
    )
    if not same:
        raise ParameterError(
            f"votes must be those that the model was fitted to; it knows {len(model.pair_item_)} (item, label) pairs "
            f"of {len(model.worker_names_)} workers, and {votes!r} are others. Call fit(votes) first."
        )
