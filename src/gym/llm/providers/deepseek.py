"""DeepSeek's hosted models."""

from gym.llm.providers import Provider

PROVIDER = Provider(
    name="deepseek",
    base_url="https://api.deepseek.com/v1",
    key_env="DEEPSEEK_API_KEY",
    default_model="deepseek-chat",
    prefixes=("deepseek-",),
    notes="prefix cache on their side: keep the library first; no JSON schema, which is noticed and left out",
)
