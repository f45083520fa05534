//! Capture, assess, plan, restore, verify: what was running where, what a crash took, and how it comes back.
//!
//! Data flows one way. [`capture`] turns what hooks say and what a look sees into facts; [`situation`] folds them and
//! looks at what is there now; [`assess`] says how everything stands; the plan is a pure value computed by the core
//! from both; [`restore`] does what a plan says, verifies it, and can take it back.

pub mod assess;
pub mod capture;
pub mod config;
pub mod context;
pub mod find;
pub mod install;
pub mod knowledge;
pub mod leftovers;
pub mod observe;
pub mod restore;
pub mod situation;
pub mod story;
pub mod time;
