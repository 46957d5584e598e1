"""A model that is a function of its messages: for examples, tests and rehearsals without any server.

On the command line it is `--model scripted:pkg.mod:fn`.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.errors import ConfigError, GymError, ProviderError
from gym.plugins import raised

Reply = str | Completion | ProviderError
Script = Callable[[Sequence[Message], Sampling], Reply | Awaitable[Reply]]


class Scripted:
    """A `ChatModel` that answers what `reply(messages, sampling)` returns, sync or async.

    A returned `ProviderError` is raised; a string becomes a completion whose usage counts words.
    """

    def __init__(self, reply: Script, name: str = "scripted") -> None:
        self.name = name
        self.calls = 0
        """How often it was asked."""
        self._reply = reply

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """What the script says."""
        self.calls += 1
        reply = self._reply(messages, sampling)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, ProviderError):
            raise reply
        return reply if isinstance(reply, Completion) else self._completion(messages, reply)

    def _completion(self, messages: Sequence[Message], text: str) -> Completion:
        prompt = sum(len(message.content.split()) for message in messages)
        return Completion(text=text, usage=Usage(prompt=prompt, completion=len(text.split())), model=self.name)


def blamed(script: Script, name: str) -> Script:
    """The script of a user, whose mistakes are told as such: a `ConfigError` with the function, the file and the line."""

    async def reply(messages: Sequence[Message], sampling: Sampling) -> Reply:
        try:
            said = script(messages, sampling)
            found = await said if inspect.isawaitable(said) else said
        except GymError:
            raise
        except Exception as error:  # a function of the user's may raise anything
            raise ConfigError(f"scripted model {name!r} raised {raised(error)}") from error
        if not isinstance(found, Reply):
            raise ConfigError(f"scripted model {name!r} returned {found!r}: a script returns a text")
        return found

    return reply


def echo(messages: Sequence[Message], sampling: Sampling) -> str:
    """The last message again: the smallest script, `--model scripted:gym.llm.scripted:echo`."""
    return messages[-1].content
