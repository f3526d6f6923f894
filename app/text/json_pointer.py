"""JSON pointers (RFC 6901): the address of a value inside a JSON document."""


def json_pointer(*keys: object) -> str:
    """The pointer to the value under these keys and list positions; "" for the whole document."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)
