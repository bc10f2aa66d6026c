//! Reaches the programs of this user: finds their sockets, asks, and says clearly when one is gone.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use protocol::{
    Answer, Client as ClientName, CrashStatus, CrashSummary, Envelope, Failure, FailureKind, Reply, Request,
};
use tools::{ErrorKind, ToolError};

use crate::folders::check_private;

/// The longest answer that is read; what a program sends is bounded far below.
const LONGEST_ANSWER: u64 = 64 << 20;

/// How long a program may take for a request, beyond what the request itself waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a program may take to list its crashes; several are asked at once, and none may hold up the others.
const LIST_PATIENCE: Duration = Duration::from_secs(3);

/// The programs of one user, seen from one client session.
#[derive(Debug)]
pub(crate) struct Client {
    folder: PathBuf,
    uid: u32,
    name: ClientName,
    /// Which program each crash was last seen in: to ask it directly, and to know that it has gone.
    seen: Mutex<HashMap<String, Peer>>,
}

/// One program with a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its process.
    pub(crate) pid: u32,
    socket: PathBuf,
}

impl Client {
    /// Makes a client of the sockets in `folder`, which belong to the user `uid`, under a name for people.
    pub(crate) fn new(folder: PathBuf, uid: u32, name: &str) -> Self {
        Self {
            folder,
            uid,
            name: ClientName {
                name: name.to_owned(),
                session: format!("{:016x}", random()),
            },
            seen: Mutex::default(),
        }
    }

    /// Returns the program with this process id, whether it has a socket yet or not.
    pub(crate) fn peer(&self, pid: u32) -> Peer {
        Peer {
            pid,
            socket: self.folder.join(format!("{pid}.sock")),
        }
    }

