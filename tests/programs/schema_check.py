"""A JSON Schema validator for program tests: Python's jsonschema, installed on the machine or below the build
folder.
"""
import json
import os
import subprocess
import sys

from run_support import skip


def validator_class():
    folder = os.path.join(os.environ["JOULE_BUILD"], "python-jsonschema")
    sys.path.append(folder)
    try:
        from jsonschema import Draft202012Validator
        return Draft202012Validator
    except ImportError:
        pass
    installed = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "jsonschema"],
                               capture_output=True, text=True)
    if installed.returncode != 0:
        skip("no Python jsonschema >= 4, and pip cannot install it")
    from jsonschema import Draft202012Validator
    return Draft202012Validator


def validator(name):
    """Returns the validator of docs/NAME.schema.json, after checking the schema itself."""
    path = os.path.join(os.environ["JOULE_SOURCE"], "docs", name + ".schema.json")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    cls = validator_class()
    cls.check_schema(schema)
    return cls(schema)
