"""Confusable names, mixed scripts and reserved names."""

import unicodedata

from app.text.confusable_names import group_confusable_names, is_reserved, look_key, name_key, script_problem
from app.text.unicode import mixed_scripts, skeleton
from tests.each_case import for_each

# Each of them is drawn like Blue, or so near to it that a board cannot tell the two apart.
LIKE_BLUE = [
    "\u0412lue",  # a Cyrillic capital
    "BIue",  # a capital I
    "B1ue",
    "B|ue",
    "B\u0336lue",  # struck out
    "\u0243lue",  # the same as one letter
    "Blu\u0332e",  # underlined
    "BLUE",
    "B\u200dlue",
    "\uff22\uff4c\uff55\uff45",  # full width
    "\U0001d401lue",  # mathematical bold
    "Blu\u0435",  # a Cyrillic small letter
    "\u13f4lue",  # Cherokee
    "Bl\u1d1ce",  # a small capital u
]


@for_each("name", LIKE_BLUE)
def test_names_drawn_alike_have_one_look(name: str) -> None:
    assert look_key(name) == look_key("Blue") or name_key(name) == name_key("Blue")


@for_each(
    "one, other",
    [
        ("Team BIue", "TEAM B1UE"),  # in each case of the letters
        ("Modern", "Modem"),
        ("\u0421\u043e\u0441\u043e", "Coco"),  # all Cyrillic, all Latin
        ("Vi\u1ec7t", "Vi\u1ec7t\u0335"),
        ("Jos\u00e9", "Jose\u0301"),
        ("O2", "02"),
    ],
)
def test_pairs_drawn_alike_have_one_look(one: str, other: str) -> None:
    assert look_key(one) == look_key(other)


@for_each(
    "one, other",
    [("Jos\u00e9", "Jose"), ("M\u00fcller", "Muller"), ("Blue", "Blues"), ("Blue", "Bl\u00fce"), ("Team A", "Team B")],
)
def test_names_that_readers_tell_apart_are_apart(one: str, other: str) -> None:
    assert look_key(one) != look_key(other)
    assert name_key(one) != name_key(other)


@for_each("name", ["\u0915\u093f", "\u0915\u0940", "\u05e9\u05b8\u05dc\u05d5\u05dd", "\u0e01\u0e34\u0e19"])
def test_marks_that_a_script_is_written_with_count(name: str) -> None:
    bare = "".join(sign for sign in name if unicodedata.category(sign) not in {"Mn", "Mc"})
    assert look_key(name) != look_key(bare)
    assert script_problem(name) is None


@for_each(
    "name",
    [
        "Jos\u00e9 & M\u00fcller (NLP-Lab) #1 @ 50%!",
        "\u6771\u4eac Tokyo \u30c1\u30fc\u30e0 \u3042",
        "\ud55c\uad6d\uc5b4 Lab",
        "\u7d05\u968a \u3105 x",
        "\u041a\u043e\u043c\u0430\u043d\u0434\u0430 42",
        "Rocket \U0001f680",
        "\u03a3-\u03b1",
    ],
)
def test_names_of_one_writing_system_may_be_taken(name: str) -> None:
    assert script_problem(name) is None


@for_each("name", ["\u0412lue", "Alph\u03b1", "\u041a\u03b1", "\u6771\u043a", "\ud55c\u3042", "a\ue000", "a\U0003ffff"])
def test_names_of_several_writing_systems_may_not(name: str) -> None:
    assert script_problem(name) is not None


def test_the_scripts_of_a_mixed_name_are_named() -> None:
    assert mixed_scripts("\u0412lue") == ["Cyrl", "Latn"]
    assert "Cyrl, Latn" in str(script_problem("\u0412lue"))


@for_each(
    "sign, drawn",
    [("m", "rn"), ("\u0430", "a"), ("\u01c9", "lj"), ("\u2260", "="), ("\u00f8", "o"), ("\u00e9", "e\u0301")],
)
def test_skeletons_are_those_of_the_standard_without_strokes(sign: str, drawn: str) -> None:
    assert skeleton(sign) == drawn


@for_each(
    "name",
    [
        "Admin", "ADM1N", "\u0410dmin", "the Organizers", "Organisers 2", "Base-lines", "Baseline 1",
        "Anonymous 12", "Assay Team", "M o d e r a t o r", "\uff33upport", "o\u0336fficial", "Anonymous I",
        "Anonymous lO", "Anonymous \u0661", "1Anonymous", "AnonymousI", "ADM|N", "offIcial", "Assay Admin",
        "Baseline (official)", "Organizing Team", "Challenge organizers", "Official results",
        "Majority baseline", "Test entries", "TEST-ENTRlES", "Test entry 2", "The T\u0435st entries",
    ],
)  # fmt: skip
def test_names_that_pose_as_the_organizers_are_reserved(name: str) -> None:
    assert is_reserved(name)


@for_each(
    "name",
    [
        "Blue", "Ad Astra", "System F", "Rooters", "Bases", "42", "\u6771\u4eac", "Supporters", "Team OIL",
        "Root Cause", "The Results", "Beyond Baseline", "Test Team", "Contested entries",
    ],
)  # fmt: skip
def test_other_names_are_not(name: str) -> None:
    assert not is_reserved(name)


def test_names_that_look_alike_come_in_groups() -> None:
    found = group_confusable_names(["Blue", "Green", "BIue", "GREEN", "Red", "B1ue"])
    assert found == [["Blue", "BIue", "B1ue"], ["Green", "GREEN"]]
