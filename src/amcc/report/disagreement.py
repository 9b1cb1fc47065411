"""Panels about disagreement: the most disputed items, and why people do not agree, with examples and advice.

What the kinds are and how a pair gets its kind is in `amcc.consensus.disagreement`, here called `kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
from scipy.special import logit

from amcc.arrays import Floats, Ints, Signs, sigmoid, weight_per_code
from amcc.consensus import disagreement as kinds
from amcc.consensus.item_results import pair_reader
from amcc.engine.base import InMemory
from amcc.report import charts
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import NO_HTML, Html, bullets, counted, joined, left_out, table
from amcc.report.page import Panel

# -- disputed items ------------------------------------------------------------------------------------------------

# Items of the table and labels of an item: what somebody reads to the end.
MAX_DISPUTED_ITEMS, MAX_LABELS_PER_ITEM = 15, 6
# Expected wrong labels from which an item is listed: less is shown as 0.00.
MIN_EXPECTED_WRONG = 0.005
# Doubt from which a label is worth a line: one wrong decision in a hundred.
MIN_DOUBT = 0.01
# Where a probability is so far from the share of yes, the report says how it came about.
SURPRISE = 0.25
# Where what else is known of the item moves a probability so far, it is said, too.
MOVED = 0.05


def disputed_panel(findings: Findings) -> Panel:
    """The items with the most wrong labels expected, each with its doubtful labels."""
    votes, title = findings.votes, "Most disputed items"
    expected_wrong = weight_per_code(findings.model.pair_item_, findings.doubt, votes.n_items)
    worst = largest(expected_wrong, MAX_DISPUTED_ITEMS)
    worst = worst[expected_wrong[worst] >= MIN_EXPECTED_WRONG]
    if worst.size == 0:
        return Panel(title, "No item is disputed: every asked pair is as good as certain.")
    rows = [
        (name, f"{expected_wrong[item]:.2f}", bullets(_doubtful_labels(findings, item)))
        for name, item in zip(names_of(votes.item_names, worst), worst.tolist(), strict=True)
    ]
    return Panel(
        title,
        "The items on which the consensus most likely errs; each label comes with the probability that it is present "
        "and with its votes, the most doubtful first. Where the two look different, the steps from one to the other "
        "follow: a no from somebody who often misses the label says little.",
        body=table("Items with the most wrong labels expected", ("item", "expected wrong labels", "labels"), rows),
    )


def _doubtful_labels(findings: Findings, item: int) -> list[str]:
    """The labels of an item with probability and votes, the most doubtful first; one at least."""
    pairs = findings.votes.pairs
    start, stop = np.searchsorted(pairs.item, (item, item + 1)).tolist()
    doubt = findings.doubt[start:stop]
    n_shown = min(max(int((doubt >= MIN_DOUBT).sum()), 1), MAX_LABELS_PER_ITEM)
    shown = start + largest(doubt, n_shown)
    names = names_of(findings.votes.label_names, pairs.label[shown])
    lines = [f"{name}: {account(findings, pair)}" for name, pair in zip(names, shown.tolist(), strict=True)]
    more = len(doubt) - n_shown
    return [*lines, f"and {counted(more, 'label')} with less doubt"] if more else lines


def account(findings: Findings, pair: int) -> str:
    """The probability of a pair with its votes; where the two do not look alike, how one became the other.

    Two yes of three and a probability of 0.1 look like a mistake of the program. They are not, where both yes came from
    workers who say yes to everything, and a reader should see that.
    """
    votes, proba = findings.votes, float(findings.model.pair_proba_[pair])
    yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
    shown = f"{proba:.2f} ({yes}\u00a0yes,\u00a0{n_votes - yes}\u00a0no)"  # not broken at the end of a line
    if abs(proba - yes / n_votes) < SURPRISE:
        return shown
    prior, by_votes = before_and_after_votes(findings, pair)
    others = f", {proba:.2f} with what else is known of the item" if abs(proba - by_votes) >= MOVED else ""
    return f"{shown}: {prior:.2f} before any vote, {by_votes:.2f} by the votes of these workers{others}"


def before_and_after_votes(findings: Findings, pair: int) -> tuple[float, float]:
    """Probability of a pair by its label alone, and by its votes as well, for what these workers' votes are worth.

    By Bayes' rule each vote adds to the log odds: a yes the logarithm of hit rate by false-alarm rate, a no that of the
    rates of missing it. Other labels of the item, features and truth are left out; `account` says what they add.
    """
    votes, (hit, false_alarm) = findings.votes, findings.rates_of_coins
    own = slice(votes.pairs.start[pair], votes.pairs.start[pair + 1])
    worker, label, yes = votes.worker[own], votes.pairs.label[pair], votes.value[own] > 0
    prior = float(findings.model.label_prior_[label])
    # Nobody is certain: an estimated rate of 0 or 1 would make one vote outweigh all others.
    h, f = (np.clip(rate[worker, label], 0.001, 0.999) for rate in (hit, false_alarm))
    evidence = np.where(yes, np.log(h / f), np.log((1 - h) / (1 - f))).sum()
    return prior, float(sigmoid(logit(np.clip(prior, 1e-6, 1 - 1e-6)) + evidence))


# -- kinds of disagreement -----------------------------------------------------------------------------------------

# Labels of the chart, one screen, and examples of each kind.
MAX_DISAGREEING_LABELS, MAX_EXAMPLES = 25, 3

# In the order of the chart, from the kind that needs nothing to the one that needs a decision.
MEANINGS: dict[kinds.Kind, str] = {
    "clear": "The votes agree, or only people err who often do.",
    "likely slip": "Few votes against a reliable majority, from people who are usually right: probably a mis-click.",
    "too few votes": "More votes would tell what it is.",
    "hard item": "People who are right elsewhere are of two minds here: everybody is noisy.",
    "split crowd": "The same people say yes, and the same say no, as on other items: two views of the label.",
}
PLACES = [kinds.KINDS.index(kind) for kind in MEANINGS]
HUES = (charts.BLUE, charts.SKY, charts.PALE_GREY, charts.ORANGE, charts.VERMILION)
COLOURS: dict[str, str] = dict(zip(MEANINGS, HUES, strict=True))


@dataclass(frozen=True)
class Disagreement:
    """(n_pairs,) kinds of disagreement as places in `kinds.KINDS`, and what they were decided by.

    asked : the votes on each pair; explanations : what each explanation makes of them
    member : (n_pairs, n_explanations) probability of each explanation
    """

    asked: kinds.AskedPairs
    explanations: kinds.Explanations
    kind: Signs
    member: Floats

    @classmethod
    def of(cls, findings: Findings) -> Disagreement:
        """Why people disagree, pair by pair, by what the model knows of its workers."""
        model = findings.model
        reader = pair_reader(model, InMemory(findings.votes), True, False, model.pair_proba_)
        asked = kinds.asked_of(findings.votes)
        assert reader.explanations is not None  # for the type checker: it was asked for
        explanations = reader.explanations.known_to(asked)
        kind = kinds.kinds_of(asked, explanations, model.pair_proba_)
        return cls(asked, explanations, kind, explanations.posterior(asked))

    def telling(self, kind: int) -> Ints:
        """The few pairs of this kind that are shown as examples, the most telling first."""
        pairs = np.flatnonzero(self.kind == kind)
        n_yes, n_votes = self.asked.n_yes[pairs], self.asked.n_votes[pairs]
        margin = np.abs(2.0 * n_yes - n_votes)
        # The terms with 1e-3 only break ties: more votes in the minority, or more votes, tell more.
        sure = {kinds.HARD_ITEM: kinds.HARD, kinds.SPLIT_CROWD: kinds.SPLIT}.get(kind)
        if sure is not None:
            telling = self.member[pairs, sure] + 1e-3 * np.minimum(n_yes, n_votes - n_yes)
        elif kind == kinds.LIKELY_SLIP:  # one against many
            telling = margin
        else:  # the least that is known
            telling = 1e-3 * n_votes - margin
        return np.asarray(pairs[largest(telling, MAX_EXAMPLES)])

    def by_label(self, label: npt.NDArray[np.integer[Any]], n_labels: int) -> Ints:
        """(n_labels, n_kinds) number of pairs of each kind, kinds in the order of `MEANINGS`.

        label : (n_pairs,) codes
        """
        n_kinds = len(PLACES)
        counts = np.bincount(label * n_kinds + self.kind, minlength=n_labels * n_kinds)
        return counts.reshape(-1, n_kinds)[:, PLACES]


def disagreement_panel(findings: Findings) -> Panel:
    """How many pairs are of each kind, by label, with examples and what to do."""
    votes, found = findings.votes, Disagreement.of(findings)
    counts = found.by_label(votes.pairs.label, votes.n_labels)
    asked = counts.sum(axis=1)
    shown = least_clear(counts)
    return Panel(
        "Kinds of disagreement",
        "Why people disagree, label by label, the least clear labels first: more votes help where they are too few, "
        "not where the crowd is split or the item is hard.",
        _kinds_chart(counts[shown], names_of(votes.label_names, shown)),
        joined([_kinds_table(counts.sum(axis=0)), _examples(findings, found)]),
        left_out(int((asked > 0).sum()), len(shown), "label", "the least clear"),
    )


def least_clear(counts: Ints) -> Ints:
    """Labels with the smallest share of clear pairs first; labels that nobody was asked about are left out.

    >>> least_clear(np.array([[9, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0]])).tolist()
    [2, 0]
    """
    asked = counts.sum(axis=1)
    unclear = np.where(asked > 0, 1 - counts[:, 0] / np.maximum(asked, 1), -1.0)
    order = largest(unclear, MAX_DISAGREEING_LABELS)
    return np.asarray(order[asked[order] > 0])


def _kinds_chart(counts: Ints, names: list[str]) -> charts.Chart:
    """A bar of length 1 for each label, parted by kind; counts are (n_labels, n_kinds)."""
    n_labels, n_kinds = counts.shape
    data = charts.rows(
        label=np.repeat(names, n_kinds),
        kind=list(MEANINGS) * n_labels,
        order=list(range(n_kinds)) * n_labels,
        pairs=counts.ravel(),
        share=(counts / counts.sum(axis=1, keepdims=True)).ravel(),
    )
    marks = alt.Chart(data, width=560, height=alt.Step(20)).mark_bar()
    return charts.encode(
        marks,
        x=alt.X("share:Q", title="share of asked pairs", stack="zero", axis=alt.Axis(format="%"), scale=charts.SHARE),
        y=charts.ordered("label:N", names),
        order="order:Q",  # without it, vega stacks by the alphabet
        color=charts.categories(alt.Color, "kind:N", COLOURS, {"orient": "top", "columns": 3}),
        tooltip=["label:N", "kind:N", alt.Tooltip("pairs:Q", format=","), alt.Tooltip("share:Q", format=".1%")],
    )


def _kinds_table(total: Ints) -> Html:
    """Each kind with its number of pairs, its meaning, and what to do about it."""
    lines = [
        (kind, f"{n:,}, {n / max(total.sum(), 1):.0%}", f"{meaning} {kinds.ADVICE[kind]}")
        for (kind, meaning), n in zip(MEANINGS.items(), total.tolist(), strict=True)
    ]
    return table("How many pairs, what it means, and what to do", ("kind", "pairs", "meaning and advice"), lines)


def _examples(findings: Findings, found: Disagreement) -> Html:
    """A table of examples of all kinds but the clear one, split crowds first; nothing where there are none."""
    votes = findings.votes

    def worker(code: int) -> str:
        return str(votes.worker_names[code].as_py())

    lines = []
    for kind in reversed(PLACES[1:]):
        pairs = found.telling(kind)
        items = names_of(votes.item_names, votes.pairs.item[pairs])
        labels = names_of(votes.label_names, votes.pairs.label[pairs])
        for item, label, pair in zip(items, labels, pairs.tolist(), strict=True):
            why = kinds.why(found.asked, found.explanations, pair, kind, worker)
            lines.append((kinds.KINDS[kind], item, label, why))
    return table("The most telling examples", ("kind", "item", "label", "why"), lines) if lines else NO_HTML
