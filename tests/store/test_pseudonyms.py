"""Pseudonyms of anonymous boards: distinct whatever their codes have in common, and without a common code otherwise."""

from app.actions.submissions.pseudonyms import pseudonyms, team_code

KEY = "0123456789abcdef0123456789abcdef"


def test_codes_that_begin_alike_are_shown_longer_and_no_other_is() -> None:
    teams = [f"team {number}" for number in range(2000)]  # of 27^4 codes of four signs: several of these begin alike
    names = pseudonyms(KEY, teams)
    assert len(set(names.values())) == len(teams)
    assert all(names[team] == f"Anonymous {team_code(KEY, team)}"[: len(names[team])] for team in teams)
    codes = {team: team_code(KEY, team)[:4] for team in teams}
    alone = [team for team in teams if list(codes.values()).count(codes[team]) == 1]
    assert 0 < len(teams) - len(alone) < 100
    assert {len(names[team]) for team in alone} == {len("Anonymous ") + 4}
    assert min(len(names[team]) for team in set(teams) - set(alone)) > len("Anonymous ") + 4


def test_another_key_gives_other_names() -> None:
    assert pseudonyms(KEY, ["a"]) == pseudonyms(KEY, ["a"])
    assert pseudonyms(KEY, ["a"]) != pseudonyms(KEY[::-1], ["a"])
