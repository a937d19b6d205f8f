"""`yume-shim batch` as its user runs it: real processes, a model on loopback, kills and signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, api_of, call, cut, hold, refuse, say, wire_of
from tests.helpers.timing import wait_until
from yume_shim.batch.coordinator import Coordinator, Limits
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.task_file import Task
from yume_shim.batch.worker import Worker, WorkerSettings
from yume_shim.types.exit_codes import CODES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.fake_server import Exchange

KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "not-a-key")


class Answers(ModelServer):
    """Answers every prompt with its own text, in upper case; `special` has answers for single prompts."""

    def __init__(self, **special: list[Any]) -> None:
        super().__init__()
        self.special = special
        self.delay = 0.0
        self.asked: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {}

    def _play(self, exchange: Exchange) -> bool:
        if self.answers_about_itself(exchange):
            return True
        word = last_word(exchange.request.json())
        with self._turn:
            self.asked[word] += 1
            self.times.setdefault(word, []).append(time.monotonic())
            queue = self.special.get(word)
            answer = queue.pop(0) if queue else [say(word.upper())]
            self._count += 1
            number = self._count
        time.sleep(self.delay)
        api = api_of(exchange.request.path)
        return self.play(exchange, api, wire_of(api, answer, number))


def last_word(body: Any) -> str:
    """The word after the last `Say` of the conversation."""
    text = json.dumps(body.get("messages") or body.get("input") or body.get("contents"))
    return str(re.findall(r"Say (\w+)", text)[-1])


class Desk:
    """A folder with IN, a home, a model."""

    def __init__(self, base: Path, *rows: Any, **special: list[Any]) -> None:
        self.base = base
        self.home = base / "home"
        self.home.mkdir()
        self.out = base / "out.jsonl"
        self.model = Answers(**special)
        (base / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (base / "config.toml").write_text(
            f'[endpoints.chat]\napi = "openai-chat"\nbase_url = "{self.model.url}/v1"\nkey_optional = true\n'
        )
        self.env = child.clean_environment(
            self.home,
            YUME_CONFIG=str(base / "config.toml"),
            ANTHROPIC_BASE_URL=self.model.url,
            OPENAI_BASE_URL=f"{self.model.url}/v1",
            GOOGLE_GEMINI_BASE_URL=self.model.url,
            OLLAMA_BASE_URL=self.model.url,
            **KEYS,
        )

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        given = () if "--prompt" in argv else ("in.jsonl",)
        words = [sys.executable, "-m", "yume_shim", "batch", "-o", "out.jsonl", *given, *argv]
        quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen(words, cwd=self.base, env=self.env, stdin=quiet, stdout=pipe, stderr=pipe)

    def run(self, *argv: str) -> tuple[int, str]:
        """(exit code, stderr)."""
        process = self.start(*argv)
        _, stderr = process.communicate(timeout=100)
        return process.returncode, stderr.decode()

    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]


def prompts(count: int, **more: Any) -> list[Any]:
    return [{"id": f"t{number}", "prompt": f"Say word{number}", **more} for number in range(count)]


def test_results_of_all_providers_come_in_the_order_of_the_input(tmp_path: Path) -> None:
    models = ("claude-sonnet-4-5", "openai/gpt-5.4", "google/gemini-3.5-flash", "ollama/llama3.1", "chat/some-model")
    rows = [{"id": f"t{n}", "prompt": f"Say word{n}", "model": models[n % 5]} for n in range(10)]
    desk = Desk(tmp_path, *rows)
    code, stderr = desk.run("-j", "3")
    assert (code, "succeeded  10" in stderr) == (0, True)
    found = desk.rows()
    assert [(row["id"], row["result"], row["attempts"]) for row in found] == [
        (f"t{n}", f"WORD{n}", 1) for n in range(10)
    ]
    assert {row["model"] for row in found} == {name.rpartition("/")[2] for name in models}
    assert all(row["usage"]["output_tokens"] > 0 and row["session_id"] for row in found)
    assert [row["cost_usd"] > 0 for row in found] == [True, True, True, False, False] * 2
    assert len({row["session_id"] for row in found}) == 10  # a conversation each
    assert sum(desk.model.asked.values()) == 10


def test_a_conversation_knows_its_messages_and_no_other(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "My name is Ume."},
        {"role": "assistant", "content": "Hello Ume."},
        {"role": "user", "content": "Say name"},
    ]
    desk = Desk(
        tmp_path, {"prompt": "Say first"}, {"messages": messages, "system": "Be brief."}, {"prompt": "Say last"}
    )
    assert desk.run("-j", "1")[0] == 0
    sent = [json.dumps(request.json()) for request in desk.model.requests]
    assert [("Hello Ume." in body, "Be brief." in body) for body in sent].count((True, True)) == 1
    assert [("Hello Ume." in body, "Be brief." in body) for body in sent].count((False, False)) == 2


def test_schema_tools_settings_and_folder_of_a_task(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.txt").write_text("found\n")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    desk = Desk(
        tmp_path,
        {"id": "schema", "prompt": "Say json", "schema": schema, "tools": []},
        {"id": "cwd", "prompt": "Say read", "cwd": str(folder), "tools": ["Read"]},
        {"id": "words", "prompt": "Say words", "schema": schema, "tools": []},
        json=[[call("StructuredOutput", n=4)], [say("Done.")]],
        read=[[call("Read", file_path=str(folder / "a.txt"))], [say("I read it.")]],
    )
    assert desk.run("-j", "2", "--exit-codes", "detailed")[0] == CODES["limit"]
    first, second, third = desk.rows()
    assert (first["structured_output"], second["result"]) == ({"n": 4}, "I read it.")
    assert (second["num_turns"], second["is_error"]) == (2, False)
    assert (third["result"], third["error"]["kind"]) == ("WORDS", "schema")  # it never answered in the form


def test_failures_are_named_and_can_be_asked_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(3), word1=[[refuse(401)]])
    code, stderr = desk.run("-j", "1")
    assert (code, "failed     1 (auth 1)" in stderr) == (1, True)
    assert [row.get("error", {}).get("kind") for row in desk.rows()] == [None, "auth", None]
    assert desk.run("-j", "1", "--resume")[0] == 0  # finished, with an error: not asked again
    assert desk.model.asked["word1"] == 1
    code, stderr = desk.run("-j", "1", "--resume", "--retry-errors")
    assert (code, desk.model.asked["word1"], desk.model.asked["word0"]) == (0, 2, 1)
    assert [(row["id"], row["is_error"]) for row in desk.rows()] == [("t0", False), ("t1", False), ("t2", False)]


def test_a_denied_tool_fails_the_run_where_asked(tmp_path: Path) -> None:
    answer = [[call("Bash", command="curl -o x http://127.0.0.1:9")], [say("No.")]]
    desk = Desk(tmp_path, *prompts(1), word0=answer)
    assert desk.run("--fail-on", "truncated,denied", "--exit-codes", "detailed")[0] == CODES["denied"]
    assert desk.rows()[0]["problems"] == ["denied"]
    assert desk.run("--resume")[0] == 0


def test_killed_and_resumed_three_times_every_id_is_there_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(40))
    desk.model.delay = 0.02
    for _ in range(3):
        least = (desk.out.read_bytes().count(b"\n") if desk.out.exists() else 0) + 6

        def has_rows(least: int = least) -> bool:
            return desk.out.exists() and desk.out.read_bytes().count(b"\n") >= least

        process = desk.start("-j", "4", "--resume")
        wait_until(has_rows, "rows in OUT")
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    code, _ = desk.run("-j", "4", "--resume")
    assert code == 0
    assert [row["id"] for row in desk.rows()] == [f"t{n}" for n in range(40)]
    # asked twice at most what was in flight when it was killed
    assert sum(desk.model.asked.values()) <= 40 + 3 * 4


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_stops_cleanly(tmp_path: Path, name: str, code: int) -> None:
    desk = Desk(tmp_path, *prompts(40))
    desk.model.delay = 0.05
    process = desk.start("-j", "2")
    wait_until(lambda: desk.out.exists() and desk.out.read_bytes().count(b"\n") >= 3, "rows in OUT")
    process.send_signal(getattr(signal, name))
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, b"--resume continues" in stderr) == (code, True)
    assert 3 <= len(desk.rows()) < 40
    desk.model.delay = 0
    assert desk.run("--resume")[0] == 0
    assert [row["id"] for row in desk.rows()] == [f"t{n}" for n in range(40)]


def test_refusals_for_the_rate_are_shared_and_survived(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(6), word2=[[refuse(429, 1.0)]])
    assert desk.run("-j", "3", "--", "--max-retries", "0")[0] == 0
    assert [row["result"] for row in desk.rows()] == [f"WORD{n}" for n in range(6)]
    assert desk.model.asked == {f"word{n}": 1 + (n == 2) for n in range(6)}
    assert desk.rows()[2]["attempts"] == 2  # another may have been refused by its own process, which knew of the pause


def test_a_broken_stream_is_a_row_with_its_kind(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(1), word0=[[say("Half"), cut()]])
    code, _ = desk.run("--", "--max-retries", "0")
    (row,) = desk.rows()
    assert (code, row["error"]["kind"], row["is_error"]) == (1, "stream_interrupted", True)


@pytest.mark.parametrize("prompt", ["Hi", "long " * 100_000])
def test_a_start_that_fails_is_a_row_that_says_why(tmp_path: Path, prompt: str) -> None:
    """Also if the process has ended before it read the prompt, as it surely has if the pipe does not hold it."""
    desk = Desk(tmp_path, {"id": "a", "prompt": prompt, "schema": {"type": "nonsense"}}, *prompts(1))
    code, _ = desk.run()
    first, second = desk.rows()
    assert (code, first["error"]["kind"], second["result"]) == (1, "start", "WORD0")
    assert "nonsense" in first["error"]["message"]


def test_budget_and_deadline_leave_the_rest_for_later(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(8))
    code, stderr = desk.run("-j", "1", "--max-budget-usd", "0.0003")
    assert (code, "the budget is used up" in stderr) == (1, True)
    assert 0 < len(desk.rows()) < 8
    assert sum(row["cost_usd"] for row in desk.rows()) <= 0.0003
    desk.model.delay = 0.5
    code, stderr = desk.run("-j", "1", "--resume", "--deadline", "1.2", "--exit-codes", "detailed")
    assert (code, "the deadline has passed" in stderr) == (CODES["limit"], True)
    desk.model.delay = 0
    assert desk.run("--resume")[0] == 0
    assert [row["id"] for row in desk.rows()] == [f"t{n}" for n in range(8)]


def test_a_task_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    """They share a process, but neither its shell's folder, nor a chosen model, nor commands in the background."""
    sleeping = call("Bash", command="sleep 600", description="wait", run_in_background=True)
    rows = [{"id": name, "prompt": f"Say {name}"} for name in ("cd", "pwd", "sleep")]
    desk = Desk(
        tmp_path,
        *rows,
        {"id": "model", "prompt": "/model openai/gpt-5.4"},
        {"id": "last", "prompt": "Say last"},
        cd=[[call("Bash", command="cd sub", description="go")], [say("Done.")]],
        pwd=[[call("Bash", command="pwd", description="look")], [say("Done.")]],
        sleep=[[sleeping], [say("Done.")]],
    )
    (tmp_path / "sub").mkdir()
    code, stderr = desk.run("-j", "1", "--", "--allowedTools", "Bash", "--model", "sonnet")
    assert code == 0, stderr
    seen = [json.dumps(request.json()) for request in desk.model.requests if b'"pwd"' in request.body]
    assert str(tmp_path) in seen[-1]
    assert str(tmp_path / "sub") not in seen[-1]
    assert "gpt" not in desk.rows()[-1]["model"]


