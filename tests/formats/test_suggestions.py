from app.formats.validation.suggestions import SuggestionFinder
from tests.each_case import for_each
from tests.formats.reading import read_answer_labels


@for_each(
    "text, near",
    [
        ("CAT", "cat"), (" cat ", "cat"), ("black_cat", "Black cat"), ("item-7", "item-007"),
        ("item 0007", "item-007"), ("ｃａｔ", "cat"), ("Blakc cat", "Black cat"), ("7", "item-007"),
        ("images/item-007.png", "item-007"), ("test_7", "item-007"), ("animal:cat", None), ("zebra", None),
        ("item-7.0", "item-007"),
        ("", None),
    ],
)  # fmt: skip
def test_case_spaces_padding_and_slips_are_seen_through(text: str, near: str | None) -> None:
    assert SuggestionFinder(["cat", "Black cat", "item-007"]).find(text) == near


def test_among_many_known_texts_folding_and_the_last_part_are_tried() -> None:
    near = SuggestionFinder([f"item-{n:05}" for n in range(1000)])
    assert near.find("ITEM 12") == "item-00012"
    assert near.find("itme-00012") == "item-00012"
    assert near.find("item-00012x") is None


@for_each(
    "kind, text, hint",
    [
        ("json", "id,label\nt1,cat\n", "looks like CSV"),
        ("json", '{"preds": [{"id": "t1", "label": "cat"}]}', '"preds" does not have a supported layout'),
        ("json", "id;label\nt1;cat\n", "looks like CSV"),
        ("json", "id,labelt1,cat", "--data-binary"),
        ("json", "id,labelt-1,catt-2,dog", "--data-binary"),
        ("json", 'id,label"t-1","cat""t-2","dog"', "--data-binary"),
        ("json", '"id","label"img/1.png,cat', "--data-binary"),
        ("json", "id\tlabelt-1\tcat", "--data-binary"),
        ("jsonl", '"id","label"t-1,cat', "--data-binary"),
        ("json", '{"id": "t1", "label": "cat"}{"id": "t2", "label": "cat"}', "--data-binary"),
        ("csv", "id,labelt1,catt2,dog", "--data-binary"),
        ("csv", "id,labelt-1,catt-2,dog", "--data-binary"),
        ("csv", '"id","label"t-1,catt-2,dog', "--data-binary"),
        ("csv", '"id","label""t-1","cat"', "--data-binary"),
        ("csv", "id,cat,dog,eelt1,1,0,0", "--data-binary"),
        ("csv", "id,label\nt1,1\n", '0 is "cat", 1 is "dog", 2 is "eel"'),
        ("csv", "id,0,1,2\nt1,1,0,0\n", "by the classes, not by numbers"),
        ("json", '"id" "label"\n"1" "t1" "cat"\n', "row.names = FALSE"),
        ("json", '"id","label"\n"t1","cat"\n', "looks like CSV"),
        ("json", '{"id": {"0": "t1"}, "label": {"0": "cat"}}', "orient='records'"),
        ("json", '{"columns": ["id", "label"], "index": [0], "data": [["t1", "cat"]]}', "orient='records'"),
        ("csv", "id,label\n9.78358E+12,cat\n", "format the column of ids as text"),
        ("json", "predictions.csv", "-F file=@FILE"),
        ("npz", "PK" + "x" * 100, "--data-binary"),
        ("csv", "id|label\nt1|cat\n", "separated by vertical bars; use commas"),
        ("csv", "id\tlabel\nt1\tcat\n", "separated by tabs; use commas"),
    ],
)
def test_a_file_meant_in_another_way_gets_the_advice_that_mends_it(kind: str, text: str, hint: str) -> None:
    _, problems = read_answer_labels(text, kind)
    assert hint in problems.first[0].message


@for_each("multilabel, told", [(True, True), (False, False)])
def test_a_long_table_of_several_labels_is_told_to_say_so(multilabel: bool, told: bool) -> None:
    _, problems = read_answer_labels("id,label\nt1,cat\nt1,dog\nt2,cat\nt3,cat\n", "csv", multilabel=multilabel)
    assert ("layout=long" in problems.first[0].message) == told


def test_a_map_of_scores_is_no_table_of_pandas() -> None:
    text = '{"id": {"cat": 1, "dog": 0, "eel": 0}}'
    assert "pandas" not in str(read_answer_labels(text, ids=["id"])[1].first)


@for_each(
    "kind, text, multilabel",
    [
        ("json", '[{"id": "t1", "label": NaN}]', False),
        ("json", '[{"id": Infinity, "label": "cat"}]', False),
        ("json", '[{"id": "t1", "labels": ["cat", NaN]}]', True),
        ("json", '{"t1": NaN}', False),
        ("json", '{"ids": ["t1"], "labels": [NaN]}', False),
        ("jsonl", '{"id": "t1", "label": NaN}\n', False),
    ],
)
def test_a_missing_value_that_a_program_wrote_as_a_number_is_no_label(kind: str, text: str, multilabel: bool) -> None:
    (found,) = [
        one for one in read_answer_labels(text, kind, multilabel=multilabel)[1].first if one.code == "not_a_number"
    ]
    assert found.message.startswith("An id or label must be a string")


def test_a_score_that_is_no_number_is_told_to_be_one() -> None:
    text = '[{"id": "t1", "scores": {"cat": NaN, "dog": 0.5, "eel": 0.5}}]'
    (found,) = [one for one in read_answer_labels(text)[1].first if one.code == "not_a_number"]
    assert found.message.startswith("The value is not a finite number.")
