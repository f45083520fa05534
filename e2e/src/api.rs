//! Fake model APIs on loopback: Anthropic Messages and OpenAI Responses, in one small HTTP/1.1 server.
//!
//! The reply to a prompt is `ack <first word of the newest user text>`; see [`reply_to`].

use crate::{Doing, Error, Result};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const MAX_BODY: usize = 256 << 20;

/// One model request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Path without the query: `/v1/messages` or `/v1/responses`.
    pub path: String,
    /// The whole body.
    pub body: Value,
    /// When it came.
    pub at: Instant,
    /// User and assistant texts, oldest first, without what the agent itself put in.
    pub texts: Vec<String>,
    /// Wants JSON of a given shape: the agent's own business (a session title), no turn of a person.
    pub side: bool,
}

impl Request {
    /// Some user or assistant text contains this.
    pub fn contains(&self, text: &str) -> bool {
        self.texts.iter().any(|own| own.contains(text))
    }
}

/// The running server. Stops taking connections when dropped.
#[derive(Debug)]
pub struct Api {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    next_id: AtomicU64,
    requests: Mutex<Vec<Request>>,
    others: Mutex<Vec<String>>,
    held: Mutex<Option<String>>,
}

impl Api {
    /// Starts the server on a free port of 127.0.0.1.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing("bind the fake API")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let server = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if server.stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&server);
                // A client that goes away in the middle is what these tests are about.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Ok(Self { port, shared })
    }

    /// `http://127.0.0.1:PORT`, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All model requests so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// Other requests so far, as `METHOD path`: for reading when something is odd.
    pub fn others(&self) -> Vec<String> {
        lock(&self.shared.others).clone()
    }

    /// A turn's request contains this text.
    pub fn saw(&self, text: &str) -> bool {
        lock(&self.shared.requests).iter().any(|request| !request.side && request.contains(text))
    }

    /// The newest turn whose request contains this text.
    pub fn last_with(&self, text: &str) -> Option<Request> {
        let requests = lock(&self.shared.requests);
        requests.iter().rev().find(|request| !request.side && request.contains(text)).cloned()
    }

    /// Does the newest turn whose request contains `text` also carry `earlier`, in an older message?
    /// None when there is no such turn.
    pub fn carries(&self, text: &str, earlier: &str) -> Option<bool> {
        let request = self.last_with(text)?;
        let at = request.texts.iter().rposition(|own| own.contains(text))?;
        Some(request.texts.iter().take(at).any(|own| own.contains(earlier)))
    }

    /// Begins, but does not end, every reply to a prompt that contains `text`, until [`Api::release`]:
    /// for crashes in the middle of a turn. One text at a time.
    pub fn hold(&self, text: &str) {
        *lock(&self.shared.held) = Some(text.to_owned());
    }

    /// Lets held replies end.
    pub fn release(&self) {
        *lock(&self.shared.held) = None;
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// The reply every fake model gives to a prompt.
pub fn reply_to(prompt: &str) -> String {
    format!("ack {}", prompt.split_whitespace().next().unwrap_or("nothing"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// ---- HTTP ----

struct Head {
    method: String,
    path: String,
    length: usize,
    chunked: bool,
    expects: bool,
}

fn serve(stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some(head) = read_head(&mut reader)? {
        if head.expects {
            out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let raw =
            if head.chunked { read_chunks(&mut reader)? } else { read_exactly(&mut reader, head.length)? };
        if shared.stop.load(Ordering::Relaxed) || !answer(&mut out, shared, &head, &raw)? {
            break;
        }
    }
    Ok(())
}

fn read_line(reader: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = String::new();
    if reader.take(1 << 16).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end().to_owned()))
}

fn read_head(reader: &mut impl BufRead) -> Result<Option<Head>> {
    let Some(first) = read_line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(Error::new(format!("not HTTP: {first:?}")));
    };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut head = Head { method: method.to_owned(), path, length: 0, chunked: false, expects: false };
    while let Some(line) = read_line(reader)? {
        let Some((name, value)) = line.split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => head.length = value.parse().doing("content-length")?,
            "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
            "expect" => head.expects = true,
            _ => {}
        }
    }
    Ok(Some(head))
}

fn read_exactly(reader: &mut impl BufRead, length: usize) -> Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(Error::new(format!("a request body of {length} bytes")));
    }
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw)?;
    Ok(raw)
}

fn read_chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut raw = Vec::new();
    while let Some(line) = read_line(reader)? {
        let length = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
        let length = length.doing("chunk length")?;
        raw.append(&mut read_exactly(reader, length)?);
        read_line(reader)?;
        if length == 0 {
            break;
        }
    }
    Ok(raw)
}

