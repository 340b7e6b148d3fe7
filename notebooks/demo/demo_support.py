"""What the demonstration needs: a shop with a database, an HTTP service and credentials, all on this machine."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ORDERS = [
    (1, "Ada", "telescope", 48900, "delivered"),
    (2, "Grace", "signal flags", 2150, "on its way"),
    (3, "Ada", "star chart", 1890, "delivered"),
    (4, "Katherine", "slide rule", 7400, "packed"),
    (5, "Grace", "ship's clock", 22000, "delivered"),
    (6, "Katherine", "orbit tables", 3300, "on its way"),
]


def start(folder: str = ".") -> None:
    """Make the database and its env file in *folder*, start the service, and give this kernel three credentials."""
    home = Path(folder).resolve()
    database = home / "shop.db"
    database.unlink(missing_ok=True)
    with sqlite3.connect(database) as connection:
        connection.execute(
            "create table orders (number integer primary key, customer text, item text, cents integer, state text)"
        )
        connection.executemany("insert into orders values (?, ?, ?, ?, ?)", ORDERS)
    connection.close()
    env_file = home / "shop.env"
    env_file.touch(mode=0o600)
    env_file.write_text(f"SHOP_DB_URL='file:{database}?mode=ro'\n", encoding="utf-8")

    token = f"shop-token-{secrets.token_hex(16)}"
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(token))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["SHOP_API_URL"] = f"http://127.0.0.1:{server.server_port}"
    os.environ["SHOP_API_TOKEN"] = token
    os.environ["BANK_PASSWORD"] = f"bank-{secrets.token_hex(16)}"
    print("This kernel now holds SHOP_API_TOKEN and BANK_PASSWORD, and shop.env holds SHOP_DB_URL.")


def _handler(token: str) -> type[BaseHTTPRequestHandler]:
    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Authorization") != f"Bearer {token}":
                self._answer(401, {"error": "a bearer token is needed"})
                return
            found = [order for order in ORDERS if self.path == f"/orders/{order[0]}"]
            if self.path == "/debug":  # a service that shows too much
                self._answer(200, {"headers": dict(self.headers)})
            elif found:
                number, customer, item, cents, state = found[0]
                order = {"number": number, "customer": customer, "item": item, "total": cents / 100, "state": state}
                self._answer(200, order)
            else:
                self._answer(404, {"error": "no such order"})

        def _answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """The service says nothing in the notebook."""

    return Shop
