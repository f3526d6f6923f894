"""Building a leaderboard from the rows: against sorting and serialising alone, against teams and entries of a team."""
