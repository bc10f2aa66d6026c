//! Going on after a heal: where the program continues, and with which state.

use crate::heal::{check, code, line, next, raise, raise_new, retry, returns};
use crate::program::Program;
use crate::python::on_each;

#[test]
fn next_goes_on_at_the_statement_after() {
    check("a = 1\na = int('x')\nprint('a is', a)\n", &[next("")], "a is 1\n");
    check(
        "def f(x):\n    y = 0\n    y = 1 / x\n    return y\nprint(f(0), f(2))\n",
        &[next("")],
        "0 0.5\n",
    );
}

#[test]
fn next_behind_the_last_statement_ends_the_block() {
    check(
        "def f():\n    raise OSError('no')\nprint(f())\n",
        &[next("")],
        "None\n",
    );
    check("print('a')\n{}['k']\n", &[next("")], "a\n");
    check(
        "for i in range(3):\n    print(i)\n    if i == 1:\n        print(1 / 0)\nprint('end')\n",
        &[next("")],
        "0\n1\n2\nend\n",
    );
    check(
        "if True:\n    1 / 0\nelse:\n    print('else')\nprint('end')\n",
        &[next("")],
        "end\n",
    );
}

#[test]
fn next_inside_with_runs_the_exit_without_an_exception() {
    check(
        "class M:\n    def __enter__(self):\n        print('in')\n    def __exit__(self, *what):\n        \
         print('out', what[0])\nwith M():\n    1 / 0\n    print('on')\nprint('end')\n",
        &[next("")],
        "in\non\nout None\nend\n",
    );
}

#[test]
fn next_inside_try_skips_nothing_else() {
    check(
        "try:\n    int('x')\n    print('on')\nexcept KeyError:\n    print('except')\nelse:\n    print('else')\n\
         finally:\n    print('finally')\n",
        &[next("")],
        "on\nelse\nfinally\n",
    );
    check(
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    int('x')\n    print('on')\nprint('end')\n",
        &[next("")],
        "on\nend\n",
    );
    check(
        "try:\n    pass\nfinally:\n    int('x')\n    print('on')\nprint('end')\n",
        &[next("")],
        "on\nend\n",
    );
}

#[test]
fn retry_runs_the_statement_again() {
    check(
        "d = {}\nprint('value', d['k'])\n",
        &[retry("d['k'] = 7")],
        "value 7\n",
    );
    check(
        "def f(rows):\n    total = 0\n    for row in rows:\n        total += row['n']\n    return total\n\
         print(f([{'n': 1}, {}, {'n': 3}]))\n",
        &[retry("row['n'] = 2")],
        "6\n",
    );
}

#[test]
fn retry_of_several_lines_starts_at_the_first() {
    let main = "def mark(x):\n    print('mark', x)\n    return x\n\ndef f(d):\n    value = (\n        mark(1)\n        \
                + d['k']\n        + mark(3)\n    )\n    return value\n\nprint(f({}))\n";
    check(main, &[retry("d['k'] = 2")], "mark 1\nmark 1\nmark 3\n6\n");
    // The store comes back to the first line, behind the load that failed.
    let main = "def f(d):\n    x, (\n        y\n    ) = (\n        1,\n        d['k'],\n    )\n    return x, y\nprint(f({}))\n";
    check(main, &[retry("d['k'] = 2")], "(1, 2)\n");
    let main =
        "class A: pass\na = A()\nd = {}\na.value = dict(\n    one=1,\n    two=d['k'],\n)\nprint(a.value)\n";
    check(main, &[retry("d['k'] = 2")], "{'one': 1, 'two': 2}\n");
}

#[test]
fn retry_may_fail_again_and_pauses_again() {
    check(
        "d = {}\nprint(d['a'] + d['b'])\n",
        &[retry("d['a'] = 1"), retry("d['b'] = 2")],
        "3\n",
    );
}

#[test]
fn retry_of_the_head_of_a_block_starts_the_block() {
    check(
        "d = {}\nfor i in d['rows']:\n    print(i)\nprint('end')\n",
        &[retry("d['rows'] = [1, 2]")],
        "1\n2\nend\n",
    );
    check(
        "d = {}\nif d['yes']:\n    print('yes')\nelse:\n    print('no')\n",
        &[retry("d['yes'] = True")],
        "yes\n",
    );
    check("d = {}\nwith d['m'] as m:\n    print('in', m)\n", &[next("")], "");
    check(
        "d = {'n': 0}\nwhile d['n'] < d['most']:\n    print(d['n'])\n    d['n'] += 1\nprint('end')\n",
        &[retry("d['most'] = 2")],
        "0\n1\nend\n",
    );
}

