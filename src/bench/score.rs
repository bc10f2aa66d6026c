//! What is counted of an instance, and how it is printed.

use serde_json::{Value, json as value};

/// What became of one instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Score {
    /// Which one.
    pub(crate) id: String,
    /// It paused at least once.
    pub(crate) paused: bool,
    /// It ended with exit code 0 and without a traceback.
    pub(crate) proceeded: bool,
    /// Its output is that of the fixed release.
    pub(crate) correct: bool,
    /// How long it ran, without the making of its environment.
    pub(crate) seconds: f64,
    /// What is worth knowing: why it is not correct, which heals were not used.
    pub(crate) why: String,
}

/// Returns the scores as one object.
pub(crate) fn json(scores: &[Score]) -> Value {
    let instances: Vec<Value> = scores
        .iter()
        .map(|score| {
            value!({
                "id": score.id,
                "paused": score.paused,
                "proceeded": score.proceeded,
                "correct": score.correct,
                "seconds": (score.seconds * 1000.0).round() / 1000.0,
                "why": score.why,
            })
        })
        .collect();
    let [paused, proceeded, correct] = sums(scores);
    value!({
        "sum": {"n": scores.len(), "paused": paused, "proceeded": proceeded, "correct": correct},
        "instances": instances,
    })
}

/// Returns the scores as a table for people.
pub(crate) fn table(scores: &[Score]) -> String {
    let width = scores.iter().map(|score| score.id.len()).max().unwrap_or(0);
    let mut out = format!("{:width$}  paused  proceeded  correct  seconds  why\n", "");
    for score in scores {
        let [paused, proceeded, correct] =
            [score.paused, score.proceeded, score.correct].map(|yes| if yes { "yes" } else { "-" });
        let line = format!(
            "{:width$}  {paused:6}  {proceeded:9}  {correct:7}  {:7.2}  {}",
            score.id, score.seconds, score.why
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let [paused, proceeded, correct] = sums(scores);
    let seconds: f64 = scores.iter().map(|score| score.seconds).sum();
    let n = format!("{} instances", scores.len());
    out.push_str(&format!(
        "{n:width$}  {paused:<6}  {proceeded:<9}  {correct:<7}  {seconds:7.2}\n"
    ));
    out
}

fn sums(scores: &[Score]) -> [usize; 3] {
    let count = |which: fn(&Score) -> bool| scores.iter().filter(|score| which(score)).count();
    [
        count(|score| score.paused),
        count(|score| score.proceeded),
        count(|score| score.correct),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Vec<Score> {
        let score = Score {
            id: "a-crash".to_owned(),
            paused: true,
            proceeded: true,
            correct: true,
            seconds: 0.12345,
            why: String::new(),
        };
        let other = Score {
            id: "b".to_owned(),
            correct: false,
            proceeded: false,
            why: "exit code 1".to_owned(),
            ..score.clone()
        };
        vec![score, other]
    }

    #[test]
    fn json_has_the_sum_first() {
        assert_eq!(
            json(&scores()).to_string(),
            "{\"sum\":{\"n\":2,\"paused\":2,\"proceeded\":1,\"correct\":1},\"instances\":[\
             {\"id\":\"a-crash\",\"paused\":true,\"proceeded\":true,\"correct\":true,\"seconds\":0.123,\"why\":\"\"},\
             {\"id\":\"b\",\"paused\":true,\"proceeded\":false,\"correct\":false,\"seconds\":0.123,\"why\":\"exit code 1\"}]}"
        );
    }

    #[test]
    fn a_table_ends_with_the_sum() {
        assert_eq!(
            table(&scores()),
            "         paused  proceeded  correct  seconds  why
a-crash  yes     yes        yes         0.12
b        yes     -          -           0.12  exit code 1
2 instances  2       1          1           0.25
"
        );
    }
}
