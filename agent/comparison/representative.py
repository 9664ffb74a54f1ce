"""The models that a comparison takes when none is named: the flagships of each family, old and new."""

from __future__ import annotations

REPRESENTATIVE = (
    "deepseek-v4-pro",
    "deepseek-v4-flash",
    "deepseek-v4.1-flash",
    "deepseek-v3.2",
    "kimi-k2.5",
    "kimi-k3",
    "glm-4.6",
    "glm-5.3",
    "qwen3-235b-a22b",
    "qwen3-next-80b-a3b",
    "qwen3.5-397b-a17b",
    "qwen3.8-2.4t-a95b",
    "minimax-m1",
    "minimax-m2.5",
    "minimax-m3",
    "gpt-oss-120b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "llama-4-maverick",
    "mistral-large-3-675b",
    "nemotron-3-ultra-550b-a55b",
    "step-3",
    "mimo-v2-flash",
    "longcat-flash-chat",
)
