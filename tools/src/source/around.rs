//! Which code is meant: that around a crash, else the project of the current folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::CrashStatus;
use repo_index::{Budget, FrameAt, Index, Options};

use super::cache::Surroundings;
use crate::crash::describe;
use crate::tool::Context;
use crate::{ToolError, text};

/// The code that a call is about.
pub(super) struct Around {
    pub(super) index: Arc<Index>,
    pub(super) root: PathBuf,
    /// The crash whose code it is, to be named again in the next call.
    pub(super) crash_id: Option<String>,
}

/// Frames farther out say little of a crash.
const MOST_FRAMES: usize = 12;

/// While the whole is being read in the background, an answer from what there is comes first.
const LONGEST_BEFORE: Duration = Duration::from_millis(450);

/// A question that takes longer answers with what it found by then.
const LONGEST: Duration = Duration::from_secs(12);

impl Around {
    /// Finds the code around the crash that is named, else around one that is paused, else of the current project.
    pub(super) fn find(cx: &Context<'_>, named: Option<&str>) -> Result<Self, ToolError> {
        let crash_id = match named {
            Some(crash_id) => Some(crash_id.to_owned()),
            None => paused_nearby(cx),
        };
        let around = match &crash_id {
            Some(crash_id) => match (surroundings(cx, crash_id), named) {
                (Ok(found), _) => Some(found),
                // Nobody asked for this crash; the project is still there.
                (Err(_), None) => None,
                (Err(error), Some(_)) => return Err(error),
            },
            None => None,
        };
        let root = around
            .as_ref()
            .map_or_else(|| cx.world.project(), |around| around.root.clone());
        let index = cx.code.index(&root)?;
        for file in around.iter().flat_map(|around| &around.files) {
            // `<frozen importlib._bootstrap>` and the like are no files.
            let _ = index.add_package_of(file);
        }
        Ok(Self {
            index,
            root,
            crash_id: crash_id.filter(|_| around.is_some()),
        })
    }

    /// Returns the frames of the crash, those below the scope first.
    pub(super) fn frames(&self, cx: &Context<'_>) -> Result<Vec<FrameAt>, ToolError> {
        let Some(crash_id) = &self.crash_id else {
            return Err(ToolError::input(
                "there is no paused crash",
                "context is about a crash: list_crashes() shows which programs are paused",
            ));
        };
        let report = describe(cx, crash_id, MOST_FRAMES)?;
        let frames = report.below.iter().chain(&report.frames);
        Ok(frames
            .map(|frame| FrameAt {
                path: PathBuf::from(&frame.location.file),
                line: frame.location.line,
            })
            .collect())
    }

    /// Writes the argument that makes the next call mean the same code.
    pub(super) fn crash_argument(&self) -> String {
        self.crash_id.as_ref().map_or_else(String::new, |crash_id| {
            format!(", crash_id={}", text::quoted(crash_id))
        })
    }

    /// `in /shop and 2 packages`.
    pub(super) fn where_(&self) -> String {
        let n_packages = self.index.roots().len() - 1;
        let packages = match n_packages {
            0 => String::new(),
            1 => " and 1 package of the traceback".to_owned(),
            n => format!(" and {n} packages of the traceback"),
        };
        format!("in {}{packages}", self.root.display())
    }
}

/// Runs a question of the index within its time, and only as long as somebody waits.
pub(super) fn within_time<T>(
    cx: &Context<'_>,
    index: &Index,
    question: impl FnOnce(Options<'_>) -> Result<T, repo_index::Error>,
) -> Result<T, ToolError> {
    let start = Instant::now();
    let longest = if cx.code.is_building(index) {
        LONGEST_BEFORE
    } else {
        LONGEST
    };
    let is_over = || start.elapsed() > longest || cx.world.sleep(Duration::ZERO).is_err();
    let options = Options {
        budget: Budget {
            max_files: usize::MAX,
            is_over: &is_over,
        },
        ..Options::default()
    };
    let answer = question(options)?;
    cx.world.sleep(Duration::ZERO)?;
    Ok(answer)
}

/// Picks a paused crash of the current project, else the first paused one.
fn paused_nearby(cx: &Context<'_>) -> Option<String> {
    let mut crashes = cx.world.crashes().ok()?;
    crashes.retain(|crash| crash.status == CrashStatus::Paused);
    let project = cx.world.project();
    let nearby = crashes
        .iter()
        .find(|crash| project.as_os_str() == crash.root.as_str());
    nearby.or(crashes.first()).map(|crash| crash.crash_id.clone())
}

fn surroundings(cx: &Context<'_>, crash_id: &str) -> Result<Arc<Surroundings>, ToolError> {
    if let Some(known) = cx.code.surroundings(crash_id) {
        return Ok(known);
    }
    let report = describe(cx, crash_id, 1)?;
    let frames = report.frames.iter().chain(&report.below);
    let mut files: Vec<PathBuf> = frames.map(|frame| PathBuf::from(&frame.location.file)).collect();
    files.sort();
    files.dedup();
    let found = Surroundings {
        root: PathBuf::from(&report.summary.root),
        files,
    };
    Ok(cx.code.keep_surroundings(crash_id, found))
}
