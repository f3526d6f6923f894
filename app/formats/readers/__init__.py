"""The readers of all formats: text or bytes to columns, with the location of every problem."""
