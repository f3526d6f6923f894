"""More measures of one 2×2 table, and what the averages make of them."""
