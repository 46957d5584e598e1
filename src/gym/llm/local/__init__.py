"""The embedded model: GGUF weights, pinned by their SHA-256, behind a llama.cpp server that we start and stop."""
