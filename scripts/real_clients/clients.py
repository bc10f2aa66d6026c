"""The clients: each plays the chain of calls through `healmcp serve`, and lists the tools as it gets them."""
from __future__ import annotations

import asyncio
import http.server
import json
import os
import subprocess
import tempfile
import threading

import mcp

from chain import Said

PATIENCE_S = 90


def play(calls, call):
    """Plays a chain with a function that makes one call."""
    try:
        tool, arguments = next(calls)
        while True:
            tool, arguments = calls.send(call(tool, arguments))
    except StopIteration:
        return


class PythonClient:
    """The package `mcp`, one server for the whole chain."""

    def __init__(self, healmcp, era):
        self.healmcp, self.era, self.name = healmcp, era, f"python mcp {era}"

    def play(self, calls, env, folder):
        return asyncio.run(asyncio.wait_for(self._play(calls, env, folder), PATIENCE_S))

    async def _play(self, calls, env, folder):
        server = mcp.StdioServerParameters(command=self.healmcp, args=["serve"], env=env, cwd=folder)
        async with mcp.Client(server, mode=self.era) as client:
            expected = "2025-11-25" if self.era == "legacy" else "2026-07-28"
            assert client.protocol_version == expected, f"spoke {client.protocol_version}"
            listed = await client.list_tools()
            said = None
            while True:
                try:
                    tool, arguments = calls.send(said)
                except StopIteration:
                    break
                result = await client.call_tool(tool, arguments)
                text = "\n".join(block.text for block in result.content)
                if result.structured_content is not None:
                    assert json.loads(text) == result.structured_content, "text and value differ"
                said = Said(text, bool(result.is_error))
            return [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]


class Inspector:
    """MCP Inspector's command line: a new server for each call, so that nothing can hang on one server's memory."""

    def __init__(self, healmcp, era, binary):
        self.healmcp, self.era, self.binary, self.name = healmcp, era, binary, f"inspector {era}"

    def play(self, calls, env, folder):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            entry = {"command": self.healmcp, "args": ["serve"], "env": env, "cwd": folder}
            json.dump({"mcpServers": {"heal": entry}}, config)
            config.flush()

            def ask(*words):
                command = [self.binary, "--cli", "--config", config.name, "--server", "heal", "--quiet",
                           "--protocol-era", self.era, "--format", "json", *words]
                environment = {**os.environ, "HOME": env["HOME"]}
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
                # 5: the tool said that it failed.
                assert done.returncode in (0, 5), f"exit {done.returncode}: {done.stderr[-400:]}"
                return json.loads(done.stdout)["result"]

            def call(tool, arguments):
                result = ask("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
                text = "\n".join(block["text"] for block in result["content"])
                return Said(text, bool(result.get("isError")))

            listed = ask("--method", "tools/list", "--strict")
            play(calls, call)
            return listed["tools"]


class ClaudeCode:
    """Claude Code with a stand-in for its model, which asks for one tool after the other."""

    def __init__(self, healmcp, era, binary):
        self.healmcp, self.era, self.binary, self.name = healmcp, era, binary, f"claude code {era}"

    def play(self, calls, env, folder):
        model = Model(calls)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model.handler())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers = {"mcpServers": {"heal": {"command": self.healmcp, "args": ["serve"], "env": env}}}
        environment = {
            "PATH": os.environ["PATH"], "HOME": env["HOME"], "TERM": "dumb", "ANTHROPIC_API_KEY": "local-stand-in",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "MCP_CONNECTION_NONBLOCKING": "0",
            "ENABLE_TOOL_SEARCH": "false",
        }
        if self.era == "legacy":
            environment["MCP_PROTOCOL_NEGOTIATION"] = "legacy"
        try:
            done = subprocess.run(
                [self.binary, "-p", "go", "--strict-mcp-config", "--mcp-config", json.dumps(servers),
                 "--allowedTools", "mcp__heal", "--output-format", "stream-json", "--verbose"],
                capture_output=True, text=True, timeout=PATIENCE_S, env=environment, cwd=folder,
                stdin=subprocess.DEVNULL,
            )
        finally:
            server.shutdown()
        if model.failure is not None:
            raise model.failure
        assert model.is_done, f"exit {done.returncode} before the end: {(done.stderr or done.stdout)[-400:]}"
        return model.tools


class Model:
    """A model that has planned everything: each request for a message is answered with the next call of the chain."""

    def __init__(self, calls):
        self.calls, self.tools, self.failure, self.is_done, self.n_calls = calls, [], None, False, 0

    def answer(self, request):
        """The content block that answers a request."""
        ours = [tool for tool in request.get("tools", []) if tool["name"].startswith("mcp__heal__")]
        if not ours or self.is_done or self.failure:
            return {"type": "text", "text": "done"}
        self.tools = [{"name": tool["name"].removeprefix("mcp__heal__"), "description": tool["description"],
                       "inputSchema": tool["input_schema"]} for tool in ours]
        try:
            tool, arguments = self.calls.send(self.said(request) if self.n_calls else None)
        except StopIteration:
            self.is_done = True
            return {"type": "text", "text": "done"}
        except Exception as failure:
            self.failure = failure
            return {"type": "text", "text": "failed"}
        self.n_calls += 1
        return {"type": "tool_use", "id": f"toolu_{self.n_calls:04}", "name": f"mcp__heal__{tool}", "input": arguments}

    @staticmethod
    def said(request):
        """What the client tells the model of the last call."""
        results = [block for message in request["messages"] if isinstance(message["content"], list)
                   for block in message["content"] if block["type"] == "tool_result"]
        content = results[-1]["content"]
        if isinstance(content, list):
            content = "\n".join(block.get("text", "") for block in content)
        return Said(content, bool(results[-1].get("is_error")))

    def handler(model):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply(b"{}")

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                if "count_tokens" in self.path:
                    return self.reply(b'{"input_tokens": 10}')
                if "/v1/messages" not in self.path:
                    return self.reply(b"{}")
                block = model.answer(request)
                stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
                message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model", "m"),
                           "content": [], "stop_reason": None, "stop_sequence": None,
                           "usage": {"input_tokens": 5, "output_tokens": 5}}
                if not request.get("stream"):
                    return self.reply(json.dumps({**message, "content": [block], "stop_reason": stop}).encode())
                if block["type"] == "tool_use":
                    start = {**block, "input": {}}
                    delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                else:
                    start = {"type": "text", "text": ""}
                    delta = {"type": "text_delta", "text": block["text"]}
                events = [
                    ("message_start", {"message": message}),
                    ("content_block_start", {"index": 0, "content_block": start}),
                    ("content_block_delta", {"index": 0, "delta": delta}),
                    ("content_block_stop", {"index": 0}),
                    ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None},
                                       "usage": {"output_tokens": 5}}),
                    ("message_stop", {}),
                ]
                text = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
                               for name, data in events)
                self.reply(text.encode(), "text/event-stream")

            def reply(self, body, kind="application/json"):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler
