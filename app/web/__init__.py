"""Pages and the files they load."""
