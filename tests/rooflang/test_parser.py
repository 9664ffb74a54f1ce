"""What texts mean, and what is said of texts that mean nothing."""

from __future__ import annotations

import pytest

from rooflang.design import Op, Operand, Repeat, State, Weight
from rooflang.errors import DesignError, RoofLangError, RoofLangSyntaxError
from rooflang.parser import parse, parse_size
from rooflang.printer import print_design
from rooflang.size import floordiv, minimum, symbol

HEAD = 'design "d"\nprogram {\n  dims D=64 F=256 S=S\n  input x: bf16[B, Q, D]\n  weight w: fp8[D, F]\n  '


def program(body: str, after: str = "") -> str:
    return f"{HEAD}{body}\n}}\n{after}"


def body(text: str) -> tuple[object, ...]:
    return parse(program(text)).program.body[2:]


def test_sugar_is_left_associative_and_flattened_in_order() -> None:
    assert body("y = x + x * silu(x) + x") == (
        Op("_1", "silu", (Operand("x"),)),
        Op("_2", "mul", (Operand("x"), Operand("_1"))),
        Op("_3", "add", (Operand("x"), Operand("_2"))),
        Op("y", "add", (Operand("_3"), Operand("x"))),
    )


def test_parentheses_change_the_order() -> None:
    assert body("y = x * (x + x)")[-1] == Op("y", "mul", (Operand("x"), Operand("_1")))


def test_fresh_names_avoid_those_of_the_text() -> None:
    assert [op.result for op in body("_1 = silu(x) y = relu(silu(_1))") if isinstance(op, Op)] == [
        "_1",
        "_2",
        "y",
    ]


def test_an_inner_call_keeps_its_axis() -> None:
    assert body("y = norm(x + x over D)")[-1] == Op("y", "norm", (Operand("_1", None, "D"),))


def test_a_scalar_result_and_attributes() -> None:
    assert body("y = einsum(x ->)") == (Op("y", "einsum", (Operand("x"),), (), ()),)
    found = body('y = norm(x over D, kind="rms", eps=1e-06) z = rope(x over D, last=64, inverse=true)')
    assert isinstance(found[0], Op)
    assert isinstance(found[1], Op)
    assert found[0].attributes == (("kind", "rms"), ("eps", 1e-6))
    assert found[1].attributes == (("last", 64), ("inverse", True))
    assert found[1].attribute("inverse") is True


def test_declarations() -> None:
    found = body(
        "weight a, b: bf16[F] weight both: fp8[F, D] = einsum(w -> F D) state c: fp8[B, S, D] window 128 "
        "state d: f32[B, F, D] last"
    )
    assert found == (
        Weight("a", "bf16", ("F",)),
        Weight("b", "bf16", ("F",)),
        Weight("both", "fp8", ("F", "D"), Op("both", "einsum", (Operand("w"),), (), ("F", "D"))),
        State("c", "fp8", ("B", "S", "D"), "window", 128),
        State("d", "f32", ("B", "F", "D"), "last"),
    )


def test_repeats_may_be_drafts() -> None:
    assert body("repeat 1 as mtp draft { }") == (Repeat("mtp", 1, (), True),)


def test_append_stands_alone() -> None:
    found = body("state c: fp8[B, S, D] append(c, silu(x))")
    assert found[-1] == Op("c", "append", (Operand("c"), Operand("_1")))


@pytest.mark.parametrize(
    "word",
    [
        "window",
        "every",
        "last",
        "weight",
        "state",
        "input",
        "section",
        "repeat",
        "output",
        "dims",
        "mesh",
        "pipeline",
        "pool",
        "draft",
        "links",
        "program",
        "floor",
        "true",
    ],
)
def test_keywords_are_names_where_a_name_is_meant(word: str) -> None:
    statements = f"{word} = silu(x) y = {word} + {word} section {word} {{ {word}: f32 = silu(y) }}"
    placement = f"placement {{ mesh {word} = tp:1 {word}: D over tp {word} on {word} }}"
    schedule = f"schedule {{ fuse {word}: {word} y }}"
    text = program(f"state c: fp8[B, S, D] {statements}", f"{placement} {schedule}")
    design = parse(text)
    assert parse(print_design(design)) == design
    assert design.placement.homes == ((word, word),)
    assert design.schedule.fusions[0].values == (word, "y")


def test_sizes() -> None:
    assert parse_size("floor(S, 4)") is floordiv(symbol("S"), 4)
    assert parse_size("2 * (min(S, 128) + 3) - B") is 2 * (minimum(symbol("S"), 128) + 3) - symbol("B")


def test_a_size_may_use_an_axis() -> None:
    text = program("y = silu(x)", "placement { mesh main = tp:2 }").replace("S=S", "S=S R=floor(S, tp)")
    assert parse(text).program.sizes["R"] is floordiv(symbol("S"), symbol("tp"))


