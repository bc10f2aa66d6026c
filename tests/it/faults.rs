//! What goes wrong around a pause: everybody is told clearly, nothing hangs, and the paused program loses nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::agent::{Agent, Era};
use crate::heal::{check, line, next, retry};
use crate::program::{Ended, HANG, Program};
use crate::python::{newest, on_each};

const MAIN: &str = "\
def f(rows):
    total = 0
    for row in rows:
        total += row['n']
    return total

print(f([{'n': 1}, {}]))
";

/// A program that pauses, and the crash.
fn paused() -> (Program, String) {
    let mut program = Program::new(newest(), MAIN);
    program.start();
    let crash_id = program.wait_for_pause();
    (program, crash_id)
}

/// It heals and comes to its end: nothing was lost.
#[track_caller]
fn still_heals(mut program: Program, crash_id: &str) {
    program.heal(crash_id, &retry("row['n'] = 2"));
    assert_eq!(program.finish().told(), "3\n");
}

#[track_caller]
fn says(ended: &Ended, code: i32, expect: &str) {
    assert_eq!(ended.code, code, "{ended:?}");
    assert!(ended.stderr.contains(expect), "{ended:?}");
    assert!(ended.stderr.contains("hint: "), "{ended:?}");
}

#[test]
fn killing_the_server_loses_nothing() {
    let (mut program, crash_id) = paused();
    let mut first = Agent::start(&program, Era::Stateless);
    // It holds the crash from now on.
    first.done("check_heal", json!({"crash_id": crash_id, "then": "next"}));
    first.kill();
    let mut second = Agent::start(&program, Era::Stateless);
    let heal = json!({"crash_id": crash_id, "code": "row['n'] = 2", "then": "retry"});
    let (_, check) = second.done("check_heal", heal);
    let resume = json!({"crash_id": crash_id, "heal_id": check["heal_id"], "wait_s": 20});
    assert_eq!(second.done("resume", resume).1["outcome"], "exited");
    assert_eq!(program.finish().told(), "3\n");
}

#[test]
fn a_program_that_was_killed_has_gone() {
    let (mut program, crash_id) = paused();
    let mut agent = Agent::start(&program, Era::Stateless);
    agent.done("get_crash", json!({"crash_id": crash_id}));
    let (_, check) = agent.done("check_heal", json!({"crash_id": crash_id, "then": "next"}));
    program.signal(Signal::SIGKILL);
    program.finish();
    for (tool, arguments) in [
        ("evaluate", json!({"crash_id": crash_id, "expression": "total"})),
        ("check_heal", json!({"crash_id": crash_id, "then": "next"})),
        (
            "resume",
            json!({"crash_id": crash_id, "heal_id": check["heal_id"]}),
        ),
    ] {
        let said = agent.refused(tool, arguments);
        assert!(said.contains("has gone"), "{tool}: {said}");
        assert!(said.contains("next: "), "{tool}: {said}");
    }
    says(
        &program.healmcp(&["show", &crash_id]),
        1,
        &format!("no program has a crash \"{crash_id}\""),
    );
}

#[test]
fn a_client_that_waits_learns_that_the_program_was_killed() {
    let mut program = Program::new(newest(), "import time\n{}['k']\ntime.sleep(600)\n");
    program.start();
    let crash_id = program.wait_for_pause();
    let heal_id = program.allowed(&crash_id, &next(""));
    let started = Instant::now();
    let words = ["resume", &crash_id, &heal_id, "--wait", "25", "--json"];
    let went = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| program.healmcp(&words).json());
        while !program.crashes().is_empty() {
            assert!(started.elapsed() < HANG, "it does not go on");
        }
        program.signal(Signal::SIGKILL);
        waiting.join().unwrap()
    });
    assert_eq!(went["outcome"], "exited", "{went}");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    assert_eq!(program.finish().code, -9);
}

#[test]
fn a_second_client_is_told_who_holds_the_crash() {
    let (program, crash_id) = paused();
    let mut first = Agent::start(&program, Era::Handshake("2025-11-25"));
    let mut second = Agent::start(&program, Era::Handshake("2025-11-25"));
    let heal = json!({"crash_id": crash_id, "then": "next"});
    let (_, check) = first.done("check_heal", heal.clone());
    for tool in ["check_heal", "resume", "abort"] {
        let arguments = match tool {
            "check_heal" => heal.clone(),
            "resume" => json!({"crash_id": crash_id, "heal_id": check["heal_id"]}),
            _ => json!({"crash_id": crash_id}),
        };
        let said = second.refused(tool, arguments);
        let holder = format!("held by tester (process {}", first.pid());
        assert!(said.contains(&holder), "{tool}: {said}");
    }
    // Looking on is free.
    second.done("get_crash", json!({"crash_id": crash_id}));
    let (_, listed) = second.done("list_crashes", json!({}));
    assert!(listed["crashes"][0]["held_by"].is_string(), "{listed}");
    first.kill();
    drop(second);
    still_heals(program, &crash_id);
}

