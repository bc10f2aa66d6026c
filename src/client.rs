//! Reaches the programs of this user: finds their sockets, asks, and says clearly when one is gone.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use protocol::{Answer, Client as ClientName, CrashSummary, Envelope, Failure, FailureKind, Reply, Request};

use crate::folders::check_private;

/// The longest answer that is read; what a program sends is bounded far below.
const LONGEST_ANSWER: u64 = 64 << 20;

/// How long a program may take for a request, beyond what the request itself waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a program may take to list its crashes; several are asked at once, and none may hold up the others.
const LIST_PATIENCE: Duration = Duration::from_secs(3);

/// The programs of one user, seen from one client session.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    folder: PathBuf,
    uid: u32,
    name: ClientName,
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
        let session = format!("{:016x}", random());
        Self {
            folder,
            uid,
            name: ClientName {
                name: name.to_owned(),
                session,
            },
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
    pub(crate) fn peers(&self) -> Result<Vec<Peer>, Failure> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        check_private(&self.folder, self.uid)
            .map_err(|error| Failure::new(FailureKind::Internal, error.to_string(), error.hint()))?;
        let entries = fs::read_dir(&self.folder).map_err(|error| {
            Failure::new(
                FailureKind::Internal,
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

    /// Lists the crashes of all programs, all asked at once; a program that does not answer in time is left out.
    pub(crate) fn crashes(&self) -> Result<Vec<(Peer, CrashSummary)>, Failure> {
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
        for (peer, answer) in peers.into_iter().zip(answers) {
            match answer {
                Ok(found) => crashes.extend(found.into_iter().map(|crash| (peer.clone(), crash))),
                // Another version is worth knowing; anything else means that the program is going or busy.
                Err(failure) if failure.kind == FailureKind::Version => return Err(failure),
                Err(_) => {}
            }
        }
        Ok(crashes)
    }

    /// Lists the crashes of one program.
    pub(crate) fn crashes_of(&self, peer: &Peer) -> Result<Vec<CrashSummary>, Failure> {
        match self.ask_within(peer, Request::List, LIST_PATIENCE)? {
            Reply::Crashes { crashes } => Ok(crashes),
            other => Err(unexpected(&other)),
        }
    }

    /// Finds the program that a crash belongs to.
    pub(crate) fn peer_of(&self, crash_id: &str) -> Result<Peer, Failure> {
        let crashes = self.crashes()?;
        let known: Vec<&str> = crashes.iter().map(|(_, crash)| crash.crash_id.as_str()).collect();
        match crashes.iter().find(|(_, crash)| crash.crash_id == crash_id) {
            Some((peer, _)) => Ok(peer.clone()),
            None => Err(Failure::new(
                FailureKind::UnknownCrash,
                format!(
                    "no program here has a crash `{crash_id}`: the program that it belonged to has exited, or the id is wrong"
                ),
                match known.as_slice() {
                    [] => "no program is paused; start one with `healmcp run -- COMMAND`".to_owned(),
                    known => format!("the crashes that can be reached are {}", known.join(", ")),
                },
            )),
        }
    }

    /// Asks the program that `crash_id` belongs to.
    pub(crate) fn ask_crash(&self, crash_id: &str, request: Request) -> Result<Reply, Failure> {
        let peer = self.peer_of(crash_id)?;
        self.ask(&peer, request)
    }

    /// Asks one program and waits for the answer.
    pub(crate) fn ask(&self, peer: &Peer, request: Request) -> Result<Reply, Failure> {
        let own_wait = match &request {
            Request::Resume { wait_ms, .. } | Request::Abort { wait_ms, .. } => {
                Duration::from_millis(*wait_ms)
            }
            Request::List
            | Request::Describe { .. }
            | Request::Frame { .. }
            | Request::Evaluate { .. }
            | Request::Check { .. } => Duration::ZERO,
        };
        self.ask_within(peer, request, PATIENCE + own_wait)
    }

    fn ask_within(&self, peer: &Peer, request: Request, patience: Duration) -> Result<Reply, Failure> {
        let crash_id = crash_of(&request).map(str::to_owned);
        let envelope = Envelope {
            version: protocol::VERSION,
            client: self.name.clone(),
            request,
        };
        let fault = |error: io::Error| failure_of(&error, peer, crash_id.as_deref(), patience);
        let stream = self.connect(peer, patience).map_err(fault)?;
        let answer = exchange(&stream, &envelope).map_err(fault)?;
        match answer {
            Answer::Ok(reply) => Ok(reply),
            Answer::Failed(failure) => Err(failure),
        }
    }

    /// Connects to a socket that is ours: its file and the process that listens belong to this user.
    fn connect(&self, peer: &Peer, patience: Duration) -> io::Result<UnixStream> {
        let found = fs::symlink_metadata(&peer.socket)?;
        if !found.file_type().is_socket() || found.uid() != self.uid {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is not a socket of this user", peer.socket.display()),
            ));
        }
        let stream = connect_within(&peer.socket, patience)?;
        if let Some(uid) = peer_uid(&stream)?
            && uid != self.uid
        {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is served by the user with id {uid}", peer.socket.display()),
            ));
        }
        Ok(stream)
    }
}

