"""Archives of phases: their layout, how they are read without trusting them, and how their scores are computed again."""
