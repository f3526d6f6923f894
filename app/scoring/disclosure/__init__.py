"""How much of the gold labels published scores can disclose at most."""
