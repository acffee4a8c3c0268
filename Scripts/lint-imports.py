#!/usr/bin/env python3
"""Compares the table of arrows in ARCHITECTURE.md, the dependencies in Package.swift and the imports of the sources.

usage: Scripts/lint-imports.py [FOLDER]     the project's, unless said otherwise

A part may import what its row names, a test target what Package.swift gives it, and nothing that merely comes along
with those. What a file imports is what the compiler says, for Linux and for macOS; nothing is built.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDERS = ["Wire", "Platform", "Client", "Backend", "MockService", "Stack", "Tests", "Benchmarks"]
SYSTEM = {"Foundation", "Dispatch", "Synchronization", "Observation", "Testing", "Musl"}
# What only one of the platforms has, and `canImport` asks for.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ["FoundationEssentials", "Glibc"],
    "arm64-apple-macosx15.0": ["Darwin", "OSLog"],
}
# As in a debug build and as in a release build.
BUILDS = [["-D", "DEBUG"], []]


def short(name):
    """The name without the prefix that every target carries."""
    if name in ("PowerSync", "PowerSyncTests"):
        return name.replace("PowerSync", "Client")
    return re.sub("^(C?)PowerSync", r"\1", name)


def dumped(root, scratch, fuzzing):
    """The targets of Package.swift, by name; a scratch folder of its own, so that no build is waited for."""
    environment = {name: value for name, value in os.environ.items() if name != "POWERSYNC_ONLY"}
    environment["POWERSYNC_FUZZ"] = "1" if fuzzing else "0"
    command = ["swift", "package", "--package-path", root, "--scratch-path", f"{scratch}/{fuzzing}", "dump-package"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"Package.swift: swift package dump-package failed\n{run.stderr}")
    return {target["name"]: target for target in json.loads(run.stdout)["targets"]}


def dependencies(target):
    """The names of the targets that a target may import."""
    return {next(iter(item.values()))[0] for item in target["dependencies"]}


def sources(root, target):
    """The Swift files of a target."""
    excluded = [Path(root, target["path"], path) for path in target["exclude"]]
    files = sorted(Path(root, target["path"]).rglob("*.swift"))
    return [file for file in files if not any(place == file or place in file.parents for place in excluded)]


def table(root):
    """The rows between the two marks: part -> folder and parts."""
    rows, inside = {}, False
    for line in Path(root, "ARCHITECTURE.md").read_text().splitlines():
        if "<!-- arrows -->" in line or "<!-- /arrows -->" in line:
            inside = "/" not in line
            continue
        cells = [re.sub("[`–]", "", cell).strip() for cell in line.split("|")]
        if inside and len(cells) >= 5 and not re.fullmatch("part|-+", cells[1]):
            rows[cells[1]] = (cells[2], {part for part in re.split("[, ]+", cells[3]) if part})
    return rows


def compare(rows, targets):
    """What the table and Package.swift do not say alike; libraries in C and tests have no rows."""
    with_row = {
        short(name): target for name, target in targets.items() if name[0] != "C" and target["type"] != "test"
    }
    if not rows:
        yield "ARCHITECTURE.md: no table of arrows between <!-- arrows --> and <!-- /arrows -->"
    for part, target in with_row.items():
        if part not in rows:
            yield f"ARCHITECTURE.md: the table of arrows has no row for {part}"
            continue
        folder, parts = rows[part]
        declared = {short(name) for name in dependencies(target)}
        if folder != target["path"]:
            yield f"{part}: {target['path']} in Package.swift, {folder} in ARCHITECTURE.md"
        for more, file, other in [
            (declared - parts, "Package.swift", "ARCHITECTURE.md"),
            (parts - declared, "ARCHITECTURE.md", "Package.swift"),
        ]:
            if more:
                yield f"{part} depends on {', '.join(sorted(more))} in {file}, not in {other}"
    for part in rows.keys() - with_row.keys():
        yield f"ARCHITECTURE.md: the row {part} is no target of Package.swift"


def imported(files, platform, flags, stubs):
    """The modules that files import on a platform. All modules of ours are there for `canImport`."""
    command = ["swiftc", "-frontend", "-emit-imported-modules", "-swift-version", "6", "-o", "-", *flags]
    # Else the module has the name of the first file, and Connection+Body is none.
    command += ["-module-name", "Part", "-target", platform, "-I", f"{stubs}/{platform}"]
    # The file list is in a file: there are more of them than some systems take as arguments.
    with tempfile.NamedTemporaryFile("w", dir=stubs) as filelist:
        filelist.write("\n".join(map(str, files)))
        filelist.flush()
        run = subprocess.run([*command, "-filelist", filelist.name], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"swiftc does not tell what is imported: {' '.join(command)}\n{run.stderr[:2000]}")
    return set(run.stdout.split())


def check_imports(root, target, targets, stubs):
    """What is wrong with the imports of one target."""
    files = sources(root, target)
    if not files:
        return []
    modules = set().union(*(imported(files, platform, flags, stubs) for platform in PLATFORMS for flags in BUILDS))
    wrong = []
    for module in sorted(modules - dependencies(target) - SYSTEM.union(*PLATFORMS.values())):
        reason = f"{short(target['name'])} may not import {module}"
        if module not in targets:
            reason = f"{module} is neither a part of this package nor of the toolchain that we use"
        line = re.compile(rf"\bimport\s+(\w+\s+)?{module}\b")
        places = [
            f"{file.relative_to(root)}:{number}"
            for file in files
            for number, text in enumerate(file.read_text().splitlines(), 1)
            if line.search(text)
        ]
        wrong += [f"{place}: {reason}" for place in places or [target["path"]]]
    return wrong


def main():
    """Prints what is wrong; the status says whether something is."""
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        dumps = list(pool.map(lambda fuzzing: dumped(root, scratch, fuzzing), (True, False)))
        targets = {**dumps[0], **dumps[1]}
        for platform, modules in PLATFORMS.items():
            os.makedirs(f"{scratch}/{platform}")
            # The toolchain of this system has its own modules already.
            modules = modules if sys.platform not in platform else []
            stubs = "".join(f"module {name} {{}}\n" for name in [*targets, *modules])
            Path(scratch, platform, "module.modulemap").write_text(stubs)
        wrong = list(compare(table(root), targets))
        for found in pool.map(lambda target: check_imports(root, target, targets, scratch), targets.values()):
            wrong += found
    ours = {file for target in targets.values() for file in sources(root, target)}
    # Scripts/plant.sh copies it into those that it is for.
    ours.add(Path(root, "Tests/Mutants/Planted.swift"))
    wrong += [
        f"{file.relative_to(root)}: in no folder of Package.swift"
        for folder in FOLDERS
        for file in sorted(Path(root, folder).rglob("*.swift"))
        if file not in ours
    ]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
