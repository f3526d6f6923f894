"""Every limit of a file is a setting, and who meets it is told so: by a service on which each of them is small."""

import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest
from backports import zstd

from app.formats import FORMATS
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.hostile import arrow, npz, parquet
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import Caller, open_challenge

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
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("small") / "data", **SMALL)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        yield service


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


def uploads(service: ServedApp) -> list[str]:
    """The names of the stored files, whole or in part."""
    return sorted(path.name for path in (service.app.state.service.settings.files_dir / "uploads").iterdir())


def total(answer: httpx.Response) -> dict[str, int]:
    """What is wrong with a file, however it was sent; each problem says how to mend it."""
    assert answer.status_code in {200, 201, 422}, answer.text
    body = answer.json()
    assert all(each["message"].endswith((".", "?", ".)")) for each in body["problems"])
    found: dict[str, int] = body["total"]
    return found


def everywhere(small: ServedApp, body: bytes, form: str = "json", encoding: str = "") -> dict[str, int]:
    """What is wrong with a file: the same for a dry run and a submission."""
    admin = small.admin()
    found = total(send(admin, body, form, encoding))
    stored = send(admin, body, form, encoding, "stored")
    assert stored.json()["status"] == "rejected"
    assert total(stored) == found
    return found


def test_an_upload_has_a_size_told_or_not(small: ServedApp) -> None:
    def chunks() -> Iterator[bytes]:
        yield from [b" " * 1000] * 21

    before = uploads(small)
    for way, body in itertools.product(("dry", "stored", "gold"), (b" " * 20_001, None)):
        answer = send(small.admin(), body or chunks(), way=way)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large"), answer.text
        assert answer.json()["limit"] == SMALL["max_upload"]
        assert "20000 bytes" in answer.json()["detail"]
    assert uploads(small) == before


def test_a_file_has_a_size_when_expanded(small: ServedApp) -> None:
    for encoding in ("gzip", "zstd"):
        predictions = json.dumps(CORRECT_PREDICTIONS).encode()
        fits, over = predictions + b" " * (30_000 - len(predictions)), predictions + b" " * (30_001 - len(predictions))
        assert total(send(small.admin(), PACK[encoding](fits), encoding=encoding)) == {}
        assert everywhere(small, PACK[encoding](over), "json", encoding) == {"too_large": 1}
        assert total(send(small.admin(), PACK[encoding](over), encoding=encoding, way="gold")) == {"too_large": 1}


def test_so_have_the_arrays_and_columns_of_a_small_file(small: ServedApp) -> None:
    for form in ("npz", "parquet", "arrow"):
        labels = ["cat"] * 12
        table = pa.table({"id": list(CORRECT_PREDICTIONS), "label": [f"{at}".rjust(4000, "x") for at in range(12)]})
        body = {
            "npz": npz(ids=list(CORRECT_PREDICTIONS), labels=labels, more=["x" * 900] * 12),
            "parquet": parquet(table),
            "arrow": arrow(table, "zstd"),
        }[form]
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


def test_a_file_has_so_many_records(small: ServedApp) -> None:
    for form in FORMATS:
        names = [f"t{number}" for number in range(41)]
        assert everywhere(small, of_rows(form, names, ["cat"] * 41), form) == {"too_many_rows": 1}
        fits = everywhere(small, of_rows(form, names[:40], ["cat"] * 40), form)
        assert fits == {"unknown_id": 28}
        gold = send(small.admin(), of_rows(form, names, ["cat"] * 41), form, way="gold")
        assert total(gold) == {"too_many_rows": 1}
        assert "40" in gold.json()["problems"][0]["message"]


def test_an_id_and_a_label_have_a_length(small: ServedApp) -> None:
    for form in FORMATS:
        ids = ["i" * 21, *list(CORRECT_PREDICTIONS)[1:]]
        assert everywhere(small, of_rows(form, ids, list(CORRECT_PREDICTIONS.values())), form) == {
            "too_large": 1,
            "missing_instances": 1,
        }
        labels = ["l" * 21, *list(CORRECT_PREDICTIONS.values())[1:]]
        assert everywhere(small, of_rows(form, list(CORRECT_PREDICTIONS), labels), form) == {"too_large": 1}
        gold = send(small.admin(), of_rows(form, list(CORRECT_PREDICTIONS), labels), form, way="gold")
        assert total(gold) == {"too_large": 1}


def test_a_table_has_so_many_columns(small: ServedApp) -> None:
    for form in ("csv", "tsv", "parquet", "arrow"):
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


def test_a_json_file_has_so_many_levels(small: ServedApp) -> None:
    deep: Any = "x"
    for _ in range(4):
        deep = [deep]
    fits = [{"id": key, "label": label, "more": deep} for key, label in CORRECT_PREDICTIONS.items()]
    assert total(send(small.admin(), json.dumps(fits).encode())) == {}
    over = json.dumps([each | {"more": [deep]} for each in fits]).encode()
    assert everywhere(small, over) == {"too_deep": 1}
    assert total(send(small.admin(), over, way="gold")) == {"too_deep": 1}


def test_a_vocabulary_has_so_many_classes_declared_or_not(small: ServedApp) -> None:
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
