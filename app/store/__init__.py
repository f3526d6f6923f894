"""Tables, sessions and queries: the only layer that uses SQL."""
