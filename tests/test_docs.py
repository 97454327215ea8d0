"""The documentation is true: its code runs, its links lead somewhere, its gadgets and signatures are the real ones."""

from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import integraph
from integraph import Registers, build, gadgets, program, segment
from integraph.gadgets import Elementwise, Gadget

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]

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


def script(text: str) -> str:
    """The python blocks of a page as one script, each on its own lines, so that a traceback points into the page."""
    inside = False
    lines = []
    for line in text.splitlines():
        fence = line.startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line.startswith("```python") if fence and not inside else inside and not fence
    return "\n".join(lines)


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a page may register a gadget, and fresh names must suffice."""
    path = folder / "page.py"
    path.write_text(script(text))
    command = [sys.executable, "-W", "error", path.name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def shown(text: str) -> list[str]:
    """What a page says that its code prints: its blocks of text."""
    return re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def alike(word: str, other: str) -> bool:
    """The same word, or numbers that differ by less than a tenth: a bound may get tighter before a page does."""
    try:
        return math.isclose(float(word), float(other), rel_tol=0.1)
    except ValueError:
        return word == other


def printed(block: str, output: str) -> bool:
    """Whether the words of the block come one after the other in the output."""
    wanted, words = block.split(), output.split()
    starts = range(len(words) - len(wanted) + 1)
    return any(all(map(alike, wanted, words[start:])) for start in starts)


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    result = run(text, tmp_path)
    assert result.returncode == 0, result.stderr
    assert [block for block in shown(text) if not printed(block, result.stdout)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if "```py\n" in page.read_text()], ids=lambda page: page.name)
def test_code_that_needs_an_extra_runs(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    for block in re.findall(r"^```py\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        result = run(f"```python\n{block}```\n", tmp_path)
        assert result.returncode == 0, result.stderr


def test_output_is_shown_somewhere() -> None:
    assert len(shown((ROOT / "docs" / "functions.md").read_text())) >= 4
    assert shown("```text\nfirst\n```\n\n```python\nx\n```\n\n```text\nsecond\n```\n") == ["first\n", "second\n"]
    assert printed("error ≤ 1.0e-3 for x", "an error ≤ 0.00102\nfor x in …")
    assert not any(printed(block, "error ≤ 1.2e-3 for x") for block in ("error ≤ 1.0e-3", "for y", "x in", "≤ for"))


def test_code_that_fails_is_noticed(tmp_path: Path) -> None:
    result = run(
        "text\n\n```python\nassert 1 == 1\n```\n\n```\nnot python\n```\n\n```python\nassert 1 == 2\n```\n", tmp_path
    )
    assert result.returncode != 0
    assert "line 12" in result.stderr


def test_some_pages_have_code() -> None:
    pages = {"README.md", "api.md", "certificates.md", "extending.md", "functions.md", "graphs.md", "networks.md"}
    assert {page.name for page in WITH_CODE} >= pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    local = [t for t in targets if "://" not in t]
    assert [t for t in local if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_exist(page: Path) -> None:
    """`src/…`, `tests/…`, `gadgets/tanh.py` and their like, in code font, from the root or from the package."""
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md|png|toml|txt|cff))`", page.read_text()))
    places = (ROOT, ROOT / "src" / "integraph", page.parent)
    made = {"out/demo.png", "src/integraph/gadgets/sech.py"}  # by the demo; by the reader of extending.md
    assert sorted(n for n in named - made if not any((place / n).exists() for place in places)) == []


def test_every_page_is_reachable_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [page.name for page in PAGES[1:] if f"({page.relative_to(ROOT)})" not in text] == []


def test_paper_map_lists_every_label_once() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text()
    assert {label: text.count(f"`{label}`") for label in PAPER} == dict.fromkeys(PAPER, 1)


def test_paper_map_rows_are_built_or_say_so() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text().split("## Errata")[0]
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    assert len(rows[2:]) >= len(PAPER)
    for item, code, test, _ in rows[2:]:
        assert "not built yet" in code or (".py`" in code and "tests/" in test), item


# The table of gadgets in the README: "`exp(z, x)` | `z = exp(x)` | `z' = x·z` | `z = 1`", read as data.

NAMES = {
    **{name: getattr(np, name) for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "arctan")},
    "ln": np.log,
    "asinh": np.arcsinh,
    "erf": special.erf,
    "Φ": special.ndtr,
    "π": math.pi,
    "sqrt": math.sqrt,
}
TENSORS = {"a": 0.7, "k": 3.0, "r": 2.0, "b": 0.5, "v": 0.4, "c": 0.125}
SIGNS = {"·": "*", "−": "-", "²": "**2", "^": "**", "½": "0.5", "√": "sqrt"}


def value(text: str, known: dict[str, float]) -> float:
    for sign, python in SIGNS.items():
        text = text.replace(sign, python)
    return float(eval(text, {"__builtins__": {}}, {**NAMES, **known}))


def statements(cell: str) -> dict[str, str]:
    """`z = x/2`, `y = ln(2)` → {z: x/2, y: ln(2)}."""
    return dict(re.split(r" = ", found, maxsplit=1) for found in re.findall(r"`([^`]+ = [^`]+)`", cell))


def gadget_rows() -> dict[str, list[str]]:
    rows = {}
    for line in (ROOT / "README.md").read_text().splitlines():
        match = re.match(r"\| `(\w+)\(", line)
        if match and isinstance(getattr(gadgets, match[1], None), Gadget):
            rows[match[1]] = [cell.strip() for cell in line.split("|")[1:-1]]
    return rows


ROWS = gadget_rows()


def test_the_readme_lists_every_gadget() -> None:
    assert set(ROWS) == {name for name in gadgets.__all__ if isinstance(getattr(gadgets, name), Gadget)}


@pytest.mark.parametrize("name", [n for n in ROWS if isinstance(getattr(gadgets, n), Elementwise)])
def test_the_readme_is_right_about(name: str) -> None:
    call, computes, ode, start = ROWS[name]
    gadget = getattr(gadgets, name)
    roles = gadget.targets + gadget.operands
    tensors = {t: TENSORS[t] for t in gadget.tensors if f"{t}={t}" in call}
    assert call == f"`{name}({', '.join((*roles, *(f'{t}={t}' for t in tensors)))})`"
    r = Registers()
    registers = r.inputs("y", len(roles))
    views = [registers[n : n + 1] for n in range(len(roles))]
    program = build(r, [segment(name, gadget(*views, **tensors))], registers)

    generator = np.random.default_rng(5)
    for _ in range(3):
        y = generator.uniform(0.2, 1.5, len(roles))
        known = {**tensors, **dict(zip(roles, y.tolist(), strict=True))}
        written = {target.rstrip("'"): value(text, known) for target, text in statements(ode).items()}
        wanted = [written.get(role, 0.0) for role in roles]
        assert set(written) == set(gadget.targets)
        np.testing.assert_allclose(program.rhs(0.5, y), wanted, rtol=1e-14)

    for x in (0.3, 1.7):
        given = {**tensors, "x": x, "y": 1.3}
        starts = {role: value(text, given) for role, text in statements(start).items()}
        assert set(starts) <= set(gadget.targets)
        y = [x if role in gadget.operands else starts.get(role, 0.0) for role in roles]
        end = dict(zip(roles, program(y, engine="exact").tolist(), strict=True))
        results = statements(computes)
        assert results
        for target, text in results.items():
            assert end[target] == pytest.approx(value(text, given), rel=1e-13), target


def test_the_version_in_the_changelog() -> None:
    assert f"## {integraph.__version__}" in (ROOT / "CHANGELOG.md").read_text()


# The signatures in docs/api.md: "| `Program.rhs(t, y)` | …", and attributes "| `Program.width`, `Program.depth` | …".

API = (ROOT / "docs" / "api.md").read_text()
CALLS = dict(re.findall(r"^\| `([\w.]+)\((.*?)\)` \|", API, re.MULTILINE))


def parts(function: object) -> list[tuple[str, object, object]]:
    """Name, kind and default of each parameter, without self."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found if p.name != "self"]


