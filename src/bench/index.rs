//! How well the index answers, against what calls really reached while a package's tests ran.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Instant;

use repo_index::{Certainty, DefinitionHit, Index, Options, Root};
use serde::Deserialize;
use serde_json::{Value, json as value};

use crate::error::{Error, Result};

/// A call and what it reached.
#[derive(Debug, Deserialize)]
pub(crate) struct Site {
    path: String,
    line: u32,
    /// Of the called name, from 0.
    column: u32,
    name: String,
    #[serde(default)]
    receiver_form: String,
    callees: Vec<Callee>,
}

#[derive(Debug, Deserialize)]
struct Callee {
    path: String,
    line: u32,
    qualname: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct IndexReport {
    n: usize,
    n_first: usize,
    n_within_5: usize,
    n_confirmed: usize,
    n_confirmed_right: usize,
    by_form: BTreeMap<String, [usize; 3]>,
    n_methods: usize,
    recall: f64,
    n_listed: usize,
    n_same_name: usize,
    cold_seconds: f64,
    first_answer_seconds: f64,
    warm_open_seconds: f64,
    disk_share: f64,
    edit_ms: Vec<f64>,
    definition_ms: Vec<f64>,
    callers_ms: Vec<f64>,
    rss_mib: f64,
    /// Sites whose first answer is wrong: what was asked, what was said, what is right.
    pub(crate) misses: Vec<String>,
}

/// A method counts once it was reached from so many places.
const MIN_CALL_SITES: usize = 3;

/// Reads the sites of a file, one JSON object a line.
pub(crate) fn read_sites(file: &Path) -> Result<Vec<Site>> {
    let unreadable = |why: String| {
        Error::usage(
            format!("cannot read {}: {why}", file.display()),
            "give a file of call sites, as scripts/call_oracle.py writes it",
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let sites = (1..).zip(lines).map(|(number, line)| {
        serde_json::from_str(line).map_err(|error| unreadable(format!("line {number}: {error}")))
    });
    sites.collect()
}

/// Asks the index of a folder for every site.
pub(crate) fn measure_index(sites: &[Site], root: &Path) -> Result<IndexReport> {
    let mut report = IndexReport {
        n: sites.len(),
        ..IndexReport::default()
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let unwritable = |error: std::io::Error| {
        Error::failed(
            format!("cannot make a folder: {error}"),
            "free some space in the folder for temporary files",
        )
    };
    let folder = tempfile::tempdir().map_err(unwritable)?;
    let roots = || vec![Root::project(root, "project")];
    let open = || Index::open_in(roots(), n_threads, folder.path().to_owned()).map_err(of_index);
    if let Some(site) = sites.first() {
        let start = Instant::now();
        let index = open()?;
        index.symbols(&site.name, Options::default()).map_err(of_index)?;
        report.first_answer_seconds = start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    let built = open()?.build(n_threads, &|| false);
    report.cold_seconds = start.elapsed().as_secs_f64();
    report.disk_share = ratio_of_bytes(built.n_bytes, built.n_source_bytes);
    let start = Instant::now();
    let index = open()?;
    let (n_covered, n_files) = index.coverage();
    report.warm_open_seconds = start.elapsed().as_secs_f64();
    if n_covered < n_files.min(1) {
        return Err(Error::failed(
            "the index was not kept",
            "see whether the folder for temporary files is full",
        ));
    }
    report.edit_ms = edits(sites, root);
    index.hold();
    for site in sites {
        let start = Instant::now();
        let found = ask(&index, site)?;
        report.definition_ms.push(start.elapsed().as_secs_f64() * 1000.0);
        report.count(site, &found);
    }
    measure_callers(&mut report, sites, &index)?;
    report.rss_mib = resident_mib();
    Ok(report)
}

/// Reads files anew, as after an edit of each.
fn edits(sites: &[Site], root: &Path) -> Vec<f64> {
    let files: std::collections::BTreeSet<&str> = sites.iter().map(|site| site.path.as_str()).collect();
    let texts = files
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(root.join(path)).ok());
    let time = |text: String| {
        let start = Instant::now();
        let _ = repo_index::extract(&repo_index::LANGUAGES[0], &text, &|| false);
        start.elapsed().as_secs_f64() * 1000.0
    };
    texts.map(time).collect()
}

fn ask(index: &Index, site: &Site) -> Result<Vec<DefinitionHit>> {
    let found = index.definition(
        &site.path,
        site.line,
        Some(&site.name),
        Some(site.column + 1),
        Options::default(),
    );
    Ok(found.map_err(of_index)?.candidates)
}

fn of_index(error: repo_index::Error) -> Error {
    let hint = error.hint().to_owned();
    Error::failed(error.to_string(), hint)
}

impl IndexReport {
    fn count(&mut self, site: &Site, found: &[DefinitionHit]) {
        let hits: Vec<bool> = found.iter().map(|hit| is_right(site, hit)).collect();
        let first = hits.first() == Some(&true);
        let within = hits.iter().take(5).any(|hit| *hit);
        self.n_first += usize::from(first);
        self.n_within_5 += usize::from(within);
        let form = self.by_form.entry(site.receiver_form.clone()).or_default();
        form[0] += 1;
        form[1] += usize::from(first);
        form[2] += usize::from(within);
        if found
            .first()
            .is_some_and(|hit| hit.certainty == Certainty::Confirmed)
        {
            self.n_confirmed += 1;
            self.n_confirmed_right += usize::from(first);
        }
        if !first {
            let said = found
                .iter()
                .map(|hit| format!("{:?} {}.{}", hit.certainty, hit.symbol.module, hit.symbol.name));
            let right = site
                .callees
                .iter()
                .map(|it| format!("{}:{} {}", it.path, it.line, it.qualname));
            self.misses.push(format!(
                "{} {} {}:{} {}: said [{}], is [{}]",
                if within { "later" } else { "never" },
                site.receiver_form,
                site.path,
                site.line,
                site.name,
                said.collect::<Vec<_>>().join(", "),
                right.collect::<Vec<_>>().join(", "),
            ));
        }
    }
}

/// A class is right where what runs when it is called is.
fn is_right(site: &Site, hit: &DefinitionHit) -> bool {
    let symbols = std::iter::once(&hit.symbol).chain(&hit.constructor);
    symbols.into_iter().any(|symbol| {
        let lines = symbol.first_line..=symbol.location.line;
        site.callees
            .iter()
            .any(|callee| callee.path == symbol.location.path && lines.contains(&callee.line))
    })
}

fn measure_callers(report: &mut IndexReport, sites: &[Site], index: &Index) -> Result<()> {
    let mut methods: BTreeMap<(&str, u32), Vec<&Site>> = BTreeMap::new();
    for site in sites {
        for callee in &site.callees {
            let mut parts = callee.qualname.rsplit('.');
            let name = parts.next().unwrap_or_default();
            let is_method = parts.next().is_some_and(|class| class != "<locals>");
            if name == site.name && is_method {
                methods.entry((&callee.path, callee.line)).or_default().push(site);
            }
        }
    }
    methods.retain(|_, sites| sites.len() >= MIN_CALL_SITES);
    let mut recall = 0.0;
    for ((path, line), sites) in &methods {
        let start = Instant::now();
        let options = Options {
            limit: usize::MAX,
            ..Options::default()
        };
        let found = index.callers_at(path, *line, options).map_err(of_index)?;
        report.callers_ms.push(start.elapsed().as_secs_f64() * 1000.0);
        let listed: HashSet<(&str, u32)> = found
            .page
            .items
            .iter()
            .map(|hit| (hit.location.path.as_str(), hit.location.line))
            .collect();
        let (seen, unseen): (Vec<&&Site>, Vec<&&Site>) = sites
            .iter()
            .partition(|site| listed.contains(&(site.path.as_str(), site.line)));
        recall += ratio(seen.len(), sites.len());
        report.n_listed += found.page.n_matches;
        report.n_same_name += found.n_same_name;
        for site in unseen {
            report.misses.push(format!(
                "caller of {path}:{line} {}: {} {}:{}",
                site.name, site.receiver_form, site.path, site.line
            ));
        }
    }
    report.n_methods = methods.len();
    report.recall = if methods.is_empty() {
        0.0
    } else {
        recall / ratio(methods.len(), 1)
    };
    Ok(())
}

/// Returns the report as one object.
pub(crate) fn index_json(report: &IndexReport) -> Value {
    value!({
        "n": report.n,
        "first_hit": rounded(ratio(report.n_first, report.n)),
        "hit_at_5": rounded(ratio(report.n_within_5, report.n)),
        "confirmed_precision": rounded(ratio(report.n_confirmed_right, report.n_confirmed)),
        "callers_recall": rounded(report.recall),
        "callers_share": rounded(ratio(report.n_listed, report.n_same_name)),
        "cold_s": rounded(report.cold_seconds),
        "first_answer_s": rounded(report.first_answer_seconds),
        "rss_mib": rounded(report.rss_mib),
        "warm_open_s": rounded(report.warm_open_seconds),
        "disk_share": rounded(report.disk_share),
        "edit_ms": {"p50": percentile(&report.edit_ms, 50), "max": percentile(&report.edit_ms, 100)},
        "confirmed_share": rounded(ratio(report.n_confirmed, report.n)),
        "n_methods": report.n_methods,
        "definition_ms": {"p50": percentile(&report.definition_ms, 50), "p95": percentile(&report.definition_ms, 95)},
        "callers_ms": {"p50": percentile(&report.callers_ms, 50), "p95": percentile(&report.callers_ms, 95)},
        "by_form": report.by_form.iter().map(|(form, [n, first, within])| {
            (form.clone(), value!({"n": n, "first_hit": rounded(ratio(*first, *n)), "hit_at_5": rounded(ratio(*within, *n))}))
        }).collect::<serde_json::Map<_, _>>(),
    })
}

/// Returns the report for people.
pub(crate) fn index_text(report: &IndexReport) -> String {
    let json = index_json(report);
    let mut out = String::new();
    for (key, value) in json.as_object().into_iter().flatten() {
        out.push_str(&format!("{key:20} {value}\n"));
    }
    out
}

fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    rounded(times.get(at).copied().unwrap_or(0.0))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |it: usize| f64::from(u32::try_from(it).unwrap_or(u32::MAX));
    if whole == 0 {
        0.0
    } else {
        number(part) / number(whole)
    }
}

fn ratio_of_bytes(part: u64, whole: u64) -> f64 {
    let kilobytes = |it: u64| usize::try_from(it / 1024).unwrap_or(usize::MAX);
    ratio(kilobytes(part), kilobytes(whole))
}

fn rounded(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

/// Returns how much memory this process holds, as the system counts it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .and_then(|it| it.trim().split(' ').next()?.parse().ok())
        .unwrap_or(0.0);
    kib / 1024.0
}
