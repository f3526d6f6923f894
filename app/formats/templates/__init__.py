"""Templates: files for participants to fill in."""
