//! The process's socket: one line in, one line out. It lives in threads of its own that never touch Python.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use protocol::{Answer, Envelope, Failure, FailureKind, HealOutcome, Reply, Request};

use crate::crashes::{self, InFlight, Peer, Untold};
use crate::state;

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 4 << 20;
/// How long a connected client may be silent.
const SILENCE: Duration = Duration::from_secs(600);
/// The longest wait for what happens next.
const MAX_WAIT: Duration = Duration::from_secs(120);

static LISTENING: Mutex<Option<(u32, PathBuf)>> = Mutex::new(None);

/// Listens, if this process does not yet; returns the socket's path.
pub(crate) fn listen() -> std::io::Result<PathBuf> {
    let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if let Some((of, path)) = &*listening
        && *of == pid
        && path.exists()
    {
        return Ok(path.clone());
    }
    let folder = PathBuf::from(&state::settings().sockets);
    make_private(&folder)?;
    let path = folder.join(format!("{pid}.sock"));
    // A file of this name is left over from a process that had our id before.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    without_signals(|| {
        std::thread::Builder::new()
            .name("healmcp".to_owned())
            .spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let _ = std::thread::Builder::new()
                        .name("healmcp client".to_owned())
                        .spawn(move || serve(&stream));
                }
            })
    })?;
    *listening = Some((pid, path.clone()));
    Ok(path)
}

/// Makes the folder of the sockets, or checks that it is the user's alone: somebody may have put another in its place.
fn make_private(folder: &Path) -> std::io::Result<()> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = std::fs::symlink_metadata(folder)?;
    let is_private =
        found.is_dir() && found.uid() == nix::unistd::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_private {
        Ok(())
    } else {
        Err(std::io::Error::other("it is not a folder of the user's alone"))
    }
}

/// Removes the socket of this process.
pub(crate) fn close() {
    let listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((pid, path)) = listening
        && pid == std::process::id()
    {
        let _ = std::fs::remove_file(path);
    }
}

/// Starts threads that receive no signal: they are the program's, and its main thread takes them.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut before = SigSet::empty();
    let blocked = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), Some(&mut before));
    let started = start();
    if blocked.is_ok() {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
    started
}

fn serve(stream: &UnixStream) {
    let Ok(credentials) = getsockopt(stream, PeerCredentials) else {
        return;
    };
    if credentials.uid() != nix::unistd::geteuid().as_raw() {
        return;
    }
    let _ = stream.set_read_timeout(Some(SILENCE));
    let _ = stream.set_write_timeout(Some(SILENCE));
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(MAX_REQUEST).read_until(b'\n', &mut line) {
            Ok(n) if n > 0 => {}
            _ => return,
        }
        let _in_flight = InFlight::begin();
        let answered = answer(&line, credentials.pid());
        if write(stream, &answered.answer).is_err() {
            return;
        }
        drop(answered.untold);
        // That it was done is said before the wait: a program that leaves by `os._exit` says nothing more.
        if let Some(Waits {
            crash_id,
            outcome,
            wait,
        }) = answered.waits
        {
            let reply = crashes::what_next(&crash_id, *outcome, wait);
            if write(stream, &Answer::Ok(reply)).is_err() {
                return;
            }
        }
    }
}

fn write(mut stream: &UnixStream, answer: &Answer) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(answer)?;
    text.push(b'\n');
    stream.write_all(&text)
}

/// An answer, and what the client waits for after it.
struct Answered {
    answer: Answer,
    waits: Option<Waits>,
    /// Dropped when the answer has been written.
    untold: Option<Untold>,
}

struct Waits {
    crash_id: String,
    outcome: Box<HealOutcome>,
    wait: Duration,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            waits: None,
            untold: None,
        }
    }
}

fn answer(line: &[u8], pid: i32) -> Answered {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_slice::<Versioned>(line) {
        Ok(Versioned { version }) if version != protocol::VERSION => {
            return Answer::Failed(Failure::new(
                FailureKind::Version,
                format!(
                    "this program speaks version {} and the client {version}",
                    protocol::VERSION
                ),
                "use the healmcp that the program was started with",
            ))
            .into();
        }
        _ => {}
    }
    let envelope: Envelope = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => {
            return Answer::Failed(Failure::new(
                FailureKind::BadRequest,
                format!("the request is not of this protocol: {error}"),
                "send one JSON object a line",
            ))
            .into();
        }
    };
    let peer = Peer {
        client: envelope.client,
        pid,
    };
    let Some(crash_id) = crash_of(&envelope.request) else {
        return Answer::Ok(Reply::Crashes {
            crashes: crashes::list(),
        })
        .into();
    };
    let wait = match &envelope.request {
        Request::Resume { wait_ms, .. } | Request::Abort { wait_ms, .. } => {
            Duration::from_millis(*wait_ms).min(MAX_WAIT)
        }
        _ => Duration::ZERO,
    };
    let untold = Untold::of(&envelope.request);
    let answer = crashes::ask(&crash_id, envelope.request, &peer);
    let waits = match &answer {
        Answer::Ok(Reply::Went(outcome)) if !wait.is_zero() => Some(Waits {
            crash_id,
            outcome: outcome.clone(),
            wait,
        }),
        _ => None,
    };
    Answered {
        answer,
        waits,
        untold,
    }
}

fn crash_of(request: &Request) -> Option<String> {
    match request {
        Request::List => None,
        Request::Describe { crash_id, .. }
        | Request::Frame { crash_id, .. }
        | Request::Evaluate { crash_id, .. }
        | Request::Check { crash_id, .. }
        | Request::Resume { crash_id, .. }
        | Request::Abort { crash_id, .. } => Some(crash_id.clone()),
    }
}
