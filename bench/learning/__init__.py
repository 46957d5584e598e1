"""How much of what a person who knows the house rules could write does a method learn, at equal cost (`make bench-learning`).

Every family of `bench.tasks` x seed x method is one cell: learn on training and validation problems, then answer the
held-out ones. Baseline and oracle are the two ends of the scale.
"""
