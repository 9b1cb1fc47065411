"""amcc consensus: the true label sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amcc.cli.common import DEFAULT_METHOD, Json, Method, Output, busy, fit, notes, print_json, reads_votes, write_rows
from amcc.decode import Rule, check_rule
from amcc.votes import Votes

DECODE_HELP = (
    "How probabilities become sets: labels more likely than not (threshold), the set with the best expected score "
    "(expected_f1, expected_jaccard), or a fixed number of labels (top_k)."
)


@reads_votes
def consensus(
    votes: Votes,
    method: Method = DEFAULT_METHOD,
    output: Output = None,
    sets: Annotated[bool, typer.Option("--sets", help="Write item,labels: one row per item.")] = False,
    all_labels: Annotated[bool, typer.Option("--all-labels", help="Also pairs that nobody was asked about.")] = False,
    decode: Annotated[Rule, typer.Option(help=DECODE_HELP)] = "threshold",
    top_k: Annotated[int | None, typer.Option(help="Labels per item, for --decode top_k.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Also save the fitted model to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Find the labels of each item; writes item,label,probability,present,settled."""
    check_rule(decode, top_k)
    model = fit(votes, method)
    if not as_json or output is not None:
        write_rows(
            model.sets(decode=decode, k=top_k) if sets else model.pairs(all_labels=all_labels, decode=decode, k=top_k),
            output,
        )
    if save is not None:
        model.save(save)
        notes.print(f"saved the model to {save}")
    if report is not None:
        from amcc.report import write_report

        with busy("Drawing the report"):
            write_report(model, votes, report)
        notes.print(f"wrote the report to {report}")
    if as_json:
        present = model.pair_present(decode=decode, k=top_k)
        print_json(
            {
                "method": method,
                "items": votes.n_items,
                "items_without_answer": int((~model.item_answered_).sum()),
                "workers": votes.n_workers,
                "labels": votes.n_labels,
                "votes": len(votes),
                "pairs": len(model.pair_proba_),
                "present": int(present.sum()),
                "labels_per_item": float(present.sum() / max(votes.n_items, 1)),
                "undecided": int((abs(model.pair_proba_ - 0.5) < 0.3).sum()),
                "iterations": model.n_iter_,
                "converged": model.converged_,
                "output": None if output is None else str(output),
            }
        )
