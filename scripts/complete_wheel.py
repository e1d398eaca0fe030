#!/usr/bin/env python3
"""complete_wheel.py WHEEL: says what is in a wheel, and makes its bytes a function of its content.

After `auditwheel repair`, whose list of the libraries that it took along is a part of the wheel:

- sboms/bridgemark.cdx.json (CycloneDX) lists every component of others: the libraries, what is
  compiled in from headers, and Vega's scripts, each with its version and licence text;
- licenses/third-party/NAME has the licence of each, as its package states it;
- files are in order, with the time of SOURCE_DATE_EPOCH and modes that do not depend on a umask.
"""

import base64
import hashlib
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import time
import uuid
import zipfile

# Compiled in from headers, or copied: packages of Debian, and what each is here.
COMPILED_IN = {
    "libcli11-dev": "headers",
    "libeigen3-dev": "headers",
    "libfmt-dev": "headers",
    "libhwy-dev": "headers",
    "libjs-vega": "scripts of the report",
    "librandom123-dev": "headers",
    "libtomlplusplus-dev": "headers",
    "nlohmann-json3-dev": "headers",
}
AUDITWHEEL = "sboms/auditwheel.cdx.json"
OWN = "sboms/bridgemark.cdx.json"


def fail(message):
    sys.exit(f"complete_wheel.py: {message}")


def debian_version(package):
    found = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Version}", package],
        capture_output=True,
        text=True,
    )
    if found.returncode != 0:
        fail(f"{package} must be installed, dpkg-query says: {found.stderr.strip()}")
    return found.stdout


def debian_licence(package):
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if not path.exists():
        fail(f"{path} must have the licence of {package}, which is in the wheel")
    return path.read_text(encoding="utf-8")


def component(name, version, purl, what):
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "properties": [{"name": "bridgemark:part", "value": what}],
    }


def components_of(bundled):
    """Components and licence texts, by name: what auditwheel names, and what is compiled in."""
    components, licences = [], {}

    def add(name, version, purl, what, text):
        if name not in licences:
            components.append(component(name, version, purl, what))
            licences[name] = text

    for entry in bundled:
        if not entry["purl"].startswith("pkg:deb/"):
            continue  # the wheel itself
        name = entry["name"]
        add(name, entry["version"], entry["purl"], "shared library", debian_licence(name))
    for name, what in COMPILED_IN.items():
        version = debian_version(name)
        purl = f"pkg:deb/debian/{name}@{version}"
        add(name, version, purl, what, debian_licence(name))
    nanobind = importlib.metadata.distribution("nanobind")
    texts = [path for path in nanobind.files if "licenses" in path.parts or path.name == "LICENSE"]
    if not texts:
        fail("nanobind must come with its licence, got none")
    text = "\n\n".join(path.read_text() for path in sorted(texts))
    purl = f"pkg:pypi/nanobind@{nanobind.version}"
    add("nanobind", nanobind.version, purl, "static library", text)
    return sorted(components, key=lambda entry: entry["name"]), licences


def bill(wheel_name, version, components, stamp):
    ref = f"pkg:pypi/bridgemark@{version}"
    names = "".join(entry["bom-ref"] for entry in components)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, wheel_name + names)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp)),
            "component": {
                "type": "library",
                "bom-ref": ref,
                "name": "bridgemark",
                "version": version,
                "purl": ref,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": ref, "dependsOn": [entry["bom-ref"] for entry in components]},
        ],
    }


def record_of(files, record):
    """RECORD: a line for each file with its hash and size."""
    lines = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(files[name])}")
    return ("\n".join([*lines, f"{record},,"]) + "\n").encode()


def write_wheel(path, files, executables, record, stamp):
    part = path.with_suffix(".part")
    moment = time.gmtime(max(stamp, 315532800))[:6]  # a zip file begins in 1980
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        # RECORD comes last, as in wheels of any tool.
        for name in [*sorted(set(files) - {record}), record]:
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # modes are Unix's
            entry.external_attr = (0o100755 if name in executables else 0o100644) << 16
            wheel.writestr(entry, files[name])
    part.replace(path)


def complete(path, stamp):
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
        executables = {
            entry.filename for entry in wheel.infolist() if entry.external_attr >> 16 & 0o100
        }
    info = next((name.split("/")[0] for name in files if name.endswith(".dist-info/RECORD")), None)
    if info is None:
        fail(f"{path} has no RECORD and is no wheel")
    if f"{info}/{OWN}" in files:
        fail(f"{path} is complete already")
    bundled = json.loads(files.pop(f"{info}/{AUDITWHEEL}", b'{"components": []}'))["components"]
    libraries = [name for name in files if name.split("/")[0].endswith(".libs")]
    if libraries and not bundled:
        fail(f"auditwheel must name the packages of {', '.join(libraries)}, found none")
    components, licences = components_of(bundled)
    version = info.removesuffix(".dist-info").split("-")[1]
    text = json.dumps(bill(path.name, version, components, stamp), indent=1, ensure_ascii=False)
    files[f"{info}/{OWN}"] = text.encode()
    for name, licence in licences.items():
        files[f"{info}/licenses/third-party/{name}"] = licence.encode()
    record = f"{info}/RECORD"
    files.pop(record)
    files[record] = record_of(files, record)
    write_wheel(path, files, executables, record, stamp)
    print(f"{path}: {len(components)} components of others, each with its licence")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    stamp = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not stamp.isdigit():
        fail(f"SOURCE_DATE_EPOCH must be seconds since 1970, got '{stamp}'")
    complete(pathlib.Path(sys.argv[1]), int(stamp))


if __name__ == "__main__":
    main()
