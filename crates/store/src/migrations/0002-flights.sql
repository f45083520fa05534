-- One spending of a plan. At most one per caller is open at any time.
CREATE TABLE flights (
    flight      TEXT PRIMARY KEY,
    plan        TEXT NOT NULL,
    caller      TEXT NOT NULL,
    process     TEXT NOT NULL CHECK (json_valid(process)),
    ord         TEXT NOT NULL,
    finished    INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX flights_open ON flights (caller) WHERE finished = 0;

-- taken: ours to restore. intended: its pane may exist. started: its exec began. done: its outcome is in the log.
-- returned: nothing of it is left, it can be offered again.
CREATE TABLE flight_entries (
    flight      TEXT NOT NULL REFERENCES flights (flight),
    entry       TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('taken', 'intended', 'started', 'done', 'returned')),
    body        TEXT NOT NULL CHECK (json_valid(body)),
    effect      TEXT CHECK (effect IS NULL OR json_valid(effect)),
    PRIMARY KEY (flight, entry)
) STRICT;
-- An entry is in the air once at most.
CREATE UNIQUE INDEX flight_entries_open ON flight_entries (entry) WHERE state IN ('taken', 'intended', 'started');
