"""The embedded model: llama.cpp in a child process that we start, see `gym.llm.local`."""

from gym.llm.providers import Provider

PROVIDER = Provider(
    name="local",
    base_url="",
    key_env="",
    default_model="qwen2.5-coder-1.5b",
    notes="local:NAME from `gym model list`, or the path of a GGUF file; JSON schemas are enforced, nothing is billed",
)
