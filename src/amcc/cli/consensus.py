"""amcc consensus: the true label sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import typer

from amcc.cli.common import (
    DEFAULT_METHOD,
    Features,
    FeaturesItems,
    ItemTexts,
    Json,
    KnownItems,
    KnownPairs,
    KnownTruth,
    Method,
    Output,
    SafeCsv,
    TextColumn,
    TextUnits,
    TruthUnmentioned,
    WorkersFile,
    busy,
    described_items,
    effect_as_json,
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
from amcc.consensus.disagreement import KINDS
from amcc.consensus.item_results import check_all_pairs
from amcc.consensus.truth_effect import truth_effect
from amcc.consensus.undeclared import named_like_models
from amcc.decode import Rule, check_rule
from amcc.engine.base import Engine, InMemory
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.votes import Votes

DECODE_HELP = (
    "How probabilities become sets: labels more likely than not (threshold), the set with the best expected score "
    "(expected_f1, expected_jaccard), or a fixed number of labels (top_k)."
)

DISAGREEMENT_HELP = (
    "Also a column disagreement, which says why people disagree: " + ", ".join(KINDS) + " (docs/disagreement.md)."
)
SOFT_HELP = (
    "Also columns soft, soft_low and soft_high: the share of competent people who would say yes, and its 95 % interval."
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
    text: ItemTexts = None,
    text_column: TextColumn = None,
    text_units: TextUnits = "words",
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
    disagreement: Annotated[bool, typer.Option("--disagreement", help=DISAGREEMENT_HELP)] = False,
    soft: Annotated[bool, typer.Option("--soft", help=SOFT_HELP)] = False,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file."), PAGE] = None,
    save: Annotated[Path | None, typer.Option(help="Also save the fitted model to this file."), FILE] = None,
    start: Annotated[Path | None, typer.Option("--from", help=FROM_HELP), READS] = None,
    as_json: Json = False,
) -> None:
    """Find the labels of each item; writes item,label,probability,present,settled."""
    check_rule(decode, top_k)
    if sets and (disagreement or soft):
        raise ParameterError("--disagreement and --soft are columns of pairs; leave them out, or --sets.")
    described = features or features_items or text
    if described:
        make_model(method).check_uses_features()
    if roster is not None:
        make_model(method).check_uses_roster()
    kind: dict[str, Any] = {"decode": decode, "k": top_k, "frame": "arrow"}
    more: dict[str, Any] = {"disagreement": disagreement, "soft": soft}
    if isinstance(votes, PackedVotes):
        if by_blocks(method) and report is None and truth is None and not described and roster is None:
            kind |= {"sets": sets, "all_labels": all_labels, **more}
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
    numbers = described_items(votes, features, features_items, text, text_column, text_units)
    model = fit(votes, method, start, numbers, known, listed)
    notes.print(model.settling_.sentence(), soft_wrap=True)
    written = None
    if not as_json or output is not None:
        with busy("Looking at the disagreement" if disagreement else "Writing the consensus"):
            written = model.sets(**kind) if sets else model.pairs(all_labels=all_labels, votes=votes, **more, **kind)
        write_rows(written, output, safe_csv=safe_csv)
    if save is not None:
        model.save(save)
        notes.print(f"saved the model to {save}")
    if report is not None:
        from amcc.report import write_report

        with busy("Drawing the report"):
            write_report(model, votes, report)
        notes.print(f"wrote the report to {report}")
    if as_json:
        if written is None or sets or all_labels:  # what was written does not say it
            written = model.pairs(votes=votes, disagreement=disagreement, **kind)
        found = _found(written)
        summary = _summary(InMemory(votes), model, method, output, int((~model.item_answered_).sum()), found)
        print_json(summary | effect_as_json(truth_effect(model, votes)))


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
    notes.print(model.settling_.sentence(), soft_wrap=True)
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
            options |= {"sets": False, "all_labels": False, "soft": False}
            found = [_found(table) for table in model.tables(blocks, **options)]
        unanswered = blocks.total(items_without_answer).items
        print_json(_summary(blocks, model, method, output, unanswered, _together(found)))


def _has_asked_pairs(options: Mapping[str, Any]) -> bool:
    """Whether the rows are those of the asked pairs."""
    return not (options["sets"] or options["all_labels"])


class Found(NamedTuple):
    """Labels present, settled pairs, and pairs by kind of disagreement, if that was asked for."""

    present: int
    settled: int
    kinds: Counter[str] | None


def _found(pairs: pa.Table) -> Found:
    """What is in a table of pairs."""
    present, settled = (int(pairs[column].to_numpy().sum()) for column in ("present", "settled"))
    if "disagreement" not in pairs.column_names:
        return Found(present, settled, None)
    counts = pc.value_counts(pairs["disagreement"].cast(pa.string())).to_pylist()
    return Found(present, settled, Counter({row["values"]: row["counts"] for row in counts}))


def _together(found: list[Found]) -> Found:
    """What is in several tables."""
    kinds = [part.kinds for part in found if part.kinds is not None]
    return Found(
        sum(part.present for part in found),
        sum(part.settled for part in found),
        sum(kinds, Counter()) if kinds else None,
    )


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
        **({} if found.kinds is None else {"disagreement": {kind: found.kinds[kind] for kind in KINDS}}),
        "settled_basis": model.settled_basis_,
        "settled_claim": model.settling_.claim,
        "families": model.families("arrow").to_pylist() if model.has_roster else [],
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "features": None if model.item_prior_ is None else model.item_prior_.summary(),
        "output": None if output is None else str(output),
    }
