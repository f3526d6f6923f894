"""Vectorized readers: they read files of plain layout quickly, and leave every other file to the strict readers."""
