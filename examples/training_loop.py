"""Logs the rollouts of each training step. A failed log never stops the training; the next step tries again.

    python3 examples/training_loop.py rollouts [option of rollcall log]...

`rollouts` is a folder with one file of groups per step, step-1.jsonl, step-2.jsonl, and so on.
"""

import json
import subprocess
import sys
from pathlib import Path

unfinished: list[tuple[int, Path]] = []  # steps to try again
failed: list[Path] = []  # steps that need a fix


def log_step(step: int, rollouts: Path, options: list[str]) -> None:
    """Logs a step, and the steps before it that failed. The ledger makes a second try safe."""
    unfinished.append((step, rollouts))
    for step, rollouts in list(unfinished):
        # --batch distinguishes equal groups of different steps.
        command = ["rollcall", "log", "my-model", str(rollouts), "--split", "train", "--batch", f"step-{step}",
                   "--max-wait", "30s", "--json", *options]
        try:
            run = subprocess.run(command, capture_output=True, text=True)
            error = json.loads(run.stderr.splitlines()[-1])["error"] if run.returncode else None
        except (OSError, LookupError, ValueError) as problem:  # rollcall is missing, or was killed
            print(f"step {step}: {problem!r}")
            continue
        if error is None or not error["retryable"]:
            unfinished.remove((step, rollouts))
        if error and not error["retryable"]:
            failed.append(rollouts)
        if error:
            print(f"step {step}: {error['message']} (exit code {run.returncode})", error.get("next", ""))
        else:
            result = json.loads(run.stdout)
            print(f"step {step}: {result['groups']['logged']} groups logged")


if __name__ == "__main__":
    folder, *options = sys.argv[1:]
    files = {int(path.stem.removeprefix("step-")): path for path in Path(folder).glob("step-*.jsonl")}
    for step in sorted(files):
        # Sample the rollouts and train on them here.
        log_step(step, files[step], options)
    if unfinished or failed:
        names = [path.name for path in failed + [path for _, path in unfinished]]
        sys.exit(f"not completely logged: {', '.join(names)}")
