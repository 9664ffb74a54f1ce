"""A decoder, layer by layer: which kind each layer is, its parts, and the formats they are stored in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalogue.architecture import Architecture, Experts, FeedForward, GroupedQuery, Layer, Mixer
from catalogue.huggingface import attention, feed, recurrent
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import Family
from catalogue.huggingface.keys import SYNONYMS
from catalogue.huggingface.patterns import block_kinds, layer_count, mixing_kinds, rotating
from catalogue.huggingface.quantization import Scheme
from catalogue.huggingface.storage import Storage
from catalogue.huggingface.view import View

MAXIMUM_DRAFTS = 16
EPSILON = 1e-6
_DTYPES = ("bfloat16", "float16", "half", "bf16", "fp16", "torch.bfloat16", "torch.float16")


def decoder(view: View, family: Family, scheme: Scheme) -> Architecture:
    """The architecture that the config describes. Raises ConfigError where no part describes a layer."""
    count, hidden = layer_count(view), view.size("hidden")
    storage = Storage(scheme, family, hidden)
    layers, draft = _layers(view, family, storage, count)
    if family.norms_behind:
        view.assume("Norms stand behind each part in this family; they are written before it, at equal cost.")
    if family.note:
        view.assume(family.note)
    tied = view.flag("tied")
    if view.raw("tied") is None:
        view.assume("tie_word_embeddings is not stated; false is taken.")
    _dtype(view)
    _positions(view, family, hidden)
    made = Architecture(
        hidden=hidden,
        vocabulary=view.size("vocabulary"),
        layers=layers,
        draft=draft,
        max_position=view.size_or_none("max_position"),
        tied=tied,
        norm_epsilon=view.positive("epsilon", EPSILON),
        norm_bias=family.norm_bias,
        post_norms=family.post_norms,
        head=storage.head,
        served_cache=scheme.cache,
    )
    for sentence in (*storage.assumptions, *scheme.assumptions):
        view.assume(sentence)
    return made


def _layers(
    view: View, family: Family, storage: Storage, count: int
) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    blocks = ["mamba"] * count if view.family == "mamba2" else block_kinds(view, "block_pattern")
    if blocks is not None:
        return _blocks(view, family, storage, blocks)
    if view.family == "longcat_flash":
        return _shortcut(view, family, storage, count)
    kinds = mixing_kinds(view, family, count)
    turns = rotating(view, family, count, kinds)
    sparse = feed.sparse_layers(view, count)
    shared = _shared(view, kinds)
    parallel = _parallel(view, family)
    layers: list[Layer] = []
    for i, kind in enumerate(kinds):
        mixers = [_mixer(view, family, i, k, turns[i], count) for k in _parts(kind)]
        if i in shared and isinstance(mixers[-1], GroupedQuery):
            mixers[-1] = replace(mixers[-1], shared_cache=kind, reuses_cache=shared[i])
        parts = _feeds(view, family, i, i in sparse)
        places = (f"layers.{i}",)
        for mixer in mixers[:-1]:
            layers.append(Layer(mixer, None, formats=storage.of(places, mixer, ())))
        layers.append(
            Layer(
                mixers[-1],
                parts[0],
                beside=parts[1] if len(parts) > 1 else None,
                parallel=parallel,
                formats=storage.of(places, mixers[-1], parts),
            )
        )  # fmt: skip
    if "both" in kinds:
        view.assume(
            "Attention and Mamba-2 stand side by side on one input in this family; they are written one "
            "after the other, with the same matrices and one more norm per layer."
        )
    return tuple(layers), _drafts(view, family, storage, count, layers)


def _parallel(view: View, family: Family) -> bool:
    """Whether attention and feed-forward share one normed input; with two norms they are written in turn."""
    wanted = family.parallel or family.parallel_norms
    if family.parallel_key:
        wanted = view.flag(family.parallel_key, wanted)
    two = family.parallel_norms or view.flag("new_decoder_architecture")
    if wanted and two:
        view.assume(
            "Attention and feed-forward stand side by side in this family, each with its norm; they are "
            "written one after the other, with the same matrices."
        )
    return wanted and not two


def _parts(kind: str) -> tuple[str, ...]:
    return ("mamba", "full") if kind == "both" else (kind,)


def _mixer(view: View, family: Family, index: int, kind: str, rotates: bool, layers: int) -> Mixer:
    plain: dict[str, Callable[[View], Mixer]] = {
        "gdn": recurrent.gated_delta,
        "kda": recurrent.kimi_delta,
        "lightning": recurrent.lightning,
        "mamba": recurrent.mamba2,
    }
    if kind in plain:
        return plain[kind](view)
    if view.has("kv_lora_rank") and kind == "full":
        return attention.latent(view, family, index, layers)
    made = attention.grouped(view, family, index, kind, rotates)
    if made.heads % made.kv_heads:
        raise ConfigError(
            f"{view.name}: {view.spelt('kv_heads')} must divide {made.heads} heads, but is {made.kv_heads}"
        )
    return made


def _shared(view: View, kinds: list[str]) -> dict[int, bool]:
    """Layers with a shared cache: the last ones, which reuse that of the last layer of their kind before."""
    number = view.count("num_kv_shared_layers")
    if number and not set(kinds[-number:]) <= set(kinds[:-number]):
        raise ConfigError(
            f"{view.name}: num_kv_shared_layers must leave a layer of each kind with a cache of its own, "
            f"but is {number} of {len(kinds)} layers"
        )
    first = len(kinds) - number
    lenders = {first - 1 - kinds[:first][::-1].index(kind) for kind in set(kinds[first:])}
    return dict.fromkeys(lenders, False) | dict.fromkeys(range(first, len(kinds)), True)


def _feeds(view: View, family: Family, index: int, sparse: bool) -> tuple[FeedForward, ...]:
    """The feed-forward parts of a layer: one, or a dense part with experts beside it."""
    if family.experts_beside and sparse:
        return feed.dense(view, family, index), feed.experts(view, family, index)
    return (feed.feed(view, family, index, sparse),)


def _drafts(
    view: View, family: Family, storage: Storage, count: int, layers: list[Layer]
) -> tuple[Layer, ...]:
    """Layers of multi-token prediction: like the last layer with full attention, or dense where stated."""
    number = draft_count(view)
    if not number:
        return ()
    kinds = view.items("layer_types") or []
    made = []
    for j in range(number):
        kind = "sliding" if len(kinds) > count + j and kinds[count + j] == "sliding_attention" else "full"
        if kind == "full" and not any(_full(layer.mixer) for layer in layers):
            kind = "sliding"
        mixer = _mixer(view, family, count + j, kind, True, count)
        sparse = isinstance(layers[-1].feed, Experts) and not family.drafts_dense
        if family.drafts_dense:
            width = view.size_at("width", count)
            view.assume(f"Draft layers have a dense part of width {width}, as in the family's code.")
        part = feed.feed(view, family, count + j, sparse)
        places = (f"layers.{count + j}", f"mtp.layers.{j}", f"model.mtp.layers.{j}")
        made.append(Layer(mixer, part, formats=storage.of(places, mixer, (part,))))
    return tuple(made)


def draft_count(view: View) -> int:
    """How many draft layers are shipped."""
    if view.has("use_mtp") and not view.flag("use_mtp"):
        view.use("num_mtp_modules", "mtp_transformer_layers")
        return 0
    number = view.count("drafts")
    if number and view.has("mtp_transformer_layers"):
        number *= view.size("mtp_transformer_layers")
    if number > MAXIMUM_DRAFTS:
        raise ConfigError(
            f"{view.name}: {view.spelt('drafts')} must be at most {MAXIMUM_DRAFTS}, but is {number}"
        )
    return number


def _full(mixer: Mixer | None) -> bool:
    return not isinstance(mixer, GroupedQuery) or mixer.window is None


def _blocks(
    view: View, family: Family, storage: Storage, kinds: list[str]
) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Layers of one part each; a draft pattern of attention and experts is one draft layer."""

    def part(kind: str, index: int) -> tuple[Mixer | None, FeedForward | None]:
        if kind in ("dense", "moe"):
            return None, feed.feed(view, family, index, kind == "moe")
        return _mixer(view, family, index, kind, True, len(kinds)), None

    layers = []
    for i, kind in enumerate(kinds):
        mixer, fed = part(kind, i)
        layers.append(Layer(mixer, fed, formats=storage.of((f"layers.{i}",), mixer, (fed,))))
    view.use(*SYNONYMS["width"])
    pattern, drafts = block_kinds(view, "draft_pattern") or [], []
    for j in range(draft_count(view) if pattern else 0):
        places = (f"mtp.layers.{j}", f"layers.{len(kinds) + j}")
        mixers = [part(k, j)[0] for k in pattern if k in ("full", "mamba")]
        feeds = [part(k, j)[1] for k in pattern if k in ("dense", "moe")]
        mixer, fed = (mixers or [None])[0], (feeds or [None])[0]
        drafts.append(Layer(mixer, fed, formats=storage.of(places, mixer, (fed,))))
    view.use("num_nextn_predict_layers", "num_hidden_layers")
    return tuple(layers), tuple(drafts)


