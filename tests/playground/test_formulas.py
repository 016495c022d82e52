r"""Formulas become MathML; amounts of money stay text; hostile formulas stay inert."""

from __future__ import annotations

import time

import pytest

from apps.playground.texts.formulas import LONGEST, MOST_CHARACTERS
from apps.playground.texts.markdown import render

INLINE = '<math display="inline">'
DISPLAY = '<math display="block">'
AMOUNTS = (
    "It costs $5 and $10.",
    "From $20k–$30k, or US$5/CA$6.",
    "Set $HOME/$PATH and $USER.",
    "It was $5 (before: $6) or A$ 7.",
    r"Escaped \$5 and \$6$.",
    "A lone $ sign, and $ x $ with spaces.",
    "Code `$a$` stays code.",
)
HOSTILE = (
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{<img src=x onerror=alert(1)>}$",
    r"$\text{</math><svg onload=alert(1)>}$",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\style{background:url(//elsewhere.example)}{x}$",
    r"$\class{topbar}{x}$",
    r"$$\begin{matrix}<style>a</style>\end{matrix}$$",
)
HEAVY = (
    "$" + "{" * 450 + "}" * 450 + "$",
    "$" + "_" * 990 + "$",
    "$" + r"\sqrt" * 190 + "x$",
    "$" + r"\left(" * 150 + "$",
    "$" + r"\begin{matrix}" * 60 + "$",
    "$" + "a" * 10 * LONGEST + "$",
    "$x_1^2$ " * 20_000,
    "$$\n" + "a\n" * 50_000,
    "$" * 50_000,
    r"\(" * 50_000,
    "\\[\n" * 30_000,
    ("\\[\n" * 29 + "x\\] y\n") * 500,
)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Then $E = mc^2$.", INLINE),
        (r"Then \(E = mc^2\).", INLINE),
        ("$$E = mc^2$$", DISPLAY),
        ("$$\nE\n- mc^2\n= 0\n$$", DISPLAY),
        ("\\[\n\\frac{1}{2}\n\\]", DISPLAY),
        ("- Item:\n  $$\n  x\n  $$", DISPLAY),
        ("| a |\n|---|\n| $x^2$ |", INLINE),
    ],
)
def test_formula_becomes_mathml(text, mark):
    html = render(text)
    assert mark in html
    assert "$" not in html


def test_aligned_equations_stand_in_columns():
    html = render("$$\n\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\n$$")
    assert html.count("<mtr>") == 2


@pytest.mark.parametrize("text", AMOUNTS)
def test_amounts_and_names_are_no_formulas(text):
    assert "<math" not in render(text)


@pytest.mark.parametrize("text", ["$a_$", r"$\left( x$", r"$\frac$"])
def test_formula_with_a_fault_stays_as_it_was_written(text):
    assert f"<code>{text}</code>" in render(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_formula_is_inert(text):
    html = render(text)
    tags = html.replace("&lt;", "").lower()
    assert not [
        mark
        for mark in ("<script", "<img", "<svg", "<style", "href", "class=", "style=")
        if mark in tags
    ]


@pytest.mark.parametrize("text", HEAVY)
def test_heavy_formulas_take_a_bounded_time(text):
    render("warm $x$")
    begin = time.process_time()
    render(text[:40_000])
    assert time.process_time() - begin < 5.0


def test_formulas_after_many_others_are_not_read():
    formula = "$" + "x" * 100 + "$\n\n"
    html = render(formula * (MOST_CHARACTERS // 100 + 5))
    assert html.count("<math") == MOST_CHARACTERS // 100
    assert html.count("<code>$xxx") == 5
