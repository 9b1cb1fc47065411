"""One file per revision, numbered in their order."""