#[test]
fn ids_that_stand_for_nothing_are_told_of() {
    let (program, crash_id) = paused();
    says(
        &program.healmcp(&["show", "c-0"]),
        1,
        "no program has a crash \"c-0\"",
    );
    says(
        &program.healmcp(&["eval", "c-0", "1"]),
        1,
        "no program has a crash \"c-0\"",
    );
    says(
        &program.healmcp(&["resume", &crash_id, "h-0"]),
        1,
        "heal h-0 is unknown at crash",
    );
    says(
        &program.healmcp(&["frame", &crash_id, "--frame", "77"]),
        1,
        "there is no frame 77",
    );
    says(
        &program.healmcp(&["check", &crash_id, "--then", "next", "--frame", "77"]),
        1,
        "frame 77 cannot be healed",
    );
    still_heals(program, &crash_id);
}

#[test]
fn a_heal_is_used_once() {
    let mut program = Program::new(newest(), "{}['a']\n{}['b']\n");
    program.start();
    let first = program.wait_for_pause();
    let heal_id = program.allowed(&first, &next(""));
    program.healmcp(&["resume", &first, &heal_id, "--json"]).json();
    let second = program.wait_for_pause();
    says(
        &program.healmcp(&["resume", &first, &heal_id]),
        1,
        "was healed, and the program went on",
    );
    says(
        &program.healmcp(&["resume", &second, &heal_id]),
        1,
        &format!("heal {heal_id} is unknown at crash {second}"),
    );
    program.abort(&second);
    assert_eq!(program.finish().code, 1);
}

/// A heal is denied by a stage, and changes nothing.
#[track_caller]
fn denied(program: &Program, crash_id: &str, heal: &crate::heal::Heal<'_>, stage: &str) -> Value {
    let state = |expression: &str| program.evaluate(crash_id, 0, expression);
    let before = (state("rows"), state("total"), state("row"));
    let check = program.check(crash_id, heal);
    assert_eq!(check["verdict"], "deny", "{check:#}");
    assert_eq!(check["stage"], stage, "{check:#}");
    assert!(check["heal_id"].is_null(), "{check:#}");
    assert_eq!((state("rows"), state("total"), state("row")), before, "{heal:?}");
    check
}

#[test]
fn a_heal_that_fails_changes_nothing() {
    on_each(|python| {
        let mut program = Program::new(python, MAIN);
        program.start();
        let crash_id = program.wait_for_pause();
        let check = denied(&program, &crash_id, &next("total = (1"), "healcore");
        assert_eq!(check["violations"][0]["line"], 1, "{check:#}");
        denied(
            &program,
            &crash_id,
            &next("import os\nos.remove('x')"),
            "healcore",
        );
        let raising = next("total = 100\nrow['n'] = 5\nrows.append({'n': 7})\nrows[0]['n'] = 1 / 0");
        let check = denied(&program, &crash_id, &raising, "run");
        assert!(check["reason"].as_str().unwrap().contains("line 4"), "{check:#}");
        denied(
            &program,
            &crash_id,
            &next("while total > 0:\n    total += 1"),
            "run",
        );
        denied(&program, &crash_id, &line(99, "total = 1"), "jump");
        // What is allowed, but not resumed, changes nothing either.
        program.allowed(&crash_id, &next("total = 100\nrow['n'] = 5"));
        assert_eq!(program.evaluate(&crash_id, 0, "total, row"), "(1, {})");
        still_heals(program, &crash_id);
    });
}

#[test]
fn jumps_into_blocks_are_refused() {
    on_each(|python| {
        let main = "def f(rows):\n    n = int('x')\n    for row in rows:\n        print(row)\n        n = row\n    \
                    with open(__file__) as file:\n        n = file.read()\n    return n\nprint(f([1]))\n";
        let mut program = Program::new(python, main);
        program.start();
        let crash_id = program.wait_for_pause();
        for into in [4, 5, 7, 1, 9] {
            let check = program.check(&crash_id, &line(into, ""));
            assert_eq!(
                (&check["verdict"], &check["stage"]),
                (&json!("deny"), &json!("jump")),
                "line {into}: {check:#}"
            );
        }
        program.heal(&crash_id, &line(8, "n = 'here'"));
        assert_eq!(program.finish().told(), "here\n");
    });
}

