"""Where a fit runs: votes in blocks of whole items, in memory, out of core or on a cluster."""
