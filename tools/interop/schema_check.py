#!/usr/bin/env python3
"""The JSON Schemas that Menura prints, of rigs and of firmware profiles, as other programs read them.

- PyPI's `jsonschema` accepts every good rig, those of `menura new` among them, and refuses every rig of
  tests/bad-rigs whose fault is one of keys, types, words or limits. EXCEPTIONS lists the other faults.
- It accepts every firmware profile, and refuses each of them that lacks a key, has an unknown one or one of another
  family, or a number beyond all limits, and every profile of tests/bad-rigs with such a fault. The wrong copies of the
  embedded profiles are 16,000: they are given to PyPI's `jsonschema-rs`, which takes less time.
- `taplo` (the linter behind the TOML extensions of editors) accepts the examples and the profiles, and
  refuses a wrong rig and a wrong profile.
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
import jsonschema_rs

PROJECT = pathlib.Path(__file__).resolve().parents[2]

NOT_TOML = "it is not TOML at all"
BY_ARGUMENT = "the fault is in an argument --set, not in the file"
BETWEEN_KEYS = "two values do not go together"
BETWEEN_TABLES = "two devices claim one link"
FILE = "a file that it names is missing or wrong"
DATE = "editors give dates to a validator as text"
ADDRESS = "the address can be written, but nobody can receive at it"
OWN_KEYS = "the keys of the table are the user's own patterns, which the schema leaves open"
EXCEPTIONS = {
    "ptp-address": BETWEEN_KEYS,
    "bad-labels": OWN_KEYS,
    "beam-circular": BETWEEN_KEYS,
    "calibration-not-found": FILE,
    "defaults": OWN_KEYS,
    "drive-base-not-driven": BETWEEN_TABLES,
    "drive-base-twice": BETWEEN_TABLES,
    "drive-nobody": BETWEEN_TABLES,
    "feed-ground": BETWEEN_KEYS,
    "gnss-almanac": FILE,
    "joints-deep": BETWEEN_TABLES,
    "joints-roles": BETWEEN_TABLES,
    "labels-no-table": OWN_KEYS,
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
# As EXCEPTIONS, of profiles.
PROFILE_EXCEPTIONS = {
    "profile-timing-rate": BETWEEN_KEYS,
    "profile-without-source": BETWEEN_KEYS,
}
# Its paths are given on the command line.
INCOMPLETE = "meadow.toml"
PROFILES = sorted(PROJECT.glob("firmware-profiles/*.toml"))
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
        if is_profile(text):
            continue
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


def is_profile(text):
    return "\nsummary = " in "\n" + text


def places(value, path=()):
    """Every table of a profile, with the way to it."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from places(inner, (*path, key))


def wrong_profiles(profile):
    """Copies of a profile, each with one fault and what it is."""
    text = json.dumps(of_toml(profile))
    for path, table in places(profile):
        def changed(change, path=path):
            copy = json.loads(text)
            inner = copy
            for key in path:
                inner = inner[key]
            change(inner)
            return copy

        # Which systems have signals is free, these tables may be left out, and a paper's beam says what differs.
        where = ".".join(path)
        yield f"{where} with an unknown key", changed(lambda inner: inner.update(colour=3))
        for key, value in table.items():
            is_free = where == "nmea.signals" or key in ("chrono", "imu", "papers", "raster") or where.startswith(
                ("papers", "settings.accuracy.errors"))
            if not is_free:
                yield f"{where} without {key}", changed(lambda inner, key=key: inner.pop(key))
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield f"{where} with {key} = 1e30", changed(lambda inner, key=key: inner.update({key: 1e30}))
                yield f"{where} with {key} as text", changed(lambda inner, key=key: inner.update({key: "much"}))
            if isinstance(value, bool):
                yield f"{where} with {key} = 1", changed(lambda inner, key=key: inner.update({key: 1}))


