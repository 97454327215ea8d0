"""The pages of the documentation as something that can be run: their blocks of code, in order, in one clean folder.

    ```python   runs; all of a page share their names, as if typed into one session
    ```sh       runs, and must succeed: lines of plain `integraph …` in the session itself, which is quick; a block with
                any other line in bash, with the installed `integraph` first on the path
    ```text     is what the code before it printed, or a part of that
    ```py       needs an extra: test_docs runs it where the extra is installed

Run as a script, with the file of a page, this is the session; what each block prints comes between marks.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
MARK = "\0block\0"
RUN = ("python", "sh")
PAPER = (  # every label of the paper's equations, lemmas, theorems, tables and figures
    "eq:neural_ode",
    "lem:tanh",
    "lem:ln",
    "lem:multiply",
    "lem:bootstrap",
    "fig:ac",
    "tab:bootstrap_summary",
    "thm:sobolev",
    "lem:tanh_perturbation",
    "thm:feedforward",
)


class Block(NamedTuple):
    kind: str
    code: str
    line: int  # the first line of the code, from 1


def blocks(text: str) -> list[Block]:
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1) for match in found]


def label(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run(text: str, folder: Path, warnings: str = "error") -> subprocess.CompletedProcess[str]:
    """In a process of its own: a page may register a gadget, and fresh names must suffice."""
    page = folder / "page.md"
    page.write_text(text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = {**os.environ, "PATH": path, "PYTHONPATH": "", "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-W", warnings, __file__, page.name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def unprinted(text: str, output: str) -> list[str]:
    """The blocks of text that the code before them did not print."""
    parts, wrong, last = output.split(MARK)[1:], [], ""
    for block in blocks(text):
        if block.kind in RUN:
            last = parts.pop(0)
        elif block.kind == "text" and not printed(block.code, last):
            wrong.append(block.code)
    return wrong


def printed(block: str, output: str) -> bool:
    """Whether the words of the block come one after the other in the output; … stands for any number of words."""
    words, start = output.split(), 0
    for piece in block.split("…"):
        wanted = piece.split()
        places = range(start, len(words) - len(wanted) + 1)
        place = next((at for at in places if all(map(alike, wanted, words[at:]))), None)
        if place is None:
            return False
        start = place + len(wanted)
    return True


def alike(word: str, other: str) -> bool:
    """The same word, or numbers that differ by less than a tenth: a bound may get tighter before a page does. A number
    that is shown with five digits or more is no bound, and is right up to the last but one."""
    digits = len(re.sub(r"e.*|\D", "", word.lower()).lstrip("0"))
    try:
        return math.isclose(float(word), float(other), rel_tol=0.1 if digits < 5 else 10.0 ** (2 - digits))
    except ValueError:
        return word == other


def arguments(line: str) -> list[str] | None:
    """The words of a plain `integraph …`; None where a shell must read the line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)  # pipes and the like are words of their own
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quotation that goes on
        return None
    needs_shell = any(set(word) <= set("();<>|&") or "$" in word for word in words)
    return words if words[:1] == ["integraph"] and not needs_shell else None


def shell(code: str) -> int:
    """Runs lines up to the first that fails, and gives its exit code."""
    calls = [arguments(line) for line in code.splitlines()]
    if None in calls:
        return subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=False).returncode
    return next(filter(None, map(command, calls)), 0)


def command(words: list[str]) -> int:
    """Runs `integraph …` in this process and gives its exit code."""
    from integraph.cli.app import main  # a page without commands does not import it

    sys.argv = words
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def session(page: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(Path(page).read_text()):
        if block.kind not in RUN:
            continue
        print(MARK, end="", flush=True)
        if block.kind == "sh":
            code = shell(block.code)
            if code:
                sys.exit(f"line {block.line}: exit code {code} from\n{block.code}")
        else:
            exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), names)
        sys.stdout.flush()


if __name__ == "__main__":
    session(sys.argv[1])
