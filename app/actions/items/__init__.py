"""Item analysis for organizers: which systems it looks at, and the requests to a scoring process."""
