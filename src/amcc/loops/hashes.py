"""The compiled loop of `amcc.consensus.signature`: hashes of votes are added up without keeping any.

Whole numbers of 64 bits begin again at zero when they grow too large. That makes their sums exact in any order, so
blocks, engines and threads all give the same hashes. The numbers of the hash are explained in `amcc.loops`.
"""

import numpy as np

from amcc.loops import HASH_FIRST, HASH_SECOND, HASH_STEP
from amcc.loops.compiling import machine_code


@machine_code()
def add_hashes(items, workers, labels, value, item, worker, label, of_item, of_worker, of_label):  # type: ignore[no-untyped-def]
    """Add the hash of every vote to those of its item, worker and label; the same steps as the numpy twin.

    items, workers, labels, value : (n_votes,) the votes
    item, worker, label : what stands for each of them in a hash; of_item, of_worker, of_label : the sums, likewise
    """
    # Only the worker is multiplied: else exchanging worker and item could give the same key.
    for number in range(len(value)):
        i, w, l = items[number], workers[number], labels[number]  # noqa: E741
        key = item[i] + HASH_STEP * worker[w] + label[l] + np.uint64(value[number] > 0)
        key = (key ^ (key >> np.uint64(30))) * HASH_FIRST
        key = (key ^ (key >> np.uint64(27))) * HASH_SECOND
        key = key ^ (key >> np.uint64(31))
        of_item[i] += key
        of_worker[w] += key
        of_label[l] += key
