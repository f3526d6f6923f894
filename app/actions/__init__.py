"""Actions: what users and programs can do, one verb per file.

An action gets a session from its caller and never commits. It knows nothing about HTTP requests.
"""
