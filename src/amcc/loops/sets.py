"""The compiled loop of `default.correlation`: kinds of label sets, and what they say about the pairs of an item.

Imported only for many pairs, since numba takes a third of a second to import. Each item is of one of a few kinds; given
the kind, its labels are independent. The numpy twin stands beside the caller.

Votes say nothing about the kind directly: they make labels likely, and labels make kinds likely. So the loop first
finds how likely each kind is for the item, by all its labels, and then how likely each label is, within each kind.
"""

import numpy as np

from amcc.loops.compiling import Compile, machine_code
from amcc.loops.votes import CHUNK, probabilities

# Sums over the kinds may be taken in any order, so that several kinds are handled at a time.
loop: Compile = machine_code(error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@loop
def step(item, label, log_odds, shares, frequency, proba, share, present, asked):  # type: ignore[no-untyped-def]
    """Fill `proba`, add to the counts; the log-probability of what the votes say. The arguments are as in `SetStep`.

    item, label : (n_pairs,) sorted by item; log_odds : (n_pairs,) what the votes alone say
    shares, share : (n_kinds,) probability of each kind, and expected items of each
    frequency, present, asked : (n_labels, n_kinds) how often a label is present in items of a kind, and counts of it
    """
    n_pairs, n_kinds, n_labels = len(item), len(shares), len(frequency)
    say, log_evidence = np.empty(n_pairs), 0.0
    for begin in range(0, n_pairs, CHUNK):
        log_evidence += probabilities(log_odds[begin : begin + CHUNK], say[begin : begin + CHUNK])
    member, agrees, product = np.empty(n_kinds), np.empty((n_labels, n_kinds)), 1.0
    first = 0
    while first < n_pairs:
        last = first
        for kind in range(n_kinds):
            member[kind] = shares[kind]
        while last < n_pairs and item[last] == item[first]:
            yes, of_label, place, total = say[last], label[last], last - first, 0.0
            for kind in range(n_kinds):
                # Probability of what the votes say about this label: present with `frequency`, and absent otherwise.
                agrees[place, kind] = (1.0 - yes) + frequency[of_label, kind] * (2.0 * yes - 1.0)
                member[kind] *= agrees[place, kind]
                total += member[kind]
            for kind in range(n_kinds):  # after every label, so that nothing underflows
                member[kind] /= total
            product *= total  # one logarithm of many factors is as good as many
            if product < 1e-100:  # numbers end at 1e-308: room for any factor that can still come
                log_evidence += np.log(product)
                product = 1.0
            last += 1
        for pair in range(first, last):
            yes, of_label, place, total = say[pair], label[pair], pair - first, 0.0
            for kind in range(n_kinds):
                part = member[kind] * frequency[of_label, kind] * yes / agrees[place, kind]  # Bayes within the kind
                total += part
                present[of_label, kind] += part
                asked[of_label, kind] += member[kind]
            proba[pair] = total
        for kind in range(n_kinds):
            share[kind] += member[kind]
        first = last
    return log_evidence + np.log(product)
