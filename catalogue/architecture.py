"""An architecture as facts: what each layer of a model is made of, free of RoofLang and of any file format.

Readers (of a published `config.json`) produce these records, the composer (`catalogue.models.compose`) writes
a design from them. Sizes count elements; a width is that of one expert, head or layer.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary embedding of the last `dims` of a head, at base `theta`.

    `attention_factor` is the extra factor on attention scores of a context extension such as YaRN.
    """

    dims: int
    theta: float
    attention_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Indexer:
    """A light scorer that chooses which cached tokens attention reads (DSA): its keys are one head of `dim`.

    `top` counts tokens; with `block` > 1 it counts blocks of that many tokens (block-sparse attention).
    Queries come from the low-rank query where attention has one, from the layer's input otherwise.
    """

    heads: int
    dim: int
    top: int
    rope_dims: int = 0
    block: int = 1


@dataclass(frozen=True, slots=True)
class GroupedQuery:
    """Softmax attention with `kv_heads` key/value heads serving `heads` query heads (MHA, GQA, MQA, MFA)."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    rope: Rope | None = None
    window: int | None = None
    """Only the last that many tokens are seen and kept (sliding window)."""
    chunk: int | None = None
    """Only tokens of the same chunk of that many are seen (chunked attention)."""
    biases: tuple[str, ...] = ()
    """Which of the projections q, k, v, o have a bias."""
    qk_norm: str | None = None
    """RMS norm of queries and keys: `head` (each head, a gain of its width) or `whole` (over all heads)."""
    qk_norm_gain: bool = True
    sinks: bool = False
    """One learned logit per head that takes part in the softmax's sum."""
    gate: bool = False
    """A sigmoid gate of the query's shape on the attended values (Qwen3-Next)."""
    head_gate: bool = False
    """A sigmoid gate, one number per head, on the attended values (Step-3.5)."""
    query_rank: int | None = None
    """Low-rank query projection through a normed width (MFA)."""
    indexer: Indexer | None = None
    keys_are_values: bool = False
    """One projection makes both (Gemma 4's global layers)."""
    reuses_cache: bool = False
    """Reads the keys and values of an earlier layer and has none of its own."""
    shared_cache: str = ""
    """Name of a cache that several layers read; the first of them, which does not reuse it, makes it."""
    scale: float | None = None
    """Factor on scores; 1/sqrt(head_dim) when None."""


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention (MLA), in absorbed form for decode."""

    heads: int
    query_rank: int | None
    latent: int
    nope_dims: int
    rope_dims: int
    value_dims: int
    rope: Rope | None = None
    """None when positions are not encoded (NoPE): the `rope_dims` are then plain."""
    indexer: Indexer | None = None
    reuses_choice: bool = False
    """Sparse attention on the tokens that the nearest earlier indexer chose."""
    gate: bool = False
    """A sigmoid output gate projected from the layer's input."""
    query_scale: float = 1.0
    latent_scale: float = 1.0
    """Constants on the normed low-rank query and latent (LongCat)."""


@dataclass(frozen=True, slots=True)
class GatedDelta:
    """Gated DeltaNet: a delta rule with one decay per value head."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int


@dataclass(frozen=True, slots=True)
class KimiDelta:
    """Kimi delta attention: a delta rule with one decay per key channel."""

    heads: int
    key_dim: int
    value_dim: int
    conv: int
    gate_rank: int | None
    """Rank of the output gate's projection; None when it has full rank."""
    decay_rank: int | None = None
    """Rank of the decay's projection; the head's width when None."""


@dataclass(frozen=True, slots=True)
class Lightning:
    """Linear attention with one constant decay per head, output norm and gate."""

    heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class Mamba2:
    """A state-space layer with `groups` of input and output maps shared by heads."""

    heads: int
    head_dim: int
    state: int
    groups: int
    conv: int
    conv_bias: bool = True
    bias: bool = False


