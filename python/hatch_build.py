"""Adds the program to the package. A source distribution contains it, too."""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
UNPACKED = HERE / "package"  # exists in a source distribution
MANIFEST = (UNPACKED if UNPACKED.exists() else HERE.parent) / "package.json"
VERSION = json.loads(MANIFEST.read_text("utf-8"))["version"]


class ProgramHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.temporary = TemporaryDirectory()
        package = UNPACKED
        if not package.exists():
            package = Path(self.temporary.name, "package")
            subprocess.run(["node", HERE.parent / "build" / "wheel.js", self.temporary.name], check=True)
        included = build_data["force_include"]
        if self.target_name == "sdist":
            included[str(package)] = "package"
            return
        for one in package.iterdir():
            if one.name != "man":
                # npm's layout. It tells the program that it is installed.
                included[str(one)] = f"rollcall/node_modules/rollcall/{one.name}"
        for page in (package / "man").iterdir():
            self.build_config.shared_data[str(page)] = f"share/man/man1/{page.name}"
        platform = (package / "platform").read_text("utf-8").strip()
        build_data |= {"pure_python": False, "tag": f"py3-none-{platform}"}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.temporary.cleanup()
