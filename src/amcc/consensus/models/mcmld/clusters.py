"""How many clusters a crowd's answers ask for, by the authors' rule on principal components."""

from __future__ import annotations

import numpy as np
import scipy

from amcc.arrays import Floats, weight_per_code
from amcc.consensus.answers import gather_answers
from amcc.votes import Votes

# Where their number is found from the votes: unrelated labels would ask for about as many clusters as labels.
MAX_CLUSTERS = 12


def count_clusters(votes: Votes, explained: float) -> int:
    """As many principal components of the answers as come nearest to explaining this share of their variance.

    Answers that never vary make one cluster.
    """
    variance, total = leading_variances(votes, MAX_CLUSTERS)
    if total <= 0:
        return 1
    return int(np.argmin(np.abs(explained - np.cumsum(variance) / total))) + 1


def leading_variances(votes: Votes, n_leading: int) -> tuple[Floats, float]:
    """The largest eigenvalues, falling, of the covariance of all answers, and the sum of all (up to a factor).

    An unasked label counts as the label's average, that is zero once the average is taken away.
    """
    answer = gather_answers(votes).of_vote
    # A label without votes has the mean 0, and no vote to take it from.
    n_votes = np.maximum(np.bincount(votes.label, minlength=votes.n_labels), 1)
    mean = weight_per_code(votes.label, votes.value, votes.n_labels) / n_votes
    centred = votes.value - mean[votes.label]
    answers = scipy.sparse.csr_array((centred, (answer, votes.label)), shape=(answer.max() + 1, votes.n_labels))
    covariance = answers.T @ answers
    # Few labels: all eigenvalues of a small dense matrix are quicker than some of a sparse one.
    if votes.n_labels <= 10 * n_leading:
        variance = np.linalg.eigvalsh(covariance.toarray())
    else:
        from scipy.sparse.linalg import eigsh  # methods without clusters need not wait for this import

        # A fixed start makes the result repeatable.
        variance = np.sort(eigsh(covariance, n_leading, v0=np.ones(votes.n_labels), return_eigenvectors=False))
    return variance[::-1][:n_leading], float(covariance.trace())
