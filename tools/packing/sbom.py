#!/usr/bin/env python3
"""Prints the bill of materials of a release, as a CycloneDX 1.5 document (https://cyclonedx.org/docs/1.5/json).

    tools/packing/sbom.py BUNDLE_FOLDER VERSION COMMIT EPOCH [FILE...]

Lists the packages whose code is in BUNDLE_FOLDER and in the wheels as components of Doppio, and FILEs with their SHA-256.
Equal arguments give equal documents.
"""
import datetime
import hashlib
import json
import os
import sys
import urllib.parse
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import inside  # noqa: E402
import project  # noqa: E402


def distribution():
    """Returns this system's ID and version: ("debian", "12")."""
    fields = {}
    with open("/etc/os-release", encoding="utf-8") as f:
        for line in f:
            key, _, value = line.strip().partition("=")
            fields[key] = value.strip('"')
    return fields.get("ID", "linux"), fields.get("VERSION_ID", "")


def purl(package):
    if package.name == "pybind11":
        return "pkg:pypi/pybind11@" + package.version
    if package.name.startswith("nvidia-"):
        return "pkg:generic/%s@%s" % (package.name, package.version)
    name, release = distribution()
    return "pkg:deb/%s/%s@%s?arch=amd64&distro=%s-%s" % (name, package.name, urllib.parse.quote(package.version, safe=""), name,
                                                        release)


def component(package):
    return {
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "purl": purl(package),
        "licenses": [{"license": {"name": name}} for name in package.licences],
    }


def file_component(path):
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    name = os.path.basename(path)
    return {"type": "file", "bom-ref": "file:" + name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def document(packages, version, commit, epoch, files):
    doppio = "pkg:generic/doppio@" + version
    libraries = [component(p) for p in packages]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # Derived from the commit, so that equal releases have equal numbers.
        "serialNumber": "urn:uuid:%s" % uuid.uuid5(uuid.NAMESPACE_URL, doppio + "#" + commit),
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": doppio,
                "name": "doppio",
                "version": version,
                "licenses": [{"license": {"id": project.LICENCE}}],
                "purl": doppio,
                "properties": [{"name": "doppio:commit", "value": commit}],
            },
        },
        "components": libraries + [file_component(path) for path in sorted(files, key=os.path.basename)],
        "dependencies": [{"ref": doppio, "dependsOn": [c["bom-ref"] for c in libraries]}],
    }


def main(arguments):
    if len(arguments) < 4 or not arguments[3].isdigit():
        sys.exit("usage: tools/packing/sbom.py BUNDLE_FOLDER VERSION COMMIT EPOCH [FILE...]")
    folder, version, commit, epoch = arguments[:4]
    packages = sorted(inside.packages_inside(folder, project.ROOT) + inside.pybind11(project.ROOT))
    json.dump(document(packages, version, commit, int(epoch), arguments[4:]), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
