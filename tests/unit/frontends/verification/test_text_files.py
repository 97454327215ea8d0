"""`.nnet`, POLAR's text and Verisig's YAML against the net in numpy, and what is said of files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from integraph.errors import FileError, IntegraphError
from integraph.frontends import network
from verification_files import (
    BIASES,
    HIGH,
    LOW,
    MEANS,
    POINTS,
    RANGES,
    SIZES,
    WEIGHTS,
    by_hand,
    commas,
    identity,
    nnet,
    polar,
    relu,
    sigmoid,
    verisig,
    verisig_blocks,
)

RELUS = (relu, relu, identity)


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path, message: str) -> None:
    with pytest.raises(IntegraphError, match=message) as caught:
        network(path)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("change", [str, lambda t: t.replace(",\n", "\n"), lambda t: t.replace("\n", "\r\n")])
def test_nnet_with_its_normalisation(tmp_path: Path, change: Any) -> None:
    """With or without a comma at the end of a line, with the line ends of any system."""
    net = network(written(tmp_path, "net.nnet", change(nnet())))
    x = LOW + (HIGH - LOW) * (POINTS + 2) / 4
    wanted = by_hand((x - MEANS[:-1]) / RANGES[:-1], RELUS) * RANGES[-1] + MEANS[-1]
    np.testing.assert_allclose(net(x), wanted, rtol=1e-12)
    assert net.box is not None
    np.testing.assert_array_equal([net.box.low, net.box.high], [LOW, HIGH])
    assert any("rounded" in note for note in net.notes)
    assert any("not clipped" in note for note in net.notes)


def test_nnet_without_normalisation_is_the_bare_net(tmp_path: Path) -> None:
    text = nnet(means=[0.0] * 4, ranges=[1.0] * 4, low=LOW, high=LOW)
    net = network(written(tmp_path, "NET.NNET", text))
    assert net.sizes == SIZES
    np.testing.assert_array_equal(net.layers[0].A, WEIGHTS[0])
    np.testing.assert_allclose(net(POINTS), by_hand(POINTS, RELUS), rtol=1e-13)
    assert net.box is None
    assert any("not a box" in note for note in net.notes)


@pytest.mark.parametrize("zero", ["0", "0,"])
def test_nnet_whose_scaling_is_a_single_0(tmp_path: Path, zero: str) -> None:
    """As in the benchmarks of pendulums and of an airplane: the net is not normalised."""
    lines = nnet().split("\n")
    lines[5:9] = [zero] * 4
    net = network(written(tmp_path, "net.nnet", "\n".join(lines)))
    np.testing.assert_allclose(net(POINTS), by_hand(POINTS, RELUS), rtol=1e-13)
    assert net.box is None
    assert any("nothing is normalised" in note for note in net.notes)
    lines[7] = commas(MEANS)
    refused(written(tmp_path, "half.nnet", "\n".join(lines)), "line 9: a range is 0 or missing")


NNET = {
    "nothing": ("", r"line 1: expected how many layers.* 4 values with commas"),
    "comments only": ("// a\n", "it ends after line 1: expected how many layers"),
    "spaces for commas": (nnet().replace(",", " "), r"line 3: .*4 values with commas between them, got 1"),
    "a layer less": (nnet(counts=[2, 3, 2, 5]), r"line 4: expected the number of inputs.*3 values.*got 4"),
    "wrong inputs": (nnet(counts=[3, 4, 2, 5]), "line 4: the sizes are from 3 to 2, but .* 4 inputs and 2 outputs"),
    "a size of 0": (nnet(sizes=[3, 0, 4, 2]), r"line 4: .* a whole number from 1, got '0'"),
    "huge sizes": (nnet(sizes=[3, 999999999, 999999999, 2]), "line 15: expected the weights .* layer 1, 3 values"),
    "huge count": (nnet(counts=[999999999, 3, 2, 5]), r"line 4: .*1,000,000,000 values"),
    "long count": (nnet(counts=["9" * 5000, 3, 2, 5]), r"line 3: .*whole number.*9999"),
    "too few means": (nnet(means=MEANS[:-1]), r"line 8: expected the mean of each input .* 4 values .* got 3"),
    "a range of 0": (nnet(ranges=[1, 1, 0, 1]), "line 9: a range is 0 or missing"),
    "nan": (nnet(means=["nan", 1, 1, 1]), r"line 8, value 1 .*: expected a decimal number, got 'nan'"),
    "inf": (nnet(means=[1, "-inf", 1, 1]), r"line 8, value 2 .*: expected a decimal number"),
    "overflow": (nnet(means=[1, "1e999", 1, 1]), r"'1e999' is larger than float64 holds"),
    "underscore": (nnet(means=[1, "1_0", 1, 1]), "expected a decimal number, got '1_0'"),
    "Arabic digits": (nnet(means=[1, "١", 1, 1]), "expected a decimal number"),
    "one line more": (nnet() + "1.0,\n", r"line \d+: expected the end, got '1.0,'"),
    "a blank line": (
        nnet().replace("\n0,\n", "\n\n0,\n"),
        "line 5, value 1 .the flag that is not used.: expected a decimal number",
    ),
}


@pytest.mark.parametrize("case", NNET)
def test_nnet_that_is_wrong(tmp_path: Path, case: str) -> None:
    refused(written(tmp_path, "net.nnet", NNET[case][0]), NNET[case][1])


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.97])
def test_nnet_that_is_cut_off(tmp_path: Path, kept: float) -> None:
    text = nnet()
    refused(written(tmp_path, "net.nnet", text[: int(kept * len(text))]), "(it ends after line|got)")


def test_no_text(tmp_path: Path) -> None:
    for name in ("net.nnet", "net.yml"):
        refused(written(tmp_path, name, b"// \xff\xfe\n"), "byte 3 is not UTF-8")


def test_a_text_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "net.nnet"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse
    refused(path, "has 1099511627776 bytes, at most")


def test_thousands_of_layers(tmp_path: Path) -> None:
    count = 1000
    head = [commas(line) for line in ([count, 1, 1, 1], [1] * (count + 1), [0], [0], [1], [0, 0], [1, 1])]
    net = network(written(tmp_path, "deep.nnet", "\n".join([*head, *["1,", "0.5,"] * count])))
    assert len(net.layers) == count
    assert net([1.0])[0] == 1 + count / 2


@pytest.mark.parametrize("name", ["net.txt", "controller", "controller_5_20"])
def test_polar(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, polar())
    wanted = (by_hand(POINTS, (np.tanh, sigmoid, identity)) - 0.5) * 4
    for source in (path, str(path)):
        np.testing.assert_allclose(network(source)(POINTS), wanted, rtol=1e-12)


def test_polar_whose_last_layer_has_an_activation(tmp_path: Path) -> None:
    path = written(tmp_path, "net.txt", polar(("ReLU", "relu", "tanh"), 0.1, 3.7))
    wanted = (by_hand(POINTS, (relu, relu, np.tanh)) - 0.1) * 3.7
    np.testing.assert_allclose(network(path)(POINTS), wanted, rtol=1e-12)


def test_polar_without_hidden_layers(tmp_path: Path) -> None:
    net = network(written(tmp_path, "net.txt", "2\n1\n0\nsigmoid\n1.5\n-2\n.5\n0\n1"))
    np.testing.assert_allclose(net([0.3, 0.4]), [sigmoid(1.5 * 0.3 - 2 * 0.4 + 0.5)])


POLAR = {
    "no activations": (polar(()), r"line 6: expected the activation of layer 1.*ReachNN.*insert 3 lines"),
    "unknown": (polar(("tanh", "what", "tanh")), r"line 7: unknown activation 'what'.*affine"),
    "no slope": (polar(("tanh", "leaky_relu", "tanh")), "line 7: the file does not say the slope"),
    "cut off": (polar()[:200], r"it ends after line \d+: expected weights and bias of each unit of layer 1 in 20 more"),
    "no scale": (polar().rsplit("\n", 2)[0], "expected the offset and the scale of the outputs in 2 more lines"),
    "more": (polar() + "1\n", "expected the end"),
    "huge": ("3\n2\n1\n999999999\ntanh\ntanh\n1\n", "in 3999999996 more lines, and there are 1"),
    "thousands": ("3\n2\n999999999\n1\n", "expected the units of hidden layer 2"),
    "no units": ("3\n2\n1\n0\n", "line 4: expected the units of hidden layer 1, a whole number from 1, got '0'"),
    "nan": (polar(offset=np.nan), "the offset and the scale of the outputs.*got 'nan'"),
    "code": (polar(("__import__('os')", "tanh", "tanh")), "unknown activation"),
}


@pytest.mark.parametrize("case", POLAR)
def test_polar_that_is_wrong(tmp_path: Path, case: str) -> None:
    refused(written(tmp_path, "net.txt", POLAR[case][0]), POLAR[case][1])


def yaml_texts() -> dict[str, str]:
    """The same document in the layouts that are found: blocks, brackets, both with lines that are broken, JSON."""
    document = verisig()
    leaves = [f"{key}:\n" + "".join(f"  {n}: {json.dumps(v)}\n" for n, v in document[key].items()) for key in document]
    return {
        "blocks": verisig_blocks(document),
        "blocks, from Windows": verisig_blocks(document).replace("\n", "\r\n"),
        "with a start and comments": "---\n# a net\n" + verisig_blocks(document).replace(":\n", ":  # here\n"),
        "brackets": "".join(leaves),
        "broken lines": "".join(leaves).replace(", ", ",\n      "),
        "JSON": json.dumps(document, indent=1),
        "lists": json.dumps({key: list(value.values()) for key, value in document.items()}),
    }


@pytest.mark.parametrize("layout", yaml_texts())
def test_verisig(tmp_path: Path, layout: str) -> None:
    wanted = by_hand(POINTS, (sigmoid, np.tanh, identity))
    for name in ("net.yml", "net.yaml"):
        net = network(written(tmp_path, name, yaml_texts()[layout]))
        np.testing.assert_allclose(net(POINTS), wanted, rtol=1e-13)
        np.testing.assert_array_equal(net.layers[1].b, BIASES[1])


@pytest.mark.parametrize("flow", [False, True, None])
def test_verisig_as_pyyaml_writes_it(tmp_path: Path, flow: bool | None) -> None:
    yaml = pytest.importorskip("yaml", reason="writes YAML")
    text = yaml.safe_dump(verisig() | {"name": "x"}, default_flow_style=flow)
    net = network(written(tmp_path, "net.yml", text))
    np.testing.assert_allclose(net(POINTS), by_hand(POINTS, (sigmoid, np.tanh, identity)), rtol=1e-13)
    assert net.notes == ("not read, because it is not part of the net: name",)


BLOCKS = verisig_blocks(verisig())
YAML = {
    "a tag": (BLOCKS.replace(" Tanh", " !!python/object/apply:os.system ['touch owned']"), r"line 3: '!' begins what"),
    "a tag at the top": ("!!python/object:os.x\n" + BLOCKS, "line 1: '!' begins what is not read: tags, anchors"),
    "an anchor": (BLOCKS.replace("offsets:", "offsets: &a"), r"line 5: '&' begins"),
    "an alias": (BLOCKS.replace(" Tanh", " *a"), r"line 3: '\*' begins"),
    "a block of text": (BLOCKS.replace(" Tanh", " |\n Tanh"), r"line 3: '\|' begins"),
    "a tab": (BLOCKS.replace("  1: Sig", "\t1: Sig"), "line 2"),
    "deep": ("a: " + "[" * 100_000, "line 1: nested deeper than 6 levels"),
    "nothing": ("", "line 1: expected a value, got the end"),
    "another document": ("a: 1\n", "expected the keys weights, offsets, activations"),
    "a word": ("hello\n", "expected the keys weights"),
    "cut off": (BLOCKS[: len(BLOCKS) // 2], "(expected|there are)"),
    "twice": (BLOCKS + "weights:\n  1: 2\n", "the key 'weights' is there twice"),
    "a layer less": (BLOCKS.replace("  3: Linear\n", ""), "there are 3 weights, 3 offsets and 2 activations"),
    "from 0": (BLOCKS.replace("  3: Linear\n", "  0: Linear\n"), "activations needs one entry for each layer"),
    "nan": (BLOCKS.replace(str(BIASES[0][0]), ".nan"), "expected a decimal number, got '.nan'"),
    "overflow": (BLOCKS.replace(str(BIASES[0][0]), "1e999"), "larger than float64"),
    "a short row": (BLOCKS.replace(f"    - {WEIGHTS[0][0, 1]}\n", ""), "a row of weights of layer 1 has 3"),
    "unknown": (BLOCKS.replace("Tanh", "what"), "line 3: unknown activation 'what'"),
    "a list of one": (BLOCKS.replace("Tanh", "[Tanh]"), "line 3: expected the activation of layer 2, one word"),
    "odd indent": (BLOCKS.replace("offsets:\n  1:", "offsets:\n1:"), "(expected|there are)"),
    "open bracket": ("weights: [1, 2", "expected a comma or ]"),
    "two documents": (BLOCKS + "---\n" + BLOCKS, "twice"),
}


@pytest.mark.parametrize("case", YAML)
def test_verisig_that_is_wrong(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(written(tmp_path, "net.yml", YAML[case][0]), YAML[case][1])
    assert [path.name for path in tmp_path.iterdir()] == ["net.yml"]


@pytest.mark.parametrize(("name", "text"), [("net.nnet", nnet()), ("net.txt", polar()), ("net.yml", BLOCKS)])
def test_a_last_line_without_an_end_is_noted(tmp_path: Path, name: str, text: str) -> None:
    """Cut off inside its last number a file is a net with another number."""
    notes = [network(written(tmp_path, name, end)).notes for end in (text, text[:-1])]
    assert [sum("last number is wrong" in note for note in said) for said in notes] == [0, 1]


def test_any_other_text_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"not a known kind of file.*text of POLAR"):
        network(written(tmp_path, "notes.txt", "1, 2, 3\n"))