#[test]
fn two_statements_on_a_line_are_two() {
    check("x = 0; x = 1 / 0; print('x', x)\n", &[next("")], "x 0\n");
    check(
        "def f(d):\n    a = 1; b = d['k']; c = 3\n    return a, b, c\nprint(f({}))\n",
        &[retry("d['k'] = 2; a = 9")],
        "(9, 2, 3)\n",
    );
}

#[test]
fn line_goes_on_further_down_or_further_up() {
    let main =
        "def f():\n    x = 1 / 0\n    print('skipped')\n    print('here')\n    return 'end'\nprint(f())\n";
    check(main, &[line(4, "")], "here\nend\n");
    let main =
        "def f(d):\n    print('start')\n    x = len(d)\n    y = d['k']\n    return x, y\nprint(f({}))\n";
    check(main, &[line(3, "d['k'] = 1")], "start\n(1, 1)\n");
    check(
        "print('one')\nint('x')\nprint('three')\nprint('four')\n",
        &[line(4, "")],
        "one\nfour\n",
    );
}

#[test]
fn return_gives_a_value_to_the_caller() {
    check(
        "def f(x):\n    y = 1 / x\n    print('not here')\n    return y\nprint(f(0) + 1)\n",
        &[returns("41")],
        "42\n",
    );
    check(
        "def f(x):\n    y = 1 / x\n    return y\nprint(f(0))\n",
        &[returns("{'x': [x]}")],
        "{'x': [0]}\n",
    );
    check(
        "def f(x):\n    y = 1 / x\n    return y\nprint(f(0))\n",
        &[code("if x == 0:\n    return x + 5\nreturn 1")],
        "5\n",
    );
}

#[test]
fn return_runs_the_cleanup_of_its_blocks() {
    let manager = "class M:\n    def __enter__(self):\n        print('in')\n    def __exit__(self, *what):\n        \
                   print('out')\n";
    check(
        &format!(
            "{manager}def f():\n    for i in [1, 2]:\n        with M():\n            int('x')\n            \
             print('not here')\nprint(f())\n"
        ),
        &[returns("i")],
        "in\nout\n1\n",
    );
    check(
        "def f():\n    try:\n        int('x')\n    finally:\n        print('finally')\n    print('not here')\nprint(f())\n",
        &[returns("'r'")],
        "finally\nr\n",
    );
    check(
        "def f():\n    try:\n        with open(__file__) as file:\n            file.nothing\n    finally:\n        \
         print('closed', file.closed)\nprint(f())\n",
        &[returns("'r'")],
        "closed True\nr\n",
    );
}

#[test]
fn raise_lets_the_exception_go_on() {
    check(
        "def f():\n    try:\n        int('x')\n    finally:\n        print('finally')\nf()\n",
        &[raise()],
        "finally\nexit 1: ValueError: invalid literal for int() with base 10: 'x'\n",
    );
}

#[test]
fn break_and_continue_of_the_healing_code_act_on_the_loop() {
    let main = "def f():\n    for i in range(4):\n        if i == 1:\n            int('x')\n        print(i)\n    else:\n        \
                print('else')\n    return i\nprint('got', f())\n";
    check(main, &[code("break")], "0\ngot 1\n");
    check(main, &[code("continue")], "0\n2\n3\nelse\ngot 3\n");
    check(
        "n = 0\nwhile n < 3:\n    n += 1\n    if n == 2:\n        n = n / 0\n    print(n)\nprint('end')\n",
        &[code("continue")],
        "1\n3\nend\n",
    );
    check(
        "n = 0\nwhile True:\n    n += 1\n    {}[n]\nprint('end', n)\n",
        &[code("n = 10\nbreak")],
        "end 10\n",
    );
}

#[test]
fn break_leaves_an_inner_try_and_its_finally_runs() {
    check(
        "for i in range(3):\n    with open(__file__) as file:\n        pass\n    int('x')\nprint('end', i)\n",
        &[code("break")],
        "end 0\n",
    );
}

