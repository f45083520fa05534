//! Rows of formats whose every field is preceded by its length, so that no name, title or path can be taken for a
//! separator.

/// Returns a format that prints `mark` and then each variable as `LENGTH:TEXT`.
pub(super) fn format(mark: char, variables: &[&str]) -> String {
    let mut out = String::from(mark);
    for variable in variables {
        out.push_str("#{n:");
        out.push_str(variable);
        out.push_str("}:#{");
        out.push_str(variable);
        out.push('}');
    }
    out
}

/// One row: its mark and its fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) mark: char,
    pub(super) fields: Vec<String>,
}

/// Reads all rows. `count` says how many fields a row of a mark has.
pub(super) fn parse(bytes: &[u8], count: impl Fn(char) -> Option<usize>) -> Result<Vec<Row>, String> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let mark = char::from(bytes[at]);
        let wanted = count(mark).ok_or_else(|| format!("unexpected row at byte {at}"))?;
        at += 1;
        let mut fields = Vec::with_capacity(wanted);
        for _ in 0..wanted {
            let (field, next) = field(bytes, at).ok_or_else(|| format!("unreadable field at byte {at}"))?;
            fields.push(field);
            at = next;
        }
        if bytes.get(at) != Some(&b'\n') {
            return Err(format!("a row does not end at byte {at}"));
        }
        at += 1;
        out.push(Row { mark, fields });
    }
    Ok(out)
}

fn field(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let colon = at + bytes.get(at..)?.iter().take(12).position(|byte| *byte == b':')?;
    let length: usize = std::str::from_utf8(&bytes[at..colon]).ok()?.parse().ok()?;
    let text = bytes.get(colon + 1..(colon + 1).checked_add(length)?)?;
    Some((String::from_utf8_lossy(text).into_owned(), colon + 1 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_by_their_length() {
        let rows = parse(b"P3:a:b2:\n\n\nP0:0:\n", |mark| (mark == 'P').then_some(2)).unwrap();
        assert_eq!(
            rows,
            [
                Row { mark: 'P', fields: vec!["a:b".into(), "\n\n".into()] },
                Row { mark: 'P', fields: vec![String::new(), String::new()] }
            ]
        );
    }

    /// C06: separators turned into underscores, or a row cut short, are an error and never an empty capture.
    #[test]
    fn c06_what_does_not_fit_is_an_error() {
        let count = |mark| (mark == 'P').then_some(2);
        for bad in [&b"a_%0_8378\n"[..], b"P3:abc", b"P3:ab\n", b"P9:ab1:x\n", b"P1:a1:bX\n", b"Px:a1:b\n"] {
            assert!(parse(bad, count).is_err(), "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(parse(b"", count), Ok(Vec::new()));
    }
}
