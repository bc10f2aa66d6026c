//! Presets: groups of the standard library's operations that leave the process.

/// A group of operations that a policy can name with one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Starting, signalling and ending processes.
    Process,
    /// Sending over sockets and the protocols above them.
    NetworkSend,
    /// Creating and changing files and folders.
    FileWrite,
    /// Removing files and folders.
    FileDelete,
    /// Statements and commits of databases.
    DbWrite,
    /// Running text as code.
    Exec,
}

impl Preset {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Process,
        Self::NetworkSend,
        Self::FileWrite,
        Self::FileDelete,
        Self::DbWrite,
        Self::Exec,
    ];

    /// Returns the word that the policy writes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::NetworkSend => "network-send",
            Self::FileWrite => "file-write",
            Self::FileDelete => "file-delete",
            Self::DbWrite => "db-write",
            Self::Exec => "exec",
        }
    }

    /// Returns the preset that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == word)
    }

    /// Returns the dotted names of its operations.
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Process => PROCESS,
            Self::NetworkSend => NETWORK_SEND,
            Self::FileWrite => FILE_WRITE,
            Self::FileDelete => FILE_DELETE,
            Self::DbWrite => DB_WRITE,
            Self::Exec => EXEC,
        }
    }
}

const PROCESS: &[&str] = &[
    "os.system",
    "os.popen",
    "os.exec*",
    "os.spawn*",
    "os.posix_spawn",
    "os.posix_spawnp",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.killpg",
    "os.abort",
    "os._exit",
    "os.startfile",
    "subprocess.Popen",
    "subprocess.Popen.*",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "subprocess.fork_exec",
    "asyncio.subprocess.create_subprocess_exec",
    "asyncio.subprocess.create_subprocess_shell",
    "multiprocessing.process.BaseProcess.start",
    "multiprocessing.process.BaseProcess.terminate",
    "multiprocessing.process.BaseProcess.kill",
    "pty.spawn",
    "signal.pthread_kill",
];

const NETWORK_SEND: &[&str] = &[
    "socket.socket.connect",
    "socket.socket.connect_ex",
    "socket.socket.send",
    "socket.socket.sendall",
    "socket.socket.sendto",
    "socket.socket.sendmsg",
    "socket.socket.sendfile",
    "socket.create_connection",
    "ssl.SSLSocket.send",
    "ssl.SSLSocket.sendall",
    "ssl.SSLSocket.write",
    "asyncio.streams.open_connection",
    "asyncio.streams.StreamWriter.write",
    "asyncio.streams.StreamWriter.writelines",
    "http.client.HTTPConnection.request",
    "http.client.HTTPConnection.send",
    "http.client.HTTPConnection.endheaders",
    "urllib.request.urlopen",
    "urllib.request.OpenerDirector.open",
    "smtplib.SMTP.sendmail",
    "smtplib.SMTP.send_message",
    "ftplib.FTP.sendcmd",
    "ftplib.FTP.storbinary",
    "ftplib.FTP.storlines",
    "xmlrpc.client.ServerProxy.__request",
    "webbrowser.open",
];

const FILE_WRITE: &[&str] = &[
    "os.write",
    "os.writev",
    "os.pwrite",
    "os.truncate",
    "os.ftruncate",
    "os.rename",
    "os.renames",
    "os.replace",
    "os.link",
    "os.symlink",
    "os.mkdir",
    "os.makedirs",
    "os.mkfifo",
    "os.chmod",
    "os.chown",
    "os.utime",
    "io.FileIO.write",
    "io.FileIO.truncate",
    "io.BufferedWriter.write",
    "io.BufferedWriter.truncate",
    "io.BufferedRandom.write",
    "io.BufferedRandom.truncate",
    "io.TextIOWrapper.write",
    "io.TextIOWrapper.truncate",
    "pathlib.Path.write_text",
    "pathlib.Path.write_bytes",
    "pathlib.Path.touch",
    "pathlib.Path.mkdir",
    "pathlib.Path.rename",
    "pathlib.Path.replace",
    "pathlib.Path.symlink_to",
    "pathlib.Path.hardlink_to",
    "pathlib.Path.chmod",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "shutil.copyfileobj",
    "shutil.copytree",
    "shutil.move",
    "shutil.make_archive",
    "shutil.unpack_archive",
    "zipfile.ZipFile.write",
    "zipfile.ZipFile.writestr",
    "zipfile.ZipFile.extract",
    "zipfile.ZipFile.extractall",
    "tarfile.TarFile.add",
    "tarfile.TarFile.addfile",
    "tarfile.TarFile.extract",
    "tarfile.TarFile.extractall",
];

const FILE_DELETE: &[&str] = &[
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "pathlib.Path.unlink",
    "pathlib.Path.rmdir",
    "shutil.rmtree",
];

const DB_WRITE: &[&str] = &[
    "sqlite3.Connection.execute",
    "sqlite3.Connection.executemany",
    "sqlite3.Connection.executescript",
    "sqlite3.Connection.commit",
    "sqlite3.Cursor.execute",
    "sqlite3.Cursor.executemany",
    "sqlite3.Cursor.executescript",
    "dbm.dumb._Database.__setitem__",
    "dbm.dumb._Database.__delitem__",
    "shelve.Shelf.__setitem__",
    "shelve.Shelf.__delitem__",
    "shelve.Shelf.sync",
];

const EXEC: &[&str] = &[
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "builtins.__import__",
    "importlib.import_module",
    "importlib.reload",
    "runpy.run_module",
    "runpy.run_path",
    "code.InteractiveInterpreter.*",
    "marshal.loads",
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler.load",
    "_pickle.load",
    "_pickle.loads",
    "_pickle.Unpickler.load",
    "ctypes.CDLL.__init__",
];

#[cfg(test)]
mod tests {
    use super::Preset;
    use crate::names::Pattern;

    #[test]
    fn every_operation_is_a_name_that_stands_once() {
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.as_str()), Some(preset));
            for (name_idx, name) in preset.operations().iter().enumerate() {
                Pattern::parse(name, 2).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(
                    !preset.operations()[..name_idx].contains(name),
                    "{name} stands twice"
                );
            }
        }
    }
}
