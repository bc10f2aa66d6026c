//! `heal.date`: the moment that a text means.

/// A moment as `datetime.datetime` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The year, four digits.
    pub year: u32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31; whether the month has it is Python's to say.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
    /// The fraction of the second.
    pub microsecond: u32,
    /// Minutes east of Greenwich, where the text says so.
    pub offset: Option<i32>,
}

/// Why a text is no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateError {
    /// It has none of the known forms.
    Unknown,
    /// Day and month may be meant either way round.
    Ambiguous,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Longer texts are no date.
const MAX_LENGTH: usize = 64;

/// Returns the moment that a text means; `day_first` decides where day and month could be meant either way round.
pub fn date(text: &str, day_first: Option<bool>) -> Result<Moment, DateError> {
    let text = text.trim();
    if text.len() > MAX_LENGTH || !text.is_ascii() {
        return Err(DateError::Unknown);
    }
    let (day, time) = split(text);
    let mut moment = parse_day(day.trim_end_matches([',', ' ']), day_first)?;
    if !time.is_empty() {
        parse_time(time, &mut moment).ok_or(DateError::Unknown)?;
    }
    let is_date = (1..=12).contains(&moment.month) && (1..=31).contains(&moment.day) && moment.year > 0;
    if is_date {
        Ok(moment)
    } else {
        Err(DateError::Unknown)
    }
}

/// Splits at the word that holds the first colon, or at the `T` of ISO 8601.
fn split(text: &str) -> (&str, &str) {
    let Some(colon) = text.find(':') else {
        return (text, "");
    };
    match text[..colon].rfind([' ', 'T', 't']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

fn parse_day(text: &str, day_first: Option<bool>) -> Result<Moment, DateError> {
    let parts: Vec<&str> = text
        .split([' ', '-', '/', '.', ','])
        .filter(|part| !part.is_empty())
        .collect();
    let moment = |year: &str, month: u32, day: &str| {
        let is_year = year.len() == 4;
        let year = whole(year).filter(|_| is_year);
        let (Some(year), Some(day)) = (year, whole(day)) else {
            return Err(DateError::Unknown);
        };
        Ok(Moment {
            year,
            month,
            day,
            ..Moment::default()
        })
    };
    match parts[..] {
        [compact] if compact.len() == 8 && whole(compact).is_some() => {
            moment(&compact[..4], whole(&compact[4..6]).unwrap_or(0), &compact[6..])
        }
        [first, second, third] => {
            if let Some(month) = month(second) {
                // `3 March 2024`, `2024-Mar-03`
                return match first.len() {
                    4 => moment(first, month, third),
                    _ => moment(third, month, ordinal(first)),
                };
            }
            if let Some(month) = month(first) {
                return moment(third, month, ordinal(second));
            }
            let (Some(a), Some(b)) = (whole(first), whole(second)) else {
                return Err(DateError::Unknown);
            };
            if first.len() == 4 {
                return moment(first, b, third);
            }
            // Dots are written where the day comes first.
            let day_first = if text.contains('.') || a > 12 {
                true
            } else if b > 12 || a == b {
                false
            } else {
                day_first.ok_or(DateError::Ambiguous)?
            };
            if day_first {
                moment(third, b, first)
            } else {
                moment(third, a, second)
            }
        }
        _ => Err(DateError::Unknown),
    }
}

fn parse_time(text: &str, moment: &mut Moment) -> Option<()> {
    let mut text = text.trim();
    if let Some(rest) = text
        .strip_suffix(['Z', 'z'])
        .or_else(|| text.strip_suffix(" UTC"))
    {
        (text, moment.offset) = (rest, Some(0));
    } else if let Some(at) = text.rfind(['+', '-']) {
        let digits: String = text[at + 1..].chars().filter(|letter| *letter != ':').collect();
        let (hours, minutes) = match digits.len() {
            2 => (whole(&digits)?, 0),
            4 => (whole(&digits[..2])?, whole(&digits[2..])?),
            _ => return None,
        };
        if hours > 23 || minutes > 59 {
            return None;
        }
        let offset = i32::try_from(hours * 60 + minutes).ok()?;
        moment.offset = Some(if text.as_bytes()[at] == b'-' {
            -offset
        } else {
            offset
        });
        text = &text[..at];
    }
    let lower = text.trim().to_ascii_lowercase();
    let (clock, is_afternoon) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some(false)),
        (_, Some(clock)) => (clock, Some(true)),
        _ => (lower.as_str(), None),
    };
    let parts: Vec<&str> = clock.trim().split(':').collect();
    let (hour, minute, seconds) = match parts[..] {
        [hour, minute] => (whole(hour)?, whole(minute)?, "0"),
        [hour, minute, seconds] => (whole(hour)?, whole(minute)?, seconds),
        _ => return None,
    };
    moment.hour = match is_afternoon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(is_afternoon) => hour % 12 + if is_afternoon { 12 } else { 0 },
    };
    moment.minute = minute;
    let (second, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    moment.second = whole(second)?;
    let digits = format!("{fraction:0<6}");
    moment.microsecond = whole(digits.get(..6)?).filter(|_| whole(fraction).is_some())?;
    (moment.hour < 24 && minute < 60 && moment.second < 60).then_some(())
}

