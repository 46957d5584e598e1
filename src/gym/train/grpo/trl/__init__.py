"""What stands between TRL's trainer and the method: rows and problems, rewards both ways, the learner, its processes.

`arguments`, `rows`, `rewards` and `learner` are free of torch.
"""
