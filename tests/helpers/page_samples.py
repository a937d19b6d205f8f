"""Transcripts to look at: a long one, an ugly one, an Arabic one, and texts that try to become more than text."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from typing import TYPE_CHECKING, Any

from yume_shim.text.codec import dumps

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

START = 1_767_225_600.0
ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<svg onload=alert(1)>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&#58;alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click](vbscript:alert(1))",
    '[click](http://leak.test/ "title" onclick=alert(1))',
    "![pixel](http://leak.test/pixel.png)",
    "![pixel](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    '<http://leak.test/?"onmouseover=alert(1)>',
    "<link rel=stylesheet href=http://leak.test/a.css>",
    "<style>@import 'http://leak.test/a.css'; body{display:none}</style>",
    "<base href=http://leak.test/><meta http-equiv=refresh content='0;url=http://leak.test/'>",
    "| a |\n|---|\n| <img src=http://leak.test/ onerror=alert(1)> |",
    '```html"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```',
    "<!-- --><script>alert(1)</script><!-- -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "`<img src=x onerror=alert(1)>`",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} <%= 7*7 %>",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07 \x1b[31mred\x1b[0m \x1b[38;2;1;2;3mexact\x1b[0m",
    "txt.exe \u202efdp.gpj\u202c \u2066x\u2069 \u200b\ufeff \U000e0041\U000e0042 \x00\x07\x1b[2J",
    "\ud800 lone, \udc00 other, \ufffe, \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "-->]]>'\"`;</title></textarea></noscript></template><img src=x onerror=alert(1)>",
)
"""None may run, load or hide anything."""
KEY = "sk-ant-" + "api03-" + "Abcdefgh1234567890Abcdefgh"


class Story:
    """Writes the lines of a transcript one after the other."""

    def __init__(
        self, cwd: str = "/srv/ume/garden", session: str = "5e55104e-0000-4000-8000-000000000001", first: int = 0
    ) -> None:
        self.lines: list[Json] = []
        self.cwd, self.session = cwd, session
        self.at = START
        self._leaf: str | None = None
        self._count = first

    def line(self, kind: str, **fields: Any) -> Json:
        """A line that follows the one before."""
        self._count += 1
        made: Json = {
            "parentUuid": self._leaf,
            "isSidechain": False,
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.325",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"{self._count:08x}-0000-4000-8000-000000000000",
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.at)) + f".{int(self.at % 1 * 1000):03d}Z",
        }
        made |= fields
        self._leaf = made["uuid"]
        self.lines.append(made)
        return made

    def ask(self, content: Any, wait: float = 30.0, **fields: Any) -> None:
        """A prompt."""
        self.at += wait
        self.line("user", message={"role": "user", "content": content}, **fields)

    def answer(self, *blocks: Json, model: str = "claude-sonnet-5-5", took: float = 2.0, cost: float = 0.004) -> None:
        """An answer: one line per block."""
        usage = {"input_tokens": 40 + self._count % 60, "output_tokens": 120 + self._count * 7 % 400}
        usage |= {
            "cache_read_input_tokens": 8_000 + self._count * 11 % 60_000,
            "cache_creation_input_tokens": self._count % 900,
        }
        name = f"msg_{self._count}"
        for block in blocks:
            self.at += took / len(blocks)
            message = {
                "id": name,
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [block],
                "usage": usage,
            }
            self.line("assistant", message=message, requestId=f"req_{name}", costUSD=cost)

    def result(self, call_id: str, content: Any, took: float = 0.4, error: bool = False, **fields: Any) -> None:
        """The result of a call."""
        self.at += took
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content} | (
            {"is_error": True} if error else {}
        )
        self.line("user", message={"role": "user", "content": [block]}, **fields)

    def tool(self, name: str, given: Any, content: Any, took: float = 0.4, error: bool = False, **fields: Any) -> str:
        """A call with its result."""
        call_id = f"toolu_{self._count}"
        self.answer({"type": "tool_use", "id": call_id, "name": name, "input": given})
        self.result(call_id, content, took, error, **fields)
        return call_id

    def system(self, subtype: str, **fields: Any) -> None:
        """A `system` line."""
        self.line("system", subtype=subtype, **fields)

    def save(self) -> bytes:
        """The file."""
        return b"".join(dumps(line) + b"\n" for line in self.lines)


def text(words: str) -> Json:
    """A text block."""
    return {"type": "text", "text": words}


def thought(words: str) -> Json:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def png(width: int = 64, height: int = 40) -> str:
    """A small picture in base64."""
    rows = b"".join(
        b"\0" + b"".join(bytes((x * 4 % 256, y * 6 % 256, 140)) for x in range(width)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode("ascii")


def long_session(turns: int = 1000) -> bytes:
    """A long working session of everyday turns: prompt, thought, three calls, an answer with Markdown."""
    story = Story()
    for number in range(1, turns + 1):
        story.ask(f"Step {number}: make the watering plan for bed {number % 40} and run the tests.", wait=20)
        story.answer(thought(f"The plan of bed {number % 40} is in `plans/bed{number % 40}.py`. I read it first."))
        listing = "\n".join(
            f"{row:>6}\tdef water_{row}(bed: int, litres: float = {row}.5) -> None: ..." for row in range(1, 30)
        )
        story.tool("Read", {"file_path": f"/srv/ume/garden/plans/bed{number % 40}.py"}, listing, 0.05)
        edit = {
            "file_path": f"/srv/ume/garden/plans/bed{number % 40}.py",
            "old_string": "litres = 4\nreturn litres",
            "new_string": f"litres = {number}\nreturn litres",
        }
        patch = [
            {
                "oldStart": 12,
                "oldLines": 2,
                "newStart": 12,
                "newLines": 2,
                "lines": ["-    litres = 4", f"+    litres = {number}", "     return litres"],
            }
        ]
        story.tool(
            "Edit",
            edit,
            "The file has been updated.",
            0.03,
            toolUseResult={"filePath": edit["file_path"], "structuredPatch": patch},
        )
        failing = number % 25 == 0
        out = "\n".join(f"tests/test_bed{row}.py::test_plan PASSED" for row in range(12)) + (
            "\n1 failed" if failing else "\n12 passed"
        )
        story.tool(
            "Bash",
            {"command": f"python -m pytest tests/test_bed{number % 40}.py -q", "description": "Run the tests"},
            out,
            1.2,
            error=failing,
        )
        story.answer(
            text(
                f"Bed {number % 40} now gets **{number} litres**.\n\n- the plan is in `plans/bed{number % 40}.py`\n- all tests pass\n\n"
                f"```python\ndef plan(bed: int) -> float:\n    return {number} * 1.5  # litres\n```\n\n| day | litres |\n|---|---:|\n| Mon | {number} |\n| Thu | {number // 2} |"
            )
        )
    return story.save()


def ugly_session() -> bytes:
    """Everything that goes wrong: errors, retries, huge and deep outputs, broken Markdown, odd Unicode, attacks."""
    story = Story(cwd=f"/srv/ume/{ATTACKS[0]}")
    story.ask("Check the server. **Unclosed bold and [a link](http://example.test", wait=1)
    for attempt in (1, 2, 3):
        story.at += 1.1
        story.system(
            "api_error",
            level="error",
            error={
                "status": 529,
                "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            },
            retryInMs=900.0 * attempt,
            retryAttempt=attempt,
            maxRetries=10,
        )
        story.at += 0.9 * attempt
    story.answer(
        thought("Überlegung… 考える… " * 40),
        text("# Broken\n\n```python\nprint('never closed'\n\n| a | b |\n|---|\n* * *\n> quote\n1) one\n3) three"),
    )
    story.tool(
        "Bash",
        {"command": "cat /var/log/huge.log"},
        "\n".join(
            f"{row:>7} \x1b[3{row % 8}mline\x1b[0m of a very long log {'x' * (row % 150)}" for row in range(12_000)
        ),
        4.2,
    )
    story.tool(
        "Bash",
        {"command": "make test\nmake install", "timeout": 600000},
        "make: *** [Makefile:14: test] Error 2\n\x1b[31mFAILED\x1b[0m tests/test_a.py",
        61.4,
        error=True,
    )
    deep: Any = "bottom"
    for _ in range(400):
        deep = {"deeper": [deep]}
    story.tool(
        "mcp__garden__inspect",
        {"tree": deep, "wide": list(range(3000)), "flag": True},
        dumps({"rows": [{"id": row, "ok": row % 2 == 0} for row in range(40)]}).decode(),
    )
    story.tool(
        "Write",
        {"file_path": "/etc/passwd", "content": "root::0:0\n"},
        "Permission denied by the user",
        0.1,
        error=True,
        toolUseResult="User rejected tool use",
    )
    todos = [("Read the log", "completed"), ("Mend the pump", "in_progress"), ("Tell everybody 🌱", "pending")]
    story.tool(
        "TodoWrite",
        {"todos": [{"content": name, "status": state, "activeForm": name} for name, state in todos]},
        "Todos saved",
    )
    picture = [
        text("The camera:"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}},
    ]
    story.tool("Read", {"file_path": "/srv/ume/bed.png"}, picture)
    lying = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
    story.tool(
        "Read",
        {"file_path": "/srv/ume/evil.png"},
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": lying}}],
    )
    story.tool(
        "Read",
        {"file_path": "/srv/ume/x.png"},
        [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": 'image/png" onerror="alert(1)', "data": "<script>"},
            }
        ],
    )
    story.answer(*(text(f"{place}. {attack}") for place, attack in enumerate(ATTACKS)))
    story.ask([text(attack) for attack in ATTACKS[:6]])
    for attack in ATTACKS:
        story.tool(attack, {attack: attack, "file_path": attack, "command": attack}, attack, error=len(attack) % 2 == 0)
    story.answer(text(f"The key is {KEY}, and the model is odd."), model=ATTACKS[3])
    story.tool("Edit", {"file_path": ATTACKS[3], "old_string": ATTACKS[0], "new_string": ATTACKS[5]}, "ok")
    story.tool(
        "AskUserQuestion",
        {"questions": [{"question": ATTACKS[0], "options": [{"label": ATTACKS[3], "description": ATTACKS[5]}]}]},
        ATTACKS[1],
    )
    before = story.lines[-1]["uuid"]
    story.line(
        "system",
        subtype="compact_boundary",
        parentUuid=None,
        logicalParentUuid=before,
        compactMetadata={"trigger": "auto", "preTokens": 182_000, "postTokens": 4_100},
    )
    story.ask("This session is continued. Summary: the server was checked.", isCompactSummary=True)
    story.ask("/context <b>now</b>")
    story.ask("[Request interrupted by user]", wait=3)
    story.ask("And again?")
    failed = {"id": "x", "role": "assistant", "model": "<synthetic>", "content": [text(f"API Error: 401 {ATTACKS[0]}")]}
    story.line("assistant", message=failed, isApiErrorMessage=True, error="authentication_failed")
    story.lines.append(
        {
            "type": "custom-title",
            "customTitle": f"Ugly {ATTACKS[1]} {ATTACKS[3]} \u202etitle",
            "sessionId": story.session,
        }
    )
    return story.save() + b'{"type":"user","torn...\n[1,2]\n"text"\n'


def arabic_session() -> bytes:
    """A conversation from the right to the left, with code from the left to the right."""
    story = Story(cwd="/srv/ume/مشروع الحديقة")
    story.ask(
        "اكتب برنامجًا بلغة Python يحسب كمية الماء لكل حوض، ثم شغّل الاختبارات في tests/test_beds.py من فضلك.", wait=1
    )
    story.answer(thought("أقرأ الملف plans/bed1.py أولًا ثم أعدّل الدالة water()."))
    story.tool(
        "Read",
        {"file_path": "/srv/ume/مشروع الحديقة/plans/bed1.py"},
        "     1\tdef water(bed: int) -> float:\n     2\t    return 4.0  # لتر",
    )
    story.tool(
        "Edit",
        {
            "file_path": "/srv/ume/مشروع الحديقة/plans/bed1.py",
            "old_string": "return 4.0  # لتر",
            "new_string": "return bed * 1.5  # لتر لكل حوض",
        },
        "تم التعديل",
    )
    story.tool(
        "Bash",
        {"command": "python -m pytest tests/test_beds.py -q", "description": "تشغيل الاختبارات"},
        "خطأ: لم يُعثر على الملف tests/test_beds.py",
        0.8,
        error=True,
    )
    story.tool(
        "TodoWrite",
        {
            "todos": [
                {"content": "قراءة الخطة", "status": "completed"},
                {"content": "كتابة الاختبارات", "status": "in_progress"},
            ]
        },
        "تم",
    )
    story.answer(
        text(
            "## الخطة\n\nعدّلت الدالة `water()` لتعيد **1.5 لتر** لكل حوض:\n\n1. قرأت الملف `plans/bed1.py`\n2. غيّرت السطر الثاني\n3. الاختبارات غير موجودة بعد — هل أكتبها؟\n\n"
            "```python\ndef water(bed: int) -> float:\n    return bed * 1.5  # لتر لكل حوض\n```\n\n| اليوم | اللترات |\n|---|---:|\n| الاثنين | 12 |\n| الخميس | 6 |\n\n> ملاحظة: انظر https://example.test/docs للمزيد."
        )
    )
    story.ask("نعم، اكتبها. ומה לגבי עברית? And in English too.", wait=40)
    story.answer(
        text(
            "تم. هذا سطر عربي يحتوي على English words و `code` ورقم 12,5.\n\nThis paragraph is English and stays left to right.\n\nזה משפט בעברית."
        )
    )
    return story.save()
