"""The compiled loop of `default.degrees`: how likely each degree of presence is for each pair.

Imported only for many votes, since numba takes a third of a second to import. The twin is `degrees._pieces`.
"""

import numpy as np

from amcc.loops.compiling import Compile, machine_code

# Sums over the degrees may be taken in any order, so that several degrees are handled at a time.
loop: Compile = machine_code(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@loop
def count(slot, start, label, worker, evidence, log_share, first, last, votes, pairs, kept):  # type: ignore[no-untyped-def]
    """Degrees of the pairs from `first` to `last`: add them to `votes` and `pairs`, and keep them if there is room.

    evidence : (2 n_workers, n_degrees) log-probability of a worker's no and yes at each degree
    log_share : (n_labels, n_degrees) log-probability of each degree before any vote
    votes, pairs : tables of the same shapes; kept : (n_pairs, n_degrees), or without rows where nobody wants them
    """
    n_degrees = evidence.shape[1]
    member = np.empty(n_degrees)
    for pair in range(first, last):
        of_label = label[pair]
        for degree in range(n_degrees):
            member[degree] = log_share[of_label, degree]
        for vote in range(start[pair], start[pair + 1]):
            place = 2 * np.int64(worker[slot[vote] >> 1]) + np.int64(slot[vote] & 1)
            for degree in range(n_degrees):
                member[degree] += evidence[place, degree]
        # The highest becomes exp(0) = 1: so not all of them can vanish, and none can overflow.
        highest = member[0]
        for degree in range(1, n_degrees):
            highest = max(highest, member[degree])
        total = 0.0
        for degree in range(n_degrees):
            member[degree] = np.exp(member[degree] - highest)
            total += member[degree]
        for degree in range(n_degrees):
            member[degree] /= total
            pairs[of_label, degree] += member[degree]
        for vote in range(start[pair], start[pair + 1]):
            place = 2 * np.int64(worker[slot[vote] >> 1]) + np.int64(slot[vote] & 1)
            for degree in range(n_degrees):
                votes[place, degree] += member[degree]
        if len(kept):
            for degree in range(n_degrees):
                kept[pair, degree] = member[degree]