#[test]
fn generators_go_on() {
    let main = "def g(rows):\n    for row in rows:\n        yield 10 / row\n    yield 'end'\n\nprint(list(g([1, 0, 5])))\n";
    check(main, &[next("")], "[10.0, 2.0, 'end']\n");
    check(main, &[retry("row = 2")], "[10.0, 5.0, 2.0, 'end']\n");
    check(main, &[returns("None")], "[10.0]\n");
    check(
        "def g():\n    got = yield 1\n    print('got', got)\n    int(got)\n    yield 2\n\nit = g()\nnext(it)\nprint(it.send('x'))\n",
        &[retry("got = '3'")],
        "got x\n2\n",
    );
}

#[test]
fn coroutines_go_on() {
    let main = "import asyncio\n\nasync def work(n):\n    await asyncio.sleep(0)\n    r = 10 / n\n    \
                await asyncio.sleep(0)\n    return r\n\nasync def main():\n    print(await work(0))\n    print('end')\n\n\
                asyncio.run(main())\n";
    check(main, &[retry("n = 5")], "2.0\nend\n");
    check(main, &[returns("'r'")], "r\nend\n");
    check(
        "import asyncio\n\nasync def each():\n    yield 1\n    {}['k']\n    yield 2\n\nasync def main():\n    \
         async for n in each():\n        print(n)\n\nasyncio.run(main())\n",
        &[next("")],
        "1\n2\n",
    );
}

#[test]
fn class_bodies_and_modules_go_on() {
    check(
        "class C:\n    a = 1\n    b = {}['k']\n    c = 3\nprint(C.a, hasattr(C, 'b'), C.c)\n",
        &[next("")],
        "1 False 3\n",
    );
    check(
        "class C:\n    a = 0\n    b = 1 / a\n    c = 3\nprint(C.a, C.b, C.c)\n",
        &[retry("a = 2")],
        "2 0.5 3\n",
    );
}

#[test]
fn lambdas_and_comprehensions_pause_in_the_statement_around_them() {
    check(
        "rows = [1, 0]\nr = 'none'\nr = [10 / row for row in rows]\nprint(r)\n",
        &[retry("rows[1] = 5")],
        "[10.0, 2.0]\n",
    );
    check(
        "rows = [{'n': 2}, {}]\nrows.sort(key=lambda row: row['n'])\nprint(rows)\n",
        &[retry("rows[1]['n'] = 1")],
        "[{'n': 1}, {'n': 2}]\n",
    );
}

#[test]
fn an_outer_frame_can_be_healed() {
    let main = "def inner(x):\n    try:\n        return 1 / x\n    finally:\n        print('inner cleaned')\n\n\
                def middle(x):\n    y = 'unset'\n    y = inner(x)\n    return y\n\ndef outer(x):\n    z = middle(x)\n    \
                return z\n\nprint(outer(0))\n";
    check(main, &[next("").frame(1)], "inner cleaned\nunset\n");
    check(
        main,
        &[retry("x = 4").frame(1)],
        "inner cleaned\ninner cleaned\n0.25\n",
    );
    check(main, &[returns("'r'").frame(1)], "inner cleaned\nr\n");
    check(main, &[returns("'r'").frame(2)], "inner cleaned\nr\n");
    check(main, &[next("").frame(3)], "inner cleaned\n");
    check(
        "def f(x):\n    return 1 / x\nfor x in [1, 0, 2]:\n    print(f(x))\nprint('end')\n",
        &[code("continue").frame(1)],
        "1.0\n0.5\nend\n",
    );
    check(
        "def f(x):\n    return 1 / x\nfor x in [1, 0, 2]:\n    print(f(x))\nprint('end')\n",
        &[code("break").frame(1)],
        "1.0\nend\n",
    );
}

#[test]
fn an_outer_frame_behind_c_code_can_be_healed() {
    check(
        "def key(row):\n    return row['n']\n\ndef f(rows):\n    order = 'unsorted'\n    order = sorted(rows, key=key)\n    \
         return order\n\nprint(f([{'n': 1}, {}]))\n",
        &[next("").frame(1)],
        "unsorted\n",
    );
}