    /// Lists the programs that have a socket, and removes the sockets of programs that have gone.
    pub(crate) fn peers(&self) -> Result<Vec<Peer>, ToolError> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        check_private(&self.folder, self.uid)
            .map_err(|error| ToolError::fault(error.to_string(), error.hint()))?;
        let entries = fs::read_dir(&self.folder).map_err(|error| {
            ToolError::fault(
                format!("cannot read the folder of the sockets: {error}"),
                "run `healmcp doctor`",
            )
        })?;
        let mut peers: Vec<Peer> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some(self.peer(name.strip_suffix(".sock")?.parse().ok()?))
            })
            .filter(|peer| !peer.remove_if_stale())
            .collect();
        peers.sort_by_key(|peer| peer.pid);
        Ok(peers)
    }

    /// Lists the crashes of all programs, paused ones first; all are asked at once, and a program that does not answer
    /// in time is left out.
    pub(crate) fn crashes(&self) -> Result<Vec<CrashSummary>, ToolError> {
        let peers = self.peers()?;
        let answers: Vec<_> = thread::scope(|scope| {
            let asked: Vec<_> = peers
                .iter()
                .map(|peer| scope.spawn(|| self.crashes_of(peer)))
                .collect();
            asked
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Ok(Vec::new())))
                .collect()
        });
        let mut crashes = Vec::new();
        for answer in answers {
            match answer {
                Ok(found) => crashes.extend(found),
                // Another version is worth knowing; anything else means that the program is going or busy.
                Err(error) if error.kind == ErrorKind::Refused(FailureKind::Version) => return Err(error),
                Err(_) => {}
            }
        }
        crashes.sort_by_key(|crash| {
            (
                crash.status != CrashStatus::Paused,
                std::cmp::Reverse(crash.paused_at),
            )
        });
        Ok(crashes)
    }

    /// Lists the crashes of one program.
    pub(crate) fn crashes_of(&self, peer: &Peer) -> Result<Vec<CrashSummary>, ToolError> {
        match self.ask_within(peer, Request::List, LIST_PATIENCE)? {
            Reply::Crashes { crashes } => {
                let mut seen = self.seen();
                seen.extend(crashes.iter().map(|crash| (crash.crash_id.clone(), peer.clone())));
                Ok(crashes)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Asks the program that `crash_id` belongs to.
    pub(crate) fn ask_crash(&self, crash_id: &str, request: Request) -> Result<Reply, ToolError> {
        let peer = self.seen().get(crash_id).cloned();
        let peer = match peer {
            Some(peer) => peer,
            None => {
                self.crashes()?;
                self.seen()
                    .get(crash_id)
                    .cloned()
                    .ok_or_else(|| ToolError::unknown_crash(crash_id))?
            }
        };
        self.ask(&peer, request)
    }

    /// Asks one program and waits for the answer.
    pub(crate) fn ask(&self, peer: &Peer, request: Request) -> Result<Reply, ToolError> {
        let patience = PATIENCE + own_wait(&request);
        self.ask_within(peer, request, patience)
    }

    fn ask_within(&self, peer: &Peer, request: Request, patience: Duration) -> Result<Reply, ToolError> {
        let crash_id = crash_of(&request).map(str::to_owned);
        let envelope = Envelope {
            version: protocol::VERSION,
            client: self.name.clone(),
            request,
        };
        let fault = |error: io::Error| error_of(&error, peer, crash_id.as_deref(), patience);
        let stream = self.connect(peer, patience).map_err(fault)?;
        let answer = exchange(&stream, &envelope).map_err(fault)?;
        match answer {
            Answer::Ok(reply) => Ok(reply),
            Answer::Failed(failure) => Err(failure.into()),
        }
    }

    /// Connects to a socket that is ours: its file and the process that listens belong to this user.
    fn connect(&self, peer: &Peer, patience: Duration) -> io::Result<UnixStream> {
        let foreign = |what: &str| {
            let message = format!("{} {what}", peer.socket.display());
            io::Error::new(io::ErrorKind::PermissionDenied, message)
        };
        let found = fs::symlink_metadata(&peer.socket)?;
        if !found.file_type().is_socket() || found.uid() != self.uid {
            return Err(foreign("is not a socket of this user"));
        }
        let stream = connect_within(&peer.socket, patience)?;
        match peer_uid(&stream)? {
            Some(uid) if uid != self.uid => Err(foreign(&format!("is served by the user with id {uid}"))),
            Some(_) | None => Ok(stream),
        }
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<String, Peer>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer {
    /// Returns whether the process still exists.
    pub(crate) fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().map(nix::unistd::Pid::from_raw);
        pid.is_some_and(|pid| nix::sys::signal::kill(pid, None) != Err(Errno::ESRCH))
    }

    /// Removes the socket of a program that has gone. One that still listens stays, whatever its process number says:
    /// a program in a container has another number there than here.
    fn remove_if_stale(&self) -> bool {
        if self.is_alive() {
            return false;
        }
        let refused = connect_within(&self.socket, LIST_PATIENCE)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            // Another client may have been faster.
            let _ = fs::remove_file(&self.socket);
        }
        refused
    }
}

/// How long a request itself waits for what happens next.
fn own_wait(request: &Request) -> Duration {
    match request {
        Request::Resume { wait_ms, .. } | Request::Abort { wait_ms, .. } => Duration::from_millis(*wait_ms),
        Request::List
        | Request::Describe { .. }
        | Request::Frame { .. }
        | Request::Evaluate { .. }
        | Request::Check { .. } => Duration::ZERO,
    }
}

fn exchange(stream: &UnixStream, envelope: &Envelope) -> io::Result<Answer> {
    let mut line = serde_json::to_string(envelope)?;
    line.push('\n');
    (&*stream).write_all(line.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let answer = read_answer(&mut reader)?;
    match answer {
        Answer::Ok(Reply::Went(mut went)) if !own_wait(&envelope.request).is_zero() => {
            // It was done, whatever follows: a program that leaves without a word has ended.
            read_answer(&mut reader).or_else(|error| {
                if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                    if went.outcome == "running" {
                        went.outcome = "exited".to_owned();
                    }
                    went.evidence
                        .push_str("; then the program ended without a word, or was killed");
                }
                Ok(Answer::Ok(Reply::Went(went)))
            })
        }
        answer => Ok(answer),
    }
}

fn read_answer(reader: &mut BufReader<&UnixStream>) -> io::Result<Answer> {
    let mut answer = String::new();
    reader.take(LONGEST_ANSWER).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&answer).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Connects with a time limit also where the listener's queue is full.
fn connect_within(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let descriptor = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None)?;
    nix::fcntl::fcntl(
        &descriptor,
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
    )?;
    let limit = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    setsockopt(&descriptor.as_fd(), sockopt::SendTimeout, &limit)?;
    setsockopt(&descriptor.as_fd(), sockopt::ReceiveTimeout, &limit)?;
    connect(descriptor.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(descriptor))
}

#[cfg(target_os = "linux")]
fn peer_uid(stream: &UnixStream) -> io::Result<Option<u32>> {
    let credentials = nix::sys::socket::getsockopt(stream, sockopt::PeerCredentials)?;
    Ok(Some(credentials.uid()))
}

#[cfg(not(target_os = "linux"))]
fn peer_uid(_stream: &UnixStream) -> io::Result<Option<u32>> {
    Ok(None)
}

fn error_of(error: &io::Error, peer: &Peer, crash_id: Option<&str>, patience: Duration) -> ToolError {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => match crash_id {
            Some(crash_id) => ToolError::gone(crash_id),
            None => ToolError::fault(
                format!("process {} is not listening", peer.pid),
                "it may have ended",
            ),
        },
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ToolError::fault(
            format!(
                "process {} did not answer within {} s",
                peer.pid,
                patience.as_secs()
            ),
            "it may be busy in native code or stopped by a signal: try again, or look at the process",
        ),
        io::ErrorKind::PermissionDenied => ToolError::fault(
            error.to_string(),
            "somebody else may be trying to take the program's place: run `healmcp doctor`",
        ),
        _ => other_version(format!(
            "the answer of process {} cannot be read: {error}",
            peer.pid
        )),
    }
}

