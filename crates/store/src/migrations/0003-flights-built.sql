-- 1: everything of it that is made in a multiplexer was made, in its place and shape. Until then a restore that was
-- killed is finished by the next one; from then on windows are the user's own.
ALTER TABLE flights ADD COLUMN built INTEGER NOT NULL DEFAULT 0 CHECK (built IN (0, 1));
