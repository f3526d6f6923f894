"""Every limit of a file is a setting, and who meets it is told so: by a service on which each of them is small."""

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest
from backports import zstd

from app.formats import FORMATS
from tests.faults.hostile import MIB, arrow, npz, parquet
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, query_rows, stored_uploads
from tests.live_service import Caller, Live, open_challenge

MAIN = "/challenges/pets/phases/main"
SMALL = {
    "max_upload": 20_000,
    "max_expanded": 30_000,
    "max_records": 40,
    "max_classes": 5,
    "max_columns": 8,
    "max_text_length": 20,
    "max_nesting": 6,
}
PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress, "": bytes}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    settings = {name: str(value) for name, value in SMALL.items()}
    service = Live(tmp_path_factory.mktemp("small") / "data", **settings).start()
    open_challenge(service.admin(), "pets", GOLD)
    yield service
    service.kill()


def send(
    caller: Caller, body: Any, form: str = "json", encoding: str = "", way: str = "dry", **query: str
) -> httpx.Response:
    media = {"Content-Type": FORMATS[form].media_types[0]} | ({"Content-Encoding": encoding} if encoding else {})
    if way == "gold":
        return caller.post(f"{MAIN}/gold", content=body, headers=media, params=query)
    parameters = {"team": "Blue", **({"dry_run": "true"} if way == "dry" else {})}
    return caller.post(
        f"{MAIN}/submissions", content=body, headers=media | {"Prefer": "wait=60"}, params=parameters | query
    )


def total(answer: httpx.Response) -> dict[str, int]:
    """What is wrong with a file, however it was sent; each problem says how to mend it."""
    assert answer.status_code in {200, 201, 422}, answer.text
    body = answer.json()
    assert all(each["message"].endswith((".", "?", ".)")) for each in body["problems"])
    found: dict[str, int] = body["total"]
    return found


def everywhere(small: Live, body: bytes, form: str = "json", encoding: str = "") -> dict[str, int]:
    """What is wrong with a file: the same for a dry run and a submission."""
    admin = small.admin()
    found = total(send(admin, body, form, encoding))
    stored = send(admin, body, form, encoding, "stored")
    assert stored.json()["status"] == "rejected"
    assert total(stored) == found
    return found


