"""Converts prices."""

PERCENT_OF_A_EURO = {"EUR": 100, "USD": 92, "GBP": 117}


def in_euro_cents(order):
    rate = PERCENT_OF_A_EURO[order["currency"]]
    return order["cents"] * rate // 100