fn month(text: &str) -> Option<u32> {
    let text = text.to_ascii_lowercase();
    let at = MONTHS
        .iter()
        .position(|month| text.len() >= 3 && month.starts_with(&text))?;
    u32::try_from(at + 1).ok()
}

/// `3rd` without its ending.
fn ordinal(text: &str) -> &str {
    let endings = ["st", "nd", "rd", "th"];
    endings
        .iter()
        .find_map(|ending| text.strip_suffix(ending))
        .unwrap_or(text)
}

fn whole(text: &str) -> Option<u32> {
    let is_plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[track_caller]
    fn check(text: &str, day_first: Option<bool>, expect: &str) {
        let told = match date(text, day_first) {
            Ok(at) => {
                let offset = at
                    .offset
                    .map_or_else(String::new, |offset| format!(" {offset:+}"));
                format!(
                    "{}-{}-{} {}:{}:{}.{}{offset}",
                    at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond
                )
            }
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(told, expect, "{text}");
    }

    #[test]
    fn the_usual_forms_are_read() {
        check("2024-03-05", None, "2024-3-5 0:0:0.0");
        check("2024/3/5 7:08", None, "2024-3-5 7:8:0.0");
        check("20240305", None, "2024-3-5 0:0:0.0");
        check("2024-03-05T07:08:09.25Z", None, "2024-3-5 7:8:9.250000 +0");
        check("2024-03-05 07:08:09+02:30", None, "2024-3-5 7:8:9.0 +150");
        check("05.03.2024", None, "2024-3-5 0:0:0.0");
        check("13/02/2024", None, "2024-2-13 0:0:0.0");
        check("02/13/2024", None, "2024-2-13 0:0:0.0");
        check("3 March 2024", None, "2024-3-3 0:0:0.0");
        check("Mar 3rd, 2024 1:05 PM", None, "2024-3-3 13:5:0.0");
        check("03-Mar-2024, 12:00 am", None, "2024-3-3 0:0:0.0");
    }

    #[test]
    fn what_may_be_meant_two_ways_is_not_guessed() {
        check("03/04/2024", None, "Ambiguous");
        check("03/04/2024", Some(true), "2024-4-3 0:0:0.0");
        check("03/04/2024", Some(false), "2024-3-4 0:0:0.0");
        check("03/03/2024", None, "2024-3-3 0:0:0.0");
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "soon",
            "2024",
            "2024-13-01",
            "2024-03-00",
            "13/2/24",
            "2024-03-05 25:00",
            "2024-03-05 7:60",
            "2024-03-05 13:00 pm",
            "3 Ma 2024",
            "2024-03-05 07:08+99",
            "٢٠٢٤-03-05",
            "1:2:3",
        ] {
            check(text, None, "Unknown");
        }
    }
}
