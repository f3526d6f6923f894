"""The REST API: one module per resource, with its routes and the models of its requests and replies."""
