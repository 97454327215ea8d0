"""Names are text from outside: whatever they hold, what is shown of them is visible, on one line and distinct."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import integraph
from command import call
from hostile_names import ALL, HOSTILE, check, texts
from integraph import Registers, build, segment
from integraph.certify.certificate.certificate import Certificate
from integraph.errors import FileError, FlowError, IntegraphError, SourceError
from integraph.gadgets import affine
from integraph.program import Probe, storage
from integraph.program.schema import encode
from integraph.targets import from_layers
from integraph.targets.graph_builder import Builder
from integraph.text import NAME, DistinctNames, clean, counted, lines
from keras_files import archive, configuration
from law import examples
from lazy import framework
from slow import mostly_slow

LONGEST = 1200  # characters of a line that is printed


def told(program: integraph.Program) -> list[str]:
    """All that a program says about itself."""
    names = [program.registers.name(n) for n in range(program.width)]
    way = program.trajectory(np.full(program.inputs, 0.5), 2)
    return [
        repr(program), str(program), program.describe(), program.summary(), repr(program.registers), repr(way),
        *names, *way.labels, *way.names, *(probe.label for probe in program.probes),
    ]  # fmt: skip


def everything(program: integraph.Program, folder: Path) -> None:
    """Prints, files, the command, pictures, the report."""
    said = told(program)
    check(*said, program._repr_html_())
    names = [group.name for group in program.registers]
    assert len(set(names)) == len(names)
    assert max(len(line) for text in said for line in text.split("\n")) < LONGEST * 3
    path = folder / "named.integraph"
    program.save(path)
    again = integraph.load(path)
    assert told(again) == said
    for word in ("info", "describe"):
        answer = call(word, path)
        check(answer.out, answer.err)
        check(*texts(call(word, path, "--json").data))
    answer = call("trace", path, *(["0.5"] * program.inputs))
    check(answer.out, answer.err)
    program.plot("trajectory", folder / "way.svg", x=np.full(program.inputs, 0.5))
    check((folder / "way.svg").read_text("utf-8"))
    page = program.report(folder / "page.html").read_text("utf-8")
    own = re.sub(r"<script(?! type=.application/json)[^>]*>.*?</script>", "", page, flags=re.DOTALL)  # the page's own
    check(own)
    assert "alert(1)" not in re.sub(r"&lt;.*?&gt;|\\u003c.*?\\u003e|\\[ux]\w+", "", own) or "<script>alert" not in own


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_clean(name: str) -> None:
    found = clean(name)
    check(found, lines=False)
    assert clean(found) == found
    assert len(clean(name, 40)) <= 40
    assert lines(f"{name}\n{name}").count("\n") == 2 * name.count("\n") + 1


@examples(300)
@given(st.text(st.characters(), max_size=30), st.integers(5, 40))
def test_any_text_becomes_clean(name: str, most: int) -> None:
    found = clean(name, most)
    check(found, lines=False)
    assert len(found) <= most
    assert clean(found, most) == found


def test_letters_stay_letters() -> None:
    text = "γ·y₁ ≤ 1e−3, Ü — 中文 \\alpha 'x' \"y\" <b> [red] é"
    assert clean(text) == text


@examples(100)
@given(st.lists(st.text(max_size=5), max_size=20))
def test_distinct(names: list[str]) -> None:
    distinct = DistinctNames()
    found = [distinct(name, 12) for name in names]
    assert len(set(found)) == len(found)
    check(*found, lines=False)


def hand_made() -> integraph.Program:
    """A program of registers, labels, probes and a source with such names."""
    registers = Registers()
    x = registers.inputs("x", 1)
    views = [registers.new(name) for name in HOSTILE]
    assert [registers[name] for name in HOSTILE] == views
    segments = [segment(name, affine(view, x, w=[1.0])) for name, view in zip(HOSTILE, views, strict=True)]
    made = build(registers, segments, views[-1], source=ALL)
    return replace(
        made, probes=tuple(Probe(name, n, view) for n, (name, view) in enumerate(zip(HOSTILE, views, strict=True)))
    )


@pytest.mark.slow
def test_a_program_made_by_hand(tmp_path: Path) -> None:
    program = hand_made()
    everything(program, tmp_path)
    with pytest.raises(IntegraphError) as error:
        program.registers["no\x1b"]
    check(str(error.value), lines=False)
    check(str(program.then(program)), program.then(program).describe())


@pytest.mark.slow
def test_a_file_with_such_names(tmp_path: Path) -> None:
    """As anybody could write it: the names as they are, the seal right."""
    program = hand_made()
    document, tensors = encode(program)
    document["source"] = ALL
    for number, name in enumerate(HOSTILE):
        document["registers"][number + 1][0] = name
        document["segments"][number][0] = name
        document["probes"][number][0] = name
    text = json.dumps(document, separators=(",", ":"))
    seal = storage._seal(program.digest, text, tensors)
    metadata = {"format": storage.FORMAT, "version": "1", "digest": program.digest, "seal": seal, "program": text}
    header = storage._header(metadata, tensors)
    path = tmp_path / "from outside.integraph"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(bytes(a.data) for a in tensors.values()))
    found = integraph.load(path)
    assert told(found) == told(program)
    everything(found, tmp_path)


@pytest.mark.slow
def test_a_graph(tmp_path: Path) -> None:
    b = Builder(ALL)
    values = [b.apply("tanh", b.input(name), text=name) for name in HOSTILE]
    total = values[0]
    for value, name in zip(values[1:], HOSTILE[1:], strict=True):
        total = b.apply("mul", total, value, text=name)
    graph = b.graph([total])
    check(repr(graph), *graph.variables, *(node.text for node in graph.nodes), lines=False)
    assert len(set(graph.variables)) == len(HOSTILE)
    for free in ("keep", "clean", "decay"):
        program = integraph.compile(graph, free=free)
        check(*told(program))
        assert len({group.name for group in program.registers}) == len(list(program.registers))
    everything(program, tmp_path)


WHOLE = [name for name in HOSTILE if "\ud800" not in name]  # no protobuf holds half a character


@mostly_slow("name", WHOLE, quick=4, ids=range(len(WHOLE)))
def test_onnx(tmp_path: Path, name: str) -> None:
    onnx = framework("onnx")
    helper = onnx.helper
    double = onnx.TensorProto.DOUBLE

    def model(*nodes: Any) -> Any:
        ends = [helper.make_tensor_value_info(end, double, (1, 2)) for end in (name, f"{name}!")]
        return helper.make_model(
            helper.make_graph(nodes, name, ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)]
        )

    first = helper.make_node("Tanh", [name], [f"{name}?"], name=name)
    for last in ("Tanh", "Softmax"):
        made = model(first, helper.make_node(last, [f"{name}?"], [f"{name}!"], name=f"{name} "))
        path = tmp_path / f"{clean(name, 20).replace('/', '_')}.onnx"
        path.write_bytes(made.SerializeToString())
        program = integraph.compile(path)
        check(*told(program), repr(integraph.graph(made)), *integraph.graph(made).variables)
        answer = call("compile", path, "-o", tmp_path / "net.integraph")
        assert answer.code == 0
        check(answer.out, answer.err)
    for node in (
        helper.make_node(name, [f"{name}?"], [f"{name}!"], name=name),
        helper.make_node("Tanh", ["missing" + name], [f"{name}!"], name=name),
        helper.make_node("Tanh", [f"{name}?"], [f"{name}!"], name=name, **{name: 1.0}),
        helper.make_node("Tanh", [f"{name}?"], [f"{name}!"], name=name, domain=name),
    ):
        with pytest.raises(IntegraphError) as error:
            integraph.compile(model(first, node))
        check(str(error.value), lines=False)
        assert len(str(error.value)) < 4000


def test_onnx_names_that_are_no_text() -> None:
    onnx = framework("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(end, double, (1, 2)) for end in ("xxxx", "yyyy")]
    for op in ("Tanh", "Oops"):
        node = helper.make_node(op, ["xxxx"], ["yyyy"], name="zzzz")
        made = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]))
        data = made.SerializeToString()
        for name in (b"xxxx", b"yyyy", b"zzzz"):
            data = data.replace(name, b"\xff\x80" + name[2:])
        broken = onnx.ModelProto.FromString(data)
        try:
            said = told(integraph.compile(broken, method="exact"))
        except IntegraphError as error:
            said = [str(error)]
        check(*said)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_keras(tmp_path: Path, name: str) -> None:
    config = configuration()
    for layer in config["config"]["layers"]:
        layer["config"]["name"] = f"{name} {layer['config']['name']}"
    path = archive(tmp_path / "net.keras", config)
    try:
        check(repr(integraph.network(path)), *integraph.network(path).notes)
    except IntegraphError as error:
        check(str(error), lines=False)
    config["config"]["layers"][3]["class_name"] = name
    path = archive(tmp_path / "other.keras", config)
    with pytest.raises(IntegraphError) as error:
        integraph.network(path)
    check(str(error.value), lines=False)
    assert len(str(error.value)) < 4000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_formulas_and_paths(tmp_path: Path, name: str) -> None:
    for text in (name, f"x + {name}", f"sin({name})", [f"x*{name}", "y"]):
        try:
            said = told(integraph.compile(text))
        except IntegraphError as reason:
            said = [str(reason)]  # at most with the stretch of the formula, a caret and a fix below
        check(*said)
        assert len(said) > 1 or said[0].count("\n") in (0, 3)
    with pytest.raises(IntegraphError) as error:
        integraph.compile("x + y", variables=["x", name])
    check(str(error.value))
    for path in (tmp_path / f"{name}.onnx", f"{name}.keras", f"{name}.integraph"):
        for action in (integraph.load, integraph.network):
            with pytest.raises((IntegraphError, ValueError)) as error:
                action(path)
            check(str(error.value))


def test_a_tab_in_a_formula_is_a_space() -> None:
    program = integraph.compile("x\t+ \t y*x")
    assert program.source == "x + y*x, exact"
    assert integraph.certify(program, "x + y*x").status == "proved"


def test_sympy() -> None:
    sympy = framework("sympy")
    for name in HOSTILE:
        try:
            program = integraph.compile(sympy.Symbol(name) * sympy.Symbol("y") + 1)
        except IntegraphError as error:
            check(str(error))
            continue
        check(*told(program))


def test_jax() -> None:
    jnp = framework("jax.numpy")
    whole = ALL.replace("\ud800", "")  # jax stumbles over halves of characters

    def f(x: Any) -> Any:
        return jnp.tanh(x) * 2

    f.__name__ = f.__qualname__ = whole
    program = integraph.compile(f, method="exact", inputs=2)
    check(*told(program), repr(integraph.graph(f, inputs=2)))

    def g(x: Any) -> Any:
        return jnp.sort(x)

    g.__name__ = g.__qualname__ = whole
    with pytest.raises(SourceError) as error:
        integraph.compile(g, method="exact", inputs=2)
    check(str(error.value))


def test_python_functions() -> None:
    def f(x: Any) -> Any:
        return x[0] * np.nan

    f.__name__ = f.__qualname__ = ALL
    with pytest.raises(IntegraphError) as error:
        integraph.compile(f, inputs=1)
    check(str(error.value), lines=False)


def test_networks() -> None:
    net = from_layers([([[1.0]], [0.0], "tanh")], ALL, HOSTILE)
    check(repr(net), *net.notes, repr(integraph.compile(net)), lines=True)
    with pytest.raises(SourceError) as error:
        from_layers([([[1.0]], [0.0], ALL)])
    check(str(error.value), lines=False)


def test_certificates(tmp_path: Path) -> None:
    program = integraph.compile("x*y")
    proof = integraph.certify(program, "x*y")
    assert proof.certificate is not None
    for field in ("program", "target", "assumed"):
        for name in HOSTILE:
            if clean(name) == name:
                continue
            text = (name,) if field == "assumed" else name
            forged: Certificate = replace(proof.certificate, **{field: text}).sealed()
            path = tmp_path / "forged.json"
            path.write_text(str(forged))
            with pytest.raises(FileError) as error:
                integraph.check(path, program, "x*y")
            check(str(error.value), lines=False)
    evil = replace(program, source=ALL)
    proof = integraph.certify(evil, "x*y")
    check(str(proof), repr(proof), str(proof.certificate), proof._repr_html_())


def test_numbers_with_nouns() -> None:
    assert [counted(n, "term") for n in (0, 1, 3080)] == ["0 terms", "1 term", "3,080 terms"]
    assert [counted(n, "box") for n in (1, 2)] == ["1 box", "2 boxes"]


def test_errors_keep_their_lines_and_parts() -> None:
    import pickle

    error = SourceError("first\x1b", "second\nthird")
    assert str(error) == "first\\x1b\nsecond\\nthird"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    flow = pickle.loads(pickle.dumps(FlowError("no\n", (1, 2))))
    assert (str(flow), flow.indices) == ("no\\n", (1, 2))
    assert str(SourceError()) == ""
    assert len(clean("x" * 10_000, NAME)) == NAME
