"""A web server on the loopback address that answers range requests, counts what it sent, and fails when told to."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

LOOPBACK = "127.0.0.1"
_used: set[int] = set()  # ports: GDAL remembers what came from an address, also when the server is another one


@dataclass
class Asked:
    """One request: its method, path with query, the header that says who asks, and the bytes sent in answer."""

    method: str
    path: str
    who: str | None
    sent: int = 0


Trouble = int | Literal["cut", "hang", "drip"] | None
"""What goes wrong with an answer: a code in place of it, a connection that is cut half way, no answer at all, or one of
twenty bytes per second."""


@dataclass
class Site:
    """The files of a folder, at `address`; `trouble` says of each request what goes wrong with it."""

    folder: Path
    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    trouble: Callable[[Asked], Trouble] = lambda asked: None
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def sent(self) -> int:
        """Bytes of files that were sent."""
        return sum(one.sent for one in self.asked)

    def url(self, name: str, user: str = "", query: str = "") -> str:
        """The address of a file, with a user and a query."""
        place = self.address.replace("://", f"://{user}@") if user else self.address
        return f"{place}/{name}{query}"


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """Serve the files of a folder."""
    site = Site(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            asked = Asked(self.command, self.path, self.headers.get("Authorization"))
            site.asked.append(asked)
            trouble = site.trouble(asked)
            if trouble == "hang":
                site.closing.wait()
                self.close_connection = True
                return
            file = site.folder / self.path.partition("?")[0].lstrip("/")
            if isinstance(trouble, int) or not file.is_file():
                self.empty(trouble if isinstance(trouble, int) else 404)
                return
            content = file.read_bytes()
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            first = int(wanted[1]) if wanted else 0
            last = min(int(wanted[2]) if wanted and wanted[2] else len(content) - 1, len(content) - 1)
            if wanted and first >= len(content):
                self.empty(416)
                return
            self.send_response(206 if wanted else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(last - first + 1))
            if wanted:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.end_headers()
            if body:
                part = content[first : last + 1]
                part = part[: len(part) // 2] if trouble == "cut" else part
                for k in range(len(part) if trouble == "drip" else 0):
                    self.wfile.write(part[k : k + 1])
                    asked.sent = k + 1
                    if site.closing.wait(0.05):
                        return
                asked.sent = len(part)
                self.wfile.write(part)
            if trouble == "cut":
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def empty(self, code: int) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # who asked has gone

    server = Quiet((LOOPBACK, 0), Handler)
    while server.server_address[1] in _used:
        server.server_close()
        server = Quiet((LOOPBACK, 0), Handler)
    _used.add(server.server_address[1])
    site.address = f"http://{LOOPBACK}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
