//! Lists and calls the tools for one client.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    JsonObject, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool as ListedTool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::task::{JoinError, JoinHandle};
use tools::{Answer, CodeCache, TOOLS, Tool, ToolError};

use super::{Connect, Options};
use crate::machine::Cancel;

/// Serves [`TOOLS`]; holds no state of any crash.
pub(super) struct Handler {
    connect: Arc<Connect>,
    options: Options,
    code: Arc<CodeCache>,
    /// The same for all calls, since a crash is held in this name.
    client_name: OnceLock<String>,
}

/// How long a client may take a list of tools for granted; it does not change while the server lives.
const LIST_TTL_MS: u64 = 3_600_000;

/// How often a call that takes long says so, where the client asked for that.
const PROGRESS: Duration = Duration::from_secs(5);

type Outcome = Result<Answer, ToolError>;

impl Handler {
    pub(super) fn new(connect: Box<Connect>, options: Options) -> Self {
        Self {
            connect: connect.into(),
            options,
            code: Arc::default(),
            client_name: OnceLock::new(),
        }
    }

    fn served(&self) -> impl Iterator<Item = &'static Tool> {
        let read_only = self.options.read_only;
        TOOLS
            .iter()
            .filter(move |tool| !read_only || tool.effect.read_only)
    }

    fn listed(&self, tool: &Tool) -> ListedTool {
        let annotations = ToolAnnotations::from_raw(
            Some(tool.title.to_owned()),
            Some(tool.effect.read_only),
            Some(tool.effect.destructive),
            Some(tool.effect.idempotent),
            Some(tool.effect.open_world),
        );
        let mut listed = ListedTool::new_with_raw(
            tool.name,
            Some(Cow::from(tool.description())),
            object(tool.input_schema()),
        )
        .with_title(tool.title)
        .with_annotations(annotations);
        if let Some(schema) = tool.output_schema() {
            listed = listed.with_raw_output_schema(object(schema));
        }
        if self.options.person_confirms && tool.name == "resume" {
            let mut meta = JsonObject::new();
            meta.insert("anthropic/requiresUserInteraction".to_owned(), Value::Bool(true));
            listed.meta = Some(MetaObject(meta));
        }
        listed
    }

    /// Runs a tool on a thread of its own: tools block, and one that panics ends only its call.
    fn start(
        &self,
        tool: &'static Tool,
        arguments: Value,
        client: &str,
        cancel: Arc<Cancel>,
    ) -> JoinHandle<Outcome> {
        let world = (self.connect)(client, cancel);
        let code = Arc::clone(&self.code);
        tokio::task::spawn_blocking(move || {
            let cx = tools::Context {
                world: world.as_ref(),
                code: &code,
            };
            tool.call(&cx, arguments)
        })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("heal", env!("CARGO_PKG_VERSION")).with_title("healmcp"))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self.served().map(|tool| self.listed(tool)).collect();
        Ok(ListToolsResult::with_all_items(listed).with_ttl_ms(LIST_TTL_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.served().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = self.served().map(|tool| tool.name).collect();
            let message = format!(
                "there is no tool {:?} here; there are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let client = self.client_name.get_or_init(|| {
            context
                .client_info()
                .map_or_else(|| "an MCP client".to_owned(), |client| client.name)
        });
        let cancel = Arc::new(Cancel::default());
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let running = self.start(tool, arguments, client, Arc::clone(&cancel));
        let joined = tokio::select! {
            joined = with_progress(running, &context) => joined,
            () = context.ct.cancelled() => {
                cancel.give_up();
                return Ok(CallToolResponse::Complete(to_result(Err(ToolError::cancelled()))));
            }
        };
        let outcome = joined.unwrap_or_else(|error| Err(fault_of(tool, error)));
        Ok(CallToolResponse::Complete(to_result(outcome)))
    }
}

/// Waits for a call, and tells a client that asked for it every few seconds that it still runs.
async fn with_progress(
    mut running: JoinHandle<Outcome>,
    context: &RequestContext<RoleServer>,
) -> Result<Outcome, JoinError> {
    let Some(token) = context.meta.get_progress_token() else {
        return running.await;
    };
    let mut n_seconds = 0.0;
    loop {
        match tokio::time::timeout(PROGRESS, &mut running).await {
            Ok(joined) => return joined,
            Err(_elapsed) => {
                n_seconds += PROGRESS.as_secs_f64();
                let progress = ProgressNotificationParam::new(token.clone(), n_seconds);
                // A client that has gone ends the server elsewhere.
                let _ = context
                    .peer
                    .notify_progress(progress.with_message(format!("waiting, {n_seconds} s")))
                    .await;
            }
        }
    }
}

fn to_result(outcome: Outcome) -> CallToolResult {
    match outcome {
        Ok(answer) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text_to_send())]);
            result.structured_content = answer.value_to_send().cloned();
            result
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.block())]),
    }
}

fn fault_of(tool: &Tool, error: JoinError) -> ToolError {
    let said = match error.try_into_panic() {
        Ok(payload) => match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(payload) => match payload.downcast::<&str>() {
                Ok(message) => (*message).to_owned(),
                Err(_) => "a panic without words".to_owned(),
            },
        },
        Err(error) => error.to_string(),
    };
    ToolError::fault(
        format!("{} met a fault of its own: {said}", tool.name),
        "the crash is as it was and still waits: call another tool, or this one with other arguments; please report this",
    )
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(members) => Arc::new(members),
        other => unreachable!("schemas of tools are objects, as a test of theirs says: {other}"),
    }
}