def check_profiles(validator, quick):
    profiles = {path.name: path.read_text() for path in PROFILES}
    wrong = 0
    refused = 0
    for name, text in profiles.items():
        for fault in faults_of(validator, text)[:3]:
            print(f"{name}: {'.'.join(map(str, fault.path))}: {fault.message[:300]}")
            wrong += 1
        for what, bad in wrong_profiles(tomllib.loads(text)):
            if quick.is_valid(bad):
                print(f"{name}, {what}: accepted")
                wrong += 1
            refused += 1
    families = {}
    for text in profiles.values():
        profile = of_toml(tomllib.loads(text))
        families.setdefault(profile["driver"], profile)
    for driver in families:
        for other, profile in families.items():
            # All IMUs but their [answers] and messages are alike.
            if other != driver and ("gyro" in profile) != ("gyro" in families[driver]):
                refused += 1
                if quick.is_valid({**profile, "driver": driver}):
                    print(f"a profile of {other} is accepted as {driver}")
                    wrong += 1
    print(f"{len(profiles)} profiles of {len(families)} families, {refused} wrong ones, {wrong} faults")
    return wrong == 0 and len(profiles) > 25 and len(families) > 8 and refused > 1000


def check_bad_profiles(validator):
    fine = True
    refused = 0
    for path in sorted((PROJECT / "tests/bad-rigs").glob("*.toml")):
        text = path.read_text()
        if not is_profile(text):
            continue
        faults = faults_of(validator, text)
        is_exception = path.stem in PROFILE_EXCEPTIONS
        if bool(faults) == is_exception:
            print(f"{path.name}: {'refused, although it is listed' if faults else 'accepted'}")
            fine = False
        refused += bool(faults)
    print(f"{refused} bad profiles refused, {len(PROFILE_EXCEPTIONS)} beyond a schema")
    return fine and refused > 5


def check_taplo(taplo, schema, good_files, wrong_text):
    """Of a schema, good files and a text whose fault is the key `colour`."""
    def lint(*files):
        command = [taplo, "lint", "--no-auto-config", "--schema", schema.as_uri(), *files]
        return subprocess.run(command, capture_output=True, text=True)

    good = lint(*map(str, good_files))
    if good.returncode != 0:
        print(good.stderr)
    wrong = schema.with_name("wrong.toml")
    wrong.write_text(wrong_text)
    bad = lint(str(wrong))
    if bad.returncode == 0 or "colour" not in bad.stderr:
        print("taplo accepts an unknown key", bad.stderr)
    print(f"taplo reads {schema.name}")
    return good.returncode == 0 and bad.returncode != 0 and "colour" in bad.stderr


def printed_schema(menura, path, *arguments):
    """The schema that Menura prints, written to a file, and its validator."""
    text = subprocess.run([menura, "schema", *arguments], check=True, capture_output=True, text=True).stdout
    path.write_text(text)
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    return path, jsonschema.Draft7Validator(schema)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    menura = pathlib.Path(parser.parse_args().menura).resolve()
    with tempfile.TemporaryDirectory() as folder:
        rig_path, rigs = printed_schema(menura, pathlib.Path(folder) / "rig.schema.json")
        profile_path, profiles = printed_schema(menura, pathlib.Path(folder) / "profile.schema.json", "--profiles")
        taplo = pathlib.Path(sys.executable).parent / "taplo"
        bench = (PROJECT / "examples/full-bench.toml").read_text()
        wrong_rig = bench.replace("rate_hz = 100 }", "rate_hz = 100, colour = 3 }")
        phone = (PROJECT / "firmware-profiles/phone-imu.toml").read_text()
        wrong_profile = phone.replace("[gyro]\n", "[gyro]\ncolour = 3\n")
        checks = [
            check_good_rigs(rigs, menura),
            check_bad_rigs(rigs),
            check_taplo(taplo, rig_path, EXAMPLES, wrong_rig),
            check_profiles(profiles, jsonschema_rs.Draft7Validator(profiles.schema)),
            check_bad_profiles(profiles),
            check_taplo(taplo, profile_path, PROFILES, wrong_profile),
        ]
    sys.exit(0 if all(checks) else 1)


if __name__ == "__main__":
    main()
