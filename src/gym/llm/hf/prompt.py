"""Messages as a model's chat template writes them, and the tokens that end its turn."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from jinja2 import TemplateError

from gym.core.chat import Message
from gym.errors import ConfigError, RequestRejected

Turns = list[dict[str, str]]
MARK = "MARK"


class ChatTemplate:
    """A tokenizer's chat template; raises `ConfigError` when it has none: a base model answers no questions."""

    def __init__(self, tokenizer: Any, name: str, ends: Sequence[int] = ()) -> None:
        """`ends`: tokens that end a turn, as the model's own settings say."""
        if not getattr(tokenizer, "chat_template", None):
            raise ConfigError(
                f"{name} has no chat template: take an instruct model, or set tokenizer.chat_template to the one it was "
                "trained with"
            )
        self.tokenizer, self.name = tokenizer, name
        self.ends = frozenset(token for token in (*ends, tokenizer.eos_token_id, self._turn_end()) if token is not None)
        """A reply is over at the first of these."""

    def ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of the conversation up to where the reply begins; raises `RequestRejected` when it has no such form."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            text = self._text(turns)
        except TemplateError as error:
            text = self._without_system(turns, error)
        return tuple(self._encoded(text))

    def text(self, ids: Sequence[int]) -> str:
        """What a reply's tokens say, special ones left out."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _text(self, turns: Turns, *, reply: bool = True) -> str:
        return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=reply))

    def _without_system(self, turns: Turns, refused: TemplateError) -> str:
        """Some templates know no system turn: it opens the first question instead."""
        if len(turns) < 2 or turns[0]["role"] != "system":
            raise RequestRejected(f"{self.name}: the chat template refuses these messages ({refused})") from refused
        opening, first, *rest = turns
        joined = {"role": first["role"], "content": f"{opening['content']}\n\n{first['content']}"}
        try:
            return self._text([joined, *rest])
        except TemplateError as error:
            raise RequestRejected(f"{self.name}: the chat template refuses these messages ({error})") from error

    def _turn_end(self) -> int | None:
        """The special token that the template writes behind a reply, which not every model names among its ends."""
        with suppress(TemplateError):
            said = self._text([{"role": "user", "content": MARK}, {"role": "assistant", "content": MARK}], reply=False)
            after = self._encoded(said.rpartition(MARK)[2].lstrip())
            special = {*self.tokenizer.all_special_ids, *self.tokenizer.added_tokens_decoder}
            return next((token for token in after[:1] if token in special), None)
        return None

    def _encoded(self, text: str) -> list[int]:
        whole = text.encode("utf-8", "replace").decode()  # a lone surrogate is no text to a tokenizer
        return list(self.tokenizer(whole, add_special_tokens=False)["input_ids"])
