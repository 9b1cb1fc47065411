"""PaperAMCC as users meet it: its parameters, what it publishes, new votes, files, and its names in METHODS."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, Votes, load_model
from amcc.consensus import METHODS
from amcc.consensus.models.paper import PaperAMCC
from amcc.consensus.models.paper.problem import PaperSettings
from amcc.consensus.saving import FORMAT_VERSION
from amcc.errors import ConvergenceWarning, FileFormatError, NotFittedError, ParameterError
from amcc.fields import read_fields, write_fields

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def fitted(crowd):
    return PaperAMCC().fit(crowd.votes)


# -- parameters ---------------------------------------------------------------------------------------------------


def test_each_model_has_only_its_own_parameters():
    shared = {"n_groups", "max_iter", "tol", "random_state"}
    assert set(PaperAMCC().get_params()) == shared | {
        "hsic_weight", "laplacian_weight", "ridge", "weight_exponent",
        "rows", "anchor", "cells", "cosines", "start", "printed",
    }  # fmt: skip
    assert set(AMCC().get_params()) == shared | {"without", "reference", "settings", "exclusive", "warm_start"}
    with pytest.raises(TypeError, match="loss"):
        AMCC(loss="frobenius")


def test_defaults_of_the_model_are_those_of_the_settings():
    settings = inspect.signature(PaperSettings).parameters
    assert all(value == settings[name].default for name, value in PaperAMCC().get_params().items())


def test_names_of_the_command_line():
    assert isinstance(METHODS["amcc"](), AMCC)
    assert METHODS["amcc-frobenius"]().get_params() == PaperAMCC().get_params()
    assert repr(METHODS["amcc-printed"]()) == "PaperAMCC(printed=True, max_iter=100)"  # D16: the paper's rounds
    assert METHODS["amcc-frobenius"](n_groups=3).n_groups == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"anchor": "mast"}, "anchor must be 'consensus' or 'self'; got 'mast'"), ({"n_groups": 0}, "n_groups"),
     ({"weight_exponent": 0.5}, "weight_exponent must be above 1; got 0.5"), ({"tol": float("nan")}, "tol")],
)  # fmt: skip
def test_bad_settings_are_refused_before_the_fit(toy_votes, settings, message):
    model = PaperAMCC(**settings)
    with pytest.raises(ParameterError, match=message):
        model.fit(toy_votes)
    assert model.get_params() | settings == model.get_params()  # constructors only store


def test_a_fit_that_has_not_settled_warns(crowd):
    with pytest.warns(ConvergenceWarning, match="PaperAMCC stopped after 2 iterations"):
        model = PaperAMCC(max_iter=2).fit(crowd.votes)
    assert (model.n_iter_, model.converged_) == (2, False)


# -- what is published --------------------------------------------------------------------------------------------


def test_worker_cost_by_hand():
    """eq12: product of the diagonal over the labels said yes to, averaged over answers; a newcomer costs the mean."""
    votes = Votes.from_dense([[[1, 1], [1, -1]], [[-1, -1], [0, 0]], [[0, 0], [0, 0]]])
    model = PaperAMCC().fit(votes)
    a, b = np.diag(model.individuality_matrices_[0])
    first = [a * b, a]
    assert_allclose(model.worker_cost_, [np.mean(first), 1.0, np.mean([*first, 1.0])], rtol=1e-12)


def test_matrices(fitted):
    assert fitted.individuality_matrices_.shape == (25, 6, 6)
    assert fitted.commonality_matrices_.shape == (5, 6, 6)
    assert_allclose(fitted.individuality_matrices_.sum(axis=2), 1, atol=1e-9)  # rows of D_w, eq2


def test_label_correlation_is_the_cosine_of_labels(crowd, fitted):
    """B of eq4, from the sum of all answers."""
    votes = crowd.votes
    total = np.zeros((votes.n_items, votes.n_labels))
    np.add.at(total, (votes.item, votes.label), votes.value > 0)
    unit = total / np.linalg.norm(total, axis=0)
    assert_allclose(fitted.label_correlation_, unit.T @ unit, atol=1e-12)
    assert_array_equal(fitted.label_correlations(), fitted.label_correlation_)


def test_rows_of_norm_one(crowd):
    """D4: the other constraint of the print."""
    model = PaperAMCC(rows="unit").fit(crowd.votes)
    assert_allclose(np.linalg.norm(model.individuality_matrices_, axis=2), 1, atol=1e-9)


def test_rates_are_what_votes_are_judged_by(crowd, fitted):
    """On labels they met, the published rates of workers are those that make evidence."""
    coins, found = crowd.votes.coins, np.stack(fitted.rates_of_coins())
    met = fitted.worker_answer_rates_[:, coins.worker, coins.label]
    assert_allclose(found[:, coins.worker, coins.label], met, atol=1e-12)


def test_nothing_is_known_before_the_fit():
    for question in (lambda model: model.label_correlation_, lambda model: model.groups(), PaperAMCC.rates_of_coins):
        with pytest.raises(NotFittedError, match="this PaperAMCC has not learned anything yet"):
            question(PaperAMCC())


# -- new votes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"printed": True}], ids=str)
def test_the_same_votes_as_new_ones_say_the_same(crowd, settings):
    """With the anchor where the last round left it, the learned rates give nearly what the fit gave."""
    model = PaperAMCC(**settings).fit(crowd.votes)
    again = model.predict_proba(crowd.votes)
    assert_allclose(again, model.predict_proba(), atol=1e-9 if settings else 0.05)


@pytest.mark.parametrize("settings", [{}, {"printed": True}], ids=str)
def test_newcomers_count_as_the_others_do_on_average(crowd, settings):
    """A new worker's yes is evidence for the label; a new label is like a usual one, whoever says it."""
    model = PaperAMCC(**settings).fit(crowd.votes)
    old = crowd.votes.label_names.to_pylist()
    rows = [("i", "stranger", label, 1 if label == old[0] else -1) for label in [*old, "new"]]
    proba = model.predict_proba(pd.DataFrame(rows, columns=["item", "worker", "label", "value"]))
    assert proba.shape == (1, 7)
    assert proba[0].argmax() == 0
    assert np.isfinite(proba).all()


