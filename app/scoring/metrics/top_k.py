"""Hard-label measures of the k best-scored labels of each instance."""