@pytest.mark.parametrize("way", ["dry", "stored", "gold"])
def test_an_upload_has_a_size_told_or_not(small: Live, way: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield from [b" " * 1000] * 21

    before = stored_uploads(small)
    for body in (b" " * 20_001, chunks()):
        answer = send(small.admin(), body, way=way)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large"), answer.text
        assert answer.json()["limit"] == SMALL["max_upload"]
        assert "20000 bytes" in answer.json()["detail"]
    assert stored_uploads(small) == before


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_file_has_a_size_when_expanded(small: Live, encoding: str) -> None:
    predictions = json.dumps(CORRECT_PREDICTIONS).encode()
    fits, over = predictions + b" " * (30_000 - len(predictions)), predictions + b" " * (30_001 - len(predictions))
    assert total(send(small.admin(), PACK[encoding](fits), encoding=encoding)) == {}
    assert everywhere(small, PACK[encoding](over), "json", encoding) == {"too_large": 1}
    assert total(send(small.admin(), PACK[encoding](over), encoding=encoding, way="gold")) == {"too_large": 1}


@pytest.mark.parametrize("form", ["npz", "parquet", "arrow"])
def test_so_have_the_arrays_and_columns_of_a_small_file(small: Live, form: str) -> None:
    labels = ["cat"] * 12
    table = pa.table({"id": list(CORRECT_PREDICTIONS), "label": [f"{at}".rjust(4000, "x") for at in range(12)]})
    body = {
        "npz": lambda: npz(ids=list(CORRECT_PREDICTIONS), labels=labels, more=["x" * 900] * 12),
        "parquet": lambda: parquet(table),
        "arrow": lambda: arrow(table, "zstd"),
    }[form]()
    assert len(body) < SMALL["max_upload"]
    assert everywhere(small, body, form) == {"too_large": 1}


def of_rows(form: str, ids: list[str], labels: list[str]) -> bytes:
    pairs = list(zip(ids, labels, strict=True))
    table = pa.table({"id": ids, "label": labels})
    if form in {"csv", "tsv"}:
        sign = "," if form == "csv" else "\t"
        return "".join(f"{one}{sign}{label}\n" for one, label in [("id", "label"), *pairs]).encode()
    if form in {"json", "jsonl"}:
        records = [{"id": one, "label": label} for one, label in pairs]
        return (json.dumps(records) if form == "json" else "\n".join(map(json.dumps, records))).encode()
    return npz(ids=ids, labels=labels) if form == "npz" else {"parquet": parquet, "arrow": arrow}[form](table)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_so_many_records(small: Live, form: str) -> None:
    names = [f"t{number}" for number in range(41)]
    assert everywhere(small, of_rows(form, names, ["cat"] * 41), form) == {"too_many_rows": 1}
    fits = everywhere(small, of_rows(form, names[:40], ["cat"] * 40), form)
    assert fits == {"unknown_id": 28}
    gold = send(small.admin(), of_rows(form, names, ["cat"] * 41), form, way="gold")
    assert total(gold) == {"too_many_rows": 1}
    assert "40" in gold.json()["problems"][0]["message"]


@pytest.mark.parametrize("form", FORMATS)
def test_an_id_and_a_label_have_a_length(small: Live, form: str) -> None:
    ids = ["i" * 21, *list(CORRECT_PREDICTIONS)[1:]]
    assert everywhere(small, of_rows(form, ids, list(CORRECT_PREDICTIONS.values())), form) == {
        "too_large": 1,
        "missing_instances": 1,
    }
    labels = ["l" * 21, *list(CORRECT_PREDICTIONS.values())[1:]]
    assert everywhere(small, of_rows(form, list(CORRECT_PREDICTIONS), labels), form) == {"too_large": 1}
    gold = send(small.admin(), of_rows(form, list(CORRECT_PREDICTIONS), labels), form, way="gold")
    assert total(gold) == {"too_large": 1}


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_has_so_many_columns(small: Live, form: str) -> None:
    names = ["id", "label", *(f"c{number}" for number in range(7))]
    sign = "," if form == "csv" else "\t"
    table = pa.table({name: ["t1"] for name in names})
    body = (
        {"parquet": parquet, "arrow": arrow}[form](table)
        if form in {"parquet", "arrow"}
        else f"{sign.join(names)}\n".encode()
    )
    answer = send(small.admin(), body, form)
    assert total(answer) == {"too_large": 1}
    assert "9 columns; at most 8" in answer.json()["problems"][0]["message"]
    assert everywhere(small, body, form) == {"too_large": 1}


def test_a_json_file_has_so_many_levels(small: Live) -> None:
    deep: Any = "x"
    for _ in range(4):
        deep = [deep]
    fits = [{"id": key, "label": label, "more": deep} for key, label in CORRECT_PREDICTIONS.items()]
    assert total(send(small.admin(), json.dumps(fits).encode())) == {}
    over = json.dumps([each | {"more": [deep]} for each in fits]).encode()
    assert everywhere(small, over) == {"too_deep": 1}
    assert total(send(small.admin(), over, way="gold")) == {"too_deep": 1}


def test_a_vocabulary_has_so_many_classes_declared_or_not(small: Live) -> None:
    admin = small.admin()
    many = [{"id": f"t{number}", "label": f"c{number}"} for number in range(6)]
    names = [each["label"] for each in many]
    body = {"title": "Many", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    gold = "/challenges/{}/phases/main/gold"
    for slug, classes in (("undeclared", None), ("declared", names)):
        admin.post("/challenges", json=body | {"slug": slug, "classes": classes}).raise_for_status()
        refused = admin.post(gold.format(slug), json=many)
        assert (refused.status_code, total(refused)) == (422, {"too_large": 1}), refused.text
        assert "6 classes; at most 5" in refused.json()["problems"][0]["message"]
    assert admin.post(gold.format("undeclared"), json=many[:5]).status_code == 201
    put = admin.put(gold.format("undeclared") + "/1/classes", json=names)
    assert (put.status_code, total(put)) == (422, {"too_large": 1}), put.text
    assert admin.put(gold.format("undeclared") + "/1/classes", json=names[4::-1]).json()["classes"] == names[4::-1]


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    settings = {"scoring_cpu": "3", "scoring_memory": str(256 * MIB), "crash_cap": "1"}
    service = Live(tmp_path_factory.mktemp("weak") / "data", **settings).start()
    open_challenge(service.admin(), "pets", GOLD)
    yield service
    service.kill()


def test_what_would_take_too_much_time_is_not_read_to_its_end(weak: Live) -> None:
    admin, before, packed = weak.admin(), stored_uploads(weak), zstd.compress(b"{\n" * 6_000_000)
    assert total(send(admin, packed, "jsonl", "zstd", "gold")) == {"syntax": 100_000}  # and no more
    assert stored_uploads(weak) == before
    stored = send(admin, packed, "jsonl", "zstd", "stored").json()  # of which no more is read than the phase can use
    assert (stored["status"], stored["total"]) == ("rejected", {"too_large": 1})
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="Green").json()["status"] == "finished"


def _too_large(answer: httpx.Response, words: str) -> None:
    assert (answer.status_code, total(answer)) == (422, {"too_large": 1}), answer.text
    assert words in answer.json()["problems"][0]["message"]


def test_what_takes_too_much_memory_is_a_problem_of_the_file(weak: Live) -> None:
    admin, before = weak.admin(), stored_uploads(weak)
    packed = zstd.compress(b'{"t1": "' + b"a" * (300 * MIB) + b'"}')
    dry = send(admin, packed, "json", "zstd").json()
    assert dry["total"] == {"too_large": 1}
    assert "more than 12 instances can need" in dry["problems"][0]["message"]
    _too_large(send(admin, packed, "json", "zstd", "gold"), "ASSAY_SCORING_MEMORY")
    assert stored_uploads(weak) == before
    stored = send(admin, packed, "json", "zstd", "stored").json()
    assert (stored["status"], stored["problems"]) == ("rejected", dry["problems"])
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="Green").json()["status"] == "finished"
    assert query_rows(weak, "SELECT count(*) FROM gold_versions") == [(1,)]
