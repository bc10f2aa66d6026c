"""Marks for healmcp, in pure Python: they set one attribute, and cost nothing where healmcp is not there."""

__all__ = ["toolkit"]


def toolkit(function=None, *, pure=False):
    """Let healing code call a function. It is trusted: what it does is not in the journal and is not taken back.

    ``@toolkit`` calls it when a heal is resumed only; ``@toolkit(pure=True)`` says that it changes nothing, so that
    a check calls it, too.
    """

    def mark(function):
        setattr(function, "__healmcp_safe__" if pure else "__healmcp_toolkit__", True)
        return function

    return mark if function is None else mark(function)
