"""One worker's account: the rates, and the votes behind them (amcc workers --worker NAME).

It is what a requester looks at before a worker is paid or refused, so it shows the evidence and not only a verdict: the
rates with their intervals, what others said about the same pairs, and the votes that are farthest from the consensus.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from amcc.arrays import weight_per_code
from amcc.consensus import ConsensusModel
from amcc.consensus.grouped import GroupedModel
from amcc.engine.base import Block, Engine, as_engine
from amcc.errors import InputError
from amcc.truth import TOLD
from amcc.votes import Votes

# Votes that a person looks at; --json and --output give all.
MOST_SHOWN = 10


def find_worker(name: str, names: pa.Array) -> int:
    """The code of the worker of that name; names that look like it, where there is none."""
    known = names.cast(pa.string())
    code = pc.index(known, name.strip()).as_py()
    if code < 0:
        near = difflib.get_close_matches(name.strip(), known.to_pylist())
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "amcc workers VOTES lists everybody."
        raise InputError(f"--worker must name somebody who voted; {name!r} is none of {len(names):,} workers. {hint}")
    return int(code)


@dataclass(frozen=True)
class Account:
    """What is known about one worker.

    worker : their row of `ConsensusModel.workers`. rank : 1 for the most informative of `n_workers`.
    good : informativeness of a good worker of the crowd. group : what the workers of their group do, if there are any.
    votes : item, label, vote, probability (of the consensus, to which they contributed), others_yes, others_no,
    and told where the consensus was told the truth of some: those that differ most from the consensus first.
    """

    worker: Mapping[str, Any]
    rank: int
    n_workers: int
    good: float
    group: str | None
    votes: pa.Table

    @classmethod
    def of(cls, model: ConsensusModel, votes: Votes | Engine, code: int) -> Account:
        """The account of a worker, for the votes that the model was fitted to."""
        judged: pa.Table = model.workers(frame="arrow")
        informativeness = model.worker_rates_.informativeness
        worker = judged.slice(code, 1).to_pylist()[0]
        # Block by block: all votes may be more than fits in memory, those of one worker are not.
        given = pa.concat_tables(as_engine(votes).each(votes_of, model, code))
        # 1 where the consensus is sure of the opposite, 0 where it is sure of the same.
        surprise = np.abs((given["vote"].to_numpy() > 0) - given["probability"].to_numpy())
        groups = model.groups(frame="arrow")["summary"].to_pylist() if isinstance(model, GroupedModel) else []
        return cls(
            worker,
            int((informativeness > informativeness[code]).sum()) + 1,
            len(informativeness),
            model.worker_rates_.good_informativeness,
            groups[worker["group"]] if groups else None,
            given.take(pa.array(np.argsort(-surprise, kind="stable"))),
        )

    def by_label(self) -> list[dict[str, Any]]:
        """One row per label: votes, the share of yes of the worker and of others on the same items, and agreement.

        Agreement is the share of the others' votes that say the same; None where nobody else was asked.
        """
        label = self.votes["label"].combine_chunks().dictionary_encode()
        vote, others_yes, others_no = (self.votes[name].to_numpy() for name in ("vote", "others_yes", "others_no"))
        # Votes of others on the same pairs, and how many of them say the same as this worker.
        same, n_others = np.where(vote > 0, others_yes, others_no), others_yes + others_no
        sums = (weight_per_code(label.indices.to_numpy(), each.astype(np.float64), len(label.dictionary))
                for each in (np.ones(len(vote)), vote > 0, others_yes, same, n_others))  # fmt: skip
        rows = zip(label.dictionary.to_pylist(), *(each.tolist() for each in sums), strict=True)
        return [
            {
                "label": name,
                "votes": int(n_votes),
                "yes": n_yes / n_votes,
                "others_yes": n_others_yes / n_compared if n_compared else None,
                "agreement": n_same / n_compared if n_compared else None,
            }
            for name, n_votes, n_yes, n_others_yes, n_same, n_compared in sorted(rows)
        ]

    def as_json(self) -> dict[str, Any]:
        """All of it, for scripts."""
        votes = [{**row, "vote": "yes" if row["vote"] > 0 else "no"} for row in self.votes.to_pylist()]
        place = {"rank": self.rank, "of": self.n_workers, "good_informativeness": self.good}
        return {**self.worker, **place, "group_summary": self.group, "labels": self.by_label(), "votes": votes}

    def tables(self) -> list[Table]:
        """All that fits on a screen, for people."""
        labels = Table("label", "votes", "yes", "others' yes", "agree with them", box=None)
        for row in self.by_label():
            shares = (_share(row[name]) for name in ("yes", "others_yes", "agreement"))
            labels.add_row(str(row["label"]), f"{row['votes']:,}", *shares)
        shown = Table("item", "label", "their vote", "consensus", "others", box=None)
        for row in self.votes.slice(0, MOST_SHOWN).to_pylist():
            others = f"{row['others_yes']} yes, {row['others_no']} no"
            vote = "yes" if row["vote"] > 0 else "no"
            shown.add_row(str(row["item"]), str(row["label"]), vote, f"{row['probability']:.2f}", others)
        n_votes = len(self.votes)
        more = f", {MOST_SHOWN} of {n_votes:,}" * (n_votes > MOST_SHOWN)
        return [self._rates(), _titled(labels, "By label, beside others who were asked the same"),
                _titled(shown, f"The votes farthest from the consensus (in which they count, too){more}")]  # fmt: skip

    def _rates(self) -> Table:
        who = self.worker
        table = Table(show_header=False, box=None)
        table.add_row("worker", f"{who['worker']}: {who['answers']:,} answers, {len(self.votes):,} votes")
        table.add_row("yes where the label is present", _interval(who, "hit_rate"))
        table.add_row("yes where it is absent", _interval(who, "false_alarm_rate"))
        place = f"place {self.rank:,} of {self.n_workers:,}; good workers of this crowd: {self.good:.2f}"
        table.add_row("informativeness, the difference", f"{_interval(who, 'informativeness')}; {place}")
        if self.group is not None:
            table.add_row("kind of worker", self.group)
        verdict = "not taken for a spammer" if who["known"] else "too little to tell"
        if who["evidence"]:
            verdict = f"looks like a spammer: {who['evidence']}"
        table.add_row("verdict", verdict)
        return table


def votes_of(block: Block, model: ConsensusModel, worker: int) -> pa.Table:
    """The worker's votes in a block, with the consensus and the votes of others on the same pairs."""
    votes = block.votes(names=True)
    own = np.flatnonzero(votes.worker == worker)
    pair = np.searchsorted(votes.pairs.start, own, side="right") - 1  # the last pair that begins before the vote
    found = (model if block.place is None and model.results_ is not None else model.applied_to(votes)).item_results()
    said_yes = votes.value[own] > 0  # taken off the counts: others are those beside this worker
    return pa.table(
        {
            "item": votes.item_names.take(pa.array(votes.item[own])),
            "label": votes.label_names.take(pa.array(votes.label[own])),
            "vote": votes.value[own],
            "probability": found.pair_proba[pair],
            "others_yes": block.n_yes[pair] - said_yes,
            "others_no": (votes.pairs.n_votes - block.n_yes)[pair] - ~said_yes,
            **({TOLD: found.pair_told[pair].astype(np.int8)} if found.pair_told.any() else {}),
        }
    )


def _titled(table: Table, title: str) -> Table:
    table.title, table.title_justify, table.title_style = f"{title}", "left", "bold"
    return table


def _interval(who: Mapping[str, Any], name: str) -> str:
    return f"{who[name]:.2f} (95 % interval {who[f'{name}_low']:.2f} to {who[f'{name}_high']:.2f})"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
