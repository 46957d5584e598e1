"""The child process: llama.cpp's server (through xllamacpp) until standard input ends.

Started by `gym.llm.local.server`. The first argument is the options as JSON; one line with the address goes to standard
output when the model answers; everything the server says goes to standard error, which the parent points at a log file.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from xllamacpp import CommonParams, Server  # type: ignore[attr-defined]

PR_SET_PDEATHSIG = 1
LOG_S = 5.0
"""Seconds to wait for the log, which is a file."""


def main(options: dict[str, Any]) -> None:
    """Serve until the parent closes our standard input or is gone."""
    _die_with_parent()
    ready = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    watcher = threading.Thread(target=_exit_at_end_of_input, daemon=True)
    watcher.start()
    try:
        server = Server(parameters(options))
    except RuntimeError as error:
        _await_log()
        sys.exit(str(error))
    with os.fdopen(ready, "w") as pipe:
        print(server.listening_address, file=pipe, flush=True)
    watcher.join()


def parameters(options: dict[str, Any]) -> Any:
    """llama.cpp's settings: `slots` requests at once, each with `context` tokens, on a free loopback port."""
    params = CommonParams()
    params.model.path = options["path"]
    params.model_alias = {options["name"]}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel = options["slots"]
    params.n_ctx = options["slots"] * options["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.cache_prompt = params.cont_batching = params.use_jinja = params.warmup = True
    params.cache_ram_mib = options["cache_ram_mib"]
    params.kv_unified = params.ctx_shift = params.fit_params = False
    params.ui = params.endpoint_slots = False
    params.cors_origins = "http://127.0.0.1"
    params.verbosity = 2
    return params


def _die_with_parent() -> None:
    """On Linux the kernel kills us when the parent's thread ends, even while the model loads."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _await_log() -> None:
    """llama.cpp's log has the reason, and a thread of its own that on a busy machine writes it late, or not when we are gone."""
    seen, until = -1, time.monotonic() + LOG_S
    while time.monotonic() < until:
        size = os.fstat(sys.stderr.fileno()).st_size
        if size and size == seen:
            return
        seen = size
        time.sleep(0.1)


def _exit_at_end_of_input() -> None:
    """The parent holds the other end of our standard input: its end, however it comes, is ours."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