#[test]
fn a_heal_that_says_twice_or_never_where_to_go_on_is_refused() {
    let (program, crash_id) = paused();
    let ended = program.healmcp(&["check", &crash_id, "-e", "return 1", "--then", "next"]);
    says(&ended, 1, "says where to go on");
    let ended = program.healmcp(&["check", &crash_id, "-e", "total = 1"]);
    says(&ended, 1, "nothing says where to go on");
    let ended = program.healmcp(&["check", &crash_id, "--then", "line"]);
    says(&ended, 2, "then=line needs a line");
    still_heals(program, &crash_id);
}

#[test]
fn sockets_that_are_left_over_disturb_nobody() {
    let mut program = Program::new(newest(), MAIN);
    fs::create_dir_all(program.sockets()).unwrap();
    fs::set_permissions(program.sockets(), fs::Permissions::from_mode(0o700)).unwrap();
    // No process has these numbers.
    let stale = program.sockets().join("99999999.sock");
    drop(UnixListener::bind(&stale).unwrap());
    fs::write(program.sockets().join("99999998.sock"), "no socket").unwrap();
    fs::write(program.sockets().join("notes.txt"), "").unwrap();
    program.start();
    let crash_id = program.wait_for_pause();
    assert!(!stale.exists());
    still_heals(program, &crash_id);
}

#[test]
fn the_socket_goes_with_the_program() {
    let (program, crash_id) = paused();
    let socket = program.sockets().join(format!("{}.sock", program.pid()));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&program.sockets())), (0o600, 0o700));
    still_heals(program, &crash_id);
    assert!(!socket.exists());
}

#[test]
fn an_open_folder_of_sockets_is_refused() {
    let program = Program::new(newest(), MAIN);
    fs::create_dir_all(program.sockets()).unwrap();
    fs::set_permissions(program.sockets(), fs::Permissions::from_mode(0o755)).unwrap();
    let ended = crate::program::to_the_end(program.run(&["main.py"], 5));
    says(&ended, 2, "has mode 0755, not 0700");
    says(&program.healmcp(&["crashes"]), 1, "has mode 0755, not 0700");
}

/// A raw client of a program's socket.
fn connect(program: &Program) -> UnixStream {
    let socket = program.sockets().join(format!("{}.sock", program.pid()));
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.set_write_timeout(Some(HANG)).unwrap();
    stream
}

fn request(request: Value) -> String {
    let client = json!({"name": "raw", "session": "s"});
    format!(
        "{}\n",
        json!({"version": 1, "client": client, "request": request})
    )
}

fn answer(stream: &UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn malformed_requests_are_answered_and_the_connection_goes_on() {
    let (program, crash_id) = paused();
    let stream = connect(&program);
    for (line, kind) in [
        ("garbage\n".to_owned(), "bad_request"),
        ("\n".to_owned(), "bad_request"),
        ("{\"version\": 1}\n".to_owned(), "bad_request"),
        ("{\"version\": 99, \"anything\": []}\n".to_owned(), "version"),
        (request(json!({"verb": "format_disk"})), "bad_request"),
        (
            request(json!({"verb": "describe", "crash_id": "c-0", "max_frames": 1})),
            "unknown_crash",
        ),
        ("[".repeat(100_000) + "\n", "bad_request"),
    ] {
        (&stream).write_all(line.as_bytes()).unwrap();
        let answer = answer(&stream);
        assert_eq!(answer["failed"]["kind"], kind, "{answer}");
    }
    (&stream).write_all(b"\xff\xfe\n").unwrap();
    assert_eq!(answer(&stream)["failed"]["kind"], "bad_request");
    (&stream)
        .write_all(request(json!({"verb": "list"})).as_bytes())
        .unwrap();
    assert_eq!(answer(&stream)["ok"]["crashes"][0]["crash_id"], crash_id.as_str());
    still_heals(program, &crash_id);
}

#[test]
fn a_request_without_an_end_is_cut() {
    let (program, crash_id) = paused();
    let stream = connect(&program);
    let long = "x".repeat(5 << 20);
    // The program may answer and hang up before it has read all.
    let _ = (&stream).write_all(long.as_bytes());
    let first = answer(&stream);
    assert_eq!(first["failed"]["kind"], "bad_request", "{first}");
    drop(stream);
    still_heals(program, &crash_id);
}

#[test]
fn clients_that_hang_up_disturb_nobody() {
    let (program, crash_id) = paused();
    for text in ["", "{\"version\": 1, ", &request(json!({"verb": "list"}))] {
        let mut stream = connect(&program);
        stream.write_all(text.as_bytes()).unwrap();
    }
    let describe = request(json!({"verb": "describe", "crash_id": crash_id, "max_frames": 3}));
    for _ in 0..5 {
        connect(&program).write_all(describe.as_bytes()).unwrap();
    }
    // A client that says nothing holds nobody up.
    let _silent = connect(&program);
    still_heals(program, &crash_id);
}

#[test]
fn many_clients_at_once_are_all_answered() {
    let (program, crash_id) = paused();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let stream = connect(&program);
                for _ in 0..5 {
                    let describe = json!({"verb": "describe", "crash_id": crash_id, "max_frames": 3});
                    (&stream).write_all(request(describe).as_bytes()).unwrap();
                    let answer = answer(&stream);
                    assert_eq!(answer["ok"]["frames"][0]["location"]["function"], "f", "{answer}");
                }
            });
        }
    });
    still_heals(program, &crash_id);
}

