//! What a tool is: typed for whoever writes one, uniform for whoever lists and calls them.

use protocol::{Reply, Request};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Answer, CodeCache, ToolError, World, schema};

/// What one call works with.
pub struct Context<'a> {
    /// The outside.
    pub world: &'a dyn World,
    /// The indexes of source folders, kept between calls.
    pub code: &'a CodeCache,
}

/// What a call may do to the program, as the four hints of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// It changes nothing.
    pub read_only: bool,
    /// It may do what cannot be taken back.
    pub destructive: bool,
    /// The second same call changes nothing more.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
}

impl Effect {
    pub(crate) const READS: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
}

/// One tool, as it is written.
pub(crate) trait TypedTool {
    const NAME: &'static str;
    /// For people, in lists and menus.
    const TITLE: &'static str;
    const EFFECT: Effect;
    /// Its doc comment is the tool's description.
    type Input: DeserializeOwned + JsonSchema;
    /// The schema of the answer's value, where the answer is a structured one.
    const OUTPUT: Option<fn() -> Value> = None;

    fn run(cx: &Context<'_>, input: Self::Input) -> Result<Answer, ToolError>;
}

/// One tool, as it is listed and called.
pub struct Tool {
    /// Its name, `verb_noun`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it may do.
    pub effect: Effect,
    input: fn() -> Value,
    output: Option<fn() -> Value>,
    run: fn(&Context<'_>, Value) -> Result<Answer, ToolError>,
}

impl Tool {
    pub(crate) const fn of<T: TypedTool>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            effect: T::EFFECT,
            input: schema::of_input::<T::Input>,
            output: T::OUTPUT,
            run: run::<T>,
        }
    }

    /// Returns what the tool does and when to use it.
    pub fn description(&self) -> String {
        schema::split((self.input)()).0
    }

    /// Returns the JSON Schema of the arguments.
    pub fn input_schema(&self) -> Value {
        schema::split((self.input)()).1
    }

    /// Returns the JSON Schema of the answer's value, where it is sent.
    pub fn output_schema(&self) -> Option<Value> {
        self.output.map(|output| schema::split(output()).1)
    }

    /// Calls the tool with JSON arguments; an object.
    pub fn call(&self, cx: &Context<'_>, arguments: Value) -> Result<Answer, ToolError> {
        (self.run)(cx, arguments)
    }
}

impl Context<'_> {
    /// Asks the program of this crash; an error about the id names those that exist.
    pub(crate) fn ask(&self, crash_id: &str, request: Request) -> Result<Reply, ToolError> {
        self.world
            .ask(crash_id, request)
            .map_err(|error| match self.world.crashes() {
                Ok(crashes) => error.naming(&crashes),
                // The first error says more than the second would.
                Err(_) => error,
            })
    }
}

fn run<T: TypedTool>(cx: &Context<'_>, arguments: Value) -> Result<Answer, ToolError> {
    let input = serde_json::from_value(arguments).map_err(|error| {
        ToolError::input(
            format!("the arguments of {} do not fit: {error}", T::NAME),
            format!(
                "call {} again with {}",
                T::NAME,
                schema::usage(&schema::of_input::<T::Input>())
            ),
        )
    })?;
    T::run(cx, input)
}

/// Builds the error for a reply of the wrong kind.
pub(crate) fn unexpected(reply: &Reply) -> ToolError {
    let kind = serde_json::to_value(reply).map_or_else(|_| String::new(), |reply| reply["kind"].to_string());
    ToolError::fault(
        format!("the program answered with {kind}, which does not fit the request"),
        "healmcp and the program's runtime may be of different versions: `healmcp doctor` compares them",
    )
}
