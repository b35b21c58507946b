#!/usr/bin/env python3
"""The JSON Schema that Menura prints, as other programs read it.

- PyPI's `jsonschema` accepts every good rig, those of `menura new` among them, and refuses every rig of
  tests/bad-rigs whose fault is one of keys, types, words or limits. EXCEPTIONS lists the other faults.
- `taplo` (the linter behind the TOML extensions of editors) accepts the examples and refuses a wrong rig.
"""

import argparse
import datetime
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import jsonschema

PROJECT = pathlib.Path(__file__).resolve().parents[2]

NOT_TOML = "it is not TOML at all"
BY_ARGUMENT = "the fault is in an argument --set, not in the file"
BETWEEN_KEYS = "two values do not go together"
BETWEEN_TABLES = "two devices claim one link"
FILE = "a file that it names is missing or wrong"
DATE = "editors give dates to a validator as text"
ADDRESS = "the address can be written, but nobody can receive at it"
EXCEPTIONS = {
    "beam-circular": BETWEEN_KEYS,
    "calibration-not-found": FILE,
    "feed-ground": BETWEEN_KEYS,
    "gnss-almanac": FILE,
    "link-nowhere": ADDRESS,
    "link-taken": BETWEEN_TABLES,
    "profile-not-found": FILE,
    "set-key": BY_ARGUMENT,
    "set-value": BY_ARGUMENT,
    "start-as-string": DATE,
    "start-without-offset": DATE,
    "start-year": DATE,
    "syntax": NOT_TOML,
    "syntax-duplicate-key": NOT_TOML,
    "syntax-unclosed-string": NOT_TOML,
    "waypoints-few": BETWEEN_KEYS,
}
# Its paths are given on the command line.
INCOMPLETE = "meadow.toml"
EXAMPLES = sorted(path for path in PROJECT.glob("examples/*.toml") if path.name != INCOMPLETE)


def of_toml(value):
    """As a TOML editor gives values to a validator: dates as text, numbers that are none as null."""
    if isinstance(value, dict):
        return {key: of_toml(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [of_toml(inner) for inner in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def faults_of(validator, text):
    rig = of_toml(tomllib.loads(text))
    return sorted(validator.iter_errors(rig), key=lambda fault: list(map(str, fault.path)))


def check_good_rigs(validator, menura):
    rigs = {path.name: path.read_text() for path in EXAMPLES}
    rigs["the default rig"] = (PROJECT / "src/config/rig/default-rig.toml").read_text()
    profiles = sorted(
        path.stem for path in PROJECT.glob("firmware-profiles/*.toml") if not path.stem.startswith("example")
    )
    with tempfile.TemporaryDirectory() as folder:
        for profile in profiles:
            path = pathlib.Path(folder) / f"{profile}.toml"
            subprocess.run([menura, "new", path, "--device", profile], check=True, stderr=subprocess.DEVNULL)
            rigs[f"a new rig of {profile}"] = path.read_text()
            # Comments that hold a setting with its default become lines.
            lines = path.read_text().splitlines()
            lines = [line[2:] if line.startswith("# ") and is_key(line[2:]) else line for line in lines]
            rigs[f"a new rig of {profile} with all settings"] = "\n".join(lines)
    wrong = 0
    for name, text in rigs.items():
        for fault in faults_of(validator, text)[:3]:
            print(f"{name}: {'.'.join(map(str, fault.path))}: {fault.message[:300]}")
            wrong += 1
    print(f"{len(rigs)} good rigs, {wrong} faults")
    return wrong == 0 and len(rigs) > 60


def is_key(line):
    name, equals, _ = line.partition(" = ")
    return bool(equals) and all(c.islower() or c.isdigit() or c in "_." for c in name)


def check_bad_rigs(validator):
    fine = True
    refused = 0
    for path in sorted((PROJECT / "tests/bad-rigs").glob("*.toml")):
        text = path.read_text()
        if "\nsummary = " in text:
            continue  # a profile
        try:
            faults = faults_of(validator, text)
        except tomllib.TOMLDecodeError:
            faults = None
        is_exception = path.stem in EXCEPTIONS
        if (faults is None) != (EXCEPTIONS.get(path.stem) == NOT_TOML):
            print(f"{path.name}: is it TOML? EXCEPTIONS says otherwise")
            fine = False
        elif not faults and not is_exception:
            print(f"{path.name}: accepted")
            fine = False
        elif faults and is_exception:
            print(f"{path.name}: refused, although it is listed as `{EXCEPTIONS[path.stem]}`: {faults[0].message[:300]}")
            fine = False
        refused += bool(faults)
    for name in EXCEPTIONS:
        if not (PROJECT / f"tests/bad-rigs/{name}.toml").exists():
            print(f"{name}.toml: there is no such bad rig")
            fine = False
    print(f"{refused} bad rigs refused, {len(EXCEPTIONS)} beyond a schema")
    return fine


def check_taplo(taplo, schema):
    def lint(*files):
        command = [taplo, "lint", "--no-auto-config", "--schema", schema.as_uri(), *files]
        return subprocess.run(command, capture_output=True, text=True)

    good = lint(*map(str, EXAMPLES))
    if good.returncode != 0:
        print(good.stderr)
    wrong = schema.with_name("wrong.toml")
    text = (PROJECT / "examples/full-bench.toml").read_text()
    wrong.write_text(text.replace("rate_hz = 100 }", "rate_hz = 100, colour = 3 }"))
    bad = lint(str(wrong))
    if bad.returncode == 0 or "colour" not in bad.stderr:
        print("taplo accepts an unknown setting", bad.stderr)
    print("taplo reads the schema")
    return good.returncode == 0 and bad.returncode != 0 and "colour" in bad.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    menura = pathlib.Path(parser.parse_args().menura).resolve()
    text = subprocess.run([menura, "schema"], check=True, capture_output=True, text=True).stdout
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rig.schema.json"
        path.write_text(text)
        taplo = pathlib.Path(sys.executable).parent / "taplo"
        checks = [
            check_good_rigs(validator, menura),
            check_bad_rigs(validator),
            check_taplo(taplo, path),
        ]
    sys.exit(0 if all(checks) else 1)


if __name__ == "__main__":
    main()
