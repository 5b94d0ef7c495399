"""A proxy on this machine that cuts connections where a test says, and changes bytes on their way."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Cut = int | str | Callable[[bytes], bytes] | None
AT_ONCE, AFTER_THE_REQUEST = "at once", "after the request"


@dataclass
class Proxy:
    """`script` has an entry for each connection, of which the last stays.

    An entry is None for one that goes well, a word above, the number of bytes of the answer after which it
    is cut, or what is done to each block of the answer.
    """

    port: int = 0
    script: list[Cut] = field(default_factory=lambda: [None])
    connections: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def next(self) -> Cut:
        self.connections += 1
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def before(host: str) -> Iterator[Proxy]:
    """A proxy before the server at host:port."""
    name, _, port = host.partition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(port=listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            cut = proxy.next()
            threading.Thread(target=_carry, args=(client, (name, int(port)), cut), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield proxy
    finally:
        # A thread that waits in accept holds the socket open until it is woken.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _carry(client: socket.socket, server: tuple[str, int], cut: Cut) -> None:
    with contextlib.suppress(OSError), client:
        if cut == AT_ONCE:
            _reset(client)
            return
        with socket.create_connection(server) as behind:
            if cut == AFTER_THE_REQUEST:
                client.recv(65536)
                _reset(client)
                return
            threading.Thread(target=_pump, args=(client, behind, None), daemon=True).start()
            _pump(behind, client, cut)


def _pump(source: socket.socket, sink: socket.socket, cut: Cut) -> None:
    left = cut if isinstance(cut, int) else None
    with contextlib.suppress(OSError):
        while block := source.recv(65536):
            if callable(cut):
                block = cut(block)
            sink.sendall(block if left is None else block[:left])
            if left is not None:
                left -= len(block)
                if left <= 0:
                    break
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


def _reset(client: socket.socket) -> None:
    """Close it so that the other side sees a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