def test_the_budget_ends_tasks_that_go_on_and_counts_their_agents(tmp_path: Path) -> None:
    looks = [[call("Glob", pattern="*.no")] for _ in range(20)]
    child = [call("Agent", description="d", prompt="Say child", subagent_type="general-purpose")]
    desk = Desk(tmp_path, *prompts(3), word0=[child, [say("Done.")]], child=looks, word1=[*looks])
    code, _ = desk.run("-j", "2", "--max-budget-usd", "0.001", "--exit-codes", "detailed", "--", "--model", "sonnet")
    assert code == CODES["budget"]
    kinds = [row["error"]["kind"] for row in desk.rows()]
    assert kinds == ["budget"] * len(kinds)
    price = desk.rows()[0]["cost_usd"] / desk.rows()[0]["usage"]["input_tokens"]  # per token of input, with its output
    asked = len(desk.model.requests)
    assert 0.001 <= asked * 12 * price <= 0.001 + 2 * 12 * price + 1e-9  # two were in flight


def test_every_request_keeps_to_the_rate(tmp_path: Path) -> None:
    """Those of tools and retries too: 3 + 3 + 1 requests, sent by three processes."""
    reads = [[call("Glob", pattern="*.no")], [call("Glob", pattern="*.no")], [say("Done.")]]
    again = [[refuse(500, 0.01)], [refuse(500, 0.01)], [say("Done.")]]
    desk = Desk(tmp_path, *prompts(3), word0=reads, word1=again)
    assert desk.run("-j", "3", "--rps", "5")[0] == 0
    times = sorted(at for of_word in desk.model.times.values() for at in of_word)
    assert len(times) == 7
    assert times[-1] - times[0] > 6 / 5 - 0.05
    assert min(third - first for first, third in zip(times, times[2:], strict=False)) > 2 / 5 - 0.15


