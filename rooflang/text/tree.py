"""The few questions that readers ask of a parse tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from lark import Token, Tree

Node: TypeAlias = Tree[Token]


def trees_of(tree: Node) -> list[Node]:
    return [child for child in tree.children if isinstance(child, Tree)]


def tokens_of(tree: Node) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token)]


def token_at(tree: Node, position: int) -> Token:
    child = tree.children[position]
    if not isinstance(child, Token):
        raise TypeError(f"child {position} of {tree.data} must be a token, but got {child!r}")
    return child


def tree_at(tree: Node, position: int) -> Node:
    child = tree.children[position]
    if not isinstance(child, Tree):
        raise TypeError(f"child {position} of {tree.data} must be a tree, but got {child!r}")
    return child


def offset_of(token: Token) -> int:
    return token.start_pos or 0


def _walk(tree: Node) -> Iterator[Token]:
    for child in tree.children:
        if isinstance(child, Token):
            yield child
        else:
            yield from _walk(child)


def first_offset(tree: Node) -> int:
    """The offset of the first word of a tree."""
    return next((offset_of(token) for token in _walk(tree)), 0)
