//! Reads the beginning and the end of a file by whole lines, never more bytes than asked for.
//!
//! Transcripts grow to gigabytes, hold lines of many megabytes, and end in half lines or zeros after a power cut.
//! Nothing here writes, locks or follows a file that is no regular file: a fifo would block for ever.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// How much of a file's beginning is read by default, bytes.
pub const HEAD: u64 = 256 * 1024;
/// How much of a file's end is read by default, bytes.
pub const TAIL: u64 = 1024 * 1024;
/// One read.
const CHUNK: u64 = 64 * 1024;

/// A regular file of which only so much is read. It may grow or shrink meanwhile: what lies beyond the size at
/// opening is not seen, what is gone reads as the end.
#[derive(Debug)]
pub struct Bounded {
    file: File,
    size: u64,
}

/// One line as it lies in the file, without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The bytes; any bytes, not only text.
    pub bytes: &'a [u8],
    /// A line feed follows. Only the last line of a file can lack it: it is torn, or its writer was.
    pub terminated: bool,
}

/// How far a reading from the end came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Everything from this offset to the end was handed over.
    pub from: u64,
    /// Bytes read of a last line that has no line feed and no beginning within the limit.
    pub torn: u64,
}

impl Line<'_> {
    /// Bytes it takes in the file.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.terminated)
    }
}

impl Bounded {
    /// Opens a regular file for reading. Anything else is refused by its metadata, before it is opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        if !std::fs::metadata(path)?.is_file() {
            return Err(refuse());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok(Self { size: metadata.len(), file }) } else { Err(refuse()) }
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Hands over whole lines from the beginning until `see` breaks or `limit` bytes were read, and returns the
    /// offset behind the last line that was handed over. A last line without a line feed is left to
    /// [`Bounded::backward`].
    pub fn forward(&self, limit: u64, mut see: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<u64> {
        let end = limit.min(self.size);
        let (mut held, mut handed, mut at) = (Vec::new(), 0_u64, 0_u64);
        while at < end {
            let before = held.len();
            at += self.read_at(&mut held, at, CHUNK.min(end - at))?;
            if held.len() == before {
                break;
            }
            let mut start = 0;
            let mut look_from = before;
            while let Some(feed) = held[look_from..].iter().position(|byte| *byte == b'\n') {
                let line = &held[start..look_from + feed];
                look_from += feed + 1;
                handed += (look_from - start) as u64;
                start = look_from;
                if see(line).is_break() {
                    return Ok(handed);
                }
            }
            held.drain(..start);
        }
        Ok(handed)
    }

    /// Hands over lines from the end towards the beginning until `see` breaks, `floor` is reached or `limit` bytes
    /// were read. `floor` is 0 or what [`Bounded::forward`] returned, so that no line is handed over twice. A line
    /// whose beginning lies outside is not handed over.
    pub fn backward(
        &self,
        floor: u64,
        limit: u64,
        mut see: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<Reach> {
        let low = floor.max(self.size.saturating_sub(limit));
        let mut held: Vec<u8> = Vec::new();
        let (mut start, mut terminated, mut from) = (self.size, false, self.size);
        while start > low {
            let length = CHUNK.min(start - low);
            let mut chunk = Vec::with_capacity(length as usize + held.len());
            self.read_at(&mut chunk, start - length, length)?;
            start -= length;
            let mut look_to = chunk.len();
            chunk.append(&mut held);
            held = chunk;
            while let Some(feed) = held[..look_to].iter().rposition(|byte| *byte == b'\n') {
                let line = Line { bytes: &held[feed + 1..], terminated };
                from = start + feed as u64 + 1;
                if (terminated || !line.bytes.is_empty()) && see(line).is_break() {
                    return Ok(Reach { from, torn: 0 });
                }
                terminated = true;
                held.truncate(feed);
                look_to = feed;
            }
        }
        if low > floor {
            let torn = if terminated { 0 } else { held.len() as u64 };
            return Ok(Reach { from, torn });
        }
        if terminated || !held.is_empty() {
            let _ = see(Line { bytes: &held, terminated });
        }
        Ok(Reach { from: floor, torn: 0 })
    }

    /// Appends up to `length` bytes from `offset`; fewer only where the file ends.
    fn read_at(&self, into: &mut Vec<u8>, offset: u64, length: u64) -> io::Result<u64> {
        let before = into.len();
        into.resize(before + length as usize, 0);
        let mut filled = 0;
        while filled < length as usize {
            match self.file.read_at(&mut into[before + filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        into.truncate(before + filled);
        Ok(filled as u64)
    }
}

/// The beginning and the end of a file of JSON lines. No line occurs twice: what the head holds, the tail does not,
/// so a small file may have all its lines in the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    /// Whole lines from the beginning, in the file's order.
    pub head: Vec<Vec<u8>>,
    /// Whole lines up to the end, in the file's order.
    pub tail: Vec<Vec<u8>>,
    /// Size in bytes.
    pub size: u64,
    /// Bytes between head and tail that were not read or belong to a line cut by the limits.
    pub unread: u64,
    /// Bytes within what was read that are no whole JSON object: a torn last line, zeros, garbage.
    pub damaged_bytes: u64,
}

impl Ends {
    /// All lines read, in the file's order. Between head and tail lines are missing when `unread` is not 0.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.head.iter().chain(&self.tail).map(Vec::as_slice)
    }
}

/// Reads at most `head` bytes from the beginning and `tail` bytes from the end.
pub fn read_ends(path: &Path, head: u64, tail: u64) -> io::Result<Ends> {
    let file = Bounded::open(path)?;
    let (mut first, mut last) = (Whole::default(), Whole::default());
    let floor = file.forward(head, |bytes| first.take(Line { bytes, terminated: true }))?;
    let reach = file.backward(floor, tail, |line| last.take(line))?;
    last.lines.reverse();
    Ok(Ends {
        head: first.lines,
        tail: last.lines,
        size: file.size(),
        unread: reach.from - floor - reach.torn,
        damaged_bytes: first.damaged + last.damaged + reach.torn,
    })
}

/// Whole lines, and how many bytes were none.
#[derive(Default)]
struct Whole {
    lines: Vec<Vec<u8>>,
    damaged: u64,
}

impl Whole {
    fn take(&mut self, line: Line<'_>) -> ControlFlow<()> {
        match check(line.bytes) {
            Shape::Whole => self.lines.push(line.bytes.to_vec()),
            Shape::Blank => {}
            Shape::Damaged => self.damaged += line.size(),
        }
        ControlFlow::Continue(())
    }
}

/// What a line is, before anybody looks for fields in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A JSON object.
    Whole,
    /// Nothing but white space.
    Blank,
    /// Anything else.
    Damaged,
}

/// Tells a whole line from damage. Bytes that are no UTF-8 within a string do not make it damaged: agents read
/// them as replacement characters.
pub fn check(line: &[u8]) -> Shape {
    let line = line.trim_ascii();
    if line.is_empty() {
        Shape::Blank
    } else if line[0] == b'{' && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok() {
        Shape::Whole
    } else {
        Shape::Damaged
    }
}
