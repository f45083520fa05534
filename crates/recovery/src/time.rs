//! Times as people and JSON read them.

/// Returns milliseconds since 1970 as RFC 3339 UTC with seconds; what cannot be a time is shown as 1970.
pub fn rfc3339(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns how long ago something was: `5 s`, `12 min`, `3 h`, `9 d`; `clock differs` for what lies ahead.
pub fn ago(then_ms: i64, now_ms: i64) -> String {
    let seconds = (now_ms - then_ms) / 1000;
    match seconds {
        _ if now_ms < then_ms - 1000 => "clock differs".into(),
        ..60 => format!("{} s", seconds.max(0)),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C26: what lies in the future has no negative age.
    #[test]
    fn c26_ages_are_never_negative() {
        assert_eq!(ago(10_000, 5_000), "clock differs");
        assert_eq!(ago(0, 59_000), "59 s");
        assert_eq!(ago(0, 7_200_000), "2 h");
        assert_eq!(ago(0, 200_000_000), "2 d");
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(rfc3339(1_795_993_763_285), "2026-11-29T23:09:23Z");
        assert_eq!(rfc3339(i64::MAX), "1970-01-01T00:00:00Z");
    }
}
