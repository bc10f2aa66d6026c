//! Works on many things at once, and keeps their order.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Works on each item with `jobs` threads (one a core where it is `None`); tells of each result when it is there.
pub(crate) fn in_parallel<'a, T: Sync, R: Send>(
    items: &'a [T],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&'a T) -> R + Sync,
    tell: impl Fn(usize, &R) + Sync,
) -> Vec<R> {
    let jobs = jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else {
                        return;
                    };
                    let result = work(item);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    tell(done.len() + 1, &result);
                    done.push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let told = Mutex::new(Vec::new());
        let results = in_parallel(
            &[3, 1, 2],
            NonZeroUsize::new(2),
            |item| item * 10,
            |n_done, _| told.lock().unwrap().push(n_done),
        );
        assert_eq!(results, [30, 10, 20]);
        assert_eq!(told.into_inner().unwrap(), [1, 2, 3]);
    }

    #[test]
    fn nothing_is_done_of_nothing() {
        assert_eq!(in_parallel(&[0; 0], None, |item| *item, |_, _| {}), [0; 0]);
    }
}
