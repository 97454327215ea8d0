"""Something is broken on purpose, and the row that speaks of it fails. Else a table of `holds` would say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from integraph import gadgets
from integraph.api import compiler
from integraph.bounds.paper import lemma5, theorem1, theorem2
from integraph.bounds.paper.partition_of_unity import Partition
from integraph.constructions import recipes
from integraph.constructions.theorem1 import lemma4 as construction
from integraph.gadgets.gadget import Closed
from integraph.paper import ITEMS, integrator, lemma4_equations
from integraph.paper.items import errata, errata_theorem2, lemmas, model
from integraph.paper.items import lemma4 as bootstrap
from integraph.paper.items import theorem1 as rows_1
from integraph.paper.items import theorem2 as rows_2
from integraph.paper.rows import FAILS, clear_cache
from integraph.program import Program, dynamics
from slow import mostly_slow

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    clear_cache()
    yield
    clear_cache()


def instead(owner: Any, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Patch:
    """`owner.name` made from what it was."""
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def scaled(owner: Any, name: str, factor: float) -> Patch:
    """What a function returns, times a factor."""
    return instead(owner, name, lambda old: lambda *a, **k: old(*a, **k) * factor)


def closed_off(gadget: Any) -> Patch:
    """A closed form whose first target ends 1e-9 too high, relatively."""

    def change(old: Callable[..., Closed]) -> Callable[..., Closed]:
        def wrong(*args: Any) -> Closed:
            found = old(*args)
            return replace(found, ends=(found.ends[0] * (1 + 2.0**-30), *found.ends[1:]))

        return wrong

    return instead(gadget, "closed", change)


def other_terms(gadget: Any) -> Patch:
    """A gadget whose first term has another coefficient."""
    (target, value, *factors), *others = gadget.equations
    return lambda patch: patch.setattr(type(gadget), "equations", ((target, 2 * value, *factors), *others))


def wrong_table(patch: pytest.MonkeyPatch) -> None:
    row = (*construction.TABLE_I["lam"][:5], "psi", *construction.TABLE_I["lam"][6:])
    patch.setattr(lemma4_equations, "TABLE_I", construction.TABLE_I | {"lam": row})


def wrong_kappa(patch: pytest.MonkeyPatch) -> None:
    old = bootstrap.controls
    patch.setattr(bootstrap, "controls", lambda N, bits: replace(old(N, bits), kappa=old(N, bits).kappa * (1 + 1e-15)))


def other_function(patch: pytest.MonkeyPatch) -> None:
    """Programs of a function that is not quite the one that was asked for."""
    old = compiler.compile
    patch.setattr(compiler, "compile", lambda source, *a, **k: old("cos(1.1*x+y)/2", *a, **k))


def other_network(patch: pytest.MonkeyPatch) -> None:
    old = compiler.compile
    wider = rows_2.net(1.01)
    patch.setattr(compiler, "compile", lambda source, *a, **k: old(wider, *a, **k))


def other_recipe(name: str, **change: Any) -> Patch:
    return lambda patch: patch.setitem(recipes.RECIPES, name, replace(recipes.RECIPES[name], **change))


def as_if(module: Any, kind: str) -> Patch:
    """As if what is printed were right: the printed step is the corrected one."""
    correct = lambda *a, **k: lemma4_equations.Lemma4(*a, **k | {kind: "corrected"})  # noqa: E731
    return lambda patch: patch.setattr(module, "Lemma4", correct)


BROKEN: list[tuple[str, str, Patch]] = [
    ("Model, eq. (1)", "another right-hand side", scaled(dynamics, "rhs", 1 + 1e-9)),
    ("Model, eq. (1)", "a flow that is not that of the terms", instead(
        Program, "flow", lambda old: lambda self, x, *a, times=(), **k: old(
            self, x, *a, times=[min(1.001 * t, self.horizon) for t in times], **k))),
    ("Model: T normalised to 1, stiffness as depth", "no rescaling", instead(
        Program, "rescale_time", lambda old: lambda self, T: old(self, 2 * T))),
    ("Model: T normalised to 1, stiffness as depth", "another stiffness", instead(
        Program, "stiffness", lambda old: lambda self, x: old(self, x) + 1)),
    ("Lemma 1, tanh", "other terms", other_terms(gadgets.tanh)),
    ("Lemma 1, tanh", "other equations", instead(lemmas, "lemma_1", lambda old: lambda a, b: old(a, b + 1e-9))),
    ("Lemma 2, ln", "other terms", other_terms(gadgets.ln)),
    ("Remark after Lemma 2: escape time; ξ > 1, Δ > 1 and ψ + 1", "other equations", lambda patch: patch.setattr(
        lemmas, "LEMMA_2", lemmas.Equations(("y1", "y2"), ((("y1", 1, "y2"), ("y2", -1.01, "y2", "y2")),)))),
    ("Lemma 3, monomials and the inverse flow", "other equations", instead(
        lemmas, "lemma_3", lambda old: lambda w, b: old(w, b + 1e-9))),
    ("Lemma 4, bootstrapping", "wrong controls", wrong_kappa),
    ("Lemma 4, bootstrapping", "the printed step 2", lambda patch: patch.setattr(
        bootstrap, "LEMMA", replace(bootstrap.LEMMA, step_2="printed"))),
    ("Figure 1, the partition of unity for N = 3, c = 20", "another δ", lambda patch: patch.setattr(
        Partition, "delta", property(lambda self: 1.2e-3))),
    ("Figure 1, the partition of unity for N = 3, c = 20", "other functions", instead(
        Partition, "some", lambda old: lambda self, x, k: old(self, x, k) * (1 + 1e-9))),
    ("Table 1, the state after each step of Lemma 4", "another table", wrong_table),
    ("Table 1, the state after each step of Lemma 4", "another closed form", closed_off(type(gadgets.ln))),
    ("Theorem 1, Sobolev functions", "another function", other_function),
    ("Theorem 1, Sobolev functions", "another N", instead(
        theorem1, "paper", lambda old: lambda d, n, eps, g=0.5: old(d, n, 8 * eps, g))),
    ("Theorem 1, orders of growth", "another width", instead(
        theorem1, "width", lambda old: lambda d, N: old(d, N) ** 2)),
    ("Theorem 1, as in the remark after Lemma 2", "another function", other_function),
    ("Theorem 1, last sentence: any horizon T by rescaling", "no rescaling", instead(
        Program, "rescale_time", lambda old: lambda self, T: old(self, 2 * T))),
    ("Theorem 1, lean (ours)", "another function", other_function),
    ("Lemma 5, perturbed tanh", "too tight", scaled(lemma5, "tight", 0.5)),
    ("Lemma 5, perturbed tanh", "not as printed", scaled(lemma5, "paper", 1.001)),
    ("Theorem 2, feedforward nets", "another net", other_network),
    ("Theorem 2, feedforward nets", "other rates", instead(
        theorem2, "rates", lambda old: lambda M, *a: old(2 * max(M, 1.0), *a))),
    ("Remark in Theorem 2: W and D do not depend on ε and M", "wide", instead(
        compiler, "compile", lambda old: lambda *a, **k: old(*a, **k, method="wide"))),
    ("Remark after Theorem 2: arctan, ln(1 + eˣ) and other activations", "softplus without its ln 2", other_recipe(
        "softplus", offset=0.0)),
    ("Lemma 3, proof", "the product nowhere", instead(errata, "lemma_3", lambda old: lambda w, b: old(w, b + 1e-9))),
    ("Lemma 4 and Theorem 1, indices", "registers that share a name", lambda patch: patch.setattr(
        "integraph.program.registers.Registers.name", lambda self, number: "y")),
    ("Lemma 4, step 2", "nothing wrong in it", as_if(errata, "step_2")),
    ("Lemma 4, step 3", "nothing wrong in it", as_if(errata, "step_3")),
    ("Theorem 1, depth", "as printed", lambda patch: patch.setattr(
        theorem1, "depth", lambda d, N, terms: 7 + -(-2 * terms // ((N + 2) * d)))),
    ("Theorem 1, b_new ← ln|a| − b_old", "another flow", instead(
        errata, "integrate", lambda old: lambda terms, y: [1.1 * value for value in old(terms, y)])),
    ("Theorem 1, supports", "other functions", instead(
        errata, "psi", lambda old: lambda N, c, x: [1.1 * value for value in old(N, c, x)])),
    ("Theorem 1, numbers", "no escape", lambda patch: patch.setattr(errata, "escape", lambda program, x: 2)),
    ("Theorem 1, numbers", "not refused", lambda patch: patch.setattr(
        errata, "_refuses", lambda program, x, engine: False)),
    ("Theorem 2, step 2", "nothing wrong in it", scaled(errata_theorem2, "after_step_1", 0.4)),
    ("Theorem 2, numbers", "other rates", instead(theorem2, "rates", lambda old: lambda M, *a: old(M + 0.01, *a))),
    ("Theorem 2, recurrence", "another net", other_network),
]  # fmt: skip


@mostly_slow(("name", "patch"), [(n, p) for n, _, p in BROKEN], quick=2, ids=[f"{n}: {w}" for n, w, _ in BROKEN])
def test_a_broken_row_fails(name: str, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = (item for item in ITEMS if item.name == name)
    patch(monkeypatch)
    row = item.row()
    assert row.verdict == FAILS, row.computed
    assert not row.computed.startswith("not computed"), row.computed


def test_every_item_was_broken() -> None:
    assert {name for name, *_ in BROKEN} == {item.name for item in ITEMS}


def test_the_integrator_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance of a millionth is seen."""
    monkeypatch.setattr(integrator, "SPARE", 172)
    assert bootstrap.table_1.row().verdict == FAILS


