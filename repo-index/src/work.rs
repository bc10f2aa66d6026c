//! How much work a question may cause, and how it is shared between threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The limits on the work of one question.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// How many files may be parsed, or searched for text.
    pub max_files: usize,
    /// Says that the time is up; asked often.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

impl Budget<'static> {
    /// Returns a budget without limits.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            max_files: usize::MAX,
            is_over: &|| false,
        }
    }
}

/// Returns what `work` makes of each item, in their order.
pub(crate) fn map_in_parallel<T, R>(items: &[T], n_threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R>
where
    T: Sync,
    R: Send,
{
    let n_threads = n_threads.clamp(1, items.len().max(1));
    if n_threads == 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take_turns = || {
        let mut done = Vec::new();
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(idx) else { return done };
            done.push((idx, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(take_turns)).collect();
        let mut done = take_turns();
        for other in others {
            match other.join() {
                Ok(theirs) => done.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(idx, _)| *idx);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..500).collect();
        for n_threads in [0, 1, 2, 7] {
            assert_eq!(map_in_parallel(&items, n_threads, |item| item * 2)[499], 998);
        }
        assert!(map_in_parallel(&Vec::<usize>::new(), 2, |item| *item).is_empty());
    }
}
