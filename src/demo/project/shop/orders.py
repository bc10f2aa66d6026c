"""Reads the orders. One of them was typed in by hand."""
import time

NIGHT = [
    (1, "Ada", 12_000, "EUR"),
    (2, "Ben", 8_550, "USD"),
    (3, "Cleo", 23_000, "EUR"),
    (4, "Dora", 4_400, "GBP"),
    (5, "Emil", 10_000, "usd"),
    (6, "Fay", 7_700, "EUR"),
    (7, "Gus", 15_000, "GBP"),
    (8, "Hal", 9_900, "USD"),
]


def of_the_night():
    for number, customer, cents, currency in NIGHT:
        time.sleep(0.2)
        yield {"number": number, "customer": customer, "cents": cents, "currency": currency}
