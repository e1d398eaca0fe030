"""What a wheel says of itself: the components of others in it, and their licences."""

import importlib.metadata
import json

import pytest

LIBRARIES = "bridgemark.libs"


@pytest.fixture(scope="module")
def files():
    found = importlib.metadata.files("bridgemark") or []
    if not any(LIBRARIES in path.parts for path in found):
        pytest.skip("bridgemark is not installed from a wheel of make wheel")
    return found


def named(files, *parts):
    return [path for path in files if all(part in path.parts for part in parts)]


def test_each_component_of_others_has_its_licence(files):
    (bill,) = named(files, "sboms")
    contents = json.loads(bill.read_text(encoding="utf-8"))
    assert contents["bomFormat"] == "CycloneDX"
    assert contents["metadata"]["component"]["version"] == importlib.metadata.version("bridgemark")
    names = [entry["name"] for entry in contents["components"]]
    assert {"nanobind", "libhwy-dev", "libjs-vega"} <= set(names)
    assert len(names) == len(set(names))
    licences = {path.name: path for path in named(files, "third-party")}
    assert sorted(licences) == sorted(names)
    for entry in contents["components"]:
        assert entry["version"] and entry["purl"].startswith("pkg:")
        assert len(licences[entry["name"]].read_text(encoding="utf-8")) > 100


def test_each_bundled_library_is_a_component(files):
    (bill,) = named(files, "sboms")
    parts = [
        entry["name"]
        for entry in json.loads(bill.read_text(encoding="utf-8"))["components"]
        if entry["properties"][0]["value"] == "shared library"
    ]
    assert len(parts) > 0
    for path in named(files, LIBRARIES):
        # libopenblasp-r0-6e7c4b8f.3.21.so is of libopenblas0-pthread.
        stem = path.name.split("-")[0].split(".")[0].rstrip("p0123456789")
        assert any(part.startswith(stem) for part in parts), path.name


def test_the_licence_of_bridgemark_is_there(files):
    assert any(path.name == "LICENSE" and "third-party" not in path.parts for path in files)
