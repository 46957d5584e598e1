"""What a chain's node may answer (the execution API's JSON-RPC): the shapes that are read further on, and no more.

web3 takes an answer for what it should be; with one of another kind it would fail anywhere, in words that help nobody.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

Quantity = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{1,64}$")]
Hash = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{64}$")]
Address = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{40}$")]
Data = Annotated[str, Field(pattern="^0x(?:[0-9a-fA-F]{2})*$")]


class Shape(BaseModel):
    """Fields as JSON-RPC names them; others are passed over."""

    model_config = ConfigDict(alias_generator=to_camel)


class Block(Shape):
    """A block."""

    number: Quantity
    hash: Hash
    timestamp: Quantity
    base_fee_per_gas: Quantity | None = None


class Log(Shape):
    """An event in a block."""

    address: Address
    topics: list[Hash]
    data: Data
    block_number: Quantity
    block_hash: Hash
    transaction_hash: Hash
    log_index: Quantity


class Receipt(Shape):
    """What became of a transaction."""

    status: Quantity
    transaction_hash: Hash
    block_number: Quantity
    gas_used: Quantity
    effective_gas_price: Quantity = "0x0"
    contract_address: Address | None = None
    logs: list[Log]


_SHAPES: dict[str, TypeAdapter[Any]] = {
    **dict.fromkeys(
        (
            "eth_blockNumber", "eth_chainId", "eth_estimateGas", "eth_gasPrice", "eth_getBalance", "eth_getTransactionCount",
            "eth_maxPriorityFeePerGas",
        ),
        TypeAdapter(Quantity),
    ),
    **dict.fromkeys(("eth_call", "eth_getCode"), TypeAdapter(Data)),
    "eth_sendRawTransaction": TypeAdapter(Hash),
    "eth_getBlockByNumber": TypeAdapter(Block | None),
    "eth_getLogs": TypeAdapter(list[Log]),
    "eth_getTransactionReceipt": TypeAdapter(Receipt | None),
}  # fmt: skip


def well_formed(method: str, answer: Any) -> bool:
    """Whether an answer has the shape that its method gives; refusals are looked at elsewhere."""
    if not isinstance(answer, dict):
        return False
    if "result" not in answer or answer.get("error") is not None or method not in _SHAPES:
        return True
    try:
        _SHAPES[method].validate_python(answer["result"])
    except ValidationError:
        return False
    return True
