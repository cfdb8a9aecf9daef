"""The report of a run that goes on, served to a browser on this machine."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raytpnn.chains.run.status import RunStatus

__all__ = ["LivePage", "PageServer"]

# Seconds after which a browser asks again, while the run goes on.
AGAIN = 10
LOOPBACK = "127.0.0.1"


class LivePage:
    """Page of a run as far as it is: made again when there are more blocks.

    Parameters
    ----------
    run : str
    look : callable
        Gives the status of the run.
    """

    def __init__(self, run: str, look: Callable[[], RunStatus]) -> None:
        self.run, self.look = run, look
        self.made: tuple[Any, str] = (None, "")
        self.lock = threading.Lock()

    def html(self) -> str:
        """Page of what there is now."""
        with self.lock:
            status = self.look()
            key = (status.state, status.blocks)
            if key != self.made[0]:
                self.made = (key, self.render(status))
            return self.made[1]

    def render(self, status: RunStatus) -> str:
        """Report of the draws so far, or a line if there are too few."""
        from raytpnn.cli.note import read_note
        from raytpnn.posterior.storage import load
        from raytpnn.report.page.write import report_html
        from raytpnn.storage.errors import RunError
        from raytpnn.storage.places.place import Place

        goes_on = status.state in ("preparing", "running", "silent")
        try:
            post = load(self.run, unfinished=True)
            note = read_note(Place(self.run))
            text = report_html(post, rows=[], target=note.get("target"), data=note.get("data"), fdr=None)
        except (RunError, ValueError) as problem:
            text = waiting(str(problem))
        return with_state(text, status) if goes_on else text


def waiting(why: str) -> str:
    """Page of a run without draws."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A run begins</title></head><body>'
        "<header><h1>A run begins</h1></header><p>There are no draws to show yet: "
        f"{escape(why)}</p></body></html>"
    )


def with_state(text: str, status: RunStatus) -> str:
    """Page that says how far the run is, and is asked for again."""
    done, most = sum(status.done), status.sweeps * max(status.chains, 1)
    share = f"{100 * done / most:.0f}% of at most {most:,} sweeps" if most else "preparing"
    again = f"This page asks again every {AGAIN} s."
    line = f"<p role='status'><strong>The run goes on: {share}.</strong> {again}</p>"
    head = f'<head>\n<meta http-equiv="refresh" content="{AGAIN}">'
    return text.replace("<head>", head, 1).replace("<header>", f"<header>\n{line}", 1)


class PageServer:
    """Serves one page on the loopback interface, to those who know the token of its address.

    Parameters
    ----------
    page : callable
        Gives the HTML.
    """

    def __init__(self, page: Callable[[], str]) -> None:
        self.token = secrets.token_urlsafe(24)
        token = self.token

        class Handler(BaseHTTPRequestHandler):
            """Answers requests for the page."""

            def do_GET(self) -> None:
                # A page of another site cannot know the token, nor reach this server under another name.
                host = self.headers.get("Host", "").rsplit(":", 1)[0]
                given = self.path.strip("/")
                if host not in (LOOPBACK, "localhost") or not secrets.compare_digest(
                    given.encode(), token.encode()
                ):
                    self.send_error(404)
                    return
                body = page().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Say nothing of requests."""

        self.server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server.server_address[1]}/{self.token}/"

    def __enter__(self) -> PageServer:
        self.thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.shutdown()
        self.server.server_close()
