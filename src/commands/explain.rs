//! `healmcp explain`: the page of a rule, of a reason of the guard, or of a topic.

use crate::error::{Error, Result};
use crate::render::Done;

/// Explain a rule of HealCore (HC…), a reason of the guard (HG…) or a topic; without a name, list them all.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Such as HC101, HG201 or toolkit.
    name: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let text = match &args.name {
        None => list(),
        Some(name) => page(name)?,
    };
    Ok(Done { text, code: 0 })
}

fn page(name: &str) -> Result<String> {
    let id = name.to_uppercase();
    if let Some(page) = healcore::explain(&id) {
        return Ok(page.to_owned());
    }
    if let Some(reason) = healguard::REASONS.iter().find(|reason| reason.id.as_str() == id) {
        return Ok(reason.page());
    }
    let topic = name.to_lowercase();
    if let Some(page) = healcore::topic(&topic) {
        return Ok(page.to_owned());
    }
    let known = names();
    let scored = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&id, &known.to_uppercase()), known));
    let hint = match scored.max_by(|left, right| left.0.total_cmp(&right.0)) {
        Some((score, nearest)) if score > 0.7 => {
            format!("did you mean {nearest}? `healmcp explain` lists them all")
        }
        _ => "`healmcp explain` lists them all".to_owned(),
    };
    Err(Error::usage(format!("nothing is called `{name}`"), hint))
}

fn names() -> Vec<&'static str> {
    let rules = healcore::rules().into_iter().map(|rule| rule.id);
    let reasons = healguard::REASONS.iter().map(|reason| reason.id.as_str());
    rules.chain(reasons).chain(healcore::topics()).collect()
}

fn list() -> String {
    let rules = healcore::rules()
        .into_iter()
        .map(|rule| format!("{} {}: {}", rule.id, rule.name, rule.summary));
    let reasons = healguard::REASONS
        .iter()
        .map(|reason| format!("{} {}: {}", reason.id.as_str(), reason.name, reason.message));
    let topics = healcore::topics().map(|topic| format!("{topic} (a topic)"));
    let lines: Vec<String> = rules.chain(reasons).chain(topics).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{names, page};

    #[test]
    fn whatever_is_listed_has_a_page() {
        for name in names() {
            let page = page(name).unwrap();
            assert!(page.starts_with('#') && page.lines().count() > 2, "{page}");
        }
        assert!(page("hc801").unwrap().starts_with("## HC801 unproven-call"));
    }

    #[test]
    fn an_unknown_name_is_told_its_nearest() {
        let error = page("HC81").unwrap_err();
        assert_eq!(error.to_string(), "nothing is called `HC81`");
        assert!(error.hint().starts_with("did you mean HC8"), "{}", error.hint());
    }
}
