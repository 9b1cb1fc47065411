"""Studies that compare methods: long, resumable, and started by a command.

They stand beside the library: they import what any user can (`tests/test_layers.py` checks it), and nothing but
`amcc board`, `amcc reproduce` and scripts of the folder benchmarks imports them.

cells.py      crowds whose truth is known       entrants.py   who competes: methods, variants, peers, the oracle
board.py      every entrant on every cell       summary.py    ranks and verdicts      families.py   means over sources
pages.py      the board for people              export.py     the board for scripts   text.py       numbers and tables
leave_out.py  choosing settings honestly        peers.py      crowd-kit, the oracle   cache.py      results are kept
sense.py      common sense: points and limits   sense_measures.py, sense_draws.py     what is measured, on what
reproduce/    the paper's tables and figures    paper_values.py, paper_scores.csv     what the paper prints
"""
