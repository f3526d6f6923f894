"""Archives of phases: reading them without trusting them, checking them, and computing their scores again."""
