//! The text of the `HealDenied` that a stopped call raises.

use std::fmt;

use crate::policy::Protected;
use crate::reasons::ReasonId;
use crate::verdict::sink_of;

/// A protected call that was stopped before it happened; its `Display` is the exception's text.
#[derive(Clone, Debug)]
pub struct Denial<'a> {
    /// Why.
    pub reason: ReasonId,
    /// What was called.
    pub protected: &'a Protected,
    /// The argument that carries the healed value, as it is passed: `amount`; `None` when it is not one argument.
    pub argument: Option<&'a str>,
    /// Where the heal wrote it: `order.total`.
    pub place: &'a str,
    /// The heal.
    pub heal_id: &'a str,
}

impl fmt::Display for Denial<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sink = sink_of(self.protected);
        write!(
            formatter,
            "{} stopped {sink} before it ran: ",
            self.reason.as_str()
        )?;
        match self.argument {
            Some(argument) => write!(formatter, "its argument `{argument}`")?,
            None => formatter.write_str("what it would use")?,
        }
        write!(
            formatter,
            " carries what heal {} wrote to `{}`; ",
            self.heal_id, self.place
        )?;
        formatter.write_str(self.reason.reason().help)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Denial;
    use crate::policy::Policy;
    use crate::reasons::ReasonId;

    #[test]
    fn the_text_names_the_call_the_argument_and_the_heal() {
        let policy =
            Policy::from_json(&json!({"protected": [{"op": "shop.pay.charge"}]})).expect("a valid policy");
        let denial = Denial {
            reason: ReasonId::HealedValueReaches,
            protected: &policy.protected[0],
            argument: Some("amount"),
            place: "total",
            heal_id: "h-2f1c",
        };
        assert_eq!(
            denial.to_string(),
            "HG301 stopped shop.pay.charge before it ran: its argument `amount` carries what heal h-2f1c wrote to \
             `total`; heal so that the protected operation gets only values that the program made itself, or ask \
             a person"
        );
    }
}
