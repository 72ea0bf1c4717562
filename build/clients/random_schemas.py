"""Random JSON schemas."""


def schema(r, depth=0):
    """Returns a random schema with short answers: strings, lists and numbers have bounds, and nesting ends."""
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "pattern"]
    kind = r.choice(kinds if depth > 2 else kinds + ["object", "array", "anyOf"] * 2) if depth else "object"
    if kind == "string":
        low = r.randint(0, 3)
        return {"type": "string", "minLength": low, "maxLength": low + r.randint(0, 8)}
    if kind in ("integer", "number"):
        low = r.randint(-1000, 1000)
        return {"type": kind, "minimum": low, "maximum": low + r.randint(1, 5000)}
    if kind == "enum":
        return {"enum": r.sample(["red", "green", "blue", 1, 2.5, None, True], r.randint(1, 4))}
    if kind == "const":
        return {"const": r.choice(["fixed", 7, {"a": [1]}])}
    if kind == "pattern":
        return {"type": "string", "pattern": r.choice(["^[a-z]{1,5}$", "^[0-9]{3}-[0-9]{2}$", "^(yes|no)$"])}
    if kind == "array":
        return {"type": "array", "items": schema(r, depth + 1), "minItems": r.randint(0, 2), "maxItems": r.randint(2, 4)}
    if kind == "anyOf":
        return {"anyOf": [schema(r, depth + 1) for _ in range(r.randint(2, 3))]}
    if kind == "object":
        names = r.sample(["id", "name", "tags", "a b", "größe", "x-1", "value", "_"], r.randint(1, 4))
        return {
            "type": "object", "properties": {n: schema(r, depth + 1) for n in names},
            "required": r.sample(names, r.randint(0, len(names))), "additionalProperties": False,
        }
    return {"type": kind}
