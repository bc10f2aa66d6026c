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
            code: Arc::new(CodeCache::building()),
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use protocol::{CrashSummary, Reply, Request};
    use rmcp::ServiceExt;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
    use tools::World;

    use super::*;

    /// A client on the other end of the handler's pipe.
    struct Peer {
        reader: BufReader<ReadHalf<DuplexStream>>,
        writer: WriteHalf<DuplexStream>,
    }

    impl Peer {
        async fn connect(connect: Box<Connect>, options: Options) -> Self {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            tokio::spawn(async move {
                let service = Handler::new(connect, options).serve(split(theirs)).await.unwrap();
                service.waiting().await.unwrap();
            });
            let (reader, writer) = split(ours);
            Self {
                reader: BufReader::new(reader),
                writer,
            }
        }

        async fn send(&mut self, message: Value) {
            self.writer
                .write_all(format!("{message}\n").as_bytes())
                .await
                .unwrap();
        }

        async fn receive(&mut self) -> Value {
            let mut line = String::new();
            self.reader.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }

        /// Asks as a client of 2026 does.
        async fn ask(&mut self, id: u32, method: &str, mut params: Value) {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            });
            self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
                .await;
        }

        async fn call(&mut self, id: u32, tool: &str, arguments: Value) {
            self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments}))
                .await;
        }
    }

    /// A world without crashes, which says when its call is over.
    struct Empty {
        cancel: Arc<Cancel>,
        over: Sender<()>,
    }

    impl World for Empty {
        fn crashes(&self) -> Result<Vec<CrashSummary>, ToolError> {
            Ok(Vec::new())
        }

        fn ask(&self, crash_id: &str, _request: Request) -> Result<Reply, ToolError> {
            assert_ne!(crash_id, "bad", "a fault on purpose");
            Err(ToolError::unknown_crash(crash_id))
        }

        fn project(&self) -> PathBuf {
            PathBuf::from("/nowhere")
        }

        fn sleep(&self, _time: Duration) -> Result<(), ToolError> {
            // Longer than any test waits, so that only cancelling ends it.
            if self.cancel.wait(Duration::from_secs(3_600)) {
                Err(ToolError::cancelled())
            } else {
                Ok(())
            }
        }
    }

    impl Drop for Empty {
        fn drop(&mut self) {
            let _ = self.over.send(());
        }
    }

    fn empty() -> (Box<Connect>, Receiver<()>) {
        let (over, is_over) = channel();
        let connect = move |_client: &str, cancel| {
            let world: Box<dyn World> = Box::new(Empty {
                cancel,
                over: over.clone(),
            });
            world
        };
        (Box::new(connect), is_over)
    }

    async fn names(options: Options) -> Vec<String> {
        let mut peer = Peer::connect(empty().0, options).await;
        peer.ask(1, "tools/list", json!({})).await;
        let listed = peer.receive().await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    #[tokio::test]
    async fn read_only_leaves_out_what_does_more_than_look() {
        assert_eq!(names(Options::default()).await.len(), TOOLS.len());
        let read_only = Options {
            read_only: true,
            ..Options::default()
        };
        assert_eq!(
            names(read_only).await,
            [
                "list_crashes",
                "get_crash",
                "get_frame",
                "evaluate",
                "search_code",
                "read_code"
            ]
        );
    }

    #[tokio::test]
    async fn what_is_listed_is_what_is_recorded() {
        let mut peer = Peer::connect(empty().0, Options::default()).await;
        peer.ask(1, "tools/list", json!({})).await;
        let listed = peer.receive().await;
        for (tool, listed) in TOOLS.iter().zip(listed["result"]["tools"].as_array().unwrap()) {
            let mut recorded = tools::recorded(tool);
            recorded["annotations"]["title"] = tool.title.into();
            assert_eq!(*listed, recorded);
        }
    }

    #[tokio::test]
    async fn a_person_is_asked_for_only_where_that_was_wanted() {
        let options = Options {
            person_confirms: true,
            ..Options::default()
        };
        let mut peer = Peer::connect(empty().0, options).await;
        peer.ask(1, "tools/list", json!({})).await;
        let listed = peer.receive().await;
        let asking: Vec<&Value> = listed["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|tool| !tool["_meta"].is_null())
            .collect();
        assert_eq!(asking.len(), 1);
        assert_eq!(asking[0]["name"], "resume");
        assert_eq!(
            asking[0]["_meta"],
            json!({"anthropic/requiresUserInteraction": true})
        );
    }

    #[tokio::test]
    async fn a_client_of_2025_gets_the_same_answers() {
        let mut peer = Peer::connect(empty().0, Options::default()).await;
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
        peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
            .await;
        let welcome = peer.receive().await;
        assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(welcome["result"]["serverInfo"]["name"], "heal");
        assert_eq!(welcome["result"]["instructions"], tools::INSTRUCTIONS);
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let params = json!({"name": "list_crashes", "arguments": {}});
        peer.send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}))
            .await;
        let listed = peer.receive().await;
        assert_eq!(listed["result"]["structuredContent"]["crashes"], json!([]));
        let text = listed["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            listed["result"]["structuredContent"]
        );
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_the_server_lives_on() {
        let mut peer = Peer::connect(empty().0, Options::default()).await;
        peer.call(1, "get_crash", json!({"crash_id": "bad"})).await;
        let answer = peer.receive().await;
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("get_crash met a fault of its own: "), "{text}");
        assert!(text.contains("a fault on purpose"), "{text}");
        peer.call(2, "get_crash", json!({"crash_id": "c9"})).await;
        let answer = peer.receive().await;
        assert_eq!(answer["id"], 2);
        assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_unknown_tool_is_named_with_those_there_are() {
        let mut peer = Peer::connect(empty().0, Options::default()).await;
        peer.call(1, "heal_it", json!({})).await;
        let answer = peer.receive().await;
        assert_eq!(answer["error"]["code"], -32602);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("there is no tool \"heal_it\" here; there are list_crashes, "),
            "{message}"
        );
    }

    #[tokio::test]
    async fn a_cancelled_call_stops_waiting() {
        let (connect, is_over) = empty();
        let mut peer = Peer::connect(connect, Options::default()).await;
        peer.call(1, "list_crashes", json!({"wait_s": 25})).await;
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
            .await;
        peer.call(2, "get_crash", json!({"crash_id": "c9"})).await;
        assert_eq!(peer.receive().await["id"], 2);
        let both_end = move || {
            for _ in 0..2 {
                is_over.recv_timeout(Duration::from_secs(20)).unwrap();
            }
        };
        tokio::task::spawn_blocking(both_end).await.unwrap();
    }
}
