"""Models behind the protocol `gym.core.chat.ChatModel`: hosted, local and scripted; recorded, metered, retried.

From the outside in: `Recorded` (calls.jsonl, meter, brake) over `Retrying` over `OpenAICompatible`.
"""
