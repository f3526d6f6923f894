"""The catalogue of metrics as data: descriptions, settings and worked examples."""
