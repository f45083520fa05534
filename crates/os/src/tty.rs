//! Terminals by their device number.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Returns the device of a terminal in the encoding of `/proc/PID/stat` (field 7).
pub fn device_of(path: &Path) -> Option<u64> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.file_type().is_char_device() {
        return None;
    }
    let (major, minor) = (rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
    Some(u64::from((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)))
}

/// Columns of the terminal on standard output, if it is one.
pub fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_the_kernels() {
        // /dev/tty0 is 4:0, /dev/null 1:3; what is no character device has none.
        assert_eq!(device_of(Path::new("/dev/null")), Some(1 << 8 | 3));
        assert_eq!(device_of(Path::new("/etc/passwd")), None);
        assert_eq!(device_of(Path::new("/nonexistent")), None);
    }
}
