//! The guard: protected operations are not reached by what a heal wrote, and secrets do not leave the program.

use crate::heal::{Heal, next, retry};
use crate::program::{Ended, Program, without_ours};
use crate::python::{Python, on_each};

const POLICY: &str = "\
[[tool.healmcp.guard.protected]]
op = \"shop.pay.charge\"
[[tool.healmcp.guard.protected]]
op = \"shop.pay.Till.take\"
[[tool.healmcp.guard.protected]]
attribute = \"shop.pay.Account.balance\"
";

const PAY: &str = "\
def charge(amount, note=None):
    print('charged')

def log(amount):
    print('logged', amount)

class Till:
    def take(self, amount):
        print('taken')
    def count(self, amount):
        print('counted', amount)

class Account:
    balance = 0
    limit = 0
";

fn program(python: &Python, main: &str) -> Program {
    let mut program = Program::of_files(
        python,
        &[
            ("pyproject.toml", POLICY),
            ("main.py", main),
            ("shop/__init__.py", ""),
            ("shop/pay.py", PAY),
        ],
    );
    program.start();
    program
}

fn healed(python: &Python, main: &str, heal: &Heal<'_>) -> (Program, Ended) {
    let mut program = program(python, main);
    let crash_id = program.wait_for_pause();
    program.heal(&crash_id, heal);
    assert_eq!(program.next_pause(), None, "one heal is enough");
    let ended = program.finish();
    (program, ended)
}

/// The protected operation is stopped before its body runs, and the exception that was healed is the cause.
#[track_caller]
fn stopped(main: &str, heal: &Heal<'_>) {
    on_each(|python| {
        let (program, ended) = healed(python, main, heal);
        let stderr = without_ours(&ended.stderr);
        let on = format!("on Python 3.{}, of\n{main}\n{ended:?}", python.minor);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{on}");
        assert!(stderr.contains("KeyError: 'amount'"), "{on}");
        assert!(
            stderr.contains("The above exception was the direct cause of the following exception"),
            "{on}"
        );
        let last = stderr.lines().rfind(|line| !line.starts_with(' ')).unwrap_or("");
        assert!(last.contains("HealDenied: "), "{on}");
        assert!(
            program.journal().iter().any(|line| line["event"] == "denied"),
            "{on}"
        );
    });
}

#[track_caller]
fn passes(main: &str, heal: &Heal<'_>, expect: &str) {
    on_each(|python| {
        let (_, ended) = healed(python, main, heal);
        assert_eq!(ended.told(), expect, "on Python 3.{}, of\n{main}", python.minor);
    });
}

const AMOUNT: Heal<'static> = retry("d['amount'] = 1234.5");

#[test]
fn a_healed_value_does_not_reach_a_protected_function_however_it_was_imported() {
    stopped(
        "from shop.pay import charge\nd = {}\nx = d['amount']\ncharge(x)\n",
        &AMOUNT,
    );
    stopped(
        "from shop.pay import charge as take_money\nd = {}\nx = d['amount']\ntake_money(note=x, amount=1)\n",
        &AMOUNT,
    );
    stopped(
        "import shop.pay\nd = {}\nx = d['amount']\nshop.pay.charge(x)\n",
        &AMOUNT,
    );
    stopped(
        "import shop.pay as pay\npay_it = {'how': pay.charge}\nd = {}\nx = d['amount']\npay_it['how'](*[x])\n",
        &AMOUNT,
    );
    stopped(
        "import functools\nfrom shop.pay import charge\npartial = functools.partial(charge, note='n')\nd = {}\n\
         list(map(partial, [d['amount']]))\n",
        &AMOUNT,
    );
    stopped(
        "from shop.pay import Till\nd = {}\ntill = Till()\nx = d['amount']\ntill.take(x)\n",
        &AMOUNT,
    );
    stopped(
        "from shop.pay import Till\nclass Own(Till):\n    pass\nd = {}\nx = d['amount']\nOwn().take(x)\n",
        &AMOUNT,
    );
}

#[test]
fn a_healed_value_is_found_inside_what_is_passed() {
    stopped(
        "from shop.pay import charge\nd = {}\nx = d['amount']\ncharge({'order': [1, (x,)]})\n",
        &AMOUNT,
    );
    stopped(
        "from shop.pay import charge\nclass Order: pass\nd = {}\norder = Order()\norder.amount = d['amount']\ncharge(order)\n",
        &AMOUNT,
    );
    // Deeper in the program, past other functions and files.
    stopped(
        "from shop.pay import charge\ndef settle(order):\n    charge(order['x'])\nd = {}\n\
         settle({'x': d['amount']})\n",
        &AMOUNT,
    );
}

#[test]
fn a_healed_name_does_not_reach_a_protected_function() {
    stopped(
        "from shop.pay import charge\nd = {}\namount = 1\namount = d['amount']\ncharge(amount * 2 + 0.5)\n",
        &next("amount = 100.5"),
    );
}

#[test]
fn a_denial_is_not_caught_as_an_exception_of_the_program() {
    stopped(
        "from shop.pay import charge\nd = {}\nx = d['amount']\ntry:\n    charge(x)\nexcept Exception:\n    print('caught')\n",
        &AMOUNT,
    );
}