def test_files_with_one_prompt_and_isolated_places(tmp_path: Path) -> None:
    desk = Desk(tmp_path, note=[[call("Write", file_path="note.txt", content="by a task")], [say("Written.")]])
    (tmp_path / "a.txt").write_text("one")
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
    argv = ("a.txt", "--prompt", "Say note", "--isolate-homes", "--isolate-copies")
    code, stderr = desk.run(*argv, "-j", "1", "--", "--permission-mode", "acceptEdits")
    assert code == 0, stderr
    assert desk.rows()[0]["id"] == "a.txt"
    assert (tmp_path / "out.jsonl.copies" / "000000-a.txt" / "note.txt").read_text() == "by a task"
    assert not (tmp_path / "note.txt").exists()
    copied = {path.name for path in (tmp_path / "out.jsonl.copies" / "000000-a.txt").iterdir()}
    assert not copied & {"pipe", "out.jsonl", "out.jsonl.copies", "out.jsonl.homes"}
    assert not (desk.home / ".claude").exists()
    assert (tmp_path / "out.jsonl.homes" / "w0" / ".claude" / "projects").is_dir()


def test_mistakes_are_said_before_anything_runs(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"promt": "x"})
    for argv, words in (
        ((), "unknown field 'promt'"),
        (("--fail-on", "sad"), "--fail-on takes truncated, denied, refused, not 'sad'"),
        (("--retry-errors",), "needs --resume"),
        (("--prompt", " ", "in.jsonl"), "need --prompt"),
    ):
        code, stderr = desk.run(*argv)
        assert (code, words in stderr) == (2, True), stderr
    (tmp_path / "in.jsonl").write_text('{"prompt": "Say a"}\n')
    for argv, words in (
        (("--send-env", "HOME"), "--send-env needs --engine ray"),
        (("--worker-resources", "CPU=1"), "--worker-resources needs --engine ray"),
        (("--cwd", "nowhere"), "--cwd is no folder: "),
        (("--", "--no-such-flag"), "after `--`: unknown option '--no-such-flag'"),
        (("--", "hello"), "after `--`: 'hello' is no flag"),
        (("--", "--output-format", "json"), "--output-format is not for workers: they talk in lines"),
        (("--", "-c"), "--continue is not for workers: each task is a conversation of its own"),
        (("--", "--deadline", "9"), "--deadline is not for workers: give it before `--`"),
        (("--out", "in.jsonl", "--resume"), "in.jsonl is IN and OUT"),
        (("--out", "-"), "--out must be a file"),
    ):
        code, stderr = desk.run(*argv)
        assert (code, words in stderr) == (2, True), stderr
    assert desk.model.requests == []
    assert not os.path.exists(desk.out) or desk.out.read_bytes() == b""


