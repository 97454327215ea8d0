"""For people: LaTeX, a graph for Graphviz, a page that integrates in the browser, and the terms as JSON and CSV.

Read `term_csv` and `term_table`, `latex`, `graphviz`, then `page`: the text of page.js and page.css around taylor.js,
an engine that shares no code with ours.
"""
