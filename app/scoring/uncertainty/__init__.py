"""How sure values, differences and orders are, and what limits the feedback of a board."""