# Statement, line and column, message.
GOLDEN = [
    ("wieght up: fp8[D, F]", (6, 10),
     "expected '(', ':' or '=', but got 'up' (did you mean 'weight'?)"),
    ("y = einsm(x, w -> B Q F)", (6, 7),
     "an operator must be known, but got 'einsm' (did you mean 'einsum'?)"),
    ("weight u: fp9[D]", (6, 13),
     "a storage format must be known, but got 'fp9' (did you mean 'fp8'?)"),
    ("weight u: fp8[DD]", (6, 17),
     "u: a dimension must be declared in dims, but 'DD' is not (did you mean 'D'?)"),
    ("y = silu(xx)", (6, 12),
     "y: a value must be defined before it is used, but 'xx' is not (did you mean 'x'?)"),
    ("y = norm(x over D, knd=1)", (6, 22),
     "norm has no attribute 'knd' (did you mean 'kind'?)"),
    ("y = norm(x over D, eps=true)", (6, 22),
     "norm's eps must be a number, but got true"),
    ('y = norm(kind="rms", x)', (6, 24),
     "operands must come before attributes"),
    ("y = einsum(x, w)", (6, 3),
     "y: einsum needs its result's dims: write einsum(... -> dims)"),
    ("y = x", (6, 7),
     "an assignment must apply an operator, but got only 'x'; write for example cast(x)"),
    ("y = silu(x", (7, 1),
     "expected ')', ',' or 'over', but got '}'"),
    ("over = silu(x)", (6, 3),
     "a name must not be a reserved word, but got 'over'"),
    ("output z", (6, 10),
     "an output must be defined, but 'z' is not (known: w, x)"),
    ("silu(x)", (6, 3),
     "only append may stand without a result: write name = silu(...)"),
    ("state c: fp8[B, S, D] window", (7, 1),
     "expected a whole number, but got '}'"),
    ("repeat 0 as l { }", (6, 10),
     "a repeat's count must be a whole number from 1 to 1e+15, but got 0"),
    ("y = scale(x, by=1e999)", (6, 19),
     "a number's exponent must be at most 99"),
    ("y = silu(append(w, x))", (6, 12),
     "append must be a statement of its own: it has no result"),
    ("y = silu(x);", (6, 14),
     "the language has no mark ';'"),
    ("section { }", (6, 11),
     "expected a name, but got '{'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), GOLDEN)
def test_errors_in_a_program(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(RoofLangError) as caught:
        parse(program(text))
    first, line, caret = str(caught.value).split("\n")
    assert first == f"line {place[0]}, column {place[1]}: {message}"
    assert line[2:] == program(text).split("\n")[place[0] - 1]
    assert caret.index("^") - 2 == place[1] - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sistem { }", "expected the end of the text, 'placement', 'schedule' or 'system', but got 'sistem' "
                       "(did you mean 'system'?)"),
        ("system { pool main = 8 h100 }", "expected 'x', but got 'h100'"),
        ("system { pol main = 8 x h100 }", "expected 'pool' or '}', but got 'pol' (did you mean 'pool'?)"),
        ("placement { mlp: B ovr tp }", "expected 'over', but got 'ovr' (did you mean 'over'?)"),
        ("placement { mlp B over tp }", "(write 'section: dim over axis' or 'section on pool')"),
        ("schedule { microbatches two }", "expected a whole number, but got 'two'"),
        ("schedule { micrbatches 2 }", "(did you mean 'microbatches'?)"),
        ("schedule { overlap links overlap links }", "'overlap' must be given once"),
    ],
)  # fmt: skip
def test_errors_around_a_program(text: str, message: str) -> None:
    with pytest.raises(RoofLangSyntaxError) as caught:
        parse(program("", text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("T", "a size must use B, Q, S or the name of a mesh axis, but got 'T'"),
        ("floor(S, 0)", "floor must not divide by 0"),
        ("floor(S)", "floor takes 2 sizes, but got 1"),
        ("S / B", "'/' must be followed by a whole number"),
    ],
)
def test_errors_in_sizes(size: str, message: str) -> None:
    with pytest.raises(RoofLangSyntaxError) as caught:
        parse(program("").replace("S=S", f"S={size}"))
    assert message in str(caught.value)


def test_an_assignment_after_dims_is_explained() -> None:
    with pytest.raises(RoofLangSyntaxError, match="may not follow 'dims'"):
        parse('design "d" program { dims D=8 y = silu(x) }')


def test_an_error_points_at_the_guilty_one_of_several_statements() -> None:
    """The same value is assigned three times; only the last is wrong."""
    with pytest.raises(DesignError) as caught:
        parse(program("y = silu(x)\n  y = relu(y)\n  y = silu(z)\n  y = relu(y)"))
    assert str(caught.value).startswith("line 8, column 12: y: a value must be defined")


def test_an_error_without_a_place_of_its_own_is_located() -> None:
    with pytest.raises(DesignError) as caught:
        parse(program("section a {\n weight u: fp8[D]\n }\n section b {\n weight u: fp8[D, D]\n }"))
    assert str(caught.value).startswith("line 10, column")


def test_comments_do_not_move_positions() -> None:
    with pytest.raises(RoofLangError) as caught:
        parse(program('y = silu(x) # "ünïcode" { ( \n  z = silu(q)'))
    assert str(caught.value).startswith("line 7, column 12: ")
