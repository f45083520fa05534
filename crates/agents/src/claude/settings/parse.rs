//! JSON with the places where its values lie, so that a text can be changed at one place and nowhere else.

use super::SettingsError;
use serde::de::IgnoredAny;
use std::ops::Range;

/// White space of JSON; everything else between values is an error.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// A value; ranges are in bytes.
#[derive(Debug)]
pub(super) enum Value {
    Object(Object),
    Array(Array),
    Text(Text),
    /// `true` or `false`, beginning here.
    Flag(bool, Range<usize>),
    /// A number or `null`.
    Other(Range<usize>),
}

/// An object, brackets and all.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) at: Range<usize>,
    pub(super) properties: Vec<Property>,
}

/// A name with its value.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) start: usize,
    pub(super) name: String,
    pub(super) value: Value,
}

/// A list, brackets and all.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) at: Range<usize>,
    pub(super) elements: Vec<Value>,
}

/// A string, quotes and all. One that is no Unicode is kept empty: it is none of ours.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) at: Range<usize>,
    pub(super) value: String,
}

impl Value {
    pub(super) fn at(&self) -> &Range<usize> {
        match self {
            Self::Object(object) => &object.at,
            Self::Array(array) => &array.at,
            Self::Text(text) => &text.at,
            Self::Flag(_, at) | Self::Other(at) => at,
        }
    }

    pub(super) fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    pub(super) fn as_text(&self) -> Option<&Text> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl Object {
    /// The property that counts: of several with one name the last.
    pub(super) fn last(&self, name: &str) -> Option<&Value> {
        self.index(name).map(|at| &self.properties[at].value)
    }

    /// Where that property stands among the others.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.properties.iter().rposition(|property| property.name == name)
    }
}

/// Parses a text as strictly as Claude does: a comment or a trailing comma makes it ignore the whole file, so it would
/// ignore our hooks too. Returns nothing for a text of white space only.
pub(super) fn parse(text: &str) -> Result<Option<Value>, SettingsError> {
    if text.trim_matches(SPACE).is_empty() {
        return Ok(None);
    }
    // Proves that the text is JSON and bounds its depth; what follows only finds out where things lie.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        SettingsError::Syntax { line: error.line(), why }
    })?;
    Ok(Some(Reader { text, at: 0 }.value()))
}

/// Reads a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next byte that is no white space; 0 at the end.
    fn peek(&mut self) -> u8 {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches(SPACE).len();
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Steps over one of these bytes, and says whether it stood there.
    fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            b'{' => Value::Object(self.object()),
            b'[' => Value::Array(self.array()),
            b'"' => Value::Text(self.string()),
            _ => {
                let start = self.at;
                let rest = &self.text[start..];
                self.at += rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
                match &self.text[start..self.at] {
                    "true" => Value::Flag(true, start..self.at),
                    "false" => Value::Flag(false, start..self.at),
                    _ => Value::Other(start..self.at),
                }
            }
        }
    }

    fn object(&mut self) -> Object {
        let start = self.at;
        self.at += 1;
        let mut properties = Vec::new();
        while self.peek() == b'"' {
            let name = self.string();
            self.skip(b':');
            properties.push(Property { start: name.at.start, name: name.value, value: self.value() });
            self.skip(b',');
        }
        self.skip(b'}');
        Object { at: start..self.at, properties }
    }

    fn array(&mut self) -> Array {
        let start = self.at;
        self.at += 1;
        let mut elements = Vec::new();
        while !self.skip(b']') {
            elements.push(self.value());
            self.skip(b',');
        }
        Array { at: start..self.at, elements }
    }

    fn string(&mut self) -> Text {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        let value = serde_json::from_str(&self.text[start..self.at]).unwrap_or_default();
        Text { at: start..self.at, value }
    }
}
