"""Live pages: their readers are told that something has changed, and fetch it again."""