#[test]
fn two_programs_pause_side_by_side() {
    let mut first = Program::new(newest(), MAIN);
    let mut second = Program::new(newest(), "print('second', {}['k'])\n");
    first.start();
    let mut command = second.run(&["main.py"], HANG.as_secs());
    command.env("XDG_RUNTIME_DIR", first.place("run"));
    second.spawn(command);
    let one = first.wait_for_pause();
    let other = first.wait_for_pause();
    let ids = |crash: &str| first.healmcp(&["show", crash, "--json"]).json()["summary"]["pid"].clone();
    let (of_first, of_second) = if ids(&one) == first.pid() {
        (one, other)
    } else {
        (other, one)
    };
    assert_eq!(ids(&of_second), second.pid());
    says(&first.healmcp(&["show"]), 2, "2 programs are paused");
    first.heal(&of_second, &next(""));
    assert_eq!(second.finish().told(), "");
    still_heals(first, &of_first);
}

#[test]
fn a_child_process_pauses_on_a_socket_of_its_own() {
    on_each(|python| {
        for method in ["fork", "spawn", "forkserver"] {
            let main = format!(
                "import multiprocessing\ndef work(d):\n    print('child', d['k'], flush=True)\n\
                 if __name__ == '__main__':\n    context = multiprocessing.get_context('{method}')\n    \
                 child = context.Process(target=work, args=({{}},))\n    child.start()\n    child.join()\n    \
                 print('exit', child.exitcode)\n"
            );
            let mut program = Program::new(python, &main);
            program.start();
            let crash_id = program.wait_for_pause();
            let pid = program.crashes()[0]["pid"].as_i64().unwrap();
            assert_ne!(pid, i64::from(program.pid()), "{method}");
            program.heal(&crash_id, &retry("d['k'] = 'healed'"));
            assert_eq!(program.finish().told(), "child healed\nexit 0\n", "{method}");
            // A forked child leaves by `os._exit` and its socket behind; whoever looks next takes it away.
            assert_eq!(program.crashes().len(), 0);
            assert!(
                !program.sockets().join(format!("{pid}.sock")).exists(),
                "{method}"
            );
        }
    });
}

#[test]
fn a_fork_of_a_program_that_paused_has_its_own_crashes() {
    check(
        "import os\ntry:\n    {}['parent']\nfinally:\n    pass\npid = os.fork()\nif pid == 0:\n    {}['child']\n    \
         print('child', flush=True)\n    os._exit(0)\nprint('parent', os.waitpid(pid, 0)[1])\n",
        &[next(""), next("")],
        "child\nparent 0\n",
    );
}

#[test]
fn other_threads_go_on_while_one_is_paused() {
    on_each(|python| {
        let main = "import threading, time\nstop = threading.Event()\nticks = []\ndef tick():\n    while not stop.wait(0.01):\n        \
                    ticks.append(1)\nt = threading.Thread(target=tick)\nt.start()\n{}['k']\nstop.set()\nt.join()\n\
                    print('end')\n";
        let mut program = Program::new(python, main);
        program.start();
        let crash_id = program.wait_for_pause();
        let count = || {
            program
                .evaluate(&crash_id, 0, "len(ticks)")
                .parse::<u64>()
                .unwrap()
        };
        let (first, started) = (count(), Instant::now());
        while count() == first {
            assert!(started.elapsed() < HANG, "the other thread stands still");
        }
        program.heal(&crash_id, &next(""));
        assert_eq!(program.finish().told(), "end\n");
    });
}

#[test]
fn a_dropped_connection_leaves_no_thread_behind() {
    let (program, crash_id) = paused();
    let threads = || fs::read_dir(format!("/proc/{}/task", program.pid())).map_or(0, Iterator::count);
    let before = threads();
    for _ in 0..10 {
        let mut stream = connect(&program);
        stream
            .write_all(request(json!({"verb": "list"})).as_bytes())
            .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let started = Instant::now();
    while threads() > before {
        assert!(started.elapsed() < HANG, "{} threads, {before} before", threads());
    }
    still_heals(program, &crash_id);
}
