"""What is said about a name that is not known."""

from app.text.close_matches import near_names


def test_a_misspelt_name_gets_the_nearest_ones_in_their_own_case() -> None:
    assert near_names("blue byrds", ["Green", "Blue Birds", "Red"]) == "Did you mean 'Blue Birds'?"
    assert near_names("gren", ["Green", "Grey"]) == "Did you mean 'Green' or 'Grey'?"


def test_a_strange_name_gets_the_first_ones_and_their_number() -> None:
    assert near_names("x", ["Green", "Red"]) == "There are: 'Green', 'Red'."
    teams = [f"Team {number}" for number in range(12)]
    assert near_names("x", teams) == f"There are: {', '.join(map(repr, teams[:10]))}, … (12 in all)."
    assert near_names("x", []) == "There is none."
