"""Events over any span of blocks: nodes limit how many they search at once, each in its own way, so the span finds itself."""

from collections.abc import Iterator

from gym.errors import MissingExtra, ServerFailed, TimedOut

try:
    from web3.contract.contract import ContractEvent
    from web3.exceptions import Web3RPCError
    from web3.types import EventData
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

SPAN = 100_000
"""Blocks asked for at first."""


def events(event: ContractEvent, first: int, last: int) -> Iterator[EventData]:
    """The event's logs from block `first` to block `last`, in order."""
    span = SPAN
    while first <= last:
        end = min(last, first + span - 1)
        try:
            found = event.get_logs(from_block=first, to_block=end)
        except (Web3RPCError, ServerFailed, TimedOut):
            if end == first:
                raise
            span = max(1, min(span, end - first + 1) // 4)
            continue
        yield from sorted(found, key=lambda log: (log["blockNumber"], log["logIndex"]))
        first, span = end + 1, min(2 * span, SPAN)
