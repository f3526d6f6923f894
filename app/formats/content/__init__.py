"""The content of a file before it is parsed: its format, its compression, its text, and how much it holds."""
