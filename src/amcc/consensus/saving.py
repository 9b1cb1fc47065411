"""Models as files of plain arrays and text, and what is checked when such a file is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from amcc.consensus.families import Families
from amcc.consensus.workers import WorkerRates
from amcc.errors import AmccError, FileFormatError
from amcc.fields import Arrays, Stored, fits, hints_of, read_fields, take_apart, write_fields

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel

# Of saved models. Before 5, labels did not exclude each other. Before 4, results by item were not one object, and the
# settings of the default were not kept. Before 3, votes were read in other ways. Before 2, names with zeros at their
# end came back without them.
FORMAT_VERSION = 5

RATES, FAMILIES = "worker_rates", "families"

Model = TypeVar("Model", bound="ConsensusModel")


# -- writing ---------------------------------------------------------------------------------------------------------


def save_model(model: ConsensusModel, path: Path) -> None:
    """Write every learned attribute (they end in an underscore), and what is said about the workers."""
    arrays: Arrays = {}
    plain: dict[str, Any] = {}
    for name, value in vars(model).items():
        if name.endswith("_") and value is not None:
            take_apart(value, name, arrays, plain)
    take_apart(model.worker_rates_, RATES, arrays, plain)
    if model.has_roster:
        take_apart(model.families_, FAMILIES, arrays, plain)
    meta = {"format": FORMAT_VERSION, "model": type(model).__name__, "params": model.get_params(), "plain": plain}
    write_fields(path, {**meta, "evidence": model.worker_evidence_}, arrays)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_model_file(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Description and arrays of a saved model, not yet checked beyond its format."""
    meta, arrays = read_fields(Path(path), "a model saved by amcc")
    version = meta.get("format")
    if version != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format {version}; this amcc reads format {FORMAT_VERSION}. Fit and save again."
        )
    if not isinstance(meta.get("model"), str):
        raise FileFormatError(f"{path} is damaged, or amcc did not write it: field 'model' must be a name.")
    return meta, arrays


def model_from_file(kind: type[Model], path: Path, meta: Mapping[str, Any], arrays: Arrays) -> Model:
    """The model that `read_model_file` found there, once every field of it was checked."""
    stored = Stored(path, arrays, meta.get("plain"))
    model = _with_params(kind, meta.get("params"), stored)
    _take_learned(model, stored)
    rates = stored.rebuilt(WorkerRates, RATES)
    families = stored.rebuilt(Families, FAMILIES) if model.has_roster else None
    stored.refuse_unknown()
    model.take_judgement(rates, _checked_evidence(meta.get("evidence"), stored), families)
    return model


def _with_params(kind: type[Model], params: Any, stored: Stored) -> Model:
    """A model with the parameters of a file."""
    wanted = kind().get_params()
    if not isinstance(params, dict) or set(params) != set(wanted):
        stored.wrong("params", f"must hold {', '.join(wanted)}")
    model = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in params.items()})
    kinds = hints_of(kind.__init__)
    for name, value in params.items():
        if not (value is None or fits(value, kinds[name])):
            stored.wrong(f"params.{name}", f"must be {kinds[name]}; it is {value!r}")
    try:
        model.check_params()
    except (AmccError, TypeError, ValueError, AttributeError) as error:  # text where a number belongs, and so on
        stored.wrong("params", f"cannot be: {error}")
    return model


def _take_learned(model: ConsensusModel, stored: Stored) -> None:
    """Set the learned attributes that the file holds, and no others."""
    hints = {name: hint for name, hint in hints_of(type(model)).items() if name.endswith("_")}
    # Names first, then those of the items: the sizes of all other arrays follow from them.
    for name in sorted(hints, key=lambda name: (not name.endswith("_names_"), name != "results_")):
        if name in stored.roots or not _is_optional(hints[name]):
            setattr(model, name, stored.rebuilt(hints[name], name))
    try:
        model._check_learned()
    except (AmccError, ValueError) as error:
        raise FileFormatError(f"{stored.path} is damaged, or amcc did not write it: {error}") from None


def _is_optional(hint: Any) -> bool:
    """Whether a file may do without a field."""
    return get_origin(hint) is Annotated and bool(get_args(hint)[1].optional or get_args(hint)[1].only)


def _checked_evidence(evidence: Any, stored: Stored) -> dict[int, str]:
    """Sentences by worker code, from JSON, which has only text as keys."""
    codes = {str(code) for code in range(stored.sizes["worker"])} if evidence else set()
    if not isinstance(evidence, dict) or not all(
        worker in codes and isinstance(text, str) for worker, text in evidence.items()
    ):
        stored.wrong("evidence", "must hold sentences by worker code")
    return {int(worker): text for worker, text in evidence.items()}