# -- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"printed": True}, {"rows": "unit", "cells": "all", "start": "uniform"}], ids=str
)
def test_saved_and_read_back(crowd, settings, tmp_path):
    model, new = PaperAMCC(**settings).fit(crowd.votes), crowd.votes.select(crowd.votes.item < 30)
    model.save(tmp_path / "model.amcc")
    loaded = load_model(tmp_path / "model.amcc")
    assert repr(loaded) == repr(model)
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert loaded.groups().equals(model.groups())


def test_a_file_of_a_setting_that_is_gone_is_refused(fitted, tmp_path):
    """Before format 4 the paper's objective was saved as an AMCC with loss='frobenius'."""
    path = tmp_path / "model.amcc"
    fitted.save(path)
    meta, arrays = read_fields(path, "a model")
    params = {**AMCC().get_params(), "loss": "frobenius"}
    write_fields(path, {**meta, "format": 3, "model": "AMCC", "params": params}, arrays)
    with pytest.raises(FileFormatError, match=f"has format 3; this amcc reads format {FORMAT_VERSION}"):
        load_model(path)
    with pytest.raises(FileFormatError, match="holds a PaperAMCC, not a AMCC"):
        fitted.save(path)
        AMCC.load(path)


# -- equations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [number for number in range(1, 24) if number != 14])
def test_every_equation_is_found_by_its_label(number):
    """Beside the code, written as eq17; there is no eq14 in the paper."""
    code = "".join(path.read_text() for path in (ROOT / "src" / "amcc").rglob("*.py") if path.name != "__init__.py")
    assert re.search(rf"\beq{number}\b", code)