def real(name: str) -> object:
    if name == "Program":  # the page shows how it is called, not how `build` makes it
        return integraph.Program.__call__
    owner, _, member = name.partition(".")
    thing = getattr(integraph, owner, None) or getattr(program, owner)
    return getattr(thing, member) if member else thing


def differs(name: str, written: str) -> bool:
    """Whether the page and the code disagree; `...` stands for a default that the page does not tell."""
    space: dict[str, object] = {}
    exec(f"def shown({written}): pass", space)
    shown, true = parts(space["shown"]), parts(real(name))
    if len(shown) != len(true):
        return True
    return any(a[:2] != b[:2] or a[2] not in (b[2], ...) for a, b in zip(shown, true, strict=True))


@pytest.mark.parametrize("name", CALLS)
def test_api_signature(name: str) -> None:
    hidden = {"tensor": "array, dtype=..."}  # int64 tensors are for files only
    assert not differs(name, hidden.get(name, CALLS[name])), f"{name}{inspect.signature(real(name))}"


@pytest.mark.parametrize("wrong", ["t", "t, state", "t, *, y", "t, y=0", "t, y, z"])
def test_a_wrong_signature_is_noticed(wrong: str) -> None:
    assert not differs("Program.rhs", "t, y")
    assert differs("Program.rhs", wrong)


DOCUMENTED = (
    integraph.Program,
    integraph.Registers,
    program.Flow,
    integraph.Function,
    integraph.Graph,
    integraph.Partition,
    integraph.Plan,
    integraph.Sobolev,
    integraph.Proof,
    integraph.Certificate,
    integraph.Checked,
)


@pytest.mark.parametrize("cls", DOCUMENTED, ids=lambda cls: cls.__name__)
def test_api_lists_every_member(cls: type) -> None:
    members = {n for n in (*vars(cls), *getattr(cls, "__dataclass_fields__", ())) if not n.startswith("_")}
    listed = set(re.findall(rf"`{cls.__name__}\.(\w+)[`(]", API))
    assert len(members) > 3
    assert listed == members


def test_api_lists_every_public_name() -> None:
    names = set(integraph.__all__) - {"__version__", "flow", "gadgets"}
    assert [n for n in sorted(names) if not re.search(rf"`{n}\b", API)] == []
