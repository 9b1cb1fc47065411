"""The panel about disputed items: where the consensus most likely errs, and how it came to its probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from amcc.kernels import sigmoid, weight_per_code
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import bullets, counted, table
from amcc.report.page import Panel

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
    """The probability of a pair with its votes; where the two do not look alike, how one became the other."""
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
