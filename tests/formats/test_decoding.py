import gzip
import io
import zlib

from app.formats.content.decompression import read_bytes
from app.formats.content.utf8_decoding import decode_utf8
from app.formats.problems import Problems
from app.formats.reading_rules import Limits
from tests.each_case import for_each
from tests.formats.reading import compress, read_answer_labels, read_valid_sets, summarize_problems

GOOD = b'{"t1":"cat","t2":"dog","t3":"eel"}'
PACKED = gzip.compress(GOOD, mtime=0)


@for_each("kind", ["json", "jsonl", "csv"])
def test_gzipped_files_read_like_plain_ones(kind: str) -> None:
    text = {
        "json": GOOD.decode(),
        "jsonl": '{"id":"t1","label":"cat"}\n{"id":"t2","label":"dog"}\n{"id":"t3","label":"eel"}',
        "csv": "id,label\nt1,cat\nt2,dog\nt3,eel",
    }[kind]
    assert read_valid_sets(text, kind) == read_valid_sets(text, kind, encoding="gzip") == [[0], [1], [2]]


def test_several_gzip_members_are_one_file() -> None:
    data = gzip.compress(GOOD[:10]) + gzip.compress(b"") + gzip.compress(GOOD[10:])
    assert read_valid_sets(data, encoding="gzip") == [[0], [1], [2]]


@for_each("end", [0, 1, 10, -12, -8])
def test_a_truncated_gzip_file_is_a_problem(end: int) -> None:
    labels, problems = read_answer_labels(PACKED[:end], encoding="gzip")
    assert labels is None
    assert problems.total == {"encoding": 1}


@for_each(
    "data, words",
    [
        (PACKED + b"garbage", "follows the gzip data"),
        (PACKED + b"\0", "follows the gzip data"),
        (PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "incorrect data check"),
        (PACKED[:-4] + b"\0\0\0\0", "incorrect length check"),
        (GOOD, "is not"),
    ],
)
def test_damaged_gzip_is_a_problem_that_says_what_is_wrong(data: bytes, words: str) -> None:
    labels, problems = read_answer_labels(data, encoding="gzip")
    assert labels is None
    assert problems.total == {"encoding": 1}
    assert words in problems.first[0].message


def test_a_gzipped_file_that_does_not_say_so_is_named() -> None:
    _, problems = read_answer_labels(PACKED)
    assert problems.total == {"encoding": 1}
    assert "gzip" in problems.first[0].message


@for_each("encoding", ["", "gzip", "zstd"])
@for_each("size, fits", [(999, True), (1000, True), (1001, False)])
def test_the_expanded_size_is_limited_to_the_byte(encoding: str, size: int, fits: bool) -> None:
    data = b"x" * size
    problems = Problems()
    stream = io.BytesIO(compress(data, encoding))
    found = read_bytes(stream, encoding, limits=Limits(expanded_bytes=1000), problems=problems)
    assert (found == data) is fits
    assert problems.total == ({} if fits else {"too_large": 1})


def test_a_bomb_is_not_expanded_beyond_the_limit() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
    stream = io.BytesIO(bomb)
    problems = Problems()
    limits = Limits(expanded_bytes=3 << 20)
    assert read_bytes(stream, "gzip", limits=limits, problems=problems) is None
    assert problems.total == {"too_large": 1}


def test_only_one_byte_order_mark_is_skipped() -> None:
    mark = b"\xef\xbb\xbf"
    _, problems = read_answer_labels(mark + GOOD)
    assert not problems
    _, problems = read_answer_labels(mark + mark + GOOD)
    assert summarize_problems(problems) == [{"code": "syntax", "line": 1, "column": 1}]
    _, problems = read_answer_labels(mark)
    assert "The file is empty" in problems.first[0].message


@for_each("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_named(encoding: str) -> None:
    _, problems = read_answer_labels(GOOD.decode().encode(encoding))
    assert summarize_problems(problems) == [{"code": "encoding", "line": 1, "column": 1}]
    assert "UTF-16" in problems.first[0].message


def test_each_byte_that_is_not_utf_8_is_placed_and_its_text_is_not_reported_again() -> None:
    text = "id,label\nt1,cät\nt2,dög\nt3,eel\n"
    _, problems = read_answer_labels(text.encode("latin-1"), "csv")
    assert summarize_problems(problems) == [
        {"code": "encoding", "line": 2, "column": 5},
        {"code": "encoding", "line": 3, "column": 5},
    ]
    assert "'ä'" in problems.first[0].message


def test_an_id_that_nobody_can_read_is_missed_and_may_be_the_damaged_one() -> None:
    _, problems = read_answer_labels('{"t1":"cat","t2":"dog","tü":"eel"}'.encode("latin-1"), ids=["t1", "t2", "tü"])
    assert problems.total == {"encoding": 1, "missing_instances": 1}
    assert "It may be on a row whose id could not be read" in problems.first[-1].message


def test_columns_count_characters_not_bytes() -> None:
    problems = Problems()
    decode_utf8("a\näö€".encode() + b"\xff", by_line=False, problems=problems)
    assert summarize_problems(problems) == [{"code": "encoding", "line": 2, "column": 4}]


def test_a_file_of_nothing_but_faulty_bytes_is_counted_whole() -> None:
    _, problems = read_answer_labels(b'["' + b"\xe4" * 100_000 + b'"]')
    assert problems.total["encoding"] == 100_000
    assert problems.first[99].column == 102


def test_a_character_that_spans_two_windows_is_sound() -> None:
    problems = Problems()
    text = "a" * 4094 + "\u20ac" * 3000
    decode_utf8(text.encode() + b"\n\xff", by_line=True, problems=problems)
    assert summarize_problems(problems) == [{"code": "encoding", "line": 2, "column": 1}]
