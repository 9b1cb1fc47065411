"""What is known of each label: how frequent, how far agreed on, what is open, who knows it, and its unclear items."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus import disagreement as kinds
from amcc.report.correlation import are_cosines, correlation_of
from amcc.report.disagreeing import ORDER
from amcc.report.disagreement import said_of, yes_and_no
from amcc.report.entries import entry
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import Html, element, joined, table, tiles
from amcc.report.page import Panel

# Labels of the table, least agreed on first: one screen. Items and workers of an entry: what fits on a phone.
MAX_LABELS, MAX_ITEMS, MAX_WORKERS = 40, 8, 5
# Votes on a label from which a worker is named as one who knows it, or does not.
ENOUGH_VOTES = 10
# Correlations nearer to zero are not told: see `correlation.MIN_LINK`.
LEAST_CORRELATION = 0.1
# Labels that are named as going along, or not.
MAX_ALONG = 3


class LabelFacts:
    """Numbers of all labels, computed once; arrays are (n_labels,)."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        votes, model = findings.votes, findings.model
        label, n_labels = votes.pairs.label, votes.n_labels
        self.names: list[str] = names_of(votes.label_names, np.arange(n_labels))
        self.asked: Ints = np.bincount(label, minlength=n_labels)
        self.open: Ints = np.bincount(label[~model.pair_settled_], minlength=n_labels)
        self.wrong: Floats = weight_per_code(label, findings.doubt, n_labels)
        self.kinds: Ints = findings.disagreement.by_label(label, n_labels)

    def alpha(self, label: int) -> str:
        """Agreement of workers, with its interval."""
        agreement = self.findings.description.by_label[label].agreement
        return self.findings.say.interval(agreement.estimate, agreement.low, agreement.high)

    def error(self, label: int) -> float:
        """Share of the asked pairs whose decision is expected to be wrong."""
        return float(self.wrong[label] / max(self.asked[label], 1))

    @property
    def order(self) -> Ints:
        """Labels that were asked about, those with the largest expected error first."""
        asked = np.flatnonzero(self.asked > 0)
        return np.asarray(asked[largest(self.wrong[asked] / self.asked[asked], len(asked))])

    def main_trouble(self, label: int) -> kinds.Kind | None:
        """The most frequent kind of disagreement that is not clear; None where all is clear."""
        counts = self.kinds[label].copy()
        counts[0] = 0
        return ORDER[int(counts.argmax())] if counts.any() else None


def label_table_panel(findings: Findings, facts: LabelFacts) -> Panel:
    """Labels with their numbers, those of which least is sure first."""
    say, shown = findings.say, facts.order[:MAX_LABELS]
    rows = (
        (
            link,
            say.number(findings.items_per_label[label]),
            say.number(facts.asked[label]),
            facts.alpha(label),
            say.percent(facts.error(label)),
            say.number(facts.open[label]),
            _trouble(facts, label),
        )
        for link, label in zip(findings.label_links(shown), shown.tolist(), strict=True)
    )
    header = [say(f"label.{name}") for name in ("label", "items", "asked", "alpha", "error", "open", "trouble")]
    notes = say.left_out(len(facts.order), len(shown), "label", say("which.least_sure"))
    return findings.panel("label_table", body=table(say("label_table.caption"), header, rows), notes=notes)


def _trouble(facts: LabelFacts, label: int) -> str:
    kind = facts.main_trouble(label)
    return "" if kind is None else said_of(kind, "name", facts.findings.say)


def label_entries(findings: Findings, facts: LabelFacts) -> dict[str, Html]:
    """An entry for each label that was asked about, by anchor, those of which least is sure first."""
    about = _Entries(findings, facts)
    return {
        f"label-{label}": entry(f"label-{label}", facts.names[label], about.summary(label), about.body(label))
        for label in facts.order.tolist()
    }


