"""Former boards: as they were at a time, the ranks of teams over time, and boards that were frozen to be cited."""
