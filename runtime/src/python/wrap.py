"""Compiles a module with a hook behind each statement, by CPython's own ast.

    S      becomes      try:
                            S
                        except:
                            if HOOK.pending: raise      # no line: tracers see nothing
                            pass                        # JUMP_LINE: only a resumed statement gets here

Within a `try` of the program whose clauses keep what they catch, `except KeyError: raise` comes before our handler:
an exception that is sure to be handled asks nobody.

The last statement of a function also gets an `else: return` and, behind it, `return HOOK.value` at RETURN_LINE:
the place that the resume action `return` jumps to. Where a `return` of a constant follows, which cannot raise and so
has no hook, that place stands behind `if HOOK.returning`, which is never so: CPython jumps only to code that can be
reached. HOOK is a constant; the extension puts the object in its place
when it loads the code, and takes the location off all instructions at HOOK_LINE.
"""

import ast
import builtins
import warnings

HOOK = "\0healmcp"
HOOK_LINE, JUMP_LINE, RETURN_LINE = 1_000_000, 1_000_001, 1_000_002
# What CPython gives to instructions that belong to no line of the source, such as the return at a function's end.
NOWHERE = -1

# CPython refuses more than 20 nested blocks; one is kept for `return` through a `finally`.
MAX_BLOCKS = 19

PLAIN = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (ast.Module, ast.ClassDef) + FUNCTIONS

# The names of CPython's own exceptions, which are never unbound.
EXCEPTIONS = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}


def at(node, line):
    """Returns the node, placed at one column of a line of ours."""
    node.lineno = node.end_lineno = line
    node.col_offset, node.end_col_offset = (NOWHERE, NOWHERE) if line == NOWHERE else (0, 1)
    return node


def hook(attribute, line):
    """Returns the expression HOOK.attribute."""
    return at(ast.Attribute(at(ast.Constant(HOOK), line), attribute, ast.Load()), line)


def guarded(statement, kept):
    """Returns `try: statement` with our handler; exceptions of the types `kept` pass by it."""
    decide = at(ast.If(hook("pending", HOOK_LINE), [at(ast.Raise(), HOOK_LINE)], []), HOOK_LINE)
    handler = at(ast.ExceptHandler(None, None, [decide, at(ast.Pass(), JUMP_LINE)]), HOOK_LINE)
    # At the statement's own line, entering the `try` would be one more line event where that is not the first line
    # that runs, as with decorators.
    return at(ast.Try([statement], [*passes(kept), handler], [], []), NOWHERE)


def passes(kept):
    """Returns the clause that lets exceptions of these types go on, if there are any."""
    if not kept:
        return []
    names = [at(ast.Name(name, ast.Load()), HOOK_LINE) for name in kept]
    types = names[0] if len(names) == 1 else at(ast.Tuple(names, ast.Load()), HOOK_LINE)
    return [at(ast.ExceptHandler(types, None, [at(ast.Raise(), HOOK_LINE)]), HOOK_LINE)]


def names_caught(handler):
    """Returns the names in an `except` clause, all of which are there to be read; none where anything else is.

    A clause that names something else, or what may be unbound, would not come to the same when it is read twice.
    """
    clause = handler.type
    if clause is None:
        return ("BaseException",)
    items = clause.elts if isinstance(clause, ast.Tuple) else [clause]
    names = tuple(item.id for item in items if isinstance(item, ast.Name) and item.id in EXCEPTIONS)
    return names if len(names) == len(items) else ()


def keeps(handler):
    """Says whether the clause ends the exception that it catches, as far as its own statements tell."""
    todo = list(handler.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Raise, ast.Assert)):
            return False
        if isinstance(node, (ast.Expr, ast.Return)) and isinstance(node.value, (ast.Call, ast.Await)):
            return False  # it may call what raises
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            todo.extend(ast.iter_child_nodes(node))
    return True


def kept_by(statement):
    """Returns the types of exceptions that are sure to be handled when the body of this `try` raises them."""
    if not isinstance(statement, ast.Try):
        return ()
    return tuple(name for handler in statement.handlers if keeps(handler) for name in names_caught(handler))


