"""What verification tools and MATLAB call activations."""

from __future__ import annotations

from integraph.errors import SourceError
from integraph.targets.activations import activation_name

SYNONYMS = {
    "affine": "identity",
    "id": "identity",
    "logsig": "sigmoid",
    "poslin": "relu",
    "purelin": "identity",
    "tansig": "tanh",
    "σ": "sigmoid",
}


def canonical(name: str, where: str) -> str:
    """Our name of an activation, or a SourceError that says where the unknown one stands."""
    plain = name.strip().lower()
    try:
        chosen = activation_name(SYNONYMS.get(plain, plain))
    except SourceError as error:
        raise SourceError(f"{where}: {error}, {', '.join(SYNONYMS)}") from None
    if chosen == "leaky_relu":
        raise SourceError(f"{where}: the file does not say the slope of {name!r}: convert the net to .onnx, which does")
    return chosen
