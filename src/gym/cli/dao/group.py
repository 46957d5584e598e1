"""The group `gym dao` and its commands."""

import click

from gym.cli.dao.deciding import finalize, vote
from gym.cli.dao.demo import demo
from gym.cli.dao.looking import history
from gym.cli.dao.proposing import propose
from gym.cli.dao.removing import remove
from gym.cli.dao.stakes import deploy, send, stake
from gym.cli.dao.standing import status
from gym.cli.dao.syncing import sync, verify
from gym.cli.dao.watch import watch


@click.group()
def command() -> None:
    """Put experiences under a vote: propose, vote, sync what is accepted, and check all of it.

    The chain is any JSON-RPC node (--rpc, or ZOO_GYM_RPC). What signs is an encrypted keystore (--keystore, or
    ZOO_GYM_KEYSTORE; its password is asked for, or ZOO_GYM_KEYSTORE_PASSWORD) or a key in ZOO_GYM_CHAIN_KEY; neither is ever
    shown. `gym dao demo` plays all of it on a chain of its own.
    """


for each in (deploy, send, stake, propose, vote, finalize, remove, status, history, sync, verify, watch, demo):
    command.add_command(each)