/// Answers one request; false when the connection ends with it.
fn answer(out: &mut TcpStream, shared: &Shared, head: &Head, raw: &[u8]) -> Result<bool> {
    let model = head.method == "POST" && matches!(head.path.as_str(), "/v1/messages" | "/v1/responses");
    if !model {
        lock(&shared.others).push(format!("{} {}", head.method, head.path));
        let (status, body) = match head.path.as_str() {
            "/v1/messages/count_tokens" => ("200 OK", json!({ "input_tokens": 100 })),
            "/v1/models" => {
                let list = json!({
                    "object": "list", "data": [], "has_more": false, "first_id": null, "last_id": null
                });
                ("200 OK", list)
            }
            _ => {
                let error = json!({ "type": "not_found_error", "message": "not in the fake API" });
                ("404 Not Found", json!({ "type": "error", "error": error }))
            }
        };
        send_json(out, status, &body, head.method != "HEAD")?;
        return Ok(true);
    }

    let body: Value = serde_json::from_slice(raw).doing("body of a model request")?;
    let anthropic = head.path == "/v1/messages";
    let (texts, prompt) = if anthropic { read_messages(&body) } else { read_responses(&body) };
    let format = if anthropic {
        body.pointer("/output_config/format").or_else(|| body.get("output_format"))
    } else {
        body.pointer("/text/format")
    };
    let format = format.filter(|format| format.get("type").is_some_and(|kind| kind == "json_schema"));
    lock(&shared.requests).push(Request {
        path: head.path.clone(),
        body: body.clone(),
        at: Instant::now(),
        texts,
        side: format.is_some(),
    });

    let text = match format {
        Some(format) => json_of(format.get("schema").unwrap_or(&Value::Null)).to_string(),
        None => reply_to(&prompt),
    };
    let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
    let reply = if anthropic { messages_reply(id, &body, &text) } else { responses_reply(id, &body, &text) };
    if body.get("stream") != Some(&Value::Bool(true)) {
        send_json(out, "200 OK", &reply.whole, true)?;
        return Ok(true);
    }
    out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for (number, event) in reply.events.iter().enumerate() {
        // The last events are what ends a reply; a held one stops before them.
        while number == reply.begun && format.is_none() && held(shared, &prompt) {
            out.write_all(b": held\n\n")?;
            thread::sleep(Duration::from_millis(20));
        }
        let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
        out.write_all(format!("event: {name}\ndata: {event}\n\n").as_bytes())?;
    }
    Ok(false)
}

fn held(shared: &Shared, prompt: &str) -> bool {
    !shared.stop.load(Ordering::Relaxed)
        && lock(&shared.held).as_ref().is_some_and(|text| prompt.contains(text))
}

fn send_json(out: &mut TcpStream, status: &str, body: &Value, with_body: bool) -> Result<()> {
    let body = body.to_string();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    let body = if with_body { body.as_str() } else { "" };
    Ok(out.write_all(format!("{head}{body}").as_bytes())?)
}

/// An object with a dummy for every property of a schema.
fn json_of(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let dummy = |kind: &Value| match kind.get("type").and_then(Value::as_str) {
        Some("string") => json!("fake title"),
        Some("number" | "integer") => json!(0),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(false),
    };
    properties.into_iter().flatten().map(|(name, kind)| (name.clone(), dummy(kind))).collect()
}

// ---- what a request says: (texts, newest prompt) ----

fn read_messages(body: &Value) -> (Vec<String>, String) {
    let mut texts = Vec::new();
    let mut prompt = String::new();
    for message in body.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            continue;
        }
        for text in texts_of(message.get("content")) {
            let text = without_reminders(&text);
            if text.is_empty() {
                continue;
            }
            if role == "user" {
                prompt.clone_from(&text);
            }
            texts.push(text);
        }
    }
    (texts, prompt)
}

fn read_responses(body: &Value) -> (Vec<String>, String) {
    let mut texts = Vec::new();
    let mut prompt = String::new();
    for item in body.get("input").and_then(Value::as_array).into_iter().flatten() {
        let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            continue;
        }
        let text = texts_of(item.get("content")).join("\n");
        // Codex sends the environment and the AGENTS files as user messages.
        if role == "user" && text.trim_start().starts_with(['<', '#']) {
            continue;
        }
        if role == "user" {
            prompt.clone_from(&text);
        }
        texts.push(text);
    }
    (texts, prompt)
}

fn texts_of(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

fn without_reminders(text: &str) -> String {
    let (open, close) = ("<system-reminder>", "</system-reminder>");
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once(open) {
        kept.push_str(before);
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

// ---- replies ----

struct Reply {
    whole: Value,
    events: Vec<Value>,
    /// How many events come before those that end it.
    begun: usize,
}

fn messages_reply(id: u64, body: &Value, text: &str) -> Reply {
    let message = |content: Value, stop: Value| {
        json!({
            "id": format!("msg_e2e{id}"), "type": "message", "role": "assistant",
            "model": body.get("model"), "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {
                "input_tokens": 10, "output_tokens": 5,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0
            }
        })
    };
    let end = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    let events = vec![
        json!({ "type": "message_start", "message": message(json!([]), Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ];
    Reply { whole: message(json!([{ "type": "text", "text": text }]), json!("end_turn")), events, begun: 3 }
}

fn responses_reply(id: u64, body: &Value, text: &str) -> Reply {
    let item_id = format!("msg_e2e{id}");
    let item = |status: &str, content: Value| json!({ "type": "message", "role": "assistant", "id": item_id, "status": status, "content": content });
    let full = item("completed", json!([{ "type": "output_text", "text": text, "annotations": [] }]));
    let response = |status: &str, output: Value| {
        json!({
            "id": format!("resp_e2e{id}"), "object": "response", "created_at": 1_700_000_000, "status": status,
            "model": body.get("model"), "output": output,
            "usage": {
                "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15
            }
        })
    };
    let whole = response("completed", json!([full]));
    let events = vec![
        json!({ "type": "response.created", "response": response("in_progress", json!([])) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([])) }),
        json!({
            "type": "response.output_text.delta", "output_index": 0, "content_index": 0,
            "item_id": item_id, "delta": text
        }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": full }),
        json!({ "type": "response.completed", "response": whole }),
    ];
    Reply { whole, events, begun: 3 }
}
