"""What stands between TRL's trainer and the method: rows and problems, rewards both ways, the learner, its processes.

Only `ranks` and `gym.train.grpo.trainer` import torch.
"""
