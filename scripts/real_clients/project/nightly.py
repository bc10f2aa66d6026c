"""Settles three orders; the second has a currency that nobody converts."""
import os

from shop import pricing


def main():
    password = os.environ["SHOP_PASSWORD"]
    dsn = f"postgres://shop:{password}@db.internal/orders"
    total = 0
    for currency in ["EUR", "usd", "GBP"]:
        order = {"cents": 10_000, "currency": currency, "source": dsn}
        total += pricing.in_euro_cents(order)
        print(f"settled one in {order['currency']}", flush=True)
    print(f"settled {total} cents in all", flush=True)


main()
