"""The scoring worker: claims tasks, has scoring processes score them, and stores the scores."""
