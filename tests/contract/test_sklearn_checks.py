"""scikit-learn's own checks of estimators, as far as they apply to models that are fitted to votes.

`check_estimator` as a whole does not apply: models take `Votes`, and its other checks call fit(X, y). Not run are
therefore, by kind: those of data (dtypes, sparse, NaN, shapes, sample weights, memory maps: `Votes` refuses bad data
when it is made), of classifiers, regressors, transformers, clusterers and outlier detectors (a model is none of them),
of tags and metadata (scikit-learn is not imported by amcc), and of feature names. What those with a fit check besides
(fit gives the model, keeps its parameters and its data, can be repeated and pickled) is below, with votes.
"""

import copy
import pickle

import numpy as np
import pytest
from sklearn.utils import estimator_checks

from amcc.consensus import METHODS, make_model
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import NotFittedError

CHECKS = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
)


@pytest.fixture(scope="module")
def votes():
    return simulate_crowd(CrowdSpec(n_items=20, n_workers=8, n_labels=3, seed=2)).votes


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS)
def test_checks_of_scikit_learn(method, check):
    model = make_model(method)
    getattr(estimator_checks, check)(type(model).__name__, model)


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_a_fit_behaves_as_scikit_learn_expects(method, votes):
    model = make_model(method)
    with pytest.raises(NotFittedError):
        model.predict()
    before, data = copy.deepcopy(model.get_params()), votes.to_arrow()
    assert model.fit(votes) is model
    assert model.get_params() == before and votes.to_arrow().equals(data)
    proba, state = model.predict_proba(), dict(vars(model))
    assert vars(model).keys() == state.keys()  # to predict changes nothing
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(), proba)
    np.testing.assert_allclose(model.fit(votes).predict_proba(), proba, atol=1e-12)
