//! How deep the thread's stack may still go: running out of it would kill the program.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::thread;

use nix::libc;

/// Bytes that C code which a step calls may need.
const RESERVE: usize = 48 << 10;

thread_local! {
    static FLOOR: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Stack of a thread for work that goes deep but asks nothing of Python, such as a check.
const ROOM: usize = 8 << 20;

/// Does work that asks nothing of Python where there is room on the stack, whatever is left of the program's own.
pub(crate) fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("healmcp-check".to_owned())
            .stack_size(ROOM)
            .spawn_scoped(scope, work)?;
        worker
            .join()
            .map_err(|_| std::io::Error::other("the work panicked"))
    })
}

/// The address below which nothing new is begun; 0 where it is not known.
pub(super) fn floor() -> usize {
    FLOOR.with(|floor| match floor.get() {
        Some(known) => known,
        None => {
            let found = lowest_address().map_or(0, |lowest| lowest + RESERVE);
            floor.set(Some(found));
            found
        }
    })
}

/// An address in the present stack frame.
#[inline(never)]
pub(super) fn here() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(&marker).addr()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn lowest_address() -> Option<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call only names the calling thread.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: the calling thread is alive, and `attributes` is a place for the answer.
    let failed = unsafe { libc::pthread_getattr_np(own, attributes.as_mut_ptr()) };
    if failed != 0 {
        return None;
    }
    let mut address = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the call before has filled `attributes`.
    let failed = unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut address, &mut size) };
    // SAFETY: they are filled, and not used afterwards.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (failed == 0).then(|| address.addr())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn lowest_address() -> Option<usize> {
    None
}
