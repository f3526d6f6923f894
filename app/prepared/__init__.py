"""Gold that is ready to score with, in files that all scoring children of a service map into memory: read once, not each time."""
