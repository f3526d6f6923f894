"""The OpenAPI document is complete, and of the shape that it claims."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema_rs import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from app.api.http.problem_documents import MEDIA_TYPE
from app.api.site_map import ROUTER_MODULES
from app.formats import FORMATS
from app.main import API_TAGS
from tests.repository.tree import ROOT, Fault, Tree

VISITORS = {"/healthz", "/readyz"}
OF_ONES_OWN = {"/api/v1/me", "/api/v1/me/data", "/api/v1/tokens"}
MEMBER_CODES = {"not_registered", "registration_pending", "registration_barred", "no_team"}
IN_THE_WAY = {
    "post_submission": MEMBER_CODES | {"team_disqualified", "phase_paused", "challenge_archived", "no_open_phase"},
    **{f"post_{act}": MEMBER_CODES | {"submission_of_former_team"} for act in ("cancel", "select", "withdraw")},
    "post_activate": {"phase_released", "invalid_recipe"},
    "get_report": {"split_hidden"},
}
"""What stands in the way of participants, by operation."""
PAGE = "docs/openapi.json"


class Operation(NamedTuple):
    path: str
    spec: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.spec["operationId"])

    def parameters(self) -> list[dict[str, Any]]:
        return list(self.spec.get("parameters", []))

    def responses(self) -> dict[str, Any]:
        return dict(self.spec["responses"])

    def contents(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """What is sent and every success that is not empty: where, media type, content."""
        for media, content in self.spec.get("requestBody", {}).get("content", {}).items():
            yield "request", media, content
        for status, response in self.responses().items():
            if status.startswith("2"):
                for media, content in response.get("content", {}).items():
                    yield status, media, content

    def codes(self) -> set[str]:
        """The codes of errors that it documents."""
        answers = self.responses().values()
        return {code for each in answers for code in each.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})}

    def fault(self, wrong: str, remedy: str) -> Fault:
        path, line = _places().get(self.name, (PAGE, 1))
        return Fault(path, line, f"{self.name}: {wrong}", remedy)


@cache
def _places() -> dict[str, tuple[str, int]]:
    """File and line of the function behind each operation."""
    found = {}
    for module in ROUTER_MODULES:
        for route in module.router.routes:
            code = unwrap(route.endpoint).__code__
            found[str(route.name)] = (str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno)
    return found


def operations(tree: Tree) -> list[Operation]:
    return [Operation(path, spec) for path, methods in tree.document["paths"].items() for spec in methods.values()]


def every_operation_has_a_name_of_its_own(tree: Tree) -> Iterator[Fault]:
    names = Counter(operation.name for operation in operations(tree))
    for operation in operations(tree):
        if names[operation.name] > 1:
            yield operation.fault(f"{names[operation.name]} operations have this name", "Rename the function")


def every_shape_is_used_and_every_reference_leads_to_one(tree: Tree) -> Iterator[Fault]:
    defined = {f"#/components/schemas/{name}" for name in tree.document["components"]["schemas"]}
    for wrong in sorted(set(_references(tree.document)) ^ defined):
        what = "is used nowhere" if wrong in defined else "leads nowhere"
        yield Fault(PAGE, tree.line(PAGE, wrong.rpartition("/")[2]), f"{wrong} {what}", "Fix app/api/openapi")


def every_tag_is_described_and_used(tree: Tree) -> Iterator[Fault]:
    used = {tag for operation in operations(tree) for tag in operation.spec.get("tags", [])}
    told = {tag["name"]: tag["description"] for tag in API_TAGS}
    for tag in sorted(used ^ told.keys()):
        what = "is described but no route has it" if tag in told else "is not described"
        yield Fault("app/main.py", tree.line("app/main.py", "API_TAGS"), f"the tag {tag} {what}", "Complete TAGS")
    for tag in (tag for tag, text in told.items() if not text.endswith(".")):
        yield Fault("app/main.py", tree.line("app/main.py", "API_TAGS"), f"{tag} has no sentence", "Describe the tag")


def every_operation_says_what_it_does(tree: Tree) -> Iterator[Fault]:
    for each in operations(tree):
        summary, text = each.spec.get("summary", ""), each.spec.get("description", "")
        if not summary[:1].isupper() or summary.endswith("."):
            yield each.fault(f"the summary is '{summary}'", "Begin with a capital and end without a full stop")
        if not text.endswith("."):
            yield each.fault("the description is not a sentence", "Write a docstring that ends with a full stop")
        if len(each.spec.get("tags", [])) != 1:
            yield each.fault("it has not exactly one tag", "Give the router one tag")
        if not any(status.startswith("2") for status in each.responses()):
            yield each.fault("no success is documented", "Name the status of success")
        names = [parameter["name"] for parameter in each.parameters()]
        of_path = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
        if [name for name in names if "{" + name + "}" in each.path] != of_path:
            yield each.fault(f"its path has {of_path}, its parameters are {names}", "Name them in the same order")


def every_parameter_is_described(tree: Tree) -> Iterator[Fault]:
    for each in operations(tree):
        for parameter in each.parameters():
            if not parameter.get("description", "").endswith("."):
                yield each.fault(f"the parameter {parameter['name']} is not described", "Describe it in a sentence")


def every_operation_documents_the_errors_of_all(tree: Tree) -> Iterator[Fault]:
    for each in operations(tree):
        needed = {"400", "401", "429", "503"} | ({"404"} if "{" in each.path else set())
        if each.path not in VISITORS and (missing := sorted(needed - each.responses().keys())):
            yield each.fault(f"the statuses {missing} are not documented", "Declare their errors at the route")


def every_error_of_an_operation_has_examples_of_its_declaration(tree: Tree) -> Iterator[Fault]:
    kinds = {kind.code: kind for kind in tree.errors}
    for each in operations(tree):
        failures = {status: reply for status, reply in each.responses().items() if not status.startswith("2")}
        if each.path in VISITORS:
            continue
        for status, reply in failures.items():
            content = reply.get("content", {}).get(MEDIA_TYPE, {})
            if set(reply.get("content", {})) != {MEDIA_TYPE} or not reply["description"]:
                yield each.fault(f"{status} is not described, or is no {MEDIA_TYPE}", "Declare its errors at the route")
            if content.get("schema") != {"$ref": "#/components/schemas/Problem"} or not content.get("examples"):
                yield each.fault(f"{status} is no Problem with examples", "Declare its errors at the route")
            for code, example in content.get("examples", {}).items():
                kind = kinds.get(code)
                declared = kind and (kind.status, code, f"urn:assay:problem:{code}", kind.remedy)
                shown = tuple(example["value"][name] for name in ("status", "code", "type", "remedy"))
                if shown != declared or str(shown[0]) != status:
                    yield each.fault(f"the example of {code} at {status} is not as declared", "Mend app/errors")


def what_a_token_a_cursor_and_a_body_can_lack_is_documented(tree: Tree) -> Iterator[Fault]:
    for each in operations(tree):
        found, names = each.codes(), {parameter["name"] for parameter in each.parameters()}
        sent = each.spec.get("requestBody", {}).get("content", {})
        if ("bad_cursor" in found) != ("cursor" in names):
            yield each.fault("bad_cursor and a cursor go together", "Document both or none")
        if each.spec.get("security") == [{"HTTPBearer": []}]:
            own = each.path in OF_ONES_OWN and "requestBody" not in each.spec
            if ("insufficient_scope" in found) == own:
                yield each.fault("insufficient_scope is missing, or cannot happen", "Document what a token can lack")
        if sent.keys() == {"application/json"}:
            for code in sorted({"invalid_request", "too_large", "unsupported_media_type"} - found):
                yield each.fault(f"{code} is not documented", "Document what a body can lack")


def what_stands_in_the_way_of_participants_is_documented(tree: Tree) -> Iterator[Fault]:
    known = {each.name: each for each in operations(tree)}
    for name, expected in IN_THE_WAY.items():
        if name not in known:
            yield Fault(PAGE, 1, f"there is no operation {name}", "Correct IN_THE_WAY in openapi_checks.py")
        elif missing := sorted(expected - known[name].codes()):
            yield known[name].fault(f"{missing} are not documented", "Document them at the route")


def what_is_sent_has_limits(tree: Tree) -> Iterator[Fault]:
    for each in operations(tree):
        if (sent := each.spec.get("requestBody")) is None:
            continue
        needed = {"413", "422"} | ({"415"} if len(sent["content"]) > 1 else set())
        if missing := sorted(needed - each.responses().keys()):
            yield each.fault(f"it takes a body, but {missing} are not documented", "Declare these errors at the route")
        # a body may be absent only where it has a default
        if not sent.get("required") and not all("default" in body["schema"] for body in sent["content"].values()):
            yield each.fault("its body may be absent but has no default", "Demand the body or give it a default")


def every_example_of_a_body_is_valid(tree: Tree) -> Iterator[Fault]:
    known = {each.name: each for each in operations(tree)}
    for name, adapter, examples in bodies():
        if not examples:
            yield known[name].fault("its body has no example", "Give the request class an example")
        for example in examples:
            try:
                adapter.validate_python(example)
            except ValidationError as fault:
                yield known[name].fault(f"an example of its body is invalid: {fault}", "Mend the example")


def every_body_and_every_success_has_an_example(tree: Tree) -> Iterator[Fault]:
    binary = {media for known in FORMATS.values() if known.is_binary for media in known.media_types}
    for each in operations(tree):
        found = list(each.contents())
        if not found and "204" not in each.responses():
            yield each.fault("no success has a content", "Give it a reply class or the status 204")
        for where, media, content in found:
            if media not in binary and not _examples(tree, content):  # no JSON can show the bytes of a binary file
                yield each.fault(f"{where} as {media} has no example", "Add one to app/api/openapi/examples.py")


def every_example_fits_its_schema(tree: Tree) -> Iterator[Fault]:
    shown: list[tuple[Any, dict[str, Any], Callable[[str, str], Fault]]] = []
    for each in operations(tree):
        for _, media, content in each.contents():
            for example in _examples(tree, content):
                shown.append((example, content["schema"], each.fault))
                if media not in {"application/json", "multipart/form-data"} and not isinstance(example, str):
                    yield each.fault(f"an example of {media} is no text", "Write it as it is sent")
    for name, schema in tree.document["components"]["schemas"].items():
        shown += [(example, schema, _fault_of_shape(tree, name)) for example in schema.get("examples", [])]
    schemas = {"prefixItems": [schema for _, schema, _ in shown], "components": tree.document["components"]}
    validator = Draft202012Validator(schemas, validate_formats=True)  # one for all: it is dear to make
    for unfit in validator.iter_errors([example for example, _, _ in shown]):
        fault = shown[int(unfit.instance_path[0])][2]
        yield fault(f"an example does not fit its schema: {unfit.message}", "Mend the example or the schema")


def _fault_of_shape(tree: Tree, name: str) -> Callable[[str, str], Fault]:
    return lambda wrong, remedy: Fault(PAGE, tree.line(PAGE, f'"{name}": {{'), f"{name}: {wrong}", remedy)


@cache
def bodies() -> list[tuple[str, TypeAdapter[Any], list[Any]]]:
    """Each operation that takes a body, what validates it, and its examples."""
    found = []
    for module in ROUTER_MODULES:
        for route in module.router.routes:
            if getattr(route, "body_field", None) is not None:
                model = route.body_field.field_info
                adapter: TypeAdapter[Any] = TypeAdapter(model.annotation)
                found.append((str(route.name), adapter, model.examples or adapter.json_schema().get("examples", [])))
    return found


def _examples(tree: Tree, content: dict[str, Any]) -> list[Any]:
    """What a body or a reply shows: of its own, else that of its schema."""
    own = [each["value"] for each in content.get("examples", {}).values()]
    schema = content["schema"]
    if "$ref" in schema:
        schema = tree.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return own or list(schema.get("examples", []))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
