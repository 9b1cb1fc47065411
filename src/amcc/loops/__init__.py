"""Loops compiled with numba, one file for each kind of thing that they run over.

Nothing here is imported before it is needed: numba takes a third of a second to import, and small input never needs
it. Each loop has a plain numpy twin beside its caller (`amcc.passes`, `models.amcc.coins` and so on), and the tests
compare the two. Numbers that a loop and its twin must share stand in this file.
"""

import numpy as np

# A worker with less of their membership than this in a group does not belong to it: it changes no sum that one can see.
LEAST_MEMBERSHIP = 1e-12

# The numbers of splitmix64, a hash that needs no table: the step between keys, and two odd multipliers that scramble.
HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
HASH_FIRST, HASH_SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