def cannot_raise(statement):
    """Says whether the statement needs no hook: it runs no code that could raise."""
    if isinstance(statement, PLAIN):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, ast.Constant)
    if isinstance(statement, FUNCTIONS):
        arguments = statement.args
        return not (
            statement.decorator_list
            or statement.returns
            or arguments.defaults
            or any(arguments.kw_defaults)
            or getattr(statement, "type_params", None)
            or any(a.annotation for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
            or any(a and a.annotation for a in (arguments.vararg, arguments.kwarg))
        )
    return False


def suites(statement):
    """Yields (owner, field, blocks): the statement's suites and how many blocks CPython opens around each."""
    if isinstance(statement, ast.If):
        while True:  # an `elif` chain is as long as its author liked: no recursion
            yield statement, "body", 0
            if len(statement.orelse) != 1 or not isinstance(statement.orelse[0], ast.If):
                break
            statement = statement.orelse[0]
        yield statement, "orelse", 0
    elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
        yield statement, "body", 1
        yield statement, "orelse", 0
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield statement, "body", len(statement.items)
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield case, "body", 0
    elif isinstance(statement, (ast.Try, ast.TryStar)):
        outer = 1 if statement.finalbody else 0
        yield statement, "body", outer + 1
        yield statement, "orelse", outer
        for handler in statement.handlers:
            yield handler, "body", outer + 2
        yield statement, "finalbody", 1


def blocks_inside(statement):
    """Returns how many blocks CPython nests within the statement as it is written."""
    deepest = 0
    for owner, field, blocks in suites(statement):
        body = getattr(owner, field)
        if body:
            deepest = max(deepest, blocks + max(map(blocks_inside, body)))
    return deepest


def wrap_suite(body, depth, kept):
    """Returns the suite with a hook behind each statement; `depth` blocks are open around it."""
    return [wrap_statement(statement, depth, kept) for statement in body]


def wrap_statement(statement, depth, kept):
    wrapped = not cannot_raise(statement) and depth + 1 + max(1, blocks_inside(statement)) <= MAX_BLOCKS
    if isinstance(statement, FUNCTIONS + (ast.ClassDef,)):
        wrap_scope(statement)
    kept_inside = kept_by(statement)
    for owner, field, blocks in suites(statement):
        body = getattr(owner, field)
        if body:
            is_body = owner is statement and field == "body"
            inner = kept + tuple(name for name in kept_inside if name not in kept) if is_body else kept
            setattr(owner, field, wrap_suite(body, depth + wrapped + blocks, inner))
    return guarded(statement, kept) if wrapped else statement


def first_to_wrap(scope):
    """Returns the index of the first statement after the docstring and the `from __future__` imports."""
    body, index = scope.body, 0
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        index = 1
    while index < len(body) and isinstance(body[index], ast.ImportFrom) and body[index].module == "__future__":
        index += 1
    return index


def is_async_generator(function):
    """Says whether the function may not return a value."""
    if not isinstance(function, ast.AsyncFunctionDef):
        return False
    todo = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, FUNCTIONS + (ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
    return False


def add_return(function, first):
    """Adds the place that the resume action `return` jumps to, behind the last statement that has a hook."""
    body = function.body
    last = len(body) - 1
    while last >= first and not (isinstance(body[last], ast.Try) and body[last].handlers and is_ours(body[last])):
        last -= 1
    if last < first:
        return
    value = None if is_async_generator(function) else hook("value", RETURN_LINE)
    tail, landing = body[last + 1 :], at(ast.Return(value), RETURN_LINE)
    body[last].orelse = tail + [at(ast.Return(None), NOWHERE)]
    if any(isinstance(statement, ast.Return) for statement in tail):
        # `next` goes on with what follows; only a jump takes the branch.
        body[last + 1 :] = [at(ast.If(hook("returning", HOOK_LINE), [landing], []), HOOK_LINE)] + tail
    else:
        body[last + 1 :] = [landing]


def is_ours(statement):
    return statement.handlers[-1].lineno == HOOK_LINE


def wrap_scope(scope):
    """Wraps the body of a module, class or function in place."""
    if not scope.body:
        return
    first = first_to_wrap(scope)
    scope.body[first:] = wrap_suite(scope.body[first:], 0, ())
    if isinstance(scope, FUNCTIONS):
        add_return(scope, first)


def transform_in_place(tree, transform, source, filename, argument):
    """Calls the transformation; a first statement has its place meanwhile, for imports that are put before it."""
    first = tree.body and tree.body[first_to_wrap(tree) :][:1]
    ours = [node for node in first if isinstance(node, ast.Try) and node.lineno == NOWHERE]
    for node in ours:
        statement = node.body[0]
        ast.copy_location(node, (getattr(statement, "decorator_list", None) or [statement])[0])
    transform(tree, source, filename, argument)
    for node in ours:
        at(node, NOWHERE)


def compile_wrapped(source, filename, transform=None, argument=None):
    """Returns the module's code with hooks and whether CPython's compiler warned; raises what `compile` raises.

    The warnings go nowhere: CPython gives them itself when it compiles the module, and whether it does so depends on
    its own cache. `warnings.catch_warnings` would also forget which warnings the program has had already.
    """
    heard = []
    filters, show = warnings.filters, warnings._showwarnmsg
    warnings.filters, warnings._showwarnmsg = [("always", None, Warning, None, 0)], heard.append
    try:
        tree = ast.parse(source, filename)
        wrap_scope(tree)
        if transform:
            transform_in_place(tree, transform, source, filename, argument)
        return compile(tree, filename, "exec", 0, True), bool(heard)
    finally:
        warnings.filters, warnings._showwarnmsg = filters, show
