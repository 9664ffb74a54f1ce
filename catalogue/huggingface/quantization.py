"""How a checkpoint stores its weights: every published style of quantization, as a format per module.

Styles: `fp8` (blocks or per tensor), `fbgemm_fp8`, `modelopt` and `hf_quant_config.json` (FP8, NVFP4, mixed
precision by layer), `compressed-tensors` (groups with targets), `mxfp4`, `mxfp8`, `awq`, `gptq`,
`auto-round`, `bitsandbytes`, `quark`. Routers, embeddings, norms and convolutions stay as they are; the
head too, unless it is named. Integer activations are priced as fp8 (equal width).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from catalogue.architecture import Format
from catalogue.huggingface.modules import Patterns

PLAIN = Format()
MAXIMUM_GROUPS = 8
_INT4 = {32: "int4_32", 64: "int4_64"}


@dataclass(frozen=True, slots=True)
class Scheme:
    """The format of each module, and what was inferred about it.

    `rules` are tried in order, then `default` holds for every linear layer that `ignored` does not name.
    """

    default: Format = PLAIN
    ignored: Patterns = field(default_factory=lambda: Patterns(()))
    rules: tuple[tuple[Patterns, Format], ...] = ()
    cache: str = "fp8"
    assumptions: tuple[str, ...] = ()
    not_understood: tuple[tuple[str, object], ...] = ()

    def of(self, modules: Iterable[str], implied: bool = True) -> Format:
        """The format of one module, given under the names that it may have.

        Without `implied` only a rule that names it counts (heads).
        """
        if not self.rules and not self.ignored:
            return self.default if implied else PLAIN
        names = list(modules)
        if any(name in self.ignored for name in names):
            return PLAIN
        for patterns, format in self.rules:
            if any(name in patterns for name in names):
                return format
        return self.default if implied else PLAIN


def scheme(config: object, beside: Mapping[str, object] | None) -> Scheme:
    """The scheme of `quantization_config`, or of a `hf_quant_config.json` beside it, or none."""
    if isinstance(config, Mapping) and config:
        return _scheme(config, "quantization_config")
    inner = (beside or {}).get("quantization")
    if isinstance(inner, Mapping) and inner:
        return _scheme({"quant_method": "modelopt", **inner}, "hf_quant_config")
    if config:
        return Scheme(not_understood=(("quantization_config", config),))
    return Scheme()


def _scheme(q: Mapping[str, object], where: str) -> Scheme:
    method = str(q.get("quant_method") or ("modelopt" if "quant_algo" in q else "compressed-tensors"))
    notes: list[str] = []
    odd: list[tuple[str, object]] = []
    ignored = Patterns(_texts(q, "modules_to_not_convert", "ignore", "exclude_modules", "exclude",
                              "ignored_layers", "llm_int8_skip_modules"))  # fmt: skip
    default, rules = _formats(q, method.lower().replace("_", "-"), notes)
    if default is None and not rules:
        odd.append((f"{where}.quant_method", method))
    odd.extend((f"{where}.ignore", pattern) for pattern in ignored.refused[:20])
    for patterns, _ in rules:
        odd.extend((f"{where}.targets", pattern) for pattern in patterns.refused[:20])
    if default and default != PLAIN and not ignored and method in ("modelopt", "compressed-tensors"):
        notes.append(
            f"{where} names no layers that are left out; all but routers and the ends are quantised."
        )
    return Scheme(default or PLAIN, ignored, rules, _cache(q), tuple(notes), tuple(odd))


Rules = tuple[tuple[Patterns, Format], ...]


def _formats(q: Mapping[str, object], method: str, notes: list[str]) -> tuple[Format | None, Rules]:
    """The format of linear layers in general (None when not understood), and rules for named ones."""
    if isinstance(q.get("quantized_layers"), Mapping) and q["quantized_layers"]:
        return _by_layer(q, method)
    if method == "mxfp4":
        return PLAIN, ((Patterns(("*.experts", "*.experts.*")), Format("mxfp4", "bf16")),)
    if method in ("fp8", "fbgemm-fp8"):
        return Format("fp8", "fp8"), ()
    if method == "mxfp8":
        return Format("mxfp8", "fp8"), ()
    if method in ("modelopt", "modelopt-fp4", "modelopt-fp8", "modelopt-mixed") and q.get("quant_algo"):
        return _algorithm(str(q["quant_algo"]), q.get("group_size")), ()
    if isinstance(q.get("config_groups"), Mapping):
        return _groups(q, notes)
    if method in ("awq", "gptq", "auto-round", "gptq-marlin", "awq-marlin", "intel/auto-round"):
        return _integers(q.get("bits"), q.get("group_size"), notes), ()
    if method == "bitsandbytes":
        return _bitsandbytes(q, notes), ()
    if method == "quark":
        return _quark(q), ()
    return None, ()


def _by_layer(q: Mapping[str, object], method: str) -> tuple[Format | None, Rules]:
    """Mixed precision: a map from modules to algorithms; `fp8` around it holds for the others."""
    found: dict[Format, list[str]] = {}
    layers = q["quantized_layers"]
    for name, how in layers.items() if isinstance(layers, Mapping) else ():
        if isinstance(how, Mapping):
            format = _algorithm(str(how.get("quant_algo")), how.get("group_size"))
            if format is not None:
                found.setdefault(format, []).append(str(name))
    groups = q.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        targets = _texts(group, "targets") if isinstance(group, Mapping) else []
        for names in found.values():
            known = set(names)
            if any(t in known for t in targets):
                names.extend(t for t in targets if t not in known)
    rules = tuple((Patterns(names), format) for format, names in found.items())
    return (Format("fp8", "fp8") if method == "fp8" else PLAIN), rules


def _algorithm(name: str, group: object) -> Format | None:
    """A modelopt algorithm such as FP8, NVFP4, W4A16_NVFP4, W4A8_AWQ."""
    name = name.upper()
    if "MXFP8" in name:
        return Format("mxfp8", "fp8")
    if "NVFP4" in name or "MXFP4" in name:
        weights = "nvfp4" if "NVFP4" in name else "mxfp4"
        reads = "bf16" if "A16" in name else "fp8" if "A8" in name or "AFP8" in name else weights
        return Format(weights, reads)
    if "INT4" in name or "W4A" in name:
        return Format(_int4(group), "fp8" if "A8" in name or "AFP8" in name else "bf16")
    if "FP8" in name:
        return Format("fp8", "bf16" if "WO" in name.split("_") or "W8A16" in name else "fp8")
    if "W8A8" in name or "INT8" in name:
        return Format("int8_row", "fp8")
    if "W8A16" in name:
        return Format("int8_row", "bf16")
    return PLAIN if name in ("NONE", "BF16", "FP16") else None


def _groups(q: Mapping[str, object], notes: list[str]) -> tuple[Format | None, Rules]:
    """compressed-tensors: each group has a numeric type for weights and activations, and targets."""
    default: Format | None = None
    rules: list[tuple[Patterns, Format]] = []
    groups = q["config_groups"]
    given = list(groups.values()) if isinstance(groups, Mapping) else []
    if len(given) > MAXIMUM_GROUPS:
        notes.append(f"Of {len(given)} groups of config_groups the first {MAXIMUM_GROUPS} are read.")
    for group in given[:MAXIMUM_GROUPS]:
        if not isinstance(group, Mapping):
            continue
        style = str(group.get("format") or q.get("format") or "")
        format = _numeric(group.get("weights"), group.get("input_activations"), style, notes)
        if format is None:
            continue
        targets = _texts(group, "targets") or ["Linear"]
        if "Linear" in targets:
            default = format
        named = [t for t in targets if t != "Linear"]
        if named:
            rules.append((Patterns(named), format))
    if default is None and rules:
        default = PLAIN
    return default, tuple(rules)


def _numeric(weights: object, activations: object, style: str, notes: list[str]) -> Format | None:
    if not isinstance(weights, Mapping):
        return None
    bits, group = weights.get("num_bits"), weights.get("group_size")
    reads = "bf16"
    if isinstance(activations, Mapping):
        reads = {4: "fp4", 8: "fp8"}.get(_whole(activations.get("num_bits")), "bf16")
    if str(weights.get("type", "float")) == "float":
        if bits == 4:
            name = "mxfp4" if "mxfp4" in style or group == 32 else "nvfp4"
            return Format(name, name if reads == "fp4" else reads)
        if bits == 8:
            return Format("mxfp8" if "mxfp8" in style or group == 32 else "fp8", reads)
        return None
    return _integers(bits, group, notes, reads)


def _integers(bits: object, group: object, notes: list[str], reads: str = "bf16") -> Format | None:
    if bits == 8:
        return Format("int8_row", reads)
    if bits in (2, 3, 5, 6):
        notes.append(f"Weights of {bits} bits are written as int4, the nearest format.")
    reads = "fp8" if reads == "fp4" else reads
    return Format(_int4(group), reads) if bits in (2, 3, 4, 5, 6) else None


def _bitsandbytes(q: Mapping[str, object], notes: list[str]) -> Format | None:
    if q.get("load_in_8bit"):
        return Format("int8_row", "bf16")
    if not q.get("load_in_4bit"):
        return None
    notes.append("4-bit floats of bitsandbytes are written as int4 of equal size.")
    return Format("int4" if q.get("bnb_4bit_use_double_quant") else "int4_32", "bf16")


def _quark(q: Mapping[str, object]) -> Format | None:
    whole = q.get("global_quant_config")
    if not isinstance(whole, Mapping):
        return None
    kinds = {"fp4": "mxfp4", "fp8_e4m3": "fp8", "fp8": "fp8", "int8": "int8_row", "int4": "int4"}
    weights, inputs = whole.get("weight"), whole.get("input_tensors")
    if isinstance(weights, list) and weights:
        weights = weights[0]
    stored = kinds.get(str(weights.get("dtype"))) if isinstance(weights, Mapping) else None
    if stored is None:
        return None
    dtype = str(inputs.get("dtype")) if isinstance(inputs, Mapping) else ""
    return Format(stored, stored if dtype == "fp4" else "fp8" if dtype in kinds else "bf16")


def _cache(q: Mapping[str, object]) -> str:
    """The format of caches as served: fp8 is common, so only a narrower one must be stated."""
    stated = q.get("kv_cache_quant_algo") or q.get("kv_cache_scheme")
    if isinstance(stated, str) and "FP4" in stated.upper():
        return "nvfp4"
    return "nvfp4" if isinstance(stated, Mapping) and stated.get("num_bits") == 4 else "fp8"


def _texts(q: Mapping[str, object], *keys: str) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = q.get(key)
        if isinstance(value, list):
            found.extend(v for v in value if isinstance(v, str))
    return found


def _int4(group: object) -> str:
    return _INT4.get(_whole(group), "int4")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
