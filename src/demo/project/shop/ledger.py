"""Books what was settled."""


def settle(order, amount):
    print(f"order {order['number']} of {order['customer']}: {amount / 100:.2f} EUR booked", flush=True)
