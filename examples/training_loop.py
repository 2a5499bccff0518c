"""For a training loop in Python: logs the rollouts of each step. A failed log never stops the training; the next
step tries again.

    python3 examples/training_loop.py rollouts

`rollouts` is a folder with one file of groups per step, step-1.jsonl, step-2.jsonl, and so on. Without it, the rollouts
are in memory, as a trainer has them: messages and rewards.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import rollcall

Group = dict[str, Any]
#: Steps to try again. A function returns the groups, because a generator cannot be read twice.
unfinished: dict[int, Callable[[], Iterable[Group]]] = {}
failed: list[int] = []  # steps that need a fix


def to_group(prompt: list[Group], answers: list[str], rewards: list[float]) -> Group:
    """Returns the sampled answers to a prompt as a group. A choice is a sampled turn."""
    choices = [
        {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": answer}} for answer in answers
    ]
    return {
        "trajectories": [
            {"messages_and_choices": [*prompt, choice], "reward": reward}
            for choice, reward in zip(choices, rewards, strict=True)
        ]
    }


def read_groups(rollouts: Path) -> Iterator[Group]:
    with rollouts.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def log_step(step: int, get_groups: Callable[[], Iterable[Group]]) -> None:
    """Logs a step, and the steps before it that failed. The ledger makes a second try safe."""
    unfinished[step] = get_groups
    for step, get_groups in list(unfinished.items()):
        try:
            # The batch distinguishes equal groups of different steps.
            result = rollcall.log(get_groups(), model="my-model", split="train", batch=f"step-{step}", max_wait="30s")
        except Exception as error:  # also one of reading, such as a file that is cut off
            print(f"step {step}: {error}")
            if isinstance(error, rollcall.Error) and error.retryable:
                continue
            failed.append(step)
        else:
            print(f"step {step}: {result['groups']['logged']} groups logged")
        del unfinished[step]


def main(rollouts: Path | None) -> None:
    if rollouts is None:
        question = [{"role": "user", "content": "What is 2 + 2?"}]
        for step in (1, 2):
            group = to_group(question, ["4", f"{step + 4}"], [1.0, 0.0])
            log_step(step, partial(list, [group]))
    else:
        files = {int(path.stem.removeprefix("step-")): path for path in rollouts.glob("step-*.jsonl")}
        for step in sorted(files):
            # Sample the rollouts and train on them here.
            log_step(step, partial(read_groups, files[step]))
    if unfinished or failed:
        sys.exit(f"not completely logged: {', '.join(f'step {step}' for step in sorted([*failed, *unfinished]))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
