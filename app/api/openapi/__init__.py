"""The OpenAPI document, its examples, and the documentation page."""
