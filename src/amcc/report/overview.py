"""The head of the page about a model: its numbers, and in words what deserves a look first.

Many readers look at nothing else. So the sentences say what to do about a finding where there is something to do, name
the workers, items and labels it is about, and leave out what is as it should be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Mask
from amcc.consensus import AMCC
from amcc.consensus.base import ConsensusModel
from amcc.consensus.truth_effect import truth_effect
from amcc.consensus.undeclared import suspected_families
from amcc.report.findings import Findings, names_of
from amcc.report.html import Html, and_more, chapter, counted, joined, tiles, with_interval
from amcc.report.page import now
from amcc.votes import Interval

# Below this, Krippendorff advises against even tentative conclusions.
TENTATIVE_ALPHA = 0.667
# Items with two votes on a label. With fewer, its α is mostly chance, and the sentence would name a random label.
MIN_COMPARED = 10
# Names in a sentence: enough to look some of them up, and the sentence stays one.
MAX_NAMES_IN_TEXT = 5

WARNING = " ⚠"


def overview(findings: Findings) -> Html:
    """The head of the page: summary numbers, then chapters of sentences, those that apply."""
    model, votes = findings.model, findings.votes
    chapters = {
        "What to look at first": list(first_looks(findings)) or ["Nothing stands out."],
        "What the data chose": [],
        "What known truth changed": _truth_changed(findings),
        "What item features changed": [],
        "How the votes were read": votes.notes(),
    }
    if isinstance(model, AMCC):
        chapters["What the data chose"] = choices(model.blend_, votes.n_labels, declared=model.has_roster)
    if model.item_prior_ is not None:
        chapters["What item features changed"] = [f"{model.item_prior_.sentence()}."]
    return joined([tiles(_summary(findings)), *(chapter(*each) for each in chapters.items())])


def estimate(interval: Interval) -> str:
    """An estimate with its interval, or a dash."""
    return with_interval(interval.estimate, interval.low, interval.high)


def _summary(findings: Findings) -> dict[str, str]:
    """The tiles at the top: name to number; a warning sign marks those that deserve a look."""
    about, model = findings.description, findings.model
    return {
        "model": repr(model),
        "written": now(),
        "workers": f"{about.workers:,}",
        "items": f"{about.items:,}",
        "items without answer": f"{about.items_without_answer:,}{WARNING * (about.items_without_answer > 0)}",
        "labels": f"{about.labels:,}",
        "votes": f"{about.votes:,}",
        "answers per item": f"{about.answers_per_item_mean:.1f}"
        f" ({about.answers_per_item_min:,} to {about.answers_per_item_max:,})",
        "labels per answer": f"{about.labels_per_answer:.2f}",
        "share of labels not asked": f"{about.share_unasked:.1%}",
        "agreement α": estimate(about.agreement),
        "settled pairs": f"{len(model.pair_proba_) - findings.n_open:,} of {len(model.pair_proba_):,}",
        "open pairs": f"{findings.n_open:,}",
        "settled is": model.settled_basis_,
        "converged": f"{'yes' if model.converged_ else 'no' + WARNING}, {counted(model.n_iter_, 'round')}",
    }


def first_looks(findings: Findings) -> Iterator[str]:
    """Sentences about what deserves attention, most urgent first.

    Urgent is what puts all other numbers in doubt (a fit that stopped too early), then gaps in the data, then single
    workers, families and labels, and last what is normal: pairs that would gain from more answers.
    """
    model, votes, about = findings.model, findings.votes, findings.description
    if not model.converged_:
        yield "The estimates had not settled when the model stopped: raise max_iter and fit again."
    if about.items_without_answer:
        silent = _some(votes.item_names, ~model.item_answered_)
        nobody = f"Nobody answered {counted(about.items_without_answer, 'item')}: {silent}."
        yield f"{nobody} All that is known there is {_all_there_is(model)}."
    if about.agreement.estimate is None:
        yield "Agreement cannot be measured: no two workers were asked about the same item and label."
    if n_spammers := int(findings.spammers.sum()):
        look = "look like spammers" if n_spammers > 1 else "looks like a spammer"
        yield (
            f"{counted(n_spammers, 'worker')} {look}: {_some(votes.worker_names, findings.spammers)} "
            "(yes comes about as often when the label is absent as when it is present)."
        )
    suspected = suspected_families(votes, model.roster_ if model.has_roster else None)
    for family in suspected[:MAX_NAMES_IN_TEXT]:
        yield f"{family.sentence(votes.worker_names)}."
    yield from _look_at_labels(findings)
    if findings.n_open:
        are = "are" if findings.n_open > 1 else "is"
        yield (
            f"{counted(findings.n_open, 'pair')} of {len(votes.pairs):,} {are} open: further answers may change what "
            "is decided there."
        )


def _some(vocabulary: pa.Array, chosen: Mask) -> str:
    """The first few chosen names, and how many more there are."""
    codes = np.flatnonzero(chosen)
    return and_more(names_of(vocabulary, codes[:MAX_NAMES_IN_TEXT]), len(codes))


def _all_there_is(model: ConsensusModel) -> str:
    """What is known about items that nobody answered."""
    described = model.item_prior_ is not None and model.item_prior_.weight > 0
    return "what their features say" if described else "how frequent labels are"


def _look_at_labels(findings: Findings) -> Iterator[str]:
    """A sentence on the labels that workers do not agree on, if there are any.

    Agreement is Krippendorff's α: 1 where all agree, 0 where votes agree no more often than by chance.
    """
    pairs = findings.votes.pairs
    n_compared = np.bincount(pairs.label[pairs.n_votes > 1], minlength=findings.votes.n_labels)
    alphas = [
        (label.agreement.estimate, label)
        for label, n in zip(findings.description.by_label, n_compared, strict=True)
        if label.agreement.estimate is not None and n >= MIN_COMPARED
    ]
    # The estimate stands beside its label: there it is known to be a number, which the type checker cannot see later.
    low = [(alpha, label) for alpha, label in alphas if alpha < TENTATIVE_ALPHA]
    if low:
        _, worst = min(low, key=lambda pair: pair[0])
        yield (
            f"Label {worst.label} is agreed on least, α {estimate(worst.agreement)}; α is below {TENTATIVE_ALPHA}, the "
            f"usual limit for tentative conclusions, for {len(low):,} of {counted(len(alphas), 'label')}."
        )


def choices(blend: Mapping[str, Any], n_labels: int, *, declared: bool = False) -> list[str]:
    """What the votes said about how to read them, from the weights of the readings that were pooled.

    blend : weights, 0 to 1, of the reading that trusts worker rates (crisp), of plain counts, of label correlation
    declared : whether a workers file says who shares errors, so that votes need not show it
    """
    crisp, counts, correlation = blend["crisp"], blend["counts"], blend["correlation"]
    sentences = []
    if n_labels > 1:
        # Weights are learned and hardly ever exactly 0 or 1: half is where a reading decides, and 5 % moves nothing.
        does = "tell much" if correlation > 0.5 else "tell something" if correlation > 0.05 else "tell next to nothing"
        sentences.append(f"Labels of an item {does} about each other: label correlation is used {correlation:.0%}.")
    if crisp > 0.5:
        reason = "Who shares errors was declared" if declared else "Votes look independent given presence"
        sentences.append(f"{reason}, so what worker rates make of the votes is taken at its word ({crisp:.0%}).")
        return sentences
    sentences.append(
        "Votes may agree for other reasons than presence, or are too few to rule that out: several readings are "
        "pooled, and probabilities stay cautious."
    )
    if counts > 0.5:
        sentences.append("Plain counts predict votes about as well as worker rates do, so they count in their place.")
    return sentences


def _truth_changed(findings: Findings) -> list[str]:
    """What known truth changed, beginning with a warning where it contradicts everybody; nothing without truth."""
    effect = truth_effect(findings.model, findings.votes)
    if effect is None:
        return []
    warned = [f"{WARNING.strip()} {effect.suspicion}"] if effect.suspicion else []
    return [*warned, *effect.sentences()]
