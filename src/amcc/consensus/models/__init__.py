"""One model per file, or per folder: whatever stands here is found by its class, see `amcc.consensus.registry`."""
