"""OpenAI's hosted models, and through OPENAI_BASE_URL whatever stands in for them."""

from gym.llm.providers import Provider

PROVIDER = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_env="OPENAI_API_KEY",
    default_model="gpt-4o-mini",
    prefixes=("gpt-", "chatgpt-", "o1", "o3", "o4"),
    base_url_env="OPENAI_BASE_URL",
    notes="reasoning models refuse temperature and max_tokens: both are adapted, once, with a line in the log",
)