/// Builds the error for a reply of another kind than the request asks for.
pub(crate) fn unexpected(reply: &Reply) -> ToolError {
    let kind = serde_json::to_value(reply)
        .ok()
        .and_then(|value| value["kind"].as_str().map(str::to_owned));
    other_version(format!(
        "the program answered with {kind:?}, which was not asked for"
    ))
}

fn other_version(message: String) -> ToolError {
    let hint = "use one installation of healmcp for the program and this command";
    Failure::new(FailureKind::Version, message, hint).into()
}

fn crash_of(request: &Request) -> Option<&str> {
    match request {
        Request::List => None,
        Request::Describe { crash_id, .. }
        | Request::Frame { crash_id, .. }
        | Request::Evaluate { crash_id, .. }
        | Request::Check { crash_id, .. }
        | Request::Resume { crash_id, .. }
        | Request::Abort { crash_id, .. } => Some(crash_id),
    }
}

/// Returns a number that nobody can guess, from the standard library's own source of randomness.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    use tempfile::TempDir;

    use super::*;

    /// This process stands for the paused program: it is alive, and its socket is served by a thread.
    struct Program {
        folder: TempDir,
        asked: JoinHandle<Vec<String>>,
    }

    fn own_uid() -> u32 {
        nix::unistd::Uid::current().as_raw()
    }

    fn private_folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    fn client(folder: &Path) -> Client {
        Client::new(folder.to_owned(), own_uid(), "test")
    }

    /// Serves one connection for each answer, then stops listening.
    fn program(answers: &[&str]) -> Program {
        let folder = private_folder();
        let listener =
            UnixListener::bind(folder.path().join(format!("{}.sock", std::process::id()))).unwrap();
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let asked = thread::spawn(move || {
            let mut asked = Vec::new();
            while asked.len() < answers.len() {
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                (&stream).write_all(answers[asked.len()].as_bytes()).unwrap();
                asked.push(line);
            }
            asked
        });
        Program { folder, asked }
    }

    fn crash(crash_id: &str, status: &str, paused_at: u64) -> String {
        format!(
            r#"{{"crash_id":"{crash_id}","status":"{status}","exception_type":"KeyError","message":"'a'",
            "location":{{"file":"a.py","line":1,"function":"f"}},"pid":1,"thread":"MainThread","command":[],"root":"/",
            "journal":"","paused_at":{paused_at},"seconds_left":null,"n_attempts":0,"held_by":null}}"#
        )
        .replace('\n', "")
    }

    fn listing(crashes: &[String]) -> String {
        format!(
            "{{\"ok\":{{\"kind\":\"crashes\",\"crashes\":[{}]}}}}\n",
            crashes.join(",")
        )
    }

    const VALUE: &str = "{\"ok\":{\"kind\":\"value\",\"type_name\":\"int\",\"text\":\"42\",\"cut\":false}}\n";

    fn evaluate(crash_id: &str) -> Request {
        Request::Evaluate {
            crash_id: crash_id.to_owned(),
            frame: 0,
            expression: "x".to_owned(),
            max_chars: 100,
            user_repr: false,
        }
    }

    fn said<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
        match result {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("{:?}: {error}", error.kind),
        }
    }

    #[test]
    fn a_request_is_one_line_and_so_is_its_answer() {
        let program = program(&[&listing(&[crash("c1", "paused", 1)]), VALUE]);
        let client = client(program.folder.path());
        assert_eq!(
            said(client.ask_crash("c1", evaluate("c1"))),
            r#"Value { type_name: "int", text: "42", cut: false }"#
        );
        let asked = program.asked.join().unwrap();
        let envelope: Envelope = serde_json::from_str(&asked[1]).unwrap();
        assert_eq!(
            (envelope.version, envelope.client.name.as_str()),
            (protocol::VERSION, "test")
        );
        assert!(asked[1].ends_with("\"request\":{\"verb\":\"evaluate\",\"crash_id\":\"c1\",\"frame\":0,\"expression\":\"x\",\"max_chars\":100,\"user_repr\":false}}\n"), "{}", asked[1]);
    }

    #[test]
    fn paused_crashes_come_first_and_new_ones_before_old_ones() {
        let crashes = [
            crash("over", "resumed", 9),
            crash("old", "paused", 1),
            crash("new", "paused", 2),
        ];
        let program = program(&[&listing(&crashes)]);
        let found = client(program.folder.path()).crashes().unwrap();
        let ids: Vec<&str> = found.iter().map(|crash| crash.crash_id.as_str()).collect();
        assert_eq!(ids, ["new", "old", "over"]);
        program.asked.join().unwrap();
    }

    #[test]
    fn a_refusal_keeps_its_hint() {
        let refusal = r#"{"failed":{"kind":"held","message":"held by x","hint":"wait"}}"#.to_owned() + "\n";
        let program = program(&[&listing(&[crash("c1", "paused", 1)]), &refusal]);
        let client = client(program.folder.path());
        let error = client.ask_crash("c1", evaluate("c1")).unwrap_err();
        assert_eq!(
            (error.kind, error.hint.as_str()),
            (ErrorKind::Refused(FailureKind::Held), "wait")
        );
    }

    #[test]
    fn a_program_that_went_away_is_told_from_an_id_that_never_was() {
        let program = program(&[&listing(&[crash("c1", "paused", 1)]), &listing(&[])]);
        let client = client(program.folder.path());
        client.crashes().unwrap();
        assert!(said(client.ask_crash("zz", evaluate("zz"))).starts_with("UnknownCrash: "));
        program.asked.join().unwrap();
        assert!(said(client.ask_crash("c1", evaluate("c1"))).starts_with("Gone: "));
    }

    #[test]
    fn an_answer_that_cannot_be_read_names_the_versions() {
        let program = program(&["{\"ok\":{\"kind\":\"unheard\"}}\n"]);
        let client = client(program.folder.path());
        let error = client.crashes_of(&client.peer(std::process::id())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refused(FailureKind::Version), "{error}");
    }

    #[test]
    fn a_program_that_ends_after_a_resume_was_resumed() {
        let went = r#"{"ok":{"kind":"went","outcome":"running","resumed_at":null,"evidence":"done","next_crash":null}}"#;
        let program = program(&[&format!("{went}\n")]);
        let client = client(program.folder.path());
        let request = Request::Resume {
            crash_id: "c1".to_owned(),
            heal_id: "h1".to_owned(),
            wait_ms: 5_000,
        };
        let reply = client.ask(&client.peer(std::process::id()), request).unwrap();
        let Reply::Went(went) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(
            (went.outcome.as_str(), went.evidence.as_str()),
            (
                "exited",
                "done; then the program ended without a word, or was killed"
            )
        );
    }

    #[test]
    fn a_program_that_dies_over_a_request_is_gone() {
        let program = program(&["", ""]);
        let client = client(program.folder.path());
        let peer = client.peer(std::process::id());
        assert!(said(client.ask(&peer, evaluate("c1"))).starts_with("Gone: "));
        assert!(said(client.crashes_of(&peer)).starts_with("Fault: process "));
    }

    #[test]
    fn a_silent_program_is_not_waited_for_without_end() {
        let folder = private_folder();
        let _listener =
            UnixListener::bind(folder.path().join(format!("{}.sock", std::process::id()))).unwrap();
        let client = client(folder.path());
        let peer = client.peer(std::process::id());
        let said = said(client.ask_within(&peer, evaluate("c1"), Duration::from_millis(30)));
        assert!(said.contains("did not answer within"), "{said}");
    }

    #[test]
    fn sockets_of_programs_that_have_gone_are_removed() {
        let folder = private_folder();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stale = folder.path().join(format!("{}.sock", child.id()));
        drop(UnixListener::bind(&stale).unwrap());
        child.wait().unwrap();
        assert_eq!(client(folder.path()).crashes().unwrap().len(), 0);
        assert!(!stale.exists());
    }

    #[test]
    fn what_is_not_a_socket_of_this_user_is_refused() {
        let folder = private_folder();
        let client = client(folder.path());
        let peer = client.peer(std::process::id());
        fs::write(&peer.socket, "").unwrap();
        let said = said(client.ask(&peer, evaluate("c1")));
        assert!(said.ends_with("is not a socket of this user"), "{said}");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            client
                .crashes()
                .unwrap_err()
                .to_string()
                .ends_with("has mode 0755, not 0700")
        );
    }
}
