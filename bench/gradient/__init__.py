"""One small instruct model, three ways to get better at a house rule: a library, LoRA, gradient GRPO (`make bench-gradient`).

Each run is a command of the product in a process of its own, so that its peak of memory is its own; the tables are those of
`gym compare`. Beside them stands what each way would send in a federated round.
"""
