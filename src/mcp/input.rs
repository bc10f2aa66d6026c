//! Notices the end of the input at once, while calls may still be running.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// An input that says when it has ended.
pub(super) struct WatchedInput<R> {
    reader: R,
    at_end: Arc<Notify>,
}

impl<R> WatchedInput<R> {
    /// Watches `reader`; the second value is notified once.
    pub(super) fn new(reader: R) -> (Self, Arc<Notify>) {
        let at_end = Arc::new(Notify::new());
        let input = Self {
            reader,
            at_end: Arc::clone(&at_end),
        };
        (input, at_end)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchedInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        let had_room = buffer.remaining() > 0;
        let polled = Pin::new(&mut self.reader).poll_read(cx, buffer);
        let is_over = match &polled {
            Poll::Ready(Ok(())) => had_room && buffer.filled().len() == n_before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.at_end.notify_one();
        }
        polled
    }
}
