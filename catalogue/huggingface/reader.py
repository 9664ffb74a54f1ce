"""From a config to facts: its family, what was read, what was inferred, what was not understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from catalogue.architecture import Architecture
from catalogue.compressed import DeepSeekV4
from catalogue.huggingface import deepseek_v4 as v4
from catalogue.huggingface.decoder import decoder
from catalogue.huggingface.errors import ConfigError
from catalogue.huggingface.families import UNKNOWN, family_of
from catalogue.huggingface.json_file import read_json
from catalogue.huggingface.quantization import scheme
from catalogue.huggingface.view import NotUnderstood, View, text_part

if TYPE_CHECKING:
    from catalogue.models.caches import Kv
    from rooflang.design import Design

_OTHER = re.compile(
    r"bert|t5|bart|whisper|clip|vit$|siglip|encoder|wav2vec|sam$|resnet|rwkv|retnet|hyena"
    r"|^(falcon_)?mamba$|recurrent_gemma|xlstm|zamba"
)
_END = "config.json"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a config says. `not_understood` keys may change what a step computes or costs."""

    architecture: Architecture | DeepSeekV4
    name: str
    assumptions: tuple[str, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()

    def design(self, kv: Kv = "served") -> Design:
        """The design of one decode step: a program and conventional kernels, no pools and no placement."""
        from catalogue.models.compose import compose
        from catalogue.models.deepseek_v4 import build

        if isinstance(self.architecture, Architecture):
            return compose(self.name, self.architecture, kv)
        return build(self.name, self.architecture, kv)


def import_config(path: str | Path) -> Imported:
    """The model of a `config.json`, or of a directory with one; `hf_quant_config.json` beside it is read too.

    Raises ConfigError when the file cannot be read or no design can be made of it.
    """
    file = config_path(Path(path))
    beside = file.with_name(file.name.removesuffix(_END) + "hf_quant_" + _END)
    quantization = None
    if file.name.endswith(_END) and not file.name.endswith("quant_config.json") and beside.is_file():
        quantization = read_json(beside)
    return read_config(read_json(file), name_of(file), quantization)


def config_path(path: Path) -> Path:
    """The file itself: of a directory, its config.json."""
    if not path.is_dir():
        return path
    if not (path / _END).is_file():
        raise ConfigError(f"{path} must hold a config.json, but does not; name the file itself")
    return path / _END


def name_of(file: Path) -> str:
    """A name for the model: its directory's, or the file's own without what says that it is a config."""
    stem = file.name.removesuffix(_END).removesuffix(".json").rstrip("_-.")
    if not stem:
        parts = file.absolute().parent.parts
        hub = [p for p in parts if p.startswith("models--")]
        stem = hub[-1] if hub else parts[-1] if len(parts) > 1 else "model"
    name = re.sub(r"[^a-z0-9.\-]+", "-", stem.lower().rpartition("--")[2]).strip("-.")
    return name[:60] or "model"


def read_config(
    config: Mapping[str, object], name: str, quantization: Mapping[str, object] | None = None
) -> Imported:
    """The model that the keys of a config describe; `quantization` is a `hf_quant_config.json`.

    Raises ConfigError when no design can be made.
    """
    keys = text_part(config)
    kind = _model_type(keys, name)
    found, family = family_of(kind)
    view = View(keys, name, found, family.defaults if family else {})
    stored = keys.get("quantization_config") or config.get("quantization_config")
    storage = scheme(stored, quantization)
    if v4.is_v4(view):
        made: Architecture | DeepSeekV4 = v4.read(view, storage)
    else:
        if family is None:
            view.assume(
                f"No reader knows the model_type {kind or '(none is stated)'}: the model is read by its "
                "keys, as a decoder of the common kind."
            )
        made = decoder(view, family or UNKNOWN, storage)
    left = view.left_out()
    if left:
        view.assume(f"Left out, since values depend on it and cost does not: {', '.join(left)}.")
    odd = (*(NotUnderstood(k, v) for k, v in storage.not_understood), *view.not_understood())
    if isinstance(made, Architecture):
        made = replace(made, assumptions=tuple(view.assumptions))
    return Imported(made, name, tuple(view.assumptions), odd)


def _model_type(keys: Mapping[str, object], name: str) -> str:
    stated = keys.get("model_type")
    kind = stated if isinstance(stated, str) else ""
    if keys.get("is_encoder_decoder") is True:
        raise ConfigError(f"{name} must be a decoder, but its config says encoder and decoder ({kind})")
    if _OTHER.search(kind.lower()):
        raise ConfigError(
            f"{name} must be a decoder-only language model, but its model_type is {kind}, "
            "which no part describes; name another config"
        )
    if "_class_name" in keys or "_diffusers_version" in keys:
        raise ConfigError(f"{name} must be a language model, but its config is of a diffusion pipeline")
    return kind
