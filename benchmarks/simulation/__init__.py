"""Simulations of what intervals and rank sets promise, on populations whose true values are known."""
