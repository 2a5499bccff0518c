"""Logs the rollouts of each training step. A failed log never stops the training; the next step tries again.

    python3 examples/training_loop.py rollouts

`rollouts` is a folder with one file of groups per step, step-1.jsonl, step-2.jsonl, and so on.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rollcall

unfinished: list[tuple[int, Path]] = []  # steps to try again
failed: list[Path] = []  # steps that need a fix


def read_groups(rollouts: Path) -> Iterator[dict[str, Any]]:
    with rollouts.open() as lines:
        yield from map(json.loads, lines)


def log_step(step: int, rollouts: Path) -> None:
    """Logs a step, and the steps before it that failed. The ledger makes a second try safe."""
    unfinished.append((step, rollouts))
    for step, rollouts in list(unfinished):
        try:
            # The batch distinguishes equal groups of different steps.
            groups = read_groups(rollouts)
            result = rollcall.log(groups, model="my-model", split="train", batch=f"step-{step}", max_wait="30s")
        except (rollcall.Error, TypeError) as error:
            print(f"step {step}: {error}")
            if isinstance(error, rollcall.Error) and error.retryable:
                continue
            failed.append(rollouts)
        else:
            print(f"step {step}: {result['groups']['logged']} groups logged")
        unfinished.remove((step, rollouts))


if __name__ == "__main__":
    files = {int(path.stem.removeprefix("step-")): path for path in Path(sys.argv[1]).glob("step-*.jsonl")}
    for step in sorted(files):
        # Sample the rollouts and train on them here.
        log_step(step, files[step])
    if unfinished or failed:
        names = [path.name for path in failed + [path for _, path in unfinished]]
        sys.exit(f"not completely logged: {', '.join(names)}")
