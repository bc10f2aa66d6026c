//! Behaviours: what kinds of things a heal did, and which of them the program's developers allow.

use std::fmt;

/// One kind of thing that a heal does, after the taxonomy of the Healer paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// A variable or attribute that had no value has one.
    InitialiseVariable,
    /// A value was replaced by one of the same type, or removed.
    ChangeValue,
    /// A value was replaced by one of another type.
    AdjustType,
    /// A container has more elements.
    FillContainer,
    /// The failing statement is not run to its end.
    SkipStatement,
    /// The program goes on where it would not have gone.
    ChangeControlFlow,
    /// Code of the program was called, or followed.
    CallProgram,
    /// The code imports a module.
    Import,
    /// A value is saved to a file of the healing folder.
    SaveValue,
}

impl Behaviour {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::InitialiseVariable,
        Self::ChangeValue,
        Self::AdjustType,
        Self::FillContainer,
        Self::SkipStatement,
        Self::ChangeControlFlow,
        Self::CallProgram,
        Self::Import,
        Self::SaveValue,
    ];

    /// Returns the stable name, as the configuration and the verdicts write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InitialiseVariable => "initialise-variable",
            Self::ChangeValue => "change-value",
            Self::AdjustType => "adjust-type",
            Self::FillContainer => "fill-container",
            Self::SkipStatement => "skip-statement",
            Self::ChangeControlFlow => "change-control-flow",
            Self::CallProgram => "call-program",
            Self::Import => "import",
            Self::SaveValue => "save-value",
        }
    }

    /// Returns the behaviour of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|behaviour| behaviour.as_str() == name)
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Behaviour;

    #[test]
    fn names_lead_back() {
        for behaviour in Behaviour::ALL {
            assert_eq!(Behaviour::parse(behaviour.as_str()), Some(behaviour));
        }
        assert_eq!(Behaviour::parse("retry"), None);
    }
}