#[test]
fn locals_that_were_written_are_seen() {
    check(
        "def f(x):\n    a = 1\n    y = 1 / x\n    return a, x, y\nprint(f(0))\n",
        &[retry("a = 'new'\nx = 2")],
        "('new', 2, 0.5)\n",
    );
    check(
        "def f():\n    if False:\n        missing = 1\n    y = missing + 1\n    return y\nprint(f())\n",
        &[retry("missing = 4")],
        "5\n",
    );
}

#[test]
fn closure_cells_that_were_written_are_seen() {
    let main = "def outer():\n    n = 0\n    def show():\n        return n\n    def f():\n        nonlocal n\n        \
                y = 1 / n\n        return y\n    r = f()\n    return r, show()\nprint(outer())\n";
    check(main, &[retry("n = 2")], "(0.5, 2)\n");
    let main = "def outer():\n    n = 0\n    def show():\n        return n\n    y = 1 / n\n    return y, show()\nprint(outer())\n";
    check(main, &[retry("n = 4")], "(0.25, 4)\n");
}

#[test]
fn globals_attributes_and_items_that_were_written_are_seen() {
    check(
        "N = 0\ndef f():\n    return 1 / N\nprint(f(), N)\n",
        &[retry("global N\nN = 5")],
        "0.2 5\n",
    );
    check(
        "class Cart:\n    def __init__(self):\n        self.n = 0\n    def price(self):\n        return 6 / self.n\n\
         c = Cart()\nprint(c.price(), c.n)\n",
        &[retry("self.n = 3")],
        "2.0 3\n",
    );
    check(
        "def f(rows):\n    return [row['a'] for row in rows][1] + rows[5]['a']\nrows = [{'a': 1}, {'a': 2}]\nprint(f(rows), rows)\n",
        &[returns("'r'")],
        "r [{'a': 1}, {'a': 2}]\n",
    );
    check(
        "def f(rows):\n    return rows[2]\nrows = [1]\nprint(f(rows), rows)\n",
        &[retry("rows.append(2)\nrows.append(rows[0] + 2)")],
        "3 [1, 2, 3]\n",
    );
    check(
        "def f(d):\n    return sum(d.values())\nd = {'a': 1, 'b': None}\nprint(f(d), d)\n",
        &[retry(
            "for key in list(d):\n    if d[key] is None:\n        del d[key]",
        )],
        "1 {'a': 1}\n",
    );
}

#[test]
fn the_exception_is_gone_after_a_heal() {
    check(
        "import sys\ndef f():\n    try:\n        int('x')\n    finally:\n        print(sys.exc_info()[0])\n    return sys.exc_info()[0]\n\
         print(f(), sys.exc_info()[0])\n",
        &[next("")],
        "None\nNone None\n",
    );
    check(
        "def f():\n    int('x')\n    try:\n        {}['k']\n    except KeyError as error:\n        print(error.__context__)\nf()\n",
        &[next("")],
        "None\n",
    );
}

#[test]
fn the_same_place_pauses_each_time() {
    check(
        "total = 0\nfor n in ['1', 'a', '2', 'b', '3']:\n    total += int(n)\nprint(total)\n",
        &[next(""), next("total += 100")],
        "106\n",
    );
}

#[test]
fn recursion_is_healed_where_it_broke() {
    check(
        "def f(n):\n    if n == 0:\n        raise LookupError('bottom')\n    return n + f(n - 1)\nprint(f(5))\n",
        &[returns("100")],
        "115\n",
    );
}

#[test]
fn threads_go_on() {
    check(
        "import threading\nout = []\ndef work(d):\n    out.append(d['k'])\nt = threading.Thread(target=work, args=({},))\n\
         t.start()\nt.join()\nprint(out)\n",
        &[retry("d['k'] = 1")],
        "[1]\n",
    );
}

#[test]
fn several_files_are_healed_in_each() {
    use crate::program::Program;
    use crate::python::on_each;
    on_each(|python| {
        let files = [
            (
                "main.py",
                "from shop.cart import total\nprint(total([{'price': 1}, {}]))\n",
            ),
            ("shop/__init__.py", ""),
            (
                "shop/cart.py",
                "from .price import of\n\ndef total(rows):\n    return sum(of(row) for row in rows)\n",
            ),
            (
                "shop/price.py",
                "def of(row):\n    price = row['price']\n    return price * 2\n",
            ),
        ];
        let mut program = Program::of_files(python, &files);
        program.start();
        let crash_id = program.wait_for_pause();
        assert_eq!(program.evaluate(&crash_id, 2, "len(rows)"), "2");
        program.heal(&crash_id, &next("price = 10"));
        assert_eq!(program.finish().told(), "22\n");
    });
}

