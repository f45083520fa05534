-- One append-only log of facts and decisions is the truth.
CREATE TABLE log (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    ord         TEXT NOT NULL,
    kind        TEXT NOT NULL,
    -- For looks: which server life, and which agents lived, so that repetitions can be told.
    life        TEXT,
    same        TEXT,
    snapshot    TEXT REFERENCES snapshots (hash),
    wall_ms     INTEGER NOT NULL,
    fact        TEXT NOT NULL CHECK (json_valid(fact)),
    CHECK ((kind = 'look') = (life IS NOT NULL))
) STRICT;
CREATE INDEX log_looks ON log (life, same, ord) WHERE kind = 'look';

-- What a multiplexer looked like, once for each way it looked.
CREATE TABLE snapshots (
    hash        TEXT PRIMARY KEY,
    panes       INTEGER NOT NULL CHECK (panes >= 0),
    body        TEXT NOT NULL CHECK (json_valid(body))
) STRICT;
