#!/usr/bin/env python3
"""Makes a registry of cargo's kind `local-registry`: packages of this repository, and those that they need.

local_registry.py FOLDER LOCK CACHE PACKAGE.crate...

PACKAGE.crate are packages that `cargo package` has made. Of the packages that LOCK names, a Cargo.lock, those are added that lie in CACHE,
cargo's folder of downloaded packages. What is for other systems need not be there: dependencies by target are left out then.
"""

import hashlib
import json
import pathlib
import shutil
import sys
import tarfile
import tomllib


def manifest(crate):
    """The manifest in a package."""
    with tarfile.open(crate) as archive:
        name = crate.name.removesuffix(".crate") + "/Cargo.toml"
        return tomllib.loads(archive.extractfile(name).read().decode())


def fits(requirement, versions):
    """Whether a version may be meant: one with the same numbers up to the first that is not 0. Other forms than carets may be."""
    wanted = requirement.lstrip("^").split(".")
    if not all(number.isdigit() for number in wanted):
        return bool(versions)
    count = next((at for at, number in enumerate(wanted) if number != "0"), len(wanted) - 1) + 1
    return any(version.split(".")[:count] == wanted[:count] for version in versions)


def dependencies(manifest, there):
    """The dependencies as the index has them."""
    tables = [(manifest, None)] + [(table, target) for target, table in manifest.get("target", {}).items()]
    for table, target in tables:
        for kind, key in (("normal", "dependencies"), ("build", "build-dependencies"), ("dev", "dev-dependencies")):
            for name, wanted in table.get(key, {}).items():
                wanted = {"version": wanted} if isinstance(wanted, str) else wanted
                package = wanted.get("package", name)
                # Those of tests are of no use, and are not all there.
                is_there = fits(wanted.get("version", "*"), there.get(package, []))
                if kind == "dev" or (not is_there and (target or wanted.get("optional"))):
                    continue
                yield {
                    "name": name,
                    "req": wanted.get("version", "*"),
                    "features": wanted.get("features", []),
                    "optional": wanted.get("optional", False),
                    "default_features": wanted.get("default-features", wanted.get("default_features", True)),
                    "target": target,
                    "kind": kind,
                    "package": package if package != name else None,
                }


def features(manifest, dependencies):
    """The features without what needs a package that is not there."""
    names = {dependency["name"] for dependency in dependencies}
    own = manifest.get("features", {})
    optional = {dependency["name"] for dependency in dependencies if dependency["optional"]}

    def holds(value):
        if value.startswith("dep:"):
            return value[4:] in names
        if "/" in value:
            return value.split("/")[0].rstrip("?") in names
        return value in own or value in optional

    return {name: [value for value in values if holds(value)] for name, values in own.items()}


def place(index, name):
    """Where the index has a package: by the letters of its name."""
    name = name.lower()
    if len(name) <= 3:
        return index / str(len(name)) / (name[0] if len(name) == 3 else "") / name
    return index / name[:2] / name[2:4] / name


def main():
    folder, lock, cache = (pathlib.Path(word) for word in sys.argv[1:4])
    crates = [pathlib.Path(word) for word in sys.argv[4:]]
    own = {manifest(crate)["package"]["name"] for crate in crates}
    for package in tomllib.loads(lock.read_text())["package"]:
        if package.get("source", "").startswith("registry+") and package["name"] not in own:
            crates.extend(cache.glob(f"*/{package['name']}-{package['version']}.crate"))
    manifests = {crate.name: (crate, manifest(crate)) for crate in crates}
    there = {}
    for _, found in manifests.values():
        there.setdefault(found["package"]["name"], []).append(found["package"]["version"])
    folder.mkdir()
    for crate, found in manifests.values():
        package = found["package"]
        shutil.copy(crate, folder)
        needs = list(dependencies(found, there))
        entry = {
            "name": package["name"],
            "vers": package["version"],
            "deps": needs,
            "cksum": hashlib.sha256(crate.read_bytes()).hexdigest(),
            "features": {},
            "features2": features(found, needs),
            "yanked": False,
            "links": package.get("links"),
            "v": 2,
        }
        path = place(folder / "index", package["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
    print(f"{len(manifests)} packages, {len(own)} of them schism's")


main()
