"""Property tests with new examples and large budgets: `make explore`."""