def test_long_texts_reach_the_model(tmp_path: Path) -> None:
    """Longer than an argument of a process may be."""
    system, setting = "x" * 300_000 + "END", {"env": {"LONG": "y" * 200_000}}
    desk = Desk(tmp_path, {"id": "a", "prompt": "Say a", "system": system}, {"prompt": "Say b", "settings": setting})
    desk.env["TMPDIR"] = str(tmp_path)
    assert desk.run("-j", "1")[0] == 0
    assert [row["result"] for row in desk.rows()] == ["A", "B"]
    assert [system in json.dumps(request.json()) for request in desk.model.requests] == [True, False]
    assert list(tmp_path.glob("yume-batch-*")) == []


def test_one_refusal_makes_all_wait(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(16), word3=[[refuse(429, 2.0)]])
    desk.model.delay = 0.1
    assert desk.run("-j", "4")[0] == 0
    refused = desk.model.times["word3"][0]
    others = [at - refused for word, times in desk.model.times.items() for at in times if word != "word3"]
    in_flight = 0.5  # requests that were on their way when the refusal arrived
    assert not [round(late, 2) for late in others if in_flight < late < 1.8]
    assert any(late > 1.8 for late in others)


def test_a_worker_whose_process_is_killed_asks_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(4), word1=[[hold()]])
    process = desk.start("-j", "1")
    wait_until(lambda: desk.model.asked["word1"] == 1, "the second prompt")
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=True).stdout.split()
    os.kill(int(children[0]), signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, [row["attempts"] for row in desk.rows()]) == (0, [1, 2, 1, 1]), stderr


