"""`gym baseline`: gradient GRPO and LoRA on the problems, rewards and held-out answers of `gym train`, to compare with.

Only `training` and `changes` import torch and what lives on it.
"""
