//! A paused program, healed by an MCP client in each era of the protocol.

use serde_json::json;

use crate::agent::{Agent, Era};
use crate::program::Program;
use crate::python::{newest, on_each};

const MAIN: &str = "\
from shop.cart import total

print('total', total([{'price': 2, 'count': 3}, {'price': 5}]))
";

const CART: &str = "\
def price_of(row):
    return row['price'] * row['count']


def total(rows):
    result = 0
    for row in rows:
        result += price_of(row)
    return result
";

const FILES: [(&str, &str); 5] = [
    (
        "pyproject.toml",
        "[tool.healmcp.guard]\n[[tool.healmcp.guard.protected]]\nop = \"shop.pay.charge\"\n",
    ),
    ("main.py", MAIN),
    ("shop/__init__.py", ""),
    ("shop/cart.py", CART),
    (
        "shop/pay.py",
        "def charge(amount):\n    print('charged', amount)\n",
    ),
];

fn heals(era: Era) {
    on_each(|python| {
        let mut program = Program::of_files(python, &FILES);
        program.start();
        let mut agent = Agent::start(&program, era);
        let listed = agent.ask("tools/list", json!({}));
        assert_eq!(listed["tools"].as_array().unwrap().len(), 9);

        let (_, listed) = agent.done("list_crashes", json!({"wait_s": 25}));
        let crash = &listed["crashes"][0];
        assert_eq!(crash["exception"], "KeyError: 'count'");
        assert_eq!(crash["pid"], program.pid());
        let crash_id = crash["crash_id"].clone();

        let (report, _) = agent.done("get_crash", json!({"crash_id": crash_id}));
        assert!(report.contains("return row['price'] * row['count']"), "{report}");
        assert!(report.contains("{'price': 5}"), "{report}");

        let (frame, _) = agent.done("get_frame", json!({"crash_id": crash_id, "frame": 1}));
        assert!(frame.contains("result"), "{frame}");
        assert!(frame.contains('6'), "{frame}");

        let (value, _) = agent.done(
            "evaluate",
            json!({"crash_id": crash_id, "expression": "[sorted(row) for row in rows]", "frame": 1}),
        );
        assert!(value.contains("[['count', 'price'], ['price']]"), "{value}");

        let (found, _) = agent.done("search_code", json!({"crash_id": crash_id, "query": "price_of"}));
        assert!(found.contains("shop/cart.py"), "{found}");
        let (source, _) = agent.done("read_code", json!({"crash_id": crash_id, "symbol": "total"}));
        assert!(source.contains("result += price_of(row)"), "{source}");

        let (_, denied) = agent.done(
            "check_heal",
            json!({"crash_id": crash_id, "code": "import os", "then": "next"}),
        );
        assert_eq!(denied["verdict"], "deny", "{denied}");
        assert!(denied["heal_id"].is_null(), "{denied}");

        let (_, allowed) = agent.done(
            "check_heal",
            json!({"crash_id": crash_id, "code": "row['count'] = 1", "then": "retry"}),
        );
        assert_eq!(allowed["verdict"], "allow", "{allowed}");
        assert_eq!(allowed["changes"].as_array().unwrap().len(), 1, "{allowed}");

        let (_, went) = agent.done(
            "resume",
            json!({"crash_id": crash_id, "heal_id": allowed["heal_id"], "wait_s": 20}),
        );
        assert_eq!(went["outcome"], "exited", "{went}");
        assert_eq!(program.finish().told(), "total 11\n");
        let (_, listed) = agent.done("list_crashes", json!({}));
        assert_eq!(listed["crashes"], json!([]));
    });
}

#[test]
fn a_client_of_june_2025_heals() {
    heals(Era::Handshake("2025-06-18"));
}

#[test]
fn a_client_of_november_2025_heals() {
    heals(Era::Handshake("2025-11-25"));
}

#[test]
fn a_client_without_a_handshake_heals() {
    heals(Era::Stateless);
}

#[test]
fn a_resume_tells_of_the_next_pause() {
    let mut program = Program::new(newest(), "for key in 'ab':\n    {}[key]\nprint('end')\n");
    program.start();
    let mut agent = Agent::start(&program, Era::Stateless);
    let (_, listed) = agent.done("list_crashes", json!({"wait_s": 25}));
    let crash_id = listed["crashes"][0]["crash_id"].clone();
    let (_, check) = agent.done("check_heal", json!({"crash_id": crash_id, "then": "next"}));
    let (text, went) = agent.done(
        "resume",
        json!({"crash_id": crash_id, "heal_id": check["heal_id"], "wait_s": 20}),
    );
    assert_eq!(went["outcome"], "crashed", "{went}");
    assert!(text.contains("KeyError: 'b'"), "{text}");
    let (_, went) = agent.done("abort", json!({"crash_id": went["new_crash_id"], "wait_s": 20}));
    assert_eq!(went["outcome"], "released", "{went}");
    assert_eq!(program.finish().told(), "exit 1: KeyError: 'b'\n");
}
