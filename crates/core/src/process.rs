//! What "the same process" means: boot, pid namespace, pid and start ticks, never a bare pid.

use serde::{Deserialize, Serialize};

/// One boot of one machine as one container sees it.
///
/// A restarted container keeps the host's boot id; its pid namespace or the start of its pid 1 tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Boot {
    /// Machine id, or `name:` and the host name where there is none.
    pub host: String,
    /// The kernel's id of this boot.
    pub id: String,
    /// Inode of the pid namespace; 0 where there are none.
    pub pidns: u64,
    /// Start ticks of pid 1 in that namespace; 0 where unknown.
    pub init_start: u64,
}

/// How two boots relate, seen from `here`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootRelation {
    /// The same boot and the same pid namespace: pids can be compared.
    Same,
    /// An earlier boot of this host: everything in it is gone.
    EarlierBoot,
    /// The same pid namespace with another pid 1: the container was restarted, everything in it is gone.
    ContainerRestarted,
    /// Another pid namespace of this boot: cannot tell.
    OtherContainer,
    /// Another host: cannot tell.
    OtherHost,
}

impl Boot {
    /// Returns how `self` relates to the boot we run in.
    pub fn seen_from(&self, here: &Self) -> BootRelation {
        if self.host != here.host {
            BootRelation::OtherHost
        } else if self.id != here.id {
            BootRelation::EarlierBoot
        } else if self.pidns != here.pidns {
            BootRelation::OtherContainer
        } else if self.init_start != here.init_start {
            BootRelation::ContainerRestarted
        } else {
            BootRelation::Same
        }
    }
}

/// One process for ever: pids are used again, this is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessKey {
    /// The boot and pid namespace it ran in.
    pub boot: Boot,
    /// The process id.
    pub pid: u32,
    /// Start time in clock ticks since boot, as the kernel printed it (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

impl ProcessKey {
    /// Its start, milliseconds since boot; ticks are hundredths of a second.
    pub const fn since_boot_ms(&self) -> i64 {
        (self.start * 10) as i64
    }
}

/// What the process table says of a pid in our own boot and namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// No such pid, or it is a zombie or a thread id.
    Absent,
    /// A process is there with these start ticks. Suspended and unreachable processes are there too.
    Present {
        /// Start ticks as the kernel printed them.
        start: u64,
    },
    /// The table could not be read.
    Unreadable,
}

/// Whether a recorded process still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// It is this very process.
    Alive,
    /// It ended; proven.
    Gone,
    /// It cannot be told from here, which is never a reason to act.
    CannotTell(Unseen),
}

/// Why a process cannot be seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// Recorded on another host.
    OtherHost,
    /// Recorded in another pid namespace of this boot.
    OtherContainer,
    /// The process table could not be read.
    Unreadable,
}

/// Judges a recorded process against one probe of its pid.
pub fn judge(recorded: &ProcessKey, here: &Boot, probe: Probe) -> Liveness {
    match recorded.boot.seen_from(here) {
        BootRelation::OtherHost => Liveness::CannotTell(Unseen::OtherHost),
        BootRelation::OtherContainer => Liveness::CannotTell(Unseen::OtherContainer),
        BootRelation::EarlierBoot | BootRelation::ContainerRestarted => Liveness::Gone,
        BootRelation::Same => match probe {
            Probe::Present { start } if start == recorded.start => Liveness::Alive,
            Probe::Absent | Probe::Present { .. } => Liveness::Gone,
            Probe::Unreadable => Liveness::CannotTell(Unseen::Unreadable),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(host: &str, id: &str, pidns: u64, init_start: u64) -> Boot {
        Boot { host: host.into(), id: id.into(), pidns, init_start }
    }

    /// CRX-08, CRX-24, C26: one table for what a recorded process and a probe give.
    #[test]
    fn liveness_table() {
        let here = boot("h", "b1", 5, 1);
        let same = Probe::Present { start: 9000 };
        let rows = [
            (here.clone(), same, Liveness::Alive),
            (here.clone(), Probe::Present { start: 9001 }, Liveness::Gone),
            (here.clone(), Probe::Absent, Liveness::Gone),
            (here.clone(), Probe::Unreadable, Liveness::CannotTell(Unseen::Unreadable)),
            (boot("h", "b0", 5, 1), same, Liveness::Gone),
            (boot("h", "b0", 9, 7), same, Liveness::Gone),
            (boot("h", "b1", 5, 2), same, Liveness::Gone),
            (boot("h", "b1", 6, 1), same, Liveness::CannotTell(Unseen::OtherContainer)),
            (boot("h2", "b1", 5, 1), same, Liveness::CannotTell(Unseen::OtherHost)),
            (boot("h2", "b0", 5, 1), Probe::Absent, Liveness::CannotTell(Unseen::OtherHost)),
        ];
        for (boot, probe, want) in rows {
            let key = ProcessKey { boot, pid: 500, start: 9000 };
            assert_eq!(judge(&key, &here, probe), want, "{key:?} {probe:?}");
        }
    }
}