impl Peer {
    /// Returns whether the process still exists.
    pub(crate) fn is_alive(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().map(nix::unistd::Pid::from_raw);
        pid.is_some_and(|pid| nix::sys::signal::kill(pid, None) != Err(Errno::ESRCH))
    }

    /// Removes the socket when its process has gone, or when nobody listens on it any more.
    fn remove_if_stale(&self) -> bool {
        let stale = if self.is_alive() {
            // The number may have been given to another process since.
            matches!(
                connect_within(&self.socket, LIST_PATIENCE),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused
            ) && !self.is_python_starting()
        } else {
            true
        };
        if stale {
            // Another client may have been faster.
            let _ = fs::remove_file(&self.socket);
        }
        stale
    }

    /// Between `bind` and `listen` a socket refuses connections; a young one is given the time to listen.
    fn is_python_starting(&self) -> bool {
        let modified = fs::symlink_metadata(&self.socket).and_then(|found| found.modified());
        modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < LIST_PATIENCE))
    }
}

fn exchange(stream: &UnixStream, envelope: &Envelope) -> io::Result<Answer> {
    let mut line = serde_json::to_string(envelope)?;
    line.push('\n');
    (&*stream).write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut answer)?;
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

fn failure_of(error: &io::Error, peer: &Peer, crash_id: Option<&str>, patience: Duration) -> Failure {
    let gone = !peer.is_alive();
    let of_crash = crash_id.map_or_else(String::new, |crash_id| {
        format!(" that crash `{crash_id}` belonged to")
    });
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Failure::new(
            FailureKind::UnknownCrash,
            if gone {
                format!("the program{of_crash} (process {}) has exited", peer.pid)
            } else {
                format!(
                    "the program{of_crash} (process {}) is not listening any more",
                    peer.pid
                )
            },
            "list the crashes that wait, or start the program again with `healmcp run`",
        ),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Failure::new(
            FailureKind::Internal,
            format!(
                "process {} did not answer within {} s",
                peer.pid,
                patience.as_secs()
            ),
            "it may be busy in native code or stopped by a signal: try again, or look at the process",
        ),
        io::ErrorKind::PermissionDenied => Failure::new(
            FailureKind::Internal,
            error.to_string(),
            "somebody else may be trying to take the program's place: run `healmcp doctor`",
        ),
        _ => Failure::new(
            FailureKind::Version,
            format!("the answer of process {} cannot be read: {error}", peer.pid),
            "the program and this command may be of different versions: use one installation of healmcp for both",
        ),
    }
}

/// Builds the failure for a reply of another kind than the request asks for.
pub(crate) fn unexpected(reply: &Reply) -> Failure {
    let kind = serde_json::to_value(reply)
        .ok()
        .and_then(|value| value["kind"].as_str().map(str::to_owned));
    Failure::new(
        FailureKind::Version,
        format!(
            "the program answered with `{}`, which was not asked for",
            kind.unwrap_or_default()
        ),
        "use one installation of healmcp for the program and this command",
    )
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
