//! Capture, assess, plan, restore, verify: the public library.