class _Entries:
    """What all entries are made of, computed once."""

    def __init__(self, findings: Findings, facts: LabelFacts) -> None:
        self.findings, self.facts, self.say = findings, facts, findings.say
        votes = findings.votes
        label = votes.pairs.label
        self.by_doubt = np.lexsort((-findings.doubt, label))
        self.first_pair = np.searchsorted(label[self.by_doubt], np.arange(votes.n_labels + 1)).tolist()
        coins = votes.coins
        self.n_votes = np.bincount(coins.slot // 2, minlength=len(coins))
        self.by_label = np.argsort(coins.label, kind="stable")
        self.first_coin = np.searchsorted(coins.label[self.by_label], np.arange(votes.n_labels + 1)).tolist()
        self.correlation = None if are_cosines(findings.model) else correlation_of(findings)

    def summary(self, label: int) -> str:
        """One line: how frequent, and how many decisions are expected to be wrong."""
        return self.say(
            "label.summary",
            items=self.say.number(self.findings.items_per_label[label]),
            error=self.say.percent(self.facts.error(label)),
        )

    def body(self, label: int) -> Html:
        """Facts, workers and items."""
        say = self.say
        workers = [say(f"label.{name}") for name in ("worker", "votes", "tells")]
        items = [say(f"table.{name}") for name in ("item", "probability", "votes")]
        parts = [tiles(self.facts_of(label))]
        if (kind := self.facts.main_trouble(label)) is not None:
            parts.append(element("p", f"{said_of(kind, 'meaning', say)} {said_of(kind, 'advice', say)}"))
        best, worst = self.workers_on(label)
        for name, who in (("best", best), ("worst", worst)):
            if len(who):
                parts.append(table(say(f"label.{name}"), workers, self.worker_rows(label, who)))
        parts.append(table(say("label.unclear"), items, self.item_rows(label)))
        return joined(parts)

    def facts_of(self, label: int) -> dict[str, str]:
        """Name to number or words."""
        say, facts = self.say, self.facts
        described = self.findings.description.by_label[label]
        found = {
            say("label.items"): say.number(self.findings.items_per_label[label]),
            say("frequency.raw"): say.percent(described.yes_share),
            say("table.votes"): say.number(described.asked),
            say("label.alpha"): facts.alpha(label),
            say("label.error"): say.percent(facts.error(label)),
            say("label.open"): say("table.of", n=say.number(facts.open[label]), n_all=say.number(facts.asked[label])),
        }
        for name, sign in (("along", 1), ("apart", -1)):
            if others := self.going(label, sign):
                found[say(f"label.{name}")] = others
        if (kind := facts.main_trouble(label)) is not None:
            found[say("label.trouble")] = said_of(kind, "name", say)
        return found

    def going(self, label: int, sign: int) -> str:
        """Labels that come together with this one, or with a sign of -1 that avoid it; with the correlation."""
        if self.correlation is None:
            return ""
        value: Floats = sign * self.correlation[label]
        shown = [code for code in largest(value, MAX_ALONG).tolist() if value[code] > LEAST_CORRELATION]
        return ", ".join(f"{self.facts.names[code]} ({self.say.number(sign * value[code], 2)})" for code in shown)

    def workers_on(self, label: int) -> tuple[Ints, Ints]:
        """Coins of those who know this label best and least, of who voted on it often enough."""
        coins = self.by_label[self.first_coin[label] : self.first_coin[label + 1]]
        coins = coins[self.n_votes[coins] >= ENOUGH_VOTES]
        order = coins[largest(self.tells(label, coins), len(coins))]
        half = min(MAX_WORKERS, len(order) // 2)
        return order[:half], order[len(order) - half :][::-1]

    def tells(self, label: int, coins: Ints) -> Floats:
        """How much more often the worker of a coin says yes where the label is present than where it is absent."""
        hit, false_alarm = self.findings.rates_of_coins
        worker = self.findings.votes.coins.worker[coins]
        return np.asarray(hit[worker, label] - false_alarm[worker, label])

    def worker_rows(self, label: int, coins: Ints) -> Iterator[tuple[str, ...]]:
        """Rows of workers with a link to each."""
        links = self.findings.worker_links(self.findings.votes.coins.worker[coins])
        numbers = zip(links, self.n_votes[coins].tolist(), self.tells(label, coins).tolist(), strict=True)
        for link, n_votes, tells in numbers:
            yield link, self.say.number(n_votes), self.say.number(tells, 2)

    def item_rows(self, label: int) -> Iterator[tuple[str, ...]]:
        """The items about which least is sure."""
        votes, first = self.findings.votes, self.first_pair[label]
        pairs = self.by_doubt[first : min(first + MAX_ITEMS, self.first_pair[label + 1])]
        names = names_of(votes.item_names, votes.pairs.item[pairs])
        for name, pair in zip(names, pairs.tolist(), strict=True):
            n_yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
            proba = float(self.findings.model.pair_proba_[pair])
            yield name, self.say.number(proba, 2), yes_and_no(n_yes, n_votes - n_yes, self.say)