@pytest.mark.slow
def test_a_gadget_off_by_a_billionth_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the fast closed forms too, which are kernels: the end states themselves are moved."""
    old = lemmas.ends

    def wrong(program: Program, starts: np.ndarray, engine: str) -> np.ndarray:
        return old(program, starts, engine) * (1 + (engine == "exact") * 1e-9)

    monkeypatch.setattr(lemmas, "ends", wrong)
    for item in (lemmas.tanh_item, lemmas.ln_item, lemmas.product_item):
        assert item.row().verdict == FAILS


@pytest.mark.slow
def test_a_proof_that_is_not_found_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    old = rows_1.certify
    monkeypatch.setattr(rows_1, "certify", lambda *a, **k: old(*a, **k | {"boxes": 1}))
    assert rows_1.theorem_1.row().verdict == FAILS
    monkeypatch.setattr(rows_2, "certify", lambda p, n, eps, **k: old(p, n, 1e-17, **k))
    assert rows_2.theorem_2.row().verdict == FAILS


def test_a_flow_that_is_not_a_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "ends", lambda program, starts, engine: np.full_like(starts, np.nan))
    assert lemmas.tanh_item.row().verdict == FAILS
    monkeypatch.setattr(model, "_sums", lambda program, number, y: np.full_like(y, np.nan))
    assert model.equation_1.row().verdict == FAILS
