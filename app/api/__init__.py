"""The REST API: one file per noun, routes with their shapes; requests come in, actions are called, JSON goes out."""
