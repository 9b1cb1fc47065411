"""The compiled loop of `degrees`; imported only for many votes, since numba takes a third of a second to import."""

import numpy as np

from amcc.loops.compiling import machine_code

loop = machine_code(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@loop
def count(slot, start, label, worker, evidence, log_share, first, last, votes, pairs, kept):  # type: ignore[no-untyped-def]
    """Degrees of the pairs from `first` to `last`: add them to `votes` and `pairs`, and keep them if there is room."""
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
