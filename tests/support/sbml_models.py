"""Small models of systems biology: Antimony texts, and an SBML file with volumes, local parameters and functions."""

from __future__ import annotations

MICHAELIS_MENTEN = """
model enzyme
  compartment cell = 2.5;
  species S in cell = 4, P in cell = 0.1, E in cell = 0.7;
  J1: S -> P; cell*kcat*E*S/(Km + S);
  J2: P -> ; 0.1*P*cell;
  E' = -0.05*E;
  kcat = 3; Km = 0.5;
end
"""

TOGGLE_SWITCH = """
model toggle
  U' = a/(1 + V^2) - U;
  V' = a/(1 + U^2) - V;
  U = 1.5; V = 1; a = 3;
end
"""

REPRESSILATOR = """
function repression(p, n) 1/(1 + p^n) end
model repressilator
  species m1 = 1, m2 = 0.5, m3 = 0.2, p1 = 2, p2 = 1, p3 = 0.5;
  R1: -> m1; a*repression(p3, 2);   D1: m1 -> ; m1;
  R2: -> m2; a*repression(p1, 2);   D2: m2 -> ; m2;
  R3: -> m3; a*repression(p2, 2);   D3: m3 -> ; m3;
  T1: -> p1; b*m1;   E1: p1 -> ; b*p1;
  T2: -> p2; b*m2;   E2: p2 -> ; b*p2;
  T3: -> p3; b*m3;   E3: p3 -> ; b*p3;
  a = 5; b = 0.5;
end
"""

HEAD = '<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1">'
MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">'
SPECIES = 'boundaryCondition="{boundary}" constant="false" hasOnlySubstanceUnits="{amount}"'


def apply(op: str, *args: str) -> str:
    return f"<apply><{op}/>{''.join(args)}</apply>"


def ci(*names: str) -> list[str]:
    return [f"<ci>{name}</ci>" for name in names]


def species(name: str, compartment: str, start: str, *, amount: str = "false", boundary: str = "false") -> str:
    kinds = SPECIES.format(boundary=boundary, amount=amount)
    return f'<species id="{name}" compartment="{compartment}" {start} {kinds}/>'


def references(kind: str, *names: str, stoichiometry: int = 1) -> str:
    some = (f'<speciesReference species="{n}" stoichiometry="{stoichiometry}" constant="true"/>' for n in names)
    return f"<listOf{kind}>{''.join(some)}</listOf{kind}>"


def reaction(name: str, parties: str, law: str, local: str = "", fast: str = "false") -> str:
    own = f"<listOfLocalParameters>{local}</listOfLocalParameters>" if local else ""
    return (
        f'<reaction id="{name}" reversible="false" fast="{fast}">{parties}'
        f"<kineticLaw>{MATH}{law}</math>{own}</kineticLaw></reaction>"
    )


def parameter(name: str, value: float | None, constant: str = "true") -> str:
    given = "" if value is None else f' value="{value}"'
    return f'<parameter id="{name}"{given} constant="{constant}"/>'


def document(**lists: str) -> str:
    parts = "".join(f"<listOf{kind}>{inside}</listOf{kind}>" for kind, inside in lists.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{HEAD}<model id="written">{parts}</model></sbml>'


def two_compartments(**more: str) -> str:
    """Transport between volumes 2 and 0.25, a dimer in amounts, a boundary species, an assignment rule, an initial
    assignment that depends on a species, and a local k that hides the global one."""
    lambda_ = "<lambda><bvar><ci>s</ci></bvar>" + apply("times", *ci("k", "s")).replace("<ci>k</ci>", "<cn>2</cn>")
    lists = {
        "FunctionDefinitions": f'<functionDefinition id="twice">{MATH}{lambda_}</lambda></math></functionDefinition>',
        "Compartments": '<compartment id="cyt" spatialDimensions="3" size="2" constant="true"/>'
        '<compartment id="nuc" spatialDimensions="3" size="0.25" constant="true"/>',
        "Species": species("A", "cyt", 'initialConcentration="3"')
        + species("B", "nuc", 'initialAmount="0.5"')
        + species("D", "nuc", 'initialConcentration="0.4"', amount="true")
        + species("X", "cyt", 'initialConcentration="0.7"', boundary="true"),
        "Parameters": parameter("k", 0.3) + parameter("total", None) + parameter("f", None, "false"),
        "InitialAssignments": f'<initialAssignment symbol="total">{MATH}'
        f"{apply('plus', *ci('A', 'B'))}</math></initialAssignment>",
        "Rules": f'<assignmentRule variable="f">{MATH}'
        f"{apply('divide', '<ci>A</ci>', apply('plus', *ci('A', 'total')))}</math></assignmentRule>",
        "Reactions": reaction(
            "transport",
            references("Reactants", "A") + references("Products", "B"),
            apply("times", *ci("k", "f", "A")),
            parameter("k", 1.25).replace("parameter", "localParameter").replace(' constant="true"', ""),
        )
        + reaction(
            "dimer",
            references("Reactants", "B", stoichiometry=2) + references("Products", "D"),
            apply("times", *ci("k", "B", "B", "nuc")),
        )
        + reaction("decay", references("Reactants", "D"), apply("times", *ci("k", "D")))
        + reaction(
            "feed",
            references("Reactants", "X") + references("Products", "A"),
            apply("times", "<apply><ci>twice</ci><ci>X</ci></apply>", "<ci>k</ci>"),
        ),
    }
    return document(**(lists | more))
