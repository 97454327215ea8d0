"""The documentation is true: its code runs, its links lead somewhere, its gadgets and signatures are the real ones."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import integraph
from integraph import Registers, build, gadgets, segment
from integraph.export.formats import FORMATS, NOT_RUN
from integraph.gadgets import Elementwise, Gadget
from lazy import framework
from pages import PAGES, PAPER, ROOT, RUN, arguments, blocks, label, printed, run, unprinted
from slow import mostly_slow

KINDS = {page: {block.kind for block in blocks(page.read_text())} for page in PAGES}
WITH_CODE = [page for page in PAGES if KINDS[page] & {*RUN} and page.name != "tutorial.md"]
WITH_EXTRAS = [page for page in PAGES if "py" in KINDS[page]]
OPTIONAL = {  # what a block of py may import
    *("jax", "equinox", "optax", "torch", "onnx", "onnxruntime", "onnxscript", "sklearn", "keras", "h5py"),
    *("basico", "fmpy", "lucipy", "roadrunner", "rumoca"),
}
CALLED = {  # extras by what calls them
    "onnx.export": ("onnx", "onnxscript"),
    "learn.fine_tune": ("jax", "equinox", "optax"),
    "learn import QuadraticODE": ("jax", "equinox", "optax"),
    "learn import QuadraticODERegressor": ("sklearn",),
    "learn import depth_study": ("jax", "equinox", "optax", "sklearn"),
}
TOOLS = {  # programs that a page may call, and where
    "gcc": r"^gcc ",
    "cmake": r"\bbuild_platform_binary\(",
    "ngspice": r"^ngspice ",
}


def skip_without_tools(text: str) -> None:
    for tool, call in TOOLS.items():
        if re.search(call, text, re.MULTILINE) and shutil.which(tool) is None:
            pytest.skip(f"needs {tool}: apt-get install {tool}")


@mostly_slow("page", sorted(WITH_CODE, key=lambda page: page.name != "index.md"), quick=1, ids=label)
def test_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    skip_without_tools(text)
    result = run(text, tmp_path)
    assert result.returncode == 0, result.stderr
    assert unprinted(text, result.stdout) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXTRAS, ids=label)
def test_code_that_needs_an_extra_runs(page: Path, tmp_path: Path) -> None:
    for block in blocks(page.read_text()):
        if block.kind == "py":
            used = OPTIONAL & set(re.findall(r"^(?:import|from) (\w+)", block.code, re.MULTILINE))
            used |= {name for call, names in CALLED.items() if call in block.code for name in names}
            assert used, "a block of py needs no extra: call it python"
            for name in sorted(used):
                framework(name)
            skip_without_tools(block.code)
            result = run(f"```python\n{block.code}```\n", tmp_path, warnings="default")  # those of the framework
            assert result.returncode == 0, result.stderr


def test_output_is_shown_somewhere() -> None:
    assert sum(len([block for block in blocks(page.read_text()) if block.kind == "text"]) for page in PAGES) >= 12
    text = "```python\nprint('first')\n```\n\n```text\nfirst\n```\n\n```sh\necho second\n```\n\n```text\nfirst\n```\n"
    assert [(block.kind, block.line) for block in blocks(text)] == [
        ("python", 2),
        ("text", 6),
        ("sh", 10),
        ("text", 14),
    ]
    assert unprinted(text, "\0block\0first\n\0block\0second\n") == ["first\n"]
    assert printed("error ≤ 1.0e-3 for x", "an error ≤ 0.00102\nfor x in …")
    assert printed("an … for", "an error ≤ 0.00102\nfor x")
    assert printed("0.351971", "0.3519714727")
    assert not printed("0.351971", "0.352971")
    assert not any(printed(block, "error ≤ 1.2e-3 for x") for block in ("error ≤ 1.0e-3", "for y", "x in", "≤ for"))
    assert not printed("for … an", "an error for x")


def test_code_that_fails_is_noticed(tmp_path: Path) -> None:
    result = run(
        "text\n\n```python\nassert 1 == 1\n```\n\n```\nnot python\n```\n\n```python\nassert 1 == 2\n```\n", tmp_path
    )
    assert result.returncode != 0
    assert "line 12" in result.stderr
    result = run("```sh\ntrue\n```\n\n```sh\nfalse\ntrue\n```\n", tmp_path)
    assert result.returncode != 0
    assert "line 6: exit code 1" in result.stderr


@pytest.mark.slow
def test_commands_run_in_the_session_unless_they_need_a_shell(tmp_path: Path) -> None:
    assert arguments('integraph eval a.integraph 0.3,0.8 "x; y" --box=-2,2  # why') == [
        *("integraph", "eval", "a.integraph", "0.3,0.8", "x; y", "--box=-2,2")
    ]
    for line in ("true", "integraph info a | cat", "integraph info a > b", "integraph info $A", "integraph info 'a"):
        assert arguments(line) is None
    wrong = "```sh\nintegraph --version\nintegraph info missing.integraph\nintegraph --version\n```\n"
    both = [run(text, tmp_path) for text in (wrong, wrong.replace("\n```\n", "\ntrue\n```\n"))]
    assert [result.returncode for result in both] == [1, 1]
    assert both[0].stdout == both[1].stdout != ""
    assert all("line 2: exit code 2 from" in result.stderr for result in both)


def test_some_pages_have_code() -> None:
    names = "api certificates engines extending functions gadgets graphs index mathematics networks"
    howto = "formula black-box proof report verification-files"
    pages = {f"docs/{name}.md" for name in names.split()} | {f"docs/howto/{name}.md" for name in howto.split()}
    assert {label(page) for page in WITH_CODE} >= pages | {"README.md"}
    assert {label(page) for page in WITH_EXTRAS} >= {"docs/graphs.md", "docs/howto/pytorch.md"}


def links(page: Path) -> list[tuple[Path, str]]:
    """Where a page points to inside the project: file and heading."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = [target.partition("#") for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    return [((page.parent / path).resolve() if path else page, heading) for path, _, heading in found]


