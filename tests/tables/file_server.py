"""An HTTP server that does what networks do: it drops, truncates, stalls, lies and redirects."""

from __future__ import annotations

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """A server on this machine for one file, under any name; it answers as the words of ``script`` say, in order.

    The last of them again and again. ``ranges`` are the parts that it was asked for.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.script, self.ranges = content, ["whole"], list[str | None]()
        self._released = threading.Event()
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                own.ranges.append(self.headers["Range"])
                answer = own.script.pop(0) if len(own.script) > 1 else own.script[0]
                getattr(own, f"do_{answer}")(self)

            def log_message(self, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()

    def _head(self, to: BaseHTTPRequestHandler, status: int, **headers: object) -> None:
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), str(value))
        to.end_headers()

    def do_whole(self, to: BaseHTTPRequestHandler, upto: int | None = None) -> None:
        """The file from where it was asked for; of that, ``upto`` bytes, though all are announced."""
        start = int((to.headers["Range"] or "bytes=0-")[6:-1])
        rest = self.content[start:]
        if start >= len(self.content):
            self._head(to, 416)
            return
        named = {"Content_Range": f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"} if start else {}
        self._head(to, 206 if start else 200, Content_Length=len(rest), **named)
        to.wfile.write(rest[:upto])

    def do_drop(self, to: BaseHTTPRequestHandler) -> None:
        self.do_whole(to, 100_000)

    def do_stall(self, to: BaseHTTPRequestHandler) -> None:
        self.do_whole(to, 50_000)
        to.wfile.flush()
        self._released.wait(10)

    def do_truncate(self, to: BaseHTTPRequestHandler) -> None:
        """Half of the file, as if that were all, without a length."""
        self._head(to, 200)
        to.wfile.write(self.content[: len(self.content) // 2])

    def do_from_the_start(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 200, Content_Length=len(self.content))
        to.wfile.write(self.content)

    def do_wrong(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 200, Content_Length=len(self.content))
        to.wfile.write(self.content[::-1])

    def do_endless(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 200)
        with suppress(ConnectionError):
            while True:
                to.wfile.write(self.content)

    def do_redirect(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 302, Location=f"{self.url}/elsewhere")

    def do_busy(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 503, Content_Length=0)

    def do_gone(self, to: BaseHTTPRequestHandler) -> None:
        self._head(to, 404, Content_Length=0)