def test_a_line_that_a_process_refuses_ends_its_task(tmp_path: Path) -> None:
    """No result comes of it. IN is checked first; this is what a newer batch would meet in an older process."""
    desk = Desk(tmp_path)
    broken = Task("a", 0, ({"type": "user", "content": [{"type": "text"}]}, {"type": "user", "content": "Say a"}))
    out = OutFile(str(desk.out), resume=False, keep=bool)
    coordinator = Coordinator([broken], out, Limits())
    Worker("w0", coordinator, WorkerSettings(), desk.env).run()
    coordinator.finish(None)
    (row,) = desk.rows()
    assert (row["error"]["kind"], "a text needs text" in row["error"]["message"]) == ("bad_input", True)


def test_a_full_disk_loses_no_row_and_the_run_goes_on_later(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *prompts(30))
    limited = ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash"]  # files end at 4 KiB; Python ignores SIGXFSZ
    words = [*limited, sys.executable, "-m", "yume_shim", "batch", "-o", "out.jsonl", "in.jsonl", "-j", "2"]
    done = subprocess.run(words, cwd=desk.base, env=desk.env, capture_output=True, timeout=100, check=False)
    assert (done.returncode, b"Error: cannot write OUT: File too large" in done.stderr) == (1, True), done.stderr
    assert b"OUT cannot be written; --resume continues" in done.stderr
    before = len(desk.rows())  # whole rows only
    assert 0 < before < 30
    assert desk.run("--resume")[0] == 0
    assert [row["id"] for row in desk.rows()] == [f"t{n}" for n in range(30)]
