"""Properties: what is to hold of the outputs for every input of a box, proved, refuted or left open.

Read `truth` (clauses on ranges), `margins` (quantities as outputs of one source), `counterexample`, `divisions`,
`search`, then `encoding` and `certificate`, the proof as data, `statement`, and `proof`, which puts them together. The
check is in `replay/`, an arithmetic of its own, and imports nothing of the search.
"""