#[test]
fn deep_nesting_that_cannot_be_wrapped_still_runs_and_pauses_further_out() {
    let mut main = String::from("d = {}\n");
    for depth in 0..15 {
        main.push_str(&format!("{}for i{depth} in [0]:\n", "    ".repeat(depth)));
    }
    main.push_str(&format!("{}d['k']\nprint('end')\n", "    ".repeat(15)));
    check(&main, &[next("")], "end\n");
}

#[test]
fn a_function_that_ends_in_a_constant_can_return_another_value() {
    check(
        "def inner():\n    yield 1\n    x = {}['k']\n    return 'inner'\ndef outer():\n    r = yield from inner()\n    \
         yield r\nprint(list(outer()))\n",
        &[returns("'healed'")],
        "[1, 'healed']\n",
    );
    let main = "def f():\n    x = {}['k']\n    def unused(): pass\n    return 'own'\nprint(f())\n";
    check(main, &[returns("'healed'")], "healed\n");
    check(main, &[next("")], "own\n");
    check(
        "async def f():\n    yield 1\n    {}['k']\n    return\nasync def main():\n    print([x async for x in f()])\n\
         import asyncio\nasyncio.run(main())\n",
        &[next("")],
        "[1]\n",
    );
}

#[test]
fn a_crash_inside_async_with_pauses_inside_it() {
    check(
        "import asyncio\n\nclass M:\n    async def __aenter__(self):\n        print('in')\n    \
         async def __aexit__(self, *what):\n        print('out', what[0])\n\nasync def main():\n    async with M():\n        \
         int('x')\n        print('on')\n\nasyncio.run(main())\n",
        &[next("")],
        "in\non\nout None\n",
    );
}

/// A program whose `high` handles ValueErrors and its own `Bad`.
const HANDLER: &str = "class Bad(Exception): pass\ndef low(x):\n    y = {}['k']\n    return y\ndef high():\n    try:\n        \
                       return low(1)\n    except (ValueError, Bad) as e:\n        \
                       return repr(e) + repr(e.__context__) + str(e.__traceback__.tb_next.tb_lineno)\nprint(high())\n";

#[test]
fn another_exception_is_taken_by_the_handler_of_the_program() {
    check(
        HANDLER,
        &[raise_new("ValueError('no ' + str(x))")],
        "ValueError('no 1')KeyError('k')3\n",
    );
    check(HANDLER, &[raise_new("Bad(x)")], "Bad(1)KeyError('k')3\n");
    // In a frame further out, the inner ones are left with their cleanup.
    check(
        "def low():\n    try:\n        {}['k']\n    finally:\n        print('cleanup')\ndef middle(n):\n    low()\ntry:\n    \
         middle(7)\nexcept OSError as e:\n    print('took', e)\n",
        &[raise_new("OSError('no', n)").frame(1)],
        "cleanup\ntook [Errno no] 7\n",
    );
    check(
        "def numbers():\n    yield 1\n    {}['k']\ntry:\n    print(list(numbers()))\nexcept RuntimeError as e:\n    \
         print('took', e)\n",
        &[raise_new("RuntimeError('done')")],
        "took done\n",
    );
}

#[test]
fn another_exception_that_nobody_would_handle_is_refused() {
    on_each(|python| {
        let mut program = Program::new(python, HANDLER);
        program.start();
        let crash_id = program.wait_for_pause();
        let refused = |value: &str, why: &str| {
            let check = program.check(&crash_id, &raise_new(value));
            assert_eq!(check["verdict"], "deny", "{check:#}");
            assert!(check.to_string().contains(why), "{check:#}");
        };
        refused("OSError('x')", "OSError: x would not be handled either");
        refused("x + 4", "`value` is no exception but 5");
        refused("SystemExit(1)", "HC");
        let check = program.check(&crash_id, &raise_new("ValueError('x')"));
        let effect = check["effect"].as_str().unwrap();
        assert_eq!(
            effect,
            "raises ValueError: x at line 3 instead; high in __main__ handles it"
        );
        program.abort(&crash_id);
        assert_eq!(program.finish().code, 1);
    });
}
