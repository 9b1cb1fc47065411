"""amcc consensus: the true label sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from amcc.cli.common import (
    DEFAULT_METHOD,
    Features,
    FeaturesItems,
    Json,
    KnownItems,
    KnownPairs,
    KnownTruth,
    Method,
    Output,
    SafeCsv,
    TruthUnmentioned,
    WorkersFile,
    busy,
    described_items,
    fit,
    items_without_answer,
    known_truth,
    listed_workers,
    notes,
    print_json,
    reads_votes,
    write_rows,
)
from amcc.cli.engines import EngineChoice, by_blocks
from amcc.cli.paths import FILE, PAGE, READS
from amcc.consensus import ConsensusModel, make_model
from amcc.consensus.base import check_all_pairs
from amcc.consensus.undeclared import named_like_models
from amcc.decode import Rule, check_rule
from amcc.engine.base import Engine, InMemory
from amcc.engine.packed import PackedVotes
from amcc.votes import Votes

DECODE_HELP = (
    "How probabilities become sets: labels more likely than not (threshold), the set with the best expected score "
    "(expected_f1, expected_jaccard), or a fixed number of labels (top_k)."
)

FROM_HELP = (
    "Model that --save wrote for earlier votes. Where less than a tenth of the votes is new, a few rounds from there "
    "take the place of a fit."
)


@reads_votes
def consensus(
    votes: Votes | PackedVotes,
    engine: EngineChoice,
    method: Method = DEFAULT_METHOD,
    features: Features = None,
    features_items: FeaturesItems = None,
    truth: KnownTruth = None,
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    roster: WorkersFile = None,
    output: Output = None,
    safe_csv: SafeCsv = False,
    sets: Annotated[bool, typer.Option("--sets", help="Write item,labels: one row per item.")] = False,
    all_labels: Annotated[bool, typer.Option("--all-labels", help="Also pairs that nobody was asked about.")] = False,
    decode: Annotated[Rule, typer.Option(help=DECODE_HELP)] = "threshold",
    top_k: Annotated[int | None, typer.Option(help="Labels per item, for --decode top_k.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file."), PAGE] = None,
    save: Annotated[Path | None, typer.Option(help="Also save the fitted model to this file."), FILE] = None,
    start: Annotated[Path | None, typer.Option("--from", help=FROM_HELP), READS] = None,
    as_json: Json = False,
) -> None:
    """Find the labels of each item; writes item,label,probability,present,settled."""
    check_rule(decode, top_k)
    if features or features_items:
        make_model(method).check_uses_features()
    if roster is not None:
        make_model(method).check_uses_roster()
    kind: dict[str, Any] = {"decode": decode, "k": top_k, "frame": "arrow"}
    if isinstance(votes, PackedVotes):
        if by_blocks(method) and report is None and truth is None and roster is None:
            kind |= {"sets": sets, "all_labels": all_labels}
            with engine.over(votes) as blocks:
                _consensus_of_blocks(blocks, method, start, output, safe_csv, save, as_json, **kind)
            return
        votes = votes.votes()
    engine.refuse_for_files()
    if sets or all_labels or decode != "threshold":
        check_all_pairs(votes.n_items, votes.n_labels)
    known = known_truth(truth, known_items, known_pairs, truth_unmentioned)
    listed = listed_workers(roster, votes.worker_names)
    if listed is None:
        for suspicion in named_like_models(votes):
            notes.print(suspicion.sentence(votes.worker_names), markup=False, soft_wrap=True)
    model = fit(votes, method, start, described_items(votes, features, features_items), known, listed)
    if not as_json or output is not None:
        table = model.sets(**kind) if sets else model.pairs(all_labels=all_labels, **kind)
        write_rows(table, output, safe_csv=safe_csv)
    if save is not None:
        model.save(save)
        notes.print(f"saved the model to {save}")
    if report is not None:
        from amcc.report import write_report

        with busy("Drawing the report"):
            write_report(model, votes, report)
        notes.print(f"wrote the report to {report}")
    if as_json:
        found = _found(model.pairs(decode=decode, k=top_k, frame="arrow"))
        print_json(_summary(InMemory(votes), model, method, output, int((~model.item_answered_).sum()), found))


def _consensus_of_blocks(
    blocks: Engine,
    method: str,
    start: Path | None,
    output: Path | None,
    safe_csv: bool,
    save: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """The same block by block, with no more in memory than a few of them."""
    model = fit(blocks, method, start)
    found: list[Found] = []

    def counted(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            found.append(_found(table))
            yield table

    if not as_json or output is not None:
        tables = model.tables(blocks, **options)
        with busy("Writing the consensus"):
            write_rows(counted(tables) if _has_asked_pairs(options) else tables, output, safe_csv=safe_csv)
    if save is not None:
        model.save(save)
        notes.print(f"saved the model, without results by item, to {save}")
    if as_json:
        if not found:  # what was written does not say it
            options |= {"sets": False, "all_labels": False}
            found = [_found(table) for table in model.tables(blocks, **options)]
        unanswered = blocks.total(items_without_answer).items
        print_json(_summary(blocks, model, method, output, unanswered, Found(*map(sum, zip(*found, strict=True)))))


def _has_asked_pairs(options: Mapping[str, Any]) -> bool:
    """Whether the rows are those of the asked pairs."""
    return not (options["sets"] or options["all_labels"])


class Found(NamedTuple):
    """Labels present, and settled pairs."""

    present: int
    settled: int


def _found(pairs: pa.Table) -> Found:
    """What is in a table of pairs."""
    return Found(*(int(pairs[column].to_numpy().sum()) for column in Found._fields))


def _summary(
    engine: Engine, model: ConsensusModel, method: str, output: Path | None, unanswered: int, found: Found
) -> dict[str, Any]:
    return {
        "method": method,
        "items": engine.n_items,
        "items_without_answer": unanswered,
        "workers": engine.n_workers,
        "labels": engine.n_labels,
        "votes": engine.n_votes,
        "pairs": engine.n_pairs,
        "present": found.present,
        "labels_per_item": found.present / max(engine.n_items, 1),
        "settled": found.settled,
        "open": engine.n_pairs - found.settled,
        "families": model.families("arrow").to_pylist() if model.has_roster else [],
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "output": None if output is None else str(output),
    }
