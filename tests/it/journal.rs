//! The journal of a run that paused, and what is said at its end.

use std::fs;

use crate::heal::{next, retry};
use crate::program::Program;
use crate::python::on_each;

const MAIN: &str = "d = {}\nprint(d['a'])\nprint(d['b'])\nprint('end')\n";

#[test]
fn a_healed_run_is_told_of_in_order() {
    on_each(|python| {
        let mut program = Program::new(python, MAIN);
        program.start();
        let first = program.wait_for_pause();
        program.check(&first, &next("import os"));
        let heal_id = program.allowed(&first, &retry("d['a'] = 1"));
        // Written before it is done: the program still stands.
        let events = |program: &Program| -> Vec<String> {
            let lines = program.journal();
            lines
                .iter()
                .map(|line| line["event"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(events(&program), ["crash", "check", "check"]);
        program.healmcp(&["resume", &first, &heal_id, "--json"]).json();
        let second = program.wait_for_pause();
        program.heal(&second, &next(""));
        let ended = program.finish();
        assert_eq!(ended.told(), "1\nend\n");

        let journal = program.journal();
        assert_eq!(
            events(&program),
            ["crash", "check", "check", "resume", "crash", "check", "resume"]
        );
        assert_eq!(journal[0]["crash"]["crash_id"], first.as_str());
        assert_eq!(journal[0]["crash"]["exception_type"], "KeyError");
        assert_eq!(journal[1]["check"]["verdict"]["verdict"], "deny");
        assert_eq!(journal[3]["heal_id"], heal_id.as_str());
        assert_eq!(journal[3]["proposal"]["code"], "d['a'] = 1");
        assert_eq!(journal[3]["changes"][0]["new"], "1");
        assert_eq!(journal[4]["crash"]["crash_id"], second.as_str());
        assert!(
            journal
                .iter()
                .all(|line| line["pid"].is_u64() && line["at"].is_f64())
        );
        let times: Vec<f64> = journal.iter().map(|line| line["at"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");

        let said = &ended.stderr[ended.stderr.find("healmcp: this run was healed").unwrap()..];
        let path = program
            .files()
            .into_iter()
            .find(|file| file.ends_with(".jsonl"))
            .unwrap();
        let main = program.path("main.py").display().to_string();
        let expect = format!(
            "healmcp: this run was healed twice at 2 place(s); the bugs are still in the source\n  \
             KeyError: 'a' at <module> ({main}:2)\n    went on: runs the statement at line 2 again from its start\n    \
             changed: d['a']: <unset> -> 1\n  \
             KeyError: 'b' at <module> ({main}:3)\n    went on: skips line 3, goes on at line 4\n  \
             journal: {}\n",
            program.path(&path).display()
        );
        assert_eq!(said, expect);
        assert_eq!(
            fs::read_to_string(program.path(".healmcp/.gitignore")).unwrap(),
            "*\n"
        );
    });
}

#[test]
fn what_was_let_go_is_told_of() {
    on_each(|python| {
        let mut program = Program::new(python, MAIN);
        program.start();
        let crash_id = program.wait_for_pause();
        let words = ["abort", &crash_id, "--reason", "a person decides", "--json"];
        program.healmcp(&words).json();
        let ended = program.finish();
        assert!(!ended.stderr.contains("was healed"), "{}", ended.stderr);
        let journal = program.journal();
        let events: Vec<&str> = journal
            .iter()
            .map(|line| line["event"].as_str().unwrap())
            .collect();
        assert_eq!(events, ["crash", "abort", "released"]);
        assert_eq!(journal[1]["reason"], "a person decides");
        assert_eq!(journal[2]["reason"], "aborted");
    });
}

#[test]
fn where_the_project_cannot_be_written_the_journal_is_kept_in_the_state_folder() {
    use std::os::unix::fs::PermissionsExt;
    if nix::unistd::geteuid().is_root() {
        eprintln!("skipped: root can write everywhere");
        return;
    }
    on_each(|python| {
        let mut program = Program::new(python, MAIN);
        fs::set_permissions(program.path(""), fs::Permissions::from_mode(0o555)).unwrap();
        program.start();
        let crash_id = program.wait_for_pause();
        program.abort(&crash_id);
        program.finish();
        let kept = fs::read_dir(program.place("state").join("healmcp/journal")).unwrap();
        assert!(kept.count() > 0);
        fs::set_permissions(program.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    });
}
