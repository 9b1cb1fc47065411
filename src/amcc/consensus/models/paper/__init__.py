"""The paper's own objective, eq5, as one model: `PaperAMCC`. Deviations D1 to D8 and D13 to D16: docs/deviations.md.

A worker's answers are represented by an anchor, answers ≈ anchor · (individuality + commonality of their group), and
the groups are weighted by how well that works. Each file is one idea; equations are found by their label (`eq17`):

| file | what | equations |
|---|---|---|
| `answers` | answers as matrices, and the sums that eq5 is made of | A_w |
| `problem` | settings, what is given, and what is estimated | α, β, r, M; D_w, C_m, λ, W_m |
| `objective` | the function, part by part | eq1, eq2, eq3, eq4, eq5 |
| `individuality` | ADMM, and Theorem 1 | eq15, eq16, eq17, eq18 |
| `updates` | commonality, weights, groups, one round | eq19, eq20, eq21, eq22, eq23, D3 |
| `start` | where the rounds start | |
| `anchor` | what answers are represented by | D1 |
| `consensus` | from matrices to probabilities of labels | eq6 |
| `fitting`, `estimator` | rounds until it settles; the model as users meet it | |

eq7 to eq11 and eq13 choose questions and are in `amcc.active`, eq12 is in `amcc.consensus.worth`; there is no eq14.
"""

from amcc.consensus.models.paper.estimator import PaperAMCC

__all__ = ["PaperAMCC"]
