"""Panels about disagreement: the most disputed items, and why people do not agree, with examples and advice.

What the kinds are and how a pair gets its kind is in `amcc.consensus.disagreement`, here called `kinds`.
"""

from __future__ import annotations

import altair as alt
import numpy as np

from amcc.arrays import Ints, sigmoid, weight_per_code
from amcc.consensus import disagreement as kinds
from amcc.report import charts
from amcc.report.disagreeing import ORDER, PLACES, Disagreement
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import NO_HTML, Html, bullets, joined, table
from amcc.report.language import Language
from amcc.report.page import Panel
from amcc.special import logit

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
    votes, say = findings.votes, findings.say
    expected_wrong = weight_per_code(findings.model.pair_item_, findings.doubt, votes.n_items)
    worst = largest(expected_wrong, MAX_DISPUTED_ITEMS)
    worst = worst[expected_wrong[worst] >= MIN_EXPECTED_WRONG]
    if worst.size == 0:
        return findings.plain("disputed", say("disputed.none"))
    rows = [
        (name, say.number(expected_wrong[item], 2), bullets(_doubtful_labels(findings, item)))
        for name, item in zip(names_of(votes.item_names, worst), worst.tolist(), strict=True)
    ]
    header = [say(f"table.{name}") for name in ("item", "wrong", "labels")]
    return findings.panel("disputed", body=table(say("disputed.caption"), header, rows))


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
    say = findings.say
    return [*lines, say("disputed.more", labels=say.counted(more, "label"))] if more else lines


def account(findings: Findings, pair: int) -> str:
    """The probability of a pair with its votes; where the two do not look alike, how one became the other.

    Two yes of three and a probability of 0.1 look like a mistake of the program. They are not, where both yes came from
    workers who say yes to everything, and a reader should see that.
    """
    votes, proba = findings.votes, float(findings.model.pair_proba_[pair])
    yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
    say = findings.say
    shown = f"{say.number(proba, 2)} ({yes_and_no(yes, n_votes - yes, say)})"
    if abs(proba - yes / n_votes) < SURPRISE:
        return shown
    prior, by_votes = before_and_after_votes(findings, pair)
    steps = {"prior": say.number(prior, 2), "by_votes": say.number(by_votes, 2), "proba": say.number(proba, 2)}
    return f"{shown}: {say('disputed.steps' if abs(proba - by_votes) < MOVED else 'disputed.more_steps', **steps)}"


def yes_and_no(n_yes: int, n_no: int, say: Language) -> str:
    """How votes went; a line does not end in it."""
    return say("table.yes_no", yes=say.number(n_yes), no=say.number(n_no)).replace(" ", "\u00a0")


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

# Labels of the chart: one screen.
MAX_DISAGREEING_LABELS = 25

HUES = (charts.BLUE, charts.SKY, charts.PALE_GREY, charts.ORANGE, charts.VERMILION)
COLOURS: dict[kinds.Kind, str] = dict(zip(ORDER, HUES, strict=True))


def said_of(kind: kinds.Kind, what: str, say: Language) -> str:
    """The name of a kind, its meaning, or what to do about it."""
    return say(f"kind.{kind.replace(' ', '_')}.{what}")


def disagreement_panel(findings: Findings) -> Panel:
    """How many pairs are of each kind, by label, with examples and what to do."""
    votes, say, found = findings.votes, findings.say, findings.disagreement
    counts = found.by_label(votes.pairs.label, votes.n_labels)
    asked = counts.sum(axis=1)
    shown = least_clear(counts)
    return findings.panel(
        "kinds",
        _kinds_chart(counts[shown], names_of(votes.label_names, shown), say),
        joined([_kinds_table(counts.sum(axis=0), say), _examples(findings, found)]),
        say.left_out(int((asked > 0).sum()), len(shown), "label", say("which.least_clear")),
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


def _kinds_chart(counts: Ints, names: list[str], say: Language) -> charts.Chart:
    """A bar of length 1 for each label, parted by kind; counts are (n_labels, n_kinds)."""
    n_labels, n_kinds = counts.shape
    looks = {said_of(kind, "name", say): colour for kind, colour in COLOURS.items()}
    data = charts.rows(
        label=np.repeat(names, n_kinds),
        kind=list(looks) * n_labels,
        order=list(range(n_kinds)) * n_labels,
        pairs=counts.ravel(),
        share=(counts / counts.sum(axis=1, keepdims=True)).ravel(),
    )
    marks = alt.Chart(data, width=560, height=alt.Step(20)).mark_bar()
    return charts.encode(
        marks,
        x=alt.X("share:Q", title=say("kinds.share"), stack="zero", axis=alt.Axis(format="%"), scale=charts.SHARE),
        y=charts.ordered("label:N", names),
        order="order:Q",  # without it, vega stacks by the alphabet
        color=charts.categories(alt.Color, "kind:N", looks, {"orient": "top", "columns": 3}),
        tooltip=[
            alt.Tooltip("label:N", title=say("table.label")),
            alt.Tooltip("kind:N", title=say("kinds.kind")),
            alt.Tooltip("pairs:Q", title=say("table.pairs"), format=","),
            alt.Tooltip("share:Q", title=say("kinds.share"), format=".1%"),
        ],
    )


def _kinds_table(total: Ints, say: Language) -> Html:
    """Each kind with its number of pairs, its meaning, and what to do about it."""
    lines = [
        (
            said_of(kind, "name", say),
            f"{say.number(n)}, {say.percent(n / max(total.sum(), 1), 0)}",
            f"{said_of(kind, 'meaning', say)} {said_of(kind, 'advice', say)}",
        )
        for kind, n in zip(COLOURS, total.tolist(), strict=True)
    ]
    return table(say("kinds.caption"), [say("kinds.kind"), say("table.pairs"), say("kinds.advice")], lines)


def _examples(findings: Findings, found: Disagreement) -> Html:
    """A table of examples of all kinds but the clear one, split crowds first; nothing where there are none."""
    votes, say = findings.votes, findings.say

    def worker(code: int) -> str:
        return str(votes.worker_names[code].as_py())

    lines = []
    for kind in reversed(PLACES[1:]):
        pairs = found.telling(kind)
        items = names_of(votes.item_names, votes.pairs.item[pairs])
        labels = names_of(votes.label_names, votes.pairs.label[pairs])
        for item, label, pair in zip(items, labels, pairs.tolist(), strict=True):
            # Told by the library, in English; in other languages the votes must do.
            why = kinds.why(found.asked, found.explanations, pair, kind, worker)
            n_yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
            told = why if say.code == "en" else yes_and_no(n_yes, n_votes - n_yes, say)
            lines.append((said_of(kinds.KINDS[kind], "name", say), item, label, told))
    header = [say("kinds.kind"), say("table.item"), say("table.label"), say("kinds.why")]
    return table(say("kinds.examples"), header, lines) if lines else NO_HTML
