"""Settles the orders of the night: a long job, and what it has settled cannot be settled twice."""
from shop import ledger, orders, pricing


def main():
    total = 0
    for order in orders.of_the_night():
        amount = pricing.in_euro_cents(order)
        ledger.settle(order, amount)
        total += amount
    print(f"settled {total / 100:.2f} EUR in all", flush=True)


main()
