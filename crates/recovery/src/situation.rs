//! What was and what is, read once: the log folded, and one look at the machine. Writes nothing.

use crate::assess::{Status, assess};
use crate::context::Context;
use crate::knowledge::Disk;
use crate::observe::{Observed, observe};
use reseat_core::ending::LiveView;
use reseat_core::fact::Fact;
use reseat_core::fold::{Folded, fold};
use reseat_core::plan::{Plan, Policy, compute};
use reseat_store::error::StoreError;
use reseat_store::store::Store;

/// Everything that status, plan and restore judge by.
#[derive(Debug)]
pub struct Situation {
    /// The log.
    pub facts: Vec<Fact>,
    /// The log, folded.
    pub folded: Folded,
    /// What is there now.
    pub observed: Observed,
    /// What is wrong with the log, in sentences.
    pub trouble: Vec<String>,
}

impl Situation {
    /// Reads the log and looks once.
    pub fn read(context: &Context) -> Result<Self, StoreError> {
        let reader = Store::open_read(&context.state, context.spool())?;
        let facts = reader.facts()?;
        let trouble = reader.trouble();
        drop(reader);
        Ok(Self::of(context, facts, trouble))
    }

    /// Folds given facts and looks once.
    pub fn of(context: &Context, facts: Vec<Fact>, trouble: Vec<String>) -> Self {
        let mut folded = fold(&facts);
        let mut observed = observe(context, &facts, &folded);
        crate::leftovers::add(context, &mut folded, &observed);
        crate::leftovers::gone(&folded, &mut observed);
        Self { facts, folded, observed, trouble }
    }

    /// What is there now, as the planner sees it.
    pub fn view(&self) -> &LiveView {
        &self.observed.view
    }

    /// The disk, as the planner asks about it.
    pub fn disk<'a>(&'a self, context: &'a Context, carry_dangerous: bool) -> Disk<'a> {
        Disk::new(context, &self.observed, carry_dangerous)
    }

    /// Computes the plan.
    pub fn plan(&self, disk: &Disk<'_>, policy: &Policy) -> Plan {
        compute(&self.folded, self.view(), disk, policy)
    }

    /// Says how everything stands.
    pub fn status(&self, context: &Context) -> Status {
        assess(&self.folded, &self.observed, &self.disk(context, false), &context.boot)
    }

    /// Whether nothing at all could be observed: no process table, so no verdict can rest on anything.
    pub fn blind(&self) -> bool {
        !self.observed.table_read
    }
}