def _shortcut(
    view: View, family: Family, storage: Storage, count: int
) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """LongCat-Flash: each layer has two of attention and dense parts; experts run beside the first pair."""
    layers = []
    for i in range(count):
        moe = feed.experts(view, family, i)
        for half in (0, 1):
            mixer = attention.latent(view, family, i, count)
            dense = feed.dense(view, family, i)
            places = (f"layers.{i}.{half}", f"layers.{i}")
            formats = storage.of(places, mixer, (dense, moe))
            first = half == 0
            layers.append(Layer(mixer, dense, moe if first else None, 1 if first else 0, formats=formats))
    return tuple(layers), ()


def _dtype(view: View) -> None:
    stated = view.raw("dtype")
    if stated is None:
        view.assume("torch_dtype is not stated; unquantised weights are taken as bf16.")
    elif str(stated) not in _DTYPES:
        view.assume(f"Unquantised weights are {stated}; they are taken as bf16, as engines serve them.")


def _positions(view: View, family: Family, hidden: int) -> None:
    """Embeddings of absolute positions have no part: say how many parameters are left out."""
    limit = view.size_or_none("max_position")
    if view.off("use_cla"):
        view.use("cla_share_factor")
    if view.off("hidden_size_per_layer_input"):
        view.use("vocab_size_per_layer_input")
    if view.flag("lm_head_bias"):
        view.assume("The output projection's bias is left out.")
    learned = view.family in ("gpt2", "gpt_bigcode", "gpt_neo", "opt")
    if learned and limit:
        view.assume(f"Learned position embeddings ({limit * hidden} parameters) are left out.")
