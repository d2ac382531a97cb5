"""Numbers of the fields of the CUDA grammar: a node's field is found by its number in half the time that its name takes."""

from __future__ import annotations

from porter.parse.cuda_query import language


def _number(name: str) -> int:
    found = language().field_id_for_name(name)
    assert found is not None, name
    return int(found)


ALTERNATIVE = _number("alternative")
ARGUMENT = _number("argument")
ARGUMENTS = _number("arguments")
BODY = _number("body")
CONDITION = _number("condition")
CONSEQUENCE = _number("consequence")
DECLARATOR = _number("declarator")
DEFAULT_TYPE = _number("default_type")
DEFAULT_VALUE = _number("default_value")
FIELD = _number("field")
FUNCTION = _number("function")
INDICES = _number("indices")
INITIALIZER = _number("initializer")
LEFT = _number("left")
NAME = _number("name")
OPERATOR = _number("operator")
PARAMETERS = _number("parameters")
RIGHT = _number("right")
SCOPE = _number("scope")
SIZE = _number("size")
TYPE = _number("type")
UPDATE = _number("update")
VALUE = _number("value")
