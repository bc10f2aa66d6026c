"""Converts prices."""

PERCENT_OF_A_EURO = {"EUR": 100, "USD": 92, "GBP": 117}


def in_euro_cents(order):
    rate = PERCENT_OF_A_EURO[order["currency"]]
    return order["cents"] * rate // 100


def waive(order):
    """Gives an order away. A person decides that."""
    order["cents"] = 0
    order["currency"] = "EUR"
