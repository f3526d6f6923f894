"""What people and programs can do, one verb per file: the product's table of contents.

An action gets a session from its caller and never commits; it knows nothing of requests.
"""
