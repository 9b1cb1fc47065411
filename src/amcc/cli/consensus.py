"""amcc consensus: the true label sets.

The way of this command: read the votes, or open packed ones; refuse options that contradict each other or would be
ignored; fit; write the rows; then what else was asked for.

Votes in memory and packed votes take the same way. `EngineOptions.running` decides which of them a fit sees: packed
votes stay on disk unless something needs all of them at once. Rows are then made block by block, and no more than a few
blocks are ever in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import typer

from amcc.cli.console import busy, notes, say
from amcc.cli.fitting import ModelChoice, effect_as_json, exclusive_as_json, fit, items_without_answer
from amcc.cli.options.engines import EngineOptions
from amcc.cli.options.features import ItemDescriptions
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import KnownTruth, TruthCoverage
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, RowsOutput, print_json
from amcc.cli.paths import FILE, PAGE, READS
from amcc.consensus import ConsensusModel
from amcc.consensus.disagreement import KINDS
from amcc.consensus.item_results import check_all_pairs
from amcc.consensus.settling import NO_PAIRS, SettledCounts
from amcc.consensus.undeclared import named_like_models
from amcc.decode import Rule, check_rule
from amcc.engine.base import Engine, as_engine
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
# The languages themselves are known to the report, which is imported when one is written.
LANGUAGE_HELP = "Of the report: en (English), de (Deutsch). Default: en."
FROM_HELP = (
    "Model that --save wrote for earlier votes. Where less than a tenth of the votes is new, a few rounds from there "
    "take the place of a fit."
)


@dataclass(frozen=True)
class ConsensusRows(OptionGroup):
    """What the rows are: pairs or sets, decided how, with which further columns.

    sets : one row per item instead of one per pair
    all_labels : also pairs that nobody was asked about
    decode, top_k : how probabilities become sets, see `amcc.decode`
    disagreement, soft : further columns of pairs, which look at the votes once more
    """

    sets: Annotated[bool, typer.Option("--sets", help="Write item,labels: one row per item.")] = False
    all_labels: Annotated[bool, typer.Option("--all-labels", help="Also pairs that nobody was asked about.")] = False
    decode: Annotated[Rule, typer.Option(help=DECODE_HELP)] = "threshold"
    top_k: Annotated[int | None, typer.Option(help="Labels per item, for --decode top_k.")] = None
    disagreement: Annotated[bool, typer.Option("--disagreement", help=DISAGREEMENT_HELP)] = False
    soft: Annotated[bool, typer.Option("--soft", help=SOFT_HELP)] = False

    def check(self) -> None:
        """Raise ParameterError where options contradict each other."""
        check_rule(self.decode, self.top_k)
        if self.sets and (self.disagreement or self.soft):
            raise ParameterError("--disagreement and --soft are columns of pairs; leave them out, or --sets.")

    def check_fits(self, votes: Votes) -> None:
        """Raise TooLargeError where a table of all items and labels is needed and would not fit in memory."""
        # Only the threshold decides pair by pair; the other rules compare all labels of an item.
        if self.sets or self.all_labels or self.decode != "threshold":
            check_all_pairs(votes.n_items, votes.n_labels)

    @property
    def are_asked_pairs(self) -> bool:
        """Whether there is one row for each pair that somebody was asked about, which is what --json counts."""
        return not (self.sets or self.all_labels)

    def of_asked_pairs(self) -> ConsensusRows:
        """The rows that --json counts, without the columns that it does not need."""
        # The rule stays: it decides what is present.
        return replace(self, sets=False, all_labels=False, soft=False)

    def tables(self, model: ConsensusModel, votes: Votes | Engine) -> Iterator[pa.Table]:
        """The rows: one table, or one per block. On terminals, with a progress spinner."""
        made = self._made(model, votes)
        while True:
            # Not while it is written: rows and a turning wheel would share the terminal.
            with busy("Looking at the disagreement" if self.disagreement else "Writing the consensus"):
                table = next(made, None)
            if table is None:
                return
            yield table

    def _made(self, model: ConsensusModel, votes: Votes | Engine) -> Iterator[pa.Table]:
        """The same, without the spinner."""
        kind: dict[str, Any] = {"decode": self.decode, "k": self.top_k, "frame": "arrow"}
        more: dict[str, Any] = {"all_labels": self.all_labels, "disagreement": self.disagreement, "soft": self.soft}
        if isinstance(votes, Engine):
            yield from model.tables(votes, sets=self.sets, **more, **kind)
        else:
            yield model.sets(**kind) if self.sets else model.pairs(votes=votes, **more, **kind)


@dataclass(frozen=True)
class ModelFiles(OptionGroup):
    """Further files: what else to write (report, in which language; save), and what to start from (start)."""

    report: Annotated[Path | None, typer.Option(help="Also write an HTML report to this file."), PAGE] = None
    language: Annotated[str | None, typer.Option(help=LANGUAGE_HELP)] = None
    save: Annotated[Path | None, typer.Option(help="Also save the fitted model to this file."), FILE] = None
    start: Annotated[Path | None, typer.Option("--from", help=FROM_HELP), READS] = None
    export: Annotated[Path | None, typer.Option(help="Also write it as another tool reads it, see --to."), FILE] = None
    to: Annotated[str | None, typer.Option(help="Whose form --export has: amcc formats lists them.")] = None

    def check(self) -> None:
        """Raise ParameterError where it cannot be known what to write, or where something would be ignored."""
        if self.language is not None:
            from amcc.report.language import language

            language(self.language)
            if self.report is None:
                raise ParameterError("--language is that of the report: give --report FILE, too, or leave it out.")
        if (self.export is None) != (self.to is None):
            raise ParameterError("--export FILE and --to TOOL belong together; one of them is missing.")
        if self.to is not None:
            from amcc.exports import writer_named

            writer_named(self.to)

    @property
    def need_all_votes(self) -> bool:
        """Whether something is written that looks at all votes at once."""
        return self.report is not None or self.export is not None

    def write(
        self, model: ConsensusModel, votes: Votes | Engine, source: Path, texts: pa.Table | None, question: str | None
    ) -> None:
        """Save the model, draw the report and write for other tools, where they were asked for.

        source : where the votes came from; the report says how to go on from there
        texts, question : what the items are, and how the question is called, for tools that show them
        """
        if self.save is not None:
            model.save(self.save)
            # One file for all items would be as large as the votes that do not fit in memory.
            left_out = ", without results by item," if isinstance(votes, Engine) else ""
            notes.print(f"saved the model{left_out} to {self.save}")
        if self.report is not None and isinstance(votes, Votes):
            # Charts take a second to import.
            from amcc.report import write_report

            with busy("Drawing the report"):
                write_report(model, votes, self.report, language=self.language or "en", source=str(source))
            notes.print(f"wrote the report to {self.report}")
        if self.export is not None and self.to is not None and isinstance(votes, Votes):
            from amcc.exports import write_consensus

            named = {} if question is None else {"question": question}
            write_consensus(model, votes, self.export, to=self.to, texts=texts, **named)
            notes.print(f"wrote the consensus for {self.to} to {self.export}")


def consensus(
    *,
    path: VotesPath,
    choice: ModelChoice,
    described: ItemDescriptions,
    truth: KnownTruth = None,
    coverage: TruthCoverage,
    roster: WorkersFile = None,
    output: RowsOutput,
    rows: ConsensusRows,
    files: ModelFiles,
    as_json: Json = False,
    engine: EngineOptions,
    reading: ReadingOptions,
) -> None:
    """Find the labels of each item; writes item,label,probability,present,settled.

    With --truth there is also told, 1 for pairs whose truth was given (with --sets told_labels, a list): `evaluate` and
    `audit` leave them out, as nothing is measured by what it was told.
    """
    with engine.reading():
        given = reading.open(path)
    # Before the fit, which may take hours.
    rows.check()
    files.check()
    choice.check_used(features=described.are_named(), roster=roster)
    # These look at single votes, pairs or items, wherever they are; blocks are seen one at a time.
    whole = bool(files.need_all_votes or truth or roster or described.are_named())
    with engine.running(given.votes, choice.method, whole=whole) as votes:
        known = coverage.read_if_named(truth, given.truth)
        listed = listed_workers(roster, votes.worker_names, choice.usable(given.roster))
        features = None
        if isinstance(votes, Votes):
            rows.check_fits(votes)
            # Whoever declared the workers knows which of them are language models.
            if listed is None:
                say(*(suspicion.sentence(votes.worker_names) for suspicion in named_like_models(votes)))
            features = described.read(votes)
        model = fit(votes, choice, files.start, features, known, listed)
        # How far "settled" can be trusted belongs beside every consensus, not only into the report.
        say(model.settling_.sentence())
        if model.results_ is not None:
            say(model.settled_counts_.sentence())
        found = _write(model, votes, rows, output, as_json)
        if model.results_ is None and found is not None:  # packed votes are counted while they are written
            say(found.pairs.sentence())
        files.write(model, votes, path, given.texts, reading.question)
        if as_json and found is not None:
            from amcc.consensus.truth_effect import truth_effect

            effect = truth_effect(model, votes) if isinstance(votes, Votes) else None
            print_json(_summary(as_engine(votes), model, choice.method, output.output, found) | effect_as_json(effect))


def _write(
    model: ConsensusModel, votes: Votes | Engine, rows: ConsensusRows, output: RowsOutput, as_json: bool
) -> Found | None:
    """Write the rows, and count what is in them.

    Counting goes along with writing, as a table of all pairs may not fit in memory. Where nothing was written, or
    something else than the asked pairs, these are made once more for --json, and else not counted.
    """
    found: list[Found] = []

    def counted(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            found.append(_found(table))
            yield table

    if output.is_wanted_beside(as_json):
        tables = rows.tables(model, votes)
        output.write(counted(tables) if rows.are_asked_pairs else tables)
    if as_json and not found:
        # What was written, if anything was, does not say it.
        found = [_found(table) for table in rows.of_asked_pairs().tables(model, votes)]
    if not (found or as_json):
        return None
    return _together(found)


class Found(NamedTuple):
    """Pairs present, absent and settled, and pairs by kind of disagreement, if that was asked for."""

    pairs: SettledCounts
    kinds: Counter[str] | None


def _found(pairs: pa.Table) -> Found:
    """What is in a table of pairs.

    >>> _found(pa.table({"present": [1, 0, 1], "settled": [1, 1, 0]}))
    Found(pairs=SettledCounts(present=2, settled_present=1, absent=1, settled_absent=1), kinds=None)
    """
    counts = SettledCounts.of(*(pairs[column].to_numpy() > 0 for column in ("present", "settled")))
    if "disagreement" not in pairs.column_names:
        return Found(counts, None)
    kinds = pc.value_counts(pairs["disagreement"].cast(pa.string())).to_pylist()
    return Found(counts, Counter({row["values"]: row["counts"] for row in kinds}))


def _together(found: list[Found]) -> Found:
    """What is in several tables.

    >>> parts = [Found(SettledCounts(1, 1, 2, 0), Counter(clear=3)), Found(SettledCounts(4, 0, 2, 1), Counter(open=1))]
    >>> tuple(_together(parts).pairs), _together(parts).kinds
    ((5, 1, 4, 1), Counter({'clear': 3, 'open': 1}))
    """
    # Either all tables have the column or none.
    kinds = [part.kinds for part in found if part.kinds is not None]
    counts = SettledCounts(*map(sum, zip(NO_PAIRS, *(part.pairs for part in found), strict=True)))
    return Found(counts, sum(kinds, Counter()) if kinds else None)


def _summary(engine: Engine, model: ConsensusModel, method: str, output: Path | None, found: Found) -> dict[str, Any]:
    """What --json prints: sizes, what was found, how far it is settled and on what basis, and how the fit went."""
    return {
        "method": method,
        "items": engine.n_items,
        "items_without_answer": engine.total(items_without_answer).items,
        "workers": engine.n_workers,
        "labels": engine.n_labels,
        "votes": engine.n_votes,
        "pairs": engine.n_pairs,
        "present": found.pairs.present,
        # Of no item at all, none has a label.
        "labels_per_item": found.pairs.present / max(engine.n_items, 1),
        "settled": found.pairs.settled,
        **found.pairs.shares(),
        "open": engine.n_pairs - found.pairs.settled,
        "told": 0 if model.results_ is None else int(model.pair_told_.sum()),
        **({} if found.kinds is None else {"disagreement": {kind: found.kinds[kind] for kind in KINDS}}),
        "exclusive": exclusive_as_json(model),
        "reference": model.reference_sentence_ or None,
        "settled_basis": model.settled_basis_,
        "settled_claim": model.settling_.claim,
        "families": model.families("arrow").to_pylist() if model.has_roster else [],
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "features": None if model.item_prior_ is None else model.item_prior_.summary(),
        "output": None if output is None else str(output),
    }
