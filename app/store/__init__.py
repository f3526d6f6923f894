"""Tables, sessions and queries: the only floor that speaks SQL."""
