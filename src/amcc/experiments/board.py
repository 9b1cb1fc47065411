"""The board: every method on every cell, kept in a cache.

An *entrant* is what stands in a column: a method of amcc, one with other parameters (a *variant*), the default with the
truth of some items, a peer or the oracle. A *result* is one entrant on one draw of one cell. Results are kept, so that
a board that was interrupted goes on where it stopped, and a board after a change runs only what the change may have
changed.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import amcc
from amcc import METHODS, metrics
from amcc.arrays import Floats, Mask
from amcc.consensus import ConsensusModel, make_model
from amcc.errors import ConvergenceWarning, EmptyInputError, MissingExtraError, ParameterError, TooLargeError
from amcc.experiments import peers
from amcc.experiments.cells import Cell, Draw, Kind, with_known_items
from amcc.experiments.peers import ORACLE, PEERS
from amcc.files import make_folder, whole_file
from amcc.processes import computed
from amcc.truth import Truth

# Those of `metrics.evaluate`, those of `trust_scores`, and the time.
SCORES = (
    "jaccard", "f1", "hamming", "one_minus_rl", "one_minus_oe",
    "ece", "log_loss", "settled", "wrong_among_settled", "claimed_error", "true_error", "seconds",
)  # fmt: skip
HIGHER_IS_BETTER = SCORES[:5]
# More of it is good only if it is right, which other scores tell.
NEITHER_IS_BETTER = ("settled", "claimed_error")

# The method that is also shown with the truth of some items.
LEARNS_FROM_TRUTH = "amcc"

# A method of amcc and arguments of its constructor.
Variant = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Entrant:
    """What competes under a name; with `known`, it is given the truth of so many items and scored on the others."""

    name: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    known: int = 0

    def model(self) -> ConsensusModel:
        """The model, if it is a method of amcc."""
        return make_model(self.method).set_params(**self.params)


@dataclass(frozen=True)
class Result:
    """The scores of one entrant on one draw of one cell; None where it has no entry, a score where it is undefined."""

    cell: str
    kind: Kind
    seed: int
    method: str
    scores: Mapping[str, float | None] | None
    family: str = ""
    known: int = 0


# -- who takes part -------------------------------------------------------------------------------------------------


def known_methods() -> list[str]:
    """Everything that can be named as a method."""
    return [*METHODS, *PEERS, ORACLE]


def installed(methods: Iterable[str]) -> list[str]:
    """Those that can run here: peers need their tool."""
    return [method for method in methods if method not in PEERS or peers.crowdkit_version() is not None]


def parse_variant(text: str) -> tuple[str, Variant]:
    """Read NAME=METHOD:param=value,param=value; values are JSON, or else text.

    >>> parse_variant("strict=dawid-skene:hit_prior=[8, 2],max_iter=50")
    ('strict', ('dawid-skene', {'hit_prior': [8, 2], 'max_iter': 50}))
    """
    name, _, chosen = text.partition("=")
    method, colon, listed = chosen.partition(":")
    # A comma separates parameters only where another one follows: lists have commas too.
    pairs = [part.partition("=") for part in re.split(r",(?=\s*\w+\s*=)", listed)] if colon else []
    params = {key.strip(): value.strip() for key, _, value in pairs}
    complete = all([name.strip(), method.strip(), *params, *params.values()])
    if not complete or len(params) < len(pairs):
        raise ParameterError(f"a variant must look like NAME=METHOD:param=value,param=value; got {text!r}.")
    return name.strip(), (method.strip(), {key: _parse_value(key, value) for key, value in params.items()})


def _parse_value(name: str, text: str) -> Any:
    if text in ("True", "False", "None"):  # as text, all three would count as true
        raise ParameterError(f"{name} must be written as in JSON: true, false or null; got {text}.")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def entrants_of(methods: Iterable[str], variants: Mapping[str, Variant], known: Iterable[int] = ()) -> list[Entrant]:
    """Methods, the default with the truth of so many items, then variants, all checked before anything runs."""
    entrants = [Entrant(method, method) for method in dict.fromkeys(methods)]
    for entrant in entrants:
        if entrant.method not in known_methods():
            raise ParameterError(f"methods must be among {', '.join(known_methods())}; got {entrant.method!r}.")
    if missing := [entrant.method for entrant in entrants if not installed([entrant.method])]:
        raise MissingExtraError(peers.missing_crowdkit(missing))
    entrants += _with_truth(entrants, dict.fromkeys(known))
    for name, (method, params) in variants.items():
        if name in known_methods():
            raise ParameterError(f"a variant must have a name of its own; got {name!r}, which is a method.")
        if method not in METHODS:
            raise ParameterError(f"variant {name!r} must be of one of {', '.join(METHODS)}; got {method!r}.")
        entrants.append(Entrant(name, method, params))
        _check_variant(entrants[-1])
    if not entrants:
        raise ParameterError("there must be a method or a variant to compare; got none.")
    return entrants


def _with_truth(entrants: Sequence[Entrant], known: Iterable[int]) -> list[Entrant]:
    """The default once more for each number of known items."""
    learner = [entrant for entrant in entrants if entrant.method == LEARNS_FROM_TRUTH]
    made = []
    for number in known:
        if number < 1:
            raise ParameterError(f"known items must be at least 1; got {number}.")
        if not learner:
            raise ParameterError(f"known items are given to {LEARNS_FROM_TRUTH}, which must be among the methods.")
        made.append(replace(learner[0], name=f"{LEARNS_FROM_TRUTH}, {number} known items", known=number))
    return made


def _check_variant(variant: Entrant) -> None:
    try:
        variant.model()._check_params()
    except ParameterError as error:
        raise ParameterError(f"variant {variant.name!r}: {error}") from None
    except TypeError as error:  # such as text where a number is compared
        raise ParameterError(f"variant {variant.name!r} has a parameter of the wrong type: {error}.") from None


# -- running --------------------------------------------------------------------------------------------------------

Task = tuple[Cell, int, Entrant]


def run_board(
    cells: Sequence[Cell],
    methods: Iterable[str],
    folder: Path,
    *,
    variants: Mapping[str, Variant] | None = None,
    known: Iterable[int] = (),
    known_draws: int = 1,
    n_processes: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> list[Result]:
    """Results of every entrant on every draw, those in the cache of `folder` first.

    `variants` are further entrants: name → (method, arguments of its constructor). `known` are numbers of items whose
    truth the default is given; on a set that is used whole they are drawn `known_draws` times.
    """
    entrants = entrants_of(methods, variants or {}, known)
    if not cells:
        raise EmptyInputError("there must be a crowd to compare on; neither data nor a simulated size was chosen.")
    make_folder(folder)
    tasks: list[tuple[Task, Path]] = []
    for cell in cells:
        for seed in range(max(n_draws(cell, entrant, known_draws) for entrant in entrants)):
            drawn = cell.draw(seed).fingerprint()
            running = [entrant for entrant in entrants if seed < n_draws(cell, entrant, known_draws)]
            tasks += [((cell, seed, entrant), _place(folder, drawn, seed, entrant)) for entrant in running]
    missing = [(number, task) for number, (task, path) in enumerate(tasks) if not path.exists()]
    done = len(tasks) - len(missing)
    progress(done, len(tasks))
    for number, new in computed(evaluate_method, missing, n_processes):
        with whole_file(tasks[number][1]) as temporary:
            temporary.write_text(json.dumps({"scores": new.scores}))
        done += 1
        progress(done, len(tasks))
    return [_result(task, json.loads(path.read_text())["scores"]) for task, path in tasks]


def n_draws(cell: Cell, entrant: Entrant, known_draws: int) -> int:
    """How often an entrant is run on a cell: a set that is used whole has one draw, but many of its items to know."""
    is_whole = cell.folder is not None and cell.answers is None
    return known_draws if entrant.known and is_whole else cell.n_seeds


def _result(task: Task, scores: Mapping[str, float | None] | None) -> Result:
    cell, seed, entrant = task
    return Result(cell.name, cell.kind, seed, entrant.name, scores, cell.family or cell.name, entrant.known)


def evaluate_method(cell: Cell, seed: int, entrant: Entrant) -> Result:
    """Run one entrant on one draw and score it."""
    draw = cell.draw(seed)
    truth, scored = with_known_items(draw, entrant.known, seed) if entrant.known else (None, draw)
    # A copy without what an earlier entrant has worked out and left in the votes: all pay for it.
    find_consensus = _way_to_consensus(entrant, replace(draw, votes=replace(draw.votes)), truth)
    if find_consensus is None:
        return _result((cell, seed, entrant), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        try:
            consensus = find_consensus()
        except TooLargeError:  # the paper's matrices of labels, where there are hundreds
            return _result((cell, seed, entrant), None)
        seconds = time.perf_counter() - start
    return _result((cell, seed, entrant), {**scores_of(consensus, scored), "seconds": seconds})


class Consensus(NamedTuple):
    """Label sets, probabilities and what is called settled, all (n_items, n_labels); peers call nothing settled."""

    predicted: Mask
    proba: Floats
    settled: Mask | None = None


def scores_of(consensus: Consensus, draw: Draw) -> dict[str, float | None]:
    """All scores but the time; None where one is undefined."""
    asked = np.zeros_like(draw.known)
    asked[draw.votes.item, draw.votes.label] = True
    found = metrics.evaluate(draw.truth, consensus.predicted, consensus.proba, draw.known)
    found |= trust_scores(draw.truth, consensus, draw.known & asked)
    return {name: None if np.isnan(found[name]) else found[name] for name in SCORES[:-1]}


def trust_scores(truth: Mask, consensus: Consensus, known: Mask) -> dict[str, float]:
    """How sure a consensus is of the `known` pairs, and with what right; NaN where it does not say, or of nothing.

    settled : share of the pairs that are called settled; wrong_among_settled : share of these that are decided wrongly.
    claimed_error : how many decisions should be wrong by its own probabilities; true_error : how many are, both as
    shares. All by the label sets, which are what users take.
    """
    wrong = consensus.predicted != truth
    claimed = np.where(consensus.predicted, 1 - consensus.proba, consensus.proba)
    found = {"claimed_error": mean_at(claimed, known), "true_error": mean_at(wrong, known)}
    if consensus.settled is None:
        return {**found, "settled": np.nan, "wrong_among_settled": np.nan}
    settled, wrong_among_settled = mean_at(consensus.settled, known), mean_at(wrong, known & consensus.settled)
    return {**found, "settled": settled, "wrong_among_settled": wrong_among_settled}


def mean_at(values: Mask | Floats, chosen: Mask) -> float:
    """Mean of the chosen values, NaN of none."""
    return float(values[chosen].mean()) if chosen.any() else np.nan


def _way_to_consensus(entrant: Entrant, draw: Draw, truth: Truth | None) -> Callable[[], Consensus] | None:
    """What is timed; None where the entrant has no entry."""
    if entrant.method == ORACLE:
        if draw.rates is None:
            return None
        return partial(_decided, peers.true_rates, draw.votes, draw.rates, draw.truth.mean(axis=0))
    if entrant.method in PEERS:
        peer = PEERS[entrant.method]
        if len(draw.votes) > peer.max_votes:
            return None
        peers.load_crowdkit()
        return partial(_decided, peer.proba, draw.votes)
    return partial(_fitted, entrant.model(), draw, truth)


def _decided(find_proba: Callable[..., Floats], *arguments: Any) -> Consensus:
    proba = find_proba(*arguments)
    return Consensus(proba > 0.5, proba)


def _fitted(model: ConsensusModel, draw: Draw, truth: Truth | None) -> Consensus:
    model.fit(draw.votes, truth=truth)
    settled = np.zeros_like(draw.known)
    settled[model.pair_item_, model.pair_label_] = model.pair_settled_
    return Consensus(model.predict(), model.predict_proba(), settled)


# -- the cache ------------------------------------------------------------------------------------------------------


def _place(folder: Path, drawn: str, seed: int, entrant: Entrant) -> Path:
    """Where a result is kept: under what it depends on, and which scores it holds."""
    truth = [entrant.known, seed] if entrant.known else None  # which items are known hangs on the seed
    depends = [drawn, entrant.method, entrant.params, _version(entrant.method), truth, SCORES]
    wanted = json.dumps(depends, sort_keys=True)
    return folder / f"{hashlib.sha256(wanted.encode()).hexdigest()[:24]}.json"


def _version(method: str) -> list[str | None]:
    """The code that a result depends on. Peers and oracle are slow or settled: amcc's models do not concern them."""
    if method in METHODS:
        return [code_version()]
    return [peers.crowdkit_version() if method in PEERS else None, hash_of(peers.__file__, metrics.__file__)]


@cache
def code_version() -> str:
    """Changes with any code that models, data or metrics consist of."""
    sources = sorted(Path(amcc.__file__).parent.rglob("*.py"))
    code = [path for path in sources if not {"cli", "experiments"} & set(path.parts) and path.name != "report.py"]
    return hash_of(*code)


@cache
def hash_of(*paths: str | Path) -> str:
    """Changes with the content of the files."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()