def headings(page: Path) -> set[str]:
    """As GitHub and the built pages name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_somewhere(page: Path) -> None:
    assert [str(target) for target, _ in links(page) if not target.exists()] == []
    assert [(t.name, heading) for t, heading in links(page) if heading and heading not in headings(t)] == []


@pytest.mark.parametrize("page", PAGES[3:], ids=label)
def test_pages_link_to_pages(page: Path) -> None:
    """What is not in docs is not among the built pages."""
    assert [str(target) for target, _ in links(page) if not target.is_relative_to(ROOT / "docs")] == []


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_files_named_exist(page: Path) -> None:
    """`src/…`, `tests/…`, `gadgets/tanh.py` and their like, in code font, from the root or from the package."""
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md|png|toml|txt|cff))`", page.read_text()))
    places = (ROOT, ROOT / "src" / "integraph", page.parent)
    made = {"out/demo.png", "src/integraph/gadgets/sech.py"}  # by the demo; by the reader of extending.md
    assert sorted(n for n in named - made if not any((place / n).exists() for place in places)) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            todo += [target for target, _ in links(page)]
    assert sorted(label(page) for page in set(PAGES) - reached) == []


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 120


def test_the_table_of_exports_has_every_format() -> None:
    table = [line for line in (ROOT / "docs/howto/equations.md").read_text().splitlines() if line.startswith("| ")]
    cells = [re.split(r"(?<!\\)\|", line)[2:4] for line in table]
    listed = {suffix: judge.strip() for suffixes, judge in cells for suffix in re.findall(r"`(\.[\w.]+)`", suffixes)}
    suffixes = {suffix for one in FORMATS for suffix in one.suffixes}
    assert {one.suffixes[0] for one in FORMATS} <= set(listed) <= suffixes
    not_run = {one.suffixes[0] for one in FORMATS if one.judge == NOT_RUN}
    assert {suffix for suffix, judge in listed.items() if judge == "not run"} == not_run


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
    for item, code, test, *_ in rows[2:]:
        assert "not built yet" in code or (".py`" in code and "tests/" in test), item


# The table of docs/gadgets.md: "`exp(z, x)` | $z = \exp(x)$ | $z' = x \cdot z$ | $z = 1$", read as data.

NAMES = {
    **{name: getattr(np, name) for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "arctan", "sqrt")},
    "ln": np.log,
    "arsinh": np.arcsinh,
    "erf": special.erf,
    "Phi": special.ndtr,
    "pi": math.pi,
}
TENSORS = {"a": 0.7, "k": 3.0, "r": 2.0, "b": 0.5, "v": 0.4, "c": 0.125}
LATEX = {  # → Python, in this order
    r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}": r"((\1)/(\2))",
    r"\\operatorname\{(\w+)\}": r"\1",
    r"\\sqrt\{([^{}]*)\}": r"sqrt(\1)",
    r"\\cdot": "*",
    r"\^": "**",
    r"\\lambda": "lam",
    r"\\": "",
}


def value(text: str, known: dict[str, float]) -> float:
    for latex, python in LATEX.items():
        text = re.sub(latex, python, text)
    return float(eval(text, {"__builtins__": {}}, {**NAMES, **known}))


def statements(cell: str) -> dict[str, str]:
    """`$s = \\frac{x}{2}$, $\\lambda = 1$` → {s: \\frac{x}{2}, lam: 1}."""
    pairs = (re.split(r" = ", found, maxsplit=1) for found in re.findall(r"\$([^$]+ = [^$]+)\$", cell))
    return {target.replace("\\lambda", "lam").lstrip("\\"): text for target, text in pairs}


def gadget_rows() -> dict[str, list[str]]:
    rows = {}
    for line in (ROOT / "docs" / "gadgets.md").read_text().splitlines():
        match = re.match(r"\| `(\w+)\(", line)
        if match and isinstance(getattr(gadgets, match[1], None), Gadget):
            rows[match[1]] = [cell.strip() for cell in line.split("|")[1:-1]]
    return rows


ROWS = gadget_rows()


def test_the_table_lists_every_gadget() -> None:
    assert set(ROWS) == {name for name in gadgets.__all__ if isinstance(getattr(gadgets, name), Gadget)}


@pytest.mark.parametrize("name", [n for n in ROWS if isinstance(getattr(gadgets, n), Elementwise)])
def test_the_table_is_right_about(name: str) -> None:
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
