"""Where data come from: named public sets and a crowd simulator that knows the truth."""
