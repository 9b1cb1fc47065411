"""Loops compiled with numba, one file for each kind of thing that they run over.

Nothing here is imported before it is needed: numba takes a third of a second to import, and small input never needs
it. Each loop has a plain numpy twin beside its caller (`amcc.passes`, `default.coins` and so on), and the tests
compare the two. Numbers that a loop and its twin must share stand in this file.

votes    posteriors, counts and sums over votes          degrees   degrees of presence
coins    log-gamma sums over coins (worker, label)       sets      kinds of label sets
hashes   hashes of items, workers and labels             compiling how all of them are compiled

A loop takes arrays that the caller has made, fills or adds to some of them, and allocates next to nothing: a fit calls
it hundreds of times.
"""

import numpy as np

# A worker with less of their membership than this in a group does not belong to it: it changes no sum that one can see.
LEAST_MEMBERSHIP = 1e-12

# The numbers of splitmix64, a hash that needs no table: the step between keys (2⁶⁴ divided by the golden ratio, so that
# multiples are spread evenly), and two odd multipliers that scramble. Results depend on them: never change one.
HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
HASH_FIRST, HASH_SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
