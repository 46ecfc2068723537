"""validate_schema.py SCHEMA FILE...: prints what a JSON Schema has against JSON files; exit 1 when there is something.

With --invert every file must break the schema.
"""
import json
import sys

import jsonschema


def main():
    arguments = sys.argv[1:]
    invert = "--invert" in arguments
    schema_path, *paths = [a for a in arguments if a != "--invert"]
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            errors = list(validator.iter_errors(json.load(file)))
        if invert and not errors:
            print(f"{path}: the schema accepts it")
        for error in errors if not invert else []:
            where = ".".join(str(part) for part in error.absolute_path)
            print(f"{path}: {where}: {error.message}")
        bad += bool(errors) != invert
    return 1 if bad or not paths else 0


sys.exit(main())
