"""The organizer's desk: the pages with which organizers create a challenge and run it."""
