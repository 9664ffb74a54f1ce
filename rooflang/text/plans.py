"""The parts of a text around its program: system, placement and schedule."""

from __future__ import annotations

from rooflang.design import Fusion, Mesh, Placement, Pool, Schedule, Shard
from rooflang.form import tier_problem
from rooflang.text.tree import Node, token_at, tokens_of, trees_of
from rooflang.text.words import Words


class Plans:
    """Reads the trees of these parts. Raises RoofLangSyntaxError."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def pool(self, tree: Node) -> Pool:
        count = self.words.integer("a pool's count", token_at(tree, 2))
        return Pool(self.words.name(token_at(tree, 1)), str(tree.children[4]), count)

    def placement(self, tree: Node) -> Placement:
        meshes: list[Mesh] = []
        shards: list[Shard] = []
        homes: list[tuple[str, str]] = []
        tiers: list[tuple[str, str]] = []
        pipeline: str | None = None
        for child in trees_of(tree):
            if child.data == "mesh":
                axes = tuple(
                    (self.words.name(token_at(a, 0)), self.words.integer("an axis", token_at(a, 1)))
                    for a in trees_of(child)
                )
                meshes.append(Mesh(self.words.name(token_at(child, 1)), axes))
            elif child.data == "pipeline":
                if pipeline is not None:
                    self.words.fail("'pipeline' must be given once", token_at(child, 0))
                pipeline = self.words.name(token_at(child, 1))
            elif child.data == "home":
                homes.append((self.words.path(token_at(child, 0)), self.words.name(token_at(child, 2))))
            elif child.data == "tier":
                tier = self.words.name(token_at(child, 2))
                self.words.require(tier_problem(tier), token_at(child, 2))
                tiers.append((self.words.path(token_at(child, 0)), tier))
            else:
                target = self.words.path(token_at(child, 0))
                for shard in trees_of(child):
                    dim, _, *names = tokens_of(shard)
                    shards.append(Shard(target, self.words.name(dim), tuple(map(self.words.name, names))))
        return Placement(tuple(meshes), tuple(shards), tuple(homes), pipeline, tuple(tiers))

    def schedule(self, tree: Node) -> Schedule:
        microbatches, overlap = 1, False
        fusions: list[Fusion] = []
        named: dict[str, list[str]] = {"stream": [], "prefetch": [], "cascade": []}
        seen: set[str] = set()
        for child in trees_of(tree):
            kind = str(child.data)
            if kind in seen and kind in ("microbatches", "overlap"):
                self.words.fail(f"{kind!r} must be given once", token_at(child, 0))
            seen.add(kind)
            if kind == "microbatches":
                microbatches = self.words.integer("the number of micro-batches", token_at(child, 1))
            elif kind == "overlap":
                overlap = True
            elif kind in named:
                named[kind] += map(self.words.path, tokens_of(child)[1:])
            else:
                _, target, *values = tokens_of(child)
                fusions.append(Fusion(self.words.path(target), tuple(map(self.words.name, values))))
        return Schedule(microbatches, tuple(fusions), overlap, *map(tuple, named.values()))
