"""What is known of each worker: rates, verdict, how they answer label by label, and their votes that surprise most.

It is what a requester looks at before a worker is paid or refused: the evidence, and not only a verdict. `amcc workers
--worker NAME` shows the same of one worker, with all of their votes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.grouped import GroupedModel
from amcc.report.disagreement import yes_and_no
from amcc.report.entries import entry
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import Html, joined, table, tiles
from amcc.report.workers import accusation
from amcc.roster import WORKER_KINDS

# Labels and votes that an entry shows: what fits on a phone. The command shows all.
MAX_LABELS, MAX_VOTES = 12, 5


@dataclass(frozen=True)
class VotesBesideOthers:
    """Every vote beside those of others on the same pair. A *coin* is a worker with a label."""

    findings: Findings

    @cached_property
    def pair(self) -> Ints:
        """(n_votes,) place of the pair that each vote is about."""
        pairs = self.findings.votes.pairs
        return np.repeat(np.arange(len(pairs)), pairs.n_votes)

    @cached_property
    def yes(self) -> Mask:
        """(n_votes,) whether it says yes."""
        return np.asarray(self.findings.votes.value > 0)

    @cached_property
    def others_yes(self) -> Ints:
        """(n_votes,) how many others say yes."""
        return np.asarray(self.findings.votes.n_yes[self.pair] - self.yes)

    @cached_property
    def others(self) -> Ints:
        """(n_votes,) how many others voted."""
        return np.asarray(self.findings.votes.pairs.n_votes[self.pair] - 1)

    def by_coin(self) -> Floats:
        """(5, n_coins) votes, yeses, votes of others on the same pairs, their yeses, and how many say the same."""
        coins = self.findings.votes.coins
        same = np.where(self.yes, self.others_yes, self.others - self.others_yes)
        sums = (np.ones(len(self.yes)), self.yes, self.others, self.others_yes, same)
        return np.stack([np.bincount(coins.slot // 2, each, len(coins)) for each in sums])

    def farthest(self) -> dict[int, list[int]]:
        """For each worker the votes farthest from the consensus, in which they count, too."""
        votes = self.findings.votes
        surprise = np.abs(self.yes - self.findings.model.pair_proba_[self.pair])
        order = np.lexsort((-surprise, votes.worker))
        bounds = np.searchsorted(votes.worker[order], np.arange(votes.n_workers + 1)).tolist()
        return {
            worker: order[first : min(first + MAX_VOTES, last)].tolist()
            for worker, (first, last) in enumerate(pairwise(bounds))
        }


def worker_entries(findings: Findings) -> dict[str, Html]:
    """An entry for everybody who answered, by anchor: likely spammers first, then who answered most."""
    rates = findings.model.worker_rates_
    matter = np.where(findings.spammers, rates.answers + rates.answers.max(initial=0), rates.answers)
    order = findings.active[largest(matter[findings.active].astype(np.float64), len(findings.active))]
    about = _Entries(findings)
    names = names_of(findings.votes.worker_names, order)
    return {
        f"worker-{worker}": entry(f"worker-{worker}", name, about.summary(worker), about.body(worker))
        for name, worker in zip(names, order.tolist(), strict=True)
    }


class _Entries:
    """What all entries are made of, computed once."""

    def __init__(self, findings: Findings) -> None:
        self.findings, self.say = findings, findings.say
        votes, self.rates = findings.votes, findings.model.worker_rates_
        beside = VotesBesideOthers(findings)
        self.beside, self.farthest = beside, beside.farthest()
        self.sums = beside.by_coin()
        self.first_coin = np.searchsorted(votes.coins.worker, np.arange(votes.n_workers + 1)).tolist()
        self.labels = names_of(votes.label_names, np.arange(votes.n_labels))
        informativeness = self.rates.informativeness
        self.place = np.searchsorted(np.sort(-informativeness), -informativeness) + 1

    def summary(self, worker: int) -> str:
        """One line: verdict or informativeness, and how many answers."""
        return self.say(
            "verdict.spammer_summary" if self.findings.spammers[worker] else "verdict.summary",
            value=self.say.number(self.rates.informativeness[worker], 2),
            answers=self.say.counted(int(self.rates.answers[worker]), "answer"),
        )

    def body(self, worker: int) -> Html:
        """Facts, labels and votes."""
        say = self.say
        labels = [say(f"worker.{name}") for name in ("label", "votes", "yes", "others_yes", "agreement")]
        votes = [say(f"worker.{name}") for name in ("item", "label", "vote", "consensus", "others")]
        return joined(
            (
                tiles(self.facts(worker)),
                table(say("worker.by_label"), labels, self.label_rows(worker)),
                table(say("worker.farthest"), votes, self.vote_rows(worker)),
            )
        )

    def facts(self, worker: int) -> dict[str, str]:
        """Name to number or words."""
        say, rates, model = self.say, self.rates, self.findings.model
        n_workers = say.number(len(rates.answers))
        found = {
            say("worker.verdict"): accusation(self.findings, worker) or say("verdict.none_found"),
            say("table.hit_rate"): say.interval(
                rates.hit_rate[worker], rates.hit_rate_low[worker], rates.hit_rate_high[worker]
            ),
            say("table.false_alarm_rate"): say.interval(
                rates.false_alarm_rate[worker], rates.false_alarm_rate_low[worker], rates.false_alarm_rate_high[worker]
            ),
            say("table.informativeness"): say(
                "worker.place",
                value=say.number(rates.informativeness[worker], 2),
                place=say.number(self.place[worker]),
                all=n_workers,
                good=say.number(rates.good_informativeness, 2),
            ),
        }
        if isinstance(model, GroupedModel):
            found[say("groups.name")] = str(int(model.worker_group_[worker]))
        if model.roster_ is not None:
            family = int(model.roster_.family[worker])
            found[say("families.kind")] = WORKER_KINDS[int(model.roster_.kind[worker])]
            if family >= 0:
                found[say("families.family")] = str(model.roster_.family_names[family])
        if model.vote_worth_ is not None:
            found[say("worker.worth")] = say.number(model.vote_worth_[worker], 2)
        return found

    def label_rows(self, worker: int) -> Iterator[tuple[str, ...]]:
        """The labels that they voted on most: share of yes, that of others on the same pairs, and agreement."""
        own = slice(self.first_coin[worker], self.first_coin[worker + 1])
        sums, label = self.sums[:, own], self.findings.votes.coins.label[own]
        for place in largest(sums[0], MAX_LABELS).tolist():
            n_votes, n_yes, n_others, others_yes, same = sums[:, place].tolist()
            shares = [n_yes / n_votes, *((others_yes / n_others, same / n_others) if n_others else (None, None))]
            yield self.labels[label[place]], self.say.number(n_votes), *(self.say.percent(each, 0) for each in shares)

    def vote_rows(self, worker: int) -> Iterator[tuple[str, ...]]:
        """The votes that differ most from the consensus."""
        votes, beside, say = self.findings.votes, self.beside, self.say
        own = np.array(self.farthest[worker], dtype=np.int64)
        items = names_of(votes.item_names, votes.item[own])
        for item, vote in zip(items, own.tolist(), strict=True):
            proba = float(self.findings.model.pair_proba_[beside.pair[vote]])
            n_yes, n_others = int(beside.others_yes[vote]), int(beside.others[vote])
            said = say("table.yes" if beside.yes[vote] else "table.no")
            others = yes_and_no(n_yes, n_others - n_yes, say)
            yield item, self.labels[votes.label[vote]], said, say.number(proba, 2), others
