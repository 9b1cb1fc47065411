"""A multi-label crowd with known truth, drawn block by block, so that 10⁸ votes need little memory.

A `CrowdSpec` fixes everything. What follows from it is drawn in this order, one file each:

spec      the numbers that a user may choose, and which of them fit together
kinds     reliable, normal, sloppy, spamming: the usual rates of workers
labels    item factors → label scores (probit factor model) → correlated labels of unequal frequency
workers   kind and specialty → hit and false-alarm rate per label; activity; price
votes     presence, rates and item difficulty → ±1 for each label asked in an answer
troubles  what the workers share, all off by default: faint and tempting pairs, taste, families of language models,
          experts with another convention
world     everything together: in memory (`simulate_crowd`) or in blocks of items (`crowd_blocks`)
files     the same blocks, streamed to a folder (`write_crowd`)

Each block of items is drawn from its own child of the seed: the blocks in memory are those that go to files.
"""

from amcc.data.simulate.files import write_crowd
from amcc.data.simulate.kinds import DIFFICULTY_SHIFT, HONEST_RATES, KIND_WEIGHTS, KINDS
from amcc.data.simulate.spec import CrowdSpec
from amcc.data.simulate.votes import CrowdBlock
from amcc.data.simulate.world import SimulatedWorld, crowd_blocks, simulate_crowd

__all__ = [
    "DIFFICULTY_SHIFT",
    "HONEST_RATES",
    "KINDS",
    "KIND_WEIGHTS",
    "CrowdBlock",
    "CrowdSpec",
    "SimulatedWorld",
    "crowd_blocks",
    "simulate_crowd",
    "write_crowd",
]
