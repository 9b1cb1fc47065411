"""What to ask next: scores, strategies, crowds to ask, and campaigns that spend a budget."""
