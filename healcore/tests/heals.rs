//! Heals as agents write them: what is common is accepted, what merely looks common is not.

use healcore::{Options, check};

#[track_caller]
fn accepts(code: &str) {
    let checked = check(code, &Options::default());
    assert!(checked.program.is_some(), "{code}\n{:#?}", checked.violations);
}

#[track_caller]
fn refuses(code: &str) {
    let checked = check(code, &Options::default());
    assert!(
        checked.program.is_none() && !checked.violations.is_empty(),
        "{code}"
    );
}

#[test]
fn common_heals_are_accepted() {
    let heals = [
        "if not hasattr(self, '_cache'):\n    self._cache = {}",
        "data.setdefault('items', []).append(item)",
        "user['name'] = user.get('name') or 'anonymous'",
        "value = float(str(value).replace(',', '.').strip() or 0)",
        "lines = [line.rstrip('\\n') for line in text.splitlines() if line.strip()]",
        "total = sum(float(x.get('price', 0) or 0) for x in cart)",
        "rows = [dict(zip(header, row)) for row in rows]",
        "matrix = [list(col) for col in zip(*matrix)]",
        "result = next((u for u in users if u['id'] == user_id), None)",
        "records.sort(key=lambda r: (r.get('age') is None, r.get('age') or 0), reverse=True)",
        "words = sorted(set(words), key=str.lower)",
        "config = {**defaults, **(config or {})}",
        "a, b = b, a",
        "(x, y), z = (1, 2), 3",
        "n = int(n) if isinstance(n, str) and n.isdigit() else 0",
        "counts[key] = counts.get(key, 0) + 1",
        "global TOTAL\nTOTAL = 0",
        "try:\n    value = int(raw, 16)\nexcept (ValueError, TypeError) as error:\n    print('bad value', raw, error)\n    value = 0\nelse:\n    value += 1\nfinally:\n    done = True",
        "for key, value in list(data.items()):\n    if value in (None, ''):\n        data.pop(key)",
        "for i, (name, score) in enumerate(pairs):\n    pairs[i] = (name.strip(), float(score))",
        "while stack and stack[-1] is None:\n    stack.pop()",
        "while True:\n    if not queue:\n        break\n    queue.pop(0)",
        "from datetime import datetime, timedelta\ndue = datetime.now() + timedelta(days=7)",
        "from datetime import datetime, timezone\nwhen = datetime.fromtimestamp(ts, tz=timezone.utc)",
        "import datetime as dt\nwhen = dt.datetime.strptime(text, '%Y-%m-%d').date()",
        "from decimal import Decimal, InvalidOperation\ntry:\n    price = Decimal(str(price))\nexcept InvalidOperation:\n    price = Decimal('0')",
        "price = price.quantize(step)",
        "from fractions import Fraction\nshare = Fraction(1, 3)",
        "from collections import OrderedDict, deque\nqueue = deque(queue, maxlen=100)\nitems = OrderedDict(sorted(items))",
        "import re\npattern = re.compile(r'\\s+')\ntext = pattern.sub(' ', text)",
        "import re\nparts = re.split(r'[,;]\\s*', line, maxsplit=3)",
        "import re\nmatch = re.search(r'(?P<y>\\d{4})-(?P<m>\\d{2})', text)\nyear = int(match.group('y')) if match else 0",
        "import json\npayload = json.loads(body.decode('utf-8')) if isinstance(body, bytes) else body",
        "import json\ntext = json.dumps(obj, default=str, indent=2, sort_keys=True, ensure_ascii=False)",
        "import math\nif math.isnan(score) or math.isinf(score):\n    score = 0.0",
        "import itertools\nflat = list(itertools.chain.from_iterable(nested))",
        "from itertools import groupby\ngroups = {k: list(g) for k, g in groupby(sorted(rows, key=str), key=str)}",
        "import bisect\nbisect.insort(scores, score)",
        "import unicodedata\nname = unicodedata.normalize('NFKD', name).encode('ascii', 'ignore').decode('ascii')",
        "import textwrap\nshort = textwrap.shorten(text, width=80, placeholder='...')",
        "from urllib.parse import urlparse, urlencode, parse_qs\nhost = urlparse(url).netloc\nquery = urlencode(params)",
        "import string\nname = ''.join(c for c in name if c in string.ascii_letters)",
        "import statistics\nmid = statistics.mean(x for x in xs) if xs else 0.0",
        "label = f'{name!r:>20} {price:,.2f} {ratio:.1%} {when:%Y-%m-%d} {{}}'",
        "debug = f'{value=} {value=!s} {value=:.2f}'",
        "label = '%s has %d items (%.2f)' % (name, count, total)",
        "label = 'Total: {:,.2f} {unit}'.format(total, unit=unit)",
        "message = 'a' 'b' f'{c}'",
        "raise ValueError(f'cannot heal: {value!r}')",
        "assert isinstance(rows, list), 'rows is no list'",
        "del cache[key], cache['old']",
        "x = y if y is not None else z if z else 0",
        "is_valid = 0 <= i < len(rows) and rows[i] is not None",
        "chunk = rows[max(0, i - 5):i + 5:2]",
        "arr[1:3] = [0, 0]",
        "first, *_, last = values or [None, None]",
        "flags |= 0x04\nmask = ~flags & 0xFFFF_FFFF",
        "big = 2 ** 64 - 1",
        "z = 1 + 2j",
        "raw = b'\\x00\\x01' + bytes([1, 2, 3])",
        "n = int.from_bytes(raw, 'big')",
        "id = id or 0\ninput = ''",
        "order.status = 'pending'\norder.items = list(order.items)",
        "self.stats['errors'] += 1",
        "return {'status': 'error', 'items': []}",
        "continue",
        "print(f'healed {name}', end='')",
        "names = list(map(str.strip, names))",
        "pairs = dict(sorted(counts.items(), key=lambda kv: -kv[1])[:10])",
        "head = list(filter(None, head))",
        "if type(value) in (int, float):\n    value = str(value)",
        "kind = type(value)",
        "is_callable = callable(handler)",
        "x = [[y for y in row if y] for row in grid]",
        "s = {(a, b) for a in xs for b in ys if a != b}",
        "low, high = min(values), max(values, default=0)",
    ];
    for heal in heals {
        accepts(heal);
    }
}

