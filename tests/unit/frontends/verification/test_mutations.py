"""Files with bytes cut off, changed or repeated: a network, or one of our own errors, and nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from integraph.errors import IntegraphError
from integraph.frontends import network
from integraph.targets import Network
from law import examples
from verification_files import matlab, nnet, polar, verisig, verisig_blocks, write_hdf5


def mat(packed: bool) -> bytes:
    from scipy.io import savemat

    file = io.BytesIO()
    savemat(file, matlab(), do_compression=packed)
    return file.getvalue()


def hdf5(path: Path) -> bytes:
    pytest.importorskip("h5py", reason="needs h5py: pip install 'integraph[keras]'")
    return write_hdf5(path / "made.mat").read_bytes()


FILES: dict[str, Callable[[Path], bytes]] = {
    "net.nnet": lambda _: nnet().encode(),
    "net.txt": lambda _: polar().encode(),
    "net.yml": lambda _: verisig_blocks(verisig()).encode(),
    "net.mat": lambda _: mat(False),
    "packed.mat": lambda _: mat(True),
    "hdf5.mat": hdf5,
}


@pytest.mark.parametrize("name", FILES)
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_file_is_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name](tmp_path))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        how = data.draw(st.sampled_from(["cut", "change", "insert", "repeat"]))
        if how == "cut":
            del content[place:]
        elif how == "change":
            content[place : place + 1] = bytes([data.draw(st.integers(0, 255))])
        elif how == "insert":
            content[place:place] = data.draw(st.binary(max_size=6) | st.sampled_from([b"\n", b",", b"- ", b"1e999"]))
        else:
            content[place:place] = content[place : place + 64]
    path = tmp_path / name
    path.write_bytes(content)
    try:
        net = network(path)
    except IntegraphError:
        return
    assert isinstance(net, Network)
    assert all(np.isfinite(layer.A).all() and np.isfinite(layer.b).all() for layer in net.layers)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.floats(0.0, 0.999))
def test_a_text_that_is_cut_off_is_never_a_smaller_net(tmp_path: Path, kept: float) -> None:
    """Cut inside the last number it is another number; before that it is refused."""
    for name, text in (("net.nnet", nnet()), ("net.txt", polar()), ("net.yml", verisig_blocks(verisig()))):
        length = int(kept * (text.rstrip("\n").rindex("\n")))
        (tmp_path / name).write_text(text[:length])
        with pytest.raises(IntegraphError):
            network(tmp_path / name)
