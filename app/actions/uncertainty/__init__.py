"""How sure scores and boards are: queue, compute and read intervals and comparisons of the rows of boards."""
