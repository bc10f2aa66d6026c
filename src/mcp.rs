//! The tools over MCP: the one place that knows the protocol, in the versions of 2025 and of 2026 from one handler.

mod handler;
mod input;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use tokio::signal::unix::{SignalKind, signal};
use tools::World;

use crate::machine::Cancel;
use handler::Handler;
use input::WatchedInput;

/// What a call sees of the world, in the name of a client, until it is cancelled.
pub(crate) type Connect = dyn Fn(&str, Arc<Cancel>) -> Box<dyn World> + Send + Sync;

/// What is served.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Leaves out every tool that does more than look.
    pub(crate) read_only: bool,
    /// Asks clients that can to have a person confirm each `resume`. A convenience: the guard is in the program.
    pub(crate) person_confirms: bool,
}

/// How long calls may go on after the client has closed its end, for those who pipe in a few requests.
const GRACE: Duration = Duration::from_millis(500);

/// Serves on standard input and output until the client closes its end or a signal comes.
pub(crate) fn serve(connect: Box<Connect>, options: Options) -> io::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_max_level(tracing::Level::WARN)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve_until_the_end(Handler::new(connect, options)));
    // A thread may hang in a read of standard input, or wait for a program: the process ends without it.
    runtime.shutdown_background();
    served
}

async fn serve_until_the_end(handler: Handler) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (reader, writer) = stdio_pipes();
    let (input, at_end) = WatchedInput::new(reader);
    let serving = async {
        let service = match handler.serve((input, writer)).await {
            Ok(service) => service,
            // The client has gone before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error.to_string())),
        };
        service.waiting().await.map_err(io::Error::other)?;
        Ok(())
    };
    tokio::select! {
        served = serving => served,
        () = async { at_end.notified().await; tokio::time::sleep(GRACE).await } => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}
