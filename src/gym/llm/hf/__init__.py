"""`hf:PATH`: a transformers model in this process, behind `ChatModel`; needs the extra [train].

`place` knows the folder and is free of torch; everything else here imports it, and is itself imported only to open a model.
"""