Mixer = GroupedQuery | Latent | GatedDelta | KimiDelta | Lightning | Mamba2


@dataclass(frozen=True, slots=True)
class Activation:
    """The non-linearity of a feed-forward part.

    `gated` parts have gate and up projections, others one. Kinds: silu, gelu, relu2, swiglu_oai (clamped,
    with `alpha` and an `offset` on the linear half), situ.
    """

    kind: str = "silu"
    gated: bool = True
    limit: float | None = None
    alpha: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense feed-forward part of one width."""

    width: int
    activation: Activation = field(default_factory=Activation)
    bias: bool = False


@dataclass(frozen=True, slots=True)
class Router:
    """How experts are scored and chosen.

    `score`: softmax (over all experts), sigmoid, sqrtsoftplus, or chosen (softmax over the chosen logits).
    `correction` adds a learned bias for the choice alone; `bias` is part of the score.
    `groups` of experts are ranked first and `keep` of them stay. Shares are normalised and then scaled.
    """

    score: str = "softmax"
    correction: bool = False
    bias: bool = False
    groups: int = 1
    keep: int = 1
    normalise: bool = True
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts: `chosen` of `count` per token, plus shared width that every token uses."""

    count: int
    chosen: int
    width: int
    router: Router = field(default_factory=Router)
    activation: Activation = field(default_factory=Activation)
    shared_width: int = 0
    shared_gate: bool = False
    """A sigmoid gate, one number per token, on the shared part."""
    bias: bool = False
    latent: int | None = None
    """Routed experts work in this narrower width, between two projections that all share."""
    latent_norm: bool = False
    identity: int = 0
    """Further choices that return their input unchanged (zero-computation experts)."""
    scales_input: bool = False
    """Shares multiply the experts' input, not their output (Llama 4)."""


FeedForward = Dense | Experts


@dataclass(frozen=True, slots=True)
class Format:
    """Storage of a part's weights, and what its matrix products read: bf16 (unquantised), or a narrower one.

    Both are formats of `rooflang.dtype`. Weights of int4 with bf16 activations are widened when read.
    """

    weights: str = "bf16"
    activations: str = "bf16"


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats by part of a layer. Embedding, head, routers and norms are apart in `Architecture`."""

    mixer: Format = field(default_factory=Format)
    indexer: Format = field(default_factory=Format)
    dense: Format = field(default_factory=Format)
    shared: Format = field(default_factory=Format)
    experts: Format = field(default_factory=Format)
    output: Format | None = None
    """The mixer's output projection, where it differs from the rest of the mixer."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: token mixing, then feed-forward, each with a norm before and a residual around.

    `beside` is a second feed-forward part on the same input, whose result is added `beside_lag` layers later
    (0: in the same layer). Either of `mixer` and `feed` may be absent.
    """

    mixer: Mixer | None
    feed: FeedForward | None
    beside: FeedForward | None = None
    beside_lag: int = 0
    parallel: bool = False
    """Mixer and feed-forward read one normed input and are added to the residual together (GPT-J)."""
    formats: Formats = field(default_factory=Formats)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder-only language model."""

    hidden: int
    vocabulary: int
    layers: tuple[Layer, ...]
    draft: tuple[Layer, ...] = ()
    """Layers of multi-token prediction as shipped, each with its own norms and input projection."""
    max_position: int | None = None
    tied: bool = False
    """The output projection is the embedding."""
    norm_epsilon: float = 1e-6
    norm_bias: bool = False
    post_norms: bool = False
    """A further norm after mixing and after feed-forward, before the residual addition."""
    embedding: str = "bf16"
    head: Format = field(default_factory=Format)
    router: str = "bf16"
    norms: str = "bf16"
    served_cache: str = "fp8"
    """Format of a cache as commonly served; `bf16` when asked for unquantised caches."""
    assumptions: tuple[str, ...] = ()
    """What the source does not state and was inferred, one sentence each."""
