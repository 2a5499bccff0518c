"""Logs, checks and judges the groups of a training loop, with Node and the standard library.

    result = rollcall.log(groups, model="my-model", split="train", batch=f"step-{step}")

A group is a dict in rollcall's format. The program gets one after the other, as `json.dumps` writes it, and sends
nothing before it has all of them. Keys, URLs and settings are those of the command line.
"""

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

__all__ = ["Error", "check", "compare", "log", "stats"]

Json = dict[str, Any]
Path = str | os.PathLike[str]


class Error(Exception):
    """A failure of the program, with the members of its error document."""

    def __init__(self, error: Json, result: Json | None = None) -> None:
        super().__init__(error, result)
        self.code: str = error["code"]
        self.exit_code: int = error["exit_code"]
        #: True if the same call can succeed later. It logs no group twice.
        self.retryable: bool = error["retryable"]
        #: At most 20. The result of `check` has all.
        self.problems: list[Json] = error.get("problems", [])
        #: The document that the program also printed, such as that of a partial log.
        self.result = result

    def __str__(self) -> str:
        return "\nhint: ".join(self.args[0][name] for name in ("message", "hint") if name in self.args[0])


def log(
    groups: Iterable[Json], *, model: str, split: str | None = None, batch: str | None = None, **options: Any
) -> Json:
    """Logs groups, and returns the document of `rollcall log --json`.

    `options` are long options: `on_invalid="skip"` is `--on-invalid skip`, and `from_` is `--from`. True is an option
    without a value, and a list repeats the option.

    If the process is killed before `groups` ends, nothing is sent, except with `on_invalid="skip"`. If it is killed
    later, the program continues without it. After Ctrl-C, the request in flight has 5 s.
    Raises Error. Raises TypeError for a value that JSON does not know, such as NaN, and sends nothing. With
    `on_invalid="skip"`, the program rejects the group of a NaN.
    """
    return _run(["log"], {"split": split, "batch": batch, **options}, [model, "-"], groups)


def check(groups: Iterable[Json], **options: Any) -> Json:
    """Checks groups, and returns the document of `rollcall check --json`. Raises Error if a group is invalid."""
    return _run(["check"], options, ["-"], groups)


def stats(groups: Iterable[Json] | Path, *, by: str | None = None, **options: Any) -> Json:
    """Returns the document of `rollcall stats --json` for groups, or for a file or folder. Raises Error."""
    options = {"by": by, **options}
    if isinstance(groups, (str, os.PathLike)):
        return _run(["stats"], options, [os.fspath(groups)])
    return _run(["stats"], options, ["-"], groups)


def compare(a: Iterable[Json] | Path, b: Iterable[Json] | Path, **options: Any) -> Json:
    """Returns the document of `rollcall compare --json`. Each run is groups, or a file or folder.

    Raises Error, with the document in `result`, for `exit_code=True` if b is worse.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        operands = []
        for name, run in (("a", a), ("b", b)):
            if isinstance(run, (str, os.PathLike)):
                operands.append(os.fspath(run))
                continue
            operands.append(os.path.join(folder, f"{name}.jsonl"))
            with open(operands[-1], "wb") as file:
                file.writelines(_pieces(run, name, options))
        return _run(["compare"], options, operands)


#: The inputs of running programs. A forked worker must not keep them open, or the program would not see their ends.
_inputs: set[IO[bytes]] = set()


def _leave_inputs() -> None:
    for file in _inputs:
        if not file.closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_inputs)


def _run(command: list[str], options: Json, operands: list[str], groups: Iterable[Json] = ()) -> Json:
    # Here, because the command `rollcall` loads this file, too.
    import signal
    from subprocess import PIPE, Popen
    from tempfile import TemporaryFile

    from . import __main__ as launcher

    words = [*launcher.command(), *command, *_option_words(options), "--json", "--", *operands]
    with TemporaryFile() as output, TemporaryFile() as errors:
        try:
            # In its own session, the program gets Ctrl-C only from here. A second one would end it at once.
            process = Popen(words, stdin=PIPE, stdout=output, stderr=errors, start_new_session=True)
        except FileNotFoundError:
            raise Error(launcher.NO_NODE) from None
        assert process.stdin
        _inputs.add(process.stdin)
        try:
            for piece in _pieces(groups, "groups", options):
                if not _write(process.stdin, piece):
                    break  # the program ended, and says why
            process.communicate()
        except BaseException:
            if not process.stdin.closed:
                process.kill()
            elif os.name != "nt":
                process.send_signal(signal.SIGINT)
            process.communicate()
            raise
        finally:
            _inputs.discard(process.stdin)
        output.seek(0)
        errors.seek(0)
        printed, text = output.read(), errors.read().decode("utf-8", "replace").strip()
    result = _parse(printed)
    error = (_parse(text.split("\n")[-1]) or {}).get("error")
    code = process.returncode  # 0 for each code if the caller ignores SIGCHLD
    if error is None and code == 0 and result is not None:
        return result
    message = f"rollcall ended with {code}: {text or 'it printed no result'}"  # a signal killed it, or Node failed
    raise Error(error or {"code": "internal", "message": message, "exit_code": code, "retryable": code < 0}, result)


def _write(file: IO[bytes], piece: bytes) -> bool:
    """Returns False if the program ended."""
    import errno

    try:
        # Pipes take 512 bytes at once, so a kill cannot divide the end of a line from the start of the next.
        for part in (piece[:512], piece[512:]):
            file.write(part)
            file.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise
        return False
    return True


def _parse(text: str | bytes) -> Json | None:
    import json

    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _option_words(options: Json) -> Iterator[str]:
    for name, given in options.items():
        option = f"--{name.rstrip('_').replace('_', '-')}"
        for value in given if isinstance(given, (list, tuple)) else [given]:
            if value is not None and value is not False:
                yield option if value is True else f"{option}={value}"


def _pieces(groups: Iterable[Json], name: str, options: Json) -> Iterator[bytes]:
    """Until the last piece, the input ends with an incomplete line, which the program does not accept."""
    import json

    def to_json(value: Any) -> Any:
        """Converts a scalar of numpy or torch."""
        try:
            item = value if getattr(value, "ndim", 0) else value.item()
        except (AttributeError, ValueError, RuntimeError):
            item = value
        if type(item) is type(value):
            raise TypeError
        return item

    def dump(value: Any) -> str:
        return json.dumps(value, default=to_json, allow_nan=options.get("on_invalid") == "skip")

    def find_unknown(value: Any, path: str) -> str:
        is_list = isinstance(value, (list, tuple))
        for key, child in enumerate(value) if is_list else value.items() if isinstance(value, dict) else ():
            try:
                dump(child)
            except (TypeError, ValueError):
                return find_unknown(child, f"{path}[{key}]" if is_list else f"{path}.{key}")
        if isinstance(value, dict):
            return f"{path} has a key that is not a string"
        kind = f"of the type {type(value).__name__}"
        return f"{path} is {value if isinstance(value, float) else kind}, which JSON does not know"

    end = ""
    for at, group in enumerate(groups):
        if not isinstance(group, dict):
            raise TypeError(f"{name}[{at}] is of the type {type(group).__name__}, not a dict")
        try:
            line = dump(group)
        except (TypeError, ValueError) as error:
            if "Circular" in str(error):
                raise
            raise TypeError(find_unknown(group, f"{name}[{at}]")) from None
        yield f"{end}{line[:-1]}".encode()
        end = f"{line[-1]}\n"
    yield end.encode()
