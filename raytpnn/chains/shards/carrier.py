"""Carries exchanges between shards that share no memory.

Compiled code talks to the mailbox of its own process. The carrier, a thread beside it, takes the shard's part
of each exchange out, gathers the parts of the others by a transport, and puts them in.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from raytpnn.chains.shards.transport import Transport
from raytpnn.engine.exchange.meeting import Meeting

__all__ = ["Carrier"]

# Words that go in one message: place and size of the part, and the part if it fits, as nearly all do.
MESSAGE_WORDS = 512
HEAD_WORDS = 2


class Carrier:
    """A thread that moves exchanges until the meeting is broken off.

    Parameters
    ----------
    meeting : Meeting
    transport : Transport
    """

    def __init__(self, meeting: Meeting, transport: Transport) -> None:
        self.meeting = meeting
        self.transport = transport
        self.problem: BaseException | None = None
        threading.Thread(target=self._carry, name="raytpnn-carrier", daemon=True).start()

    def _carry(self) -> None:
        exchange = 1
        try:
            while self.carry(exchange):
                exchange += 1
        except BaseException as problem:
            # The sampler must not wait for parts that nobody brings.
            self.problem = problem
            self.meeting.break_off()

    def carry(self, exchange: int) -> bool:
        """Wait for this shard's part of an exchange, and bring those of the others; False if broken off."""
        meeting = self.meeting
        part = meeting.own_part(exchange)
        if part is None:
            return False
        first, words = part
        message = np.zeros(MESSAGE_WORDS, np.int64)
        message[:HEAD_WORDS] = first, len(words)
        fits = min(len(words), MESSAGE_WORDS - HEAD_WORDS)
        message[HEAD_WORDS : HEAD_WORDS + fits] = words[:fits]
        messages = self.transport.gather(message)
        rest = max(int(one[1]) for one in messages) - (MESSAGE_WORDS - HEAD_WORDS)
        rests: list[Any] = [np.zeros(0, np.int64)] * len(messages)
        if rest > 0:
            own = np.zeros(rest, np.int64)
            own[: len(words) - fits] = words[fits:]
            rests = self.transport.gather(own)
        for shard, (one, more) in enumerate(zip(messages, rests, strict=True)):
            if shard != meeting.shard:
                size = int(one[1])
                whole = np.concatenate([one[HEAD_WORDS:], more])[:size]
                meeting.put(shard, exchange, int(one[0]), whole)
        return True