#[test]
fn what_is_not_protected_goes_on() {
    passes(
        "from shop.pay import log, Till\nd = {}\nx = d['amount']\nlog(x)\nTill().count(x)\n",
        &AMOUNT,
        "logged 1234.5\ncounted 1234.5\n",
    );
}

#[test]
fn values_of_the_program_s_own_reach_protected_operations() {
    passes(
        "from shop.pay import charge\nd = {}\nx = d['amount']\nown = 77.25\ncharge(own)\nprint('end')\n",
        &AMOUNT,
        "charged\nend\n",
    );
}

/// A heal is denied with a rule; the program is let go.
#[track_caller]
fn denied(main: &str, heal: &Heal<'_>, rule: &str) {
    on_each(|python| {
        let mut program = program(python, main);
        let crash_id = program.wait_for_pause();
        let check = program.check(&crash_id, heal);
        assert_eq!(check["verdict"], "deny", "{check:#}");
        assert_eq!(check["rule"], rule, "{check:#}");
        assert!(check["heal_id"].is_null(), "{check:#}");
        program.abort(&crash_id);
        let ended = program.finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    });
}

#[test]
fn a_heal_that_calls_a_protected_operation_is_denied() {
    denied(
        "from shop.pay import charge\nd = {}\nd['amount']\n",
        &next("charge(5)"),
        "HG201",
    );
    denied(
        "from shop.pay import charge as c\nd = {}\nd['amount']\n",
        &next("x = [c(n) for n in [1]]"),
        "HG201",
    );
    denied(
        "import shop.pay\nd = {}\nd['amount']\n",
        &next("shop.pay.charge(5)"),
        "HG201",
    );
    denied(
        "from shop.pay import Till\ntill = Till()\nd = {}\nd['amount']\n",
        &next("till.take(5)"),
        "HG201",
    );
}

#[test]
fn a_heal_that_writes_a_protected_attribute_is_denied() {
    let main = "from shop.pay import Account\nclass Own(Account): pass\na = Account()\nown = Own()\nd = {}\nd['amount']\n";
    denied(main, &next("a.balance = 5"), "HG202");
    denied(main, &next("own.balance += 5"), "HG202");
    passes(&format!("{main}print(a.limit)\n"), &next("a.limit = 5"), "5\n");
}

#[test]
fn secrets_do_not_leave_the_program() {
    // Put together here, so that no scanner takes them for real ones.
    let github = format!("gh{}_{}", "p", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6");
    let amazon = format!("AK{}{}", "IA", "QWERTYUIOPASDFGH");
    let key = format!(
        "-----BEGIN {} KEY-----\\nMIIEabcdefgh\\n-----END {0} KEY-----",
        "PRIVATE"
    );
    let main = format!(
        "class Settings:\n    def __init__(self):\n        self.api_key = 'attribute-secret'\n        self.name = 'shown-name'\n\
         def connect(host, password):\n    config = {{'token': 'item-secret', 'host': host}}\n    settings = Settings()\n    \
         note = 'use {github} or {amazon}'\n    pem = '{key}'\n    url = 'https://user:url-secret@example.org/'\n    \
         raise RuntimeError(f'cannot connect with {github}')\nconnect('shown-host', 'name-secret')\n"
    );
    on_each(|python| {
        let mut program = Program::new(python, &main);
        program.start();
        let crash_id = program.wait_for_pause();
        let crash = crash_id.as_str();
        let mut said = String::new();
        for words in [
            &["crashes"][..],
            &["crashes", "--json"],
            &["show", crash],
            &["show", crash, "--json"],
            &["frame", crash],
            &["frame", crash, "--json"],
            &["frame", crash, "--path", "settings"],
            &["frame", crash, "--path", "config"],
            &["frame", crash, "--path", "password"],
            &["eval", crash, "password"],
            &["eval", crash, "config"],
            &["eval", crash, "config['token']"],
            &["eval", crash, "settings.api_key"],
            &["eval", crash, "note"],
            &["eval", crash, "[note, pem, url]"],
        ] {
            let ended = program.healmcp(words);
            assert_eq!(ended.code, 0, "{words:?}: {ended:?}");
            said.push_str(&ended.stdout);
        }
        // What is in the source is shown as source; values are not.
        let values: String = said
            .lines()
            .filter(|line| {
                !line.contains("config = {")
                    && !line.contains("self.api_key =")
                    && !line.contains("connect('")
            })
            .filter(|line| {
                !line.contains("note = 'use") && !line.contains("pem = '") && !line.contains("url = 'https")
            })
            .collect::<Vec<_>>()
            .join("\n");
        for secret in [
            "attribute-secret",
            "item-secret",
            "name-secret",
            "url-secret",
            "MIIEabcdefgh",
            &github,
            &amazon,
        ] {
            let line = values.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} left the program");
        }
        for shown in ["shown-host", "shown-name"] {
            assert!(said.contains(shown), "{shown}");
        }
        program.check(crash, &next("password2 = password\nhost = note"));
        program.abort(crash);
        let ended = program.finish();
        let journal = format!("{:?}", program.journal());
        for secret in ["name-secret", github.as_str()] {
            assert!(!journal.contains(secret), "{secret} is in the journal: {journal}");
        }
        let ours: String = ended
            .stderr
            .lines()
            .take_while(|line| !line.starts_with("Traceback"))
            .collect();
        assert!(!ours.contains(&github), "{ours}");
    });
}
