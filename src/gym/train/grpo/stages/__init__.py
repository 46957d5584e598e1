"""The three stages of the semantic advantage (arXiv:2510.08191 §3.2): summarize, critique, consolidate.

Each is a generator: it yields what to ask the model and is sent the completion, so one body serves sync and async
and is tested with neither a model nor an event loop.
"""