#[test]
fn empty_heals_are_accepted_where_the_options_say_so() {
    let options = Options {
        allow_empty: true,
        ..Options::default()
    };
    assert!(check("", &options).program.is_some());
    assert!(check("# nothing to do", &options).program.is_some());
}

#[test]
fn escapes_are_refused() {
    let escapes = [
        // Reflection, by way of what is allowed.
        "x = [c for c in ().__class__.__base__.__subclasses__()]",
        "x = (1).__class__",
        "x = type('').__mro__",
        "x = {}.get.__self__",
        "x = ''.join.__func__",
        "x = f'{user.__dict__}'",
        "x = sorted(rows, key=lambda r: r.__class__.__name__)",
        "x = '{.__class__}'.format(a)",
        "x = '{!r:{0.__class__}}'.format(a)",
        "x = str.format('{0.__class__}', a)",
        "x = str.format_map('{a.b}', c)",
        "x = getattr(getattr(a, '__class__'), 'b')",
        "x = getattr(a, '_' + '_class__')",
        "x = getattr(a, *['__class__'])",
        "x = hasattr(a, chr(95) * 2 + 'class' + chr(95) * 2)",
        "x = list(map(getattr, rows, ['__class__']))",
        "x = max(rows, key=getattr)",
        "import string\nx = string.Formatter",
        "from string import Template",
        "try:\n    a.b\nexcept AttributeError as e:\n    x = e.obj",
        "try:\n    x = 1\nexcept ImportError as e:\n    x = e.__traceback__.tb_frame",
        "try:\n    x = 1\nexcept Exception as e:\n    e.with_traceback(None)",
        "x = rows.__class_getitem__",
        "x = a.__getattribute__('b')",
        "x = generator.gi_frame.f_builtins",
        // Code from text, imports.
        "x = __builtins__['eval']('1')",
        "import builtins",
        "import importlib.util",
        "from importlib import import_module as loads",
        "import json.tool",
        "import urllib.request",
        "from urllib import request as parse",
        "import collections.abc",
        "from collections import abc",
        "import re._compiler",
        "from re import sre_parse",
        "from math import *",
        "from json import loads as eval",
        "import math as open",
        "import sys as math",
        "x = decimal.localcontext()",
        "x = datetime.sys",
        "x = json.decoder.scanner",
        "x = urllib.request.urlopen(u)",
        "x = urllib.error",
        "x = re.Scanner",
        "x = collections.UserDict",
        "x = statistics.NormalDist",
        "x = base64.main()",
        "x = html.parser",
        // Hidden calls.
        "x = list(map(handlers['a'], rows))",
        "x = list(map(user.save, rows))",
        "x = list(map(lambda r: r, rows))",
        "x = dict(map(charge, rows))",
        "rows.sort(key=handlers.get)",
        "x = min(rows, key=user.cost)",
        "from collections import defaultdict\nx = defaultdict(user.save)",
        "from itertools import accumulate\nx = list(accumulate(rows, charge))",
        "from itertools import accumulate\nx = list(accumulate(rows, func=charge))",
        "from itertools import starmap\nx = list(starmap(charge, rows))",
        "from functools import partial",
        "import json\nx = json.loads(t, object_pairs_hook=charge)",
        "import json\nx = json.loads(t, **hooks)",
        "import json\nx = json.dumps(t, cls=Encoder)",
        "import json\nx = json.dumps(*args)",
        "import re\nx = re.sub('a', lambda m: m.group(), t)",
        "import re\nx = re.sub('a', handler, t)",
        "import bisect\nbisect.insort(rows, r, key=charge)",
        "import textwrap\nx = textwrap.indent(t, '', predicate=charge)",
        "x = iter(user.poll, None)",
        "x = (f for f in rows)",
        "x = [f() for f in handlers]",
        "for f in handlers:\n    f(1)",
        "f = handlers['a']\nf()",
        "x = (charge if ok else refund)(1)",
        "x = charge(1) if ok else 0",
        "@charge\ndef f():\n    pass",
        "x = f'{charge(1)}'",
        "x = f'{x!r:{charge(1)}}'",
        "assert charge(1)",
        "x = rows[charge(1):]",
        "x: charge(1) = 0",
        "with charge(1):\n    pass",
        "x = {charge(1): 1}",
        "x = not charge(1)",
        "x = yield charge(1)",
        "lambda: charge(1)",
        "return charge(1)",
        "raise ValueError from charge(1)",
        "raise charge",
        "raise type(e)('x')",
        "try:\n    x = 1\nexcept charge(1):\n    pass",
        "try:\n    x = 1\nexcept (ValueError, charge(1)):\n    pass",
        "try:\n    x = 1\nexcept ():\n    pass",
        "try:\n    x = 1\nexcept BaseException:\n    pass",
        "try:\n    x = 1\nexcept KeyboardInterrupt:\n    pass",
        "try:\n    x = 1\nexcept GeneratorExit:\n    pass",
        // Stores where none may be.
        "int.x = 1",
        "ValueError.x = 1",
        "math.pi = 3",
        "import math as m\nm.pi = 3",
        "math.pi += 1",
        "for math.pi in [3]:\n    pass",
        "x, math.pi = 1, 3",
        "[x for math in rows]",
        "x = [1 for len in rows]",
        "print = charge",
        "True = 1",
        "__debug__ = 1",
        "del user",
        "global __name__",
        "nonlocal x",
        // Work without end.
        "x = 10 ** 10 ** 10",
        "x = (2 ** 4000) ** 4000",
        "x = 1 << (1 << 40)",
        "x = 'a' * 10 ** 9",
        "x = [[0] * 100000] * 100000",
        "x = (0,) * 10 ** 10",
        "x = list(range(10 ** 9))",
        "x = '%0*d' % (10 ** 9, 1)",
        "x = '%.999999999f' % 1.0",
        "x = f'{1:999999999}'",
        "x = format(1, '>99999999')",
        "x = ' '.rjust(10 ** 10)",
        "x = bytes(1 << 40)",
        "while ok or True:\n    pass",
        "while 1 == 1:\n    pass",
        "while True:\n    for x in rows:\n        break",
        "for k in d:\n    d.setdefault(k + 'x', 1)",
        "import re\nx = re.match('(a*)*b', t)",
        "import re\nx = re.match('(?:a|b|ab)*c', t)",
        "import re\nx = re.match('(.*a){20}', t)",
        "import re\nx = re.match('([a-z]+)*1', t)",
        "import re\nx = re.match('^(([a-z])+.)+[A-Z]([a-z])+$', t)",
        "import itertools\nx = list(itertools.cycle(rows))",
        "import itertools\nx = list(itertools.count())",
        "import itertools\nx = list(itertools.permutations(rows))",
        "import math\nx = math.factorial(10 ** 6)",
        // Text that reads as something else.
        "x = 1 # \u{2028}import os",
        "ｅｖａｌ('1')",
        "ｘ = 1",
        "x = user.ｃlass",
        "import ｏｓ",
        "х = 1",
        "x = 'a\u{202e}'",
        "x\u{200b} = 1",
        "x = 1\u{a0}+ 1",
        "x = 1;\u{c}y = 2",
        "#!/usr/bin/python\n# -*- coding: utf-16 -*-\nx = 1",
        "\u{feff}x = 1",
        "x = 1\u{1a}",
        "!ls",
        "%time x",
        "x = $y",
        "x ?",
        "if x:\n\ty = 1\n        z = 2",
    ];
    for escape in escapes {
        refuses(escape);
    }
}

#[test]
fn text_that_is_cut_or_damaged_is_no_trouble() {
    let heals = [
        "try:\n    x = [f'{a!r:>10}' for a, (b, *c) in rows if a < b <= 1]\nexcept (ValueError, k.E) as e:\n    del x[1:2]\n",
        "import re, json as j\nwhile x:\n    y = re.sub(r'(a|b)+[^c]{2,3}?', '', z, flags=re.I) % {'k': -1 ** 2}\nelse:\n    return x\n",
        "x = sorted(rows, key=lambda r: (r['a'], *r), reverse=not a)\nlabel = '{0!r:>3} %*d'.format(a, **b)\n",
    ];
    for heal in heals {
        for (at, _) in heal.char_indices() {
            check(&heal[..at], &Options::default());
            check(&heal[at..], &Options::default());
            for with in [
                "(", "]", "{", "'", "\\", "\n", " ", ":", "*", "é", "f'{", "lambda ", "\"\"\"", "0x", ".",
            ] {
                check(
                    &format!("{}{with}{}", &heal[..at], &heal[at..]),
                    &Options::default(),
                );
            }
        }
    }
}
