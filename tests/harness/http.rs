//! A plain HTTP/1.1 client: it sends exactly what a test says and hides nothing of the answer.
//!
//! One connection that is kept open; reconnecting is the caller's choice, since a broken connection is a finding.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No answer takes longer, or the test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A header line longer than this is not HTTP.
const LINE_MAX: u64 = 64 << 10;

/// A connection to the server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Client {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// GET.
    pub fn get(&mut self, path: &str) -> io::Result<Response> {
        self.request("GET", path, &[], b"")
    }

    /// POST of a JSON document.
    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<Response> {
        self.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Sends a request and reads the answer.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Response> {
        self.send(method, path, headers, body)?;
        self.receive()
    }

    /// Sends a request without waiting for the answer.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut message = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            message.push_str(&format!("{name}: {value}\r\n"));
        }
        if method != "GET" {
            message.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        message.push_str("\r\n");
        let mut bytes = message.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.get_mut().write_all(&bytes)
    }

    /// Sends bytes as they are, for requests that are no requests.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads an answer.
    pub fn receive(&mut self) -> io::Result<Response> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| malformed(&status_line))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response { status, headers, body: Vec::new() };
        response.body = self.body(&response)?;
        Ok(response)
    }

    fn body(&mut self, response: &Response) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if response.header("transfer-encoding") == Some("chunked") {
            loop {
                let line = self.line()?;
                let size = u64::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
                    .map_err(|_| malformed(&line))?;
                self.exactly(size, &mut body)?;
                self.line()?;
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        if let Some(length) = response.header("content-length") {
            let length = length.parse().map_err(|_| malformed(length))?;
            self.exactly(length, &mut body)?;
        }
        Ok(body)
    }

    fn exactly(&mut self, size: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let read = self.stream.by_ref().take(size).read_to_end(into)?;
        if u64::try_from(read).ok() == Some(size) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.by_ref().take(LINE_MAX).read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Response {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON. Panics when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.text()))
    }

    /// The text of an error's body. Panics when it is none.
    pub fn error(&self) -> String {
        let body = self.json();
        body["error"].as_str().unwrap_or_else(|| panic!("no error in {body}")).to_owned()
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {line:?}"))
}
