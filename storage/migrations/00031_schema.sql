-- +goose Up
CREATE TABLE models (
    id               TEXT    NOT NULL PRIMARY KEY, -- org/name, or the folder's name
    path             TEXT    NOT NULL,             -- folder of config.json; empty for an embedded model
    source           TEXT    NOT NULL,             -- hub, folder, ollama, pocket, starter
    revision         TEXT    NOT NULL,             -- commit hash at the hub
    architecture     TEXT    NOT NULL,
    quantization     TEXT    NOT NULL,             -- e.g. affine 4-bit/64; empty for float weights
    dtype            TEXT    NOT NULL,
    parameters       INTEGER NOT NULL,
    bytes            INTEGER NOT NULL,             -- of the weight files
    context_length   INTEGER NOT NULL,
    downloaded_by_us INTEGER NOT NULL CHECK (downloaded_by_us IN (0, 1)),
    added_at         TEXT    NOT NULL,
    last_used_at     TEXT,
    load_ms          INTEGER NOT NULL DEFAULT 0,   -- of the last load; 0 = never loaded
    kind             TEXT    NOT NULL DEFAULT '',  -- embedding or reranker; empty if it generates text
    file_type        TEXT    NOT NULL DEFAULT ''   -- of a GGUF file, such as Q4_K_M; empty if it says none
) STRICT;

CREATE UNIQUE INDEX models_path ON models (path) WHERE path <> '';

CREATE TABLE runs (
    id                  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    started_at          TEXT    NOT NULL,
    ended_at            TEXT,             -- NULL while the run is in flight
    client              TEXT    NOT NULL,
    endpoint            TEXT    NOT NULL,
    model               TEXT    NOT NULL, -- no reference: history outlives the registry
    drafter             TEXT    NOT NULL,
    prompt_tokens       INTEGER NOT NULL,
    cached_tokens       INTEGER NOT NULL,
    completion_tokens   INTEGER NOT NULL,
    drafted             INTEGER NOT NULL,
    accepted            INTEGER NOT NULL,
    rounds              INTEGER NOT NULL,
    syncs               INTEGER NOT NULL,
    load_ms             REAL    NOT NULL,
    restore_ms          REAL    NOT NULL,
    prefill_ms          REAL    NOT NULL,
    first_token_ms      REAL    NOT NULL,
    draft_ms            REAL    NOT NULL,
    verify_ms           REAL    NOT NULL,
    total_ms            REAL    NOT NULL,
    peak_bytes          INTEGER NOT NULL,
    finish_reason       TEXT    NOT NULL,
    miss_reason         TEXT    NOT NULL,
    error               TEXT    NOT NULL,
    seed                INTEGER NOT NULL,
    queue_ms            REAL    NOT NULL DEFAULT 0,
    no_drafter          TEXT    NOT NULL DEFAULT '', -- why there were no drafts, or no more
    verifies            INTEGER NOT NULL DEFAULT 0,  -- of rounds, those with drafts
    prediction_accepted INTEGER NOT NULL DEFAULT 0,
    prediction_rejected INTEGER NOT NULL DEFAULT 0,
    repeats             INTEGER NOT NULL DEFAULT 0,  -- generated tokens before the text loops; 0 if it does not
    speculation         TEXT    NOT NULL DEFAULT '', -- JSON: round by round
    matched_tokens      INTEGER NOT NULL DEFAULT 0,  -- of the prompt, that a kept text began with
    parted              TEXT    NOT NULL DEFAULT '', -- where the prompt parted from that text
    resumes             INTEGER NOT NULL DEFAULT 0,  -- run that this one completes; 0 = none
    verdict             TEXT    NOT NULL DEFAULT '', -- JSON: how the answer compared when it was last computed again
    -- what was forgotten while the run was in flight: 1 = a text that it may part from, 2 = its own
    forgotten           INTEGER NOT NULL DEFAULT 0,
    message             TEXT    NOT NULL DEFAULT '', -- for a refused client, without what it had sent
    held                TEXT    NOT NULL DEFAULT '', -- how quantized weights were held
    kv_bits             INTEGER NOT NULL DEFAULT 0,  -- of an element in keys and values; 0 = as computed
    kv_layout           TEXT    NOT NULL DEFAULT '', -- how rows were kept
    kv_exact_bytes      INTEGER NOT NULL DEFAULT 0,  -- this and the next two: caches at the end of the run
    kv_own_bytes        INTEGER NOT NULL DEFAULT 0,
    kv_restored_bytes   INTEGER NOT NULL DEFAULT 0,
    put_back_thoughts   INTEGER NOT NULL DEFAULT 0,  -- that the client had left out of its prompt
    put_back_tokens     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX runs_model ON runs (model, id);
CREATE INDEX runs_open ON runs (id) WHERE ended_at IS NULL;
CREATE INDEX runs_resumes ON runs (resumes) WHERE resumes > 0;
-- The window asks for the runs of today, and for runs that are slow for their client by the median
-- of its newest runs. An index ends with the id, so runs_newest has them in their order.
CREATE INDEX runs_started ON runs (started_at);
CREATE INDEX runs_client ON runs (client, total_ms);
CREATE INDEX runs_newest ON runs (client);

CREATE TABLE run_texts (
    run     INTEGER NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    model   TEXT    NOT NULL, -- the run's row has it only once the run has ended
    key     TEXT    NOT NULL, -- of the model as it was loaded, see checkpoints
    request TEXT    NOT NULL, -- body; empty once the run has ended, so that only a crash leaves it
    prompt  INTEGER NOT NULL, -- tokens of it
    file    TEXT    NOT NULL, -- checkpoint of the text's beginning; empty = tail has all
    tokens  INTEGER NOT NULL, -- of the text that are in it
    -- the tokens after them, int32 little-endian in base64; NULL until the run has ended, or if they
    -- are too many
    tail    TEXT,
    replay  TEXT    NOT NULL  -- how they were generated
) STRICT;

CREATE TABLE settings (
    key        TEXT NOT NULL PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE model_settings (
    model              TEXT    NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    context            INTEGER, -- tokens; NULL here and below = as if nothing were set
    depth              INTEGER, -- drafts in each round
    rule               TEXT    NOT NULL, -- of acceptance; empty = the default
    temperature        REAL,
    top_p              REAL,
    top_k              INTEGER,
    min_p              REAL,
    repetition_penalty REAL,
    keep_loaded        INTEGER NOT NULL, -- 1 = it stays in memory when it is idle
    kv_bits            INTEGER,
    draft_window       INTEGER,
    drafter_bits       INTEGER
) STRICT;

CREATE TABLE keys (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    hash       TEXT    NOT NULL UNIQUE, -- SHA-256 of the key, in hexadecimal; the key itself is nowhere
    created_at TEXT    NOT NULL,
    used_at    TEXT                     -- NULL until it is used
) STRICT;

CREATE TABLE policies (
    model      TEXT    NOT NULL,
    drafter    TEXT    NOT NULL,
    bucket     INTEGER NOT NULL, -- context length in tokens up to which it holds
    state      TEXT    NOT NULL, -- JSON
    updated_at TEXT    NOT NULL,
    PRIMARY KEY (model, drafter, bucket)
) STRICT;

CREATE TABLE drafters (
    model      TEXT NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    choice     TEXT NOT NULL, -- auto, none, or a folder
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE drafter_readings (
    model      TEXT NOT NULL,
    drafter    TEXT NOT NULL, -- its folder
    settings   TEXT NOT NULL, -- JSON, how its checkpoint is read
    trials     TEXT NOT NULL, -- JSON, what each reading was measured at
    updated_at TEXT NOT NULL,
    PRIMARY KEY (model, drafter)
) STRICT;

CREATE TABLE drafter_files (
    id               TEXT    NOT NULL PRIMARY KEY, -- at the hub
    path             TEXT    NOT NULL,             -- of the snapshot
    revision         TEXT    NOT NULL,
    downloaded_by_us INTEGER NOT NULL,
    created_at       TEXT    NOT NULL
) STRICT;

CREATE TABLE downloads (
    id         TEXT    NOT NULL PRIMARY KEY, -- at the hub
    revision   TEXT    NOT NULL, -- empty = main
    paused     INTEGER NOT NULL, -- 1 = a person stopped it
    error      TEXT    NOT NULL, -- why it failed; empty if it did not
    done       INTEGER NOT NULL, -- bytes, when it stopped last
    total      INTEGER NOT NULL, -- bytes; 0 = not known
    blobs      TEXT    NOT NULL, -- JSON, names of the files that it began
    started_at TEXT    NOT NULL,
    cache      TEXT    NOT NULL DEFAULT '', -- folder that receives the files; empty = not known
    -- 1 = cancelled, and its files stay in the cache: whoever begins it again and discards that finds
    -- them by blobs
    dropped    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE checkpoints (
    id         TEXT    NOT NULL PRIMARY KEY, -- of the file
    parent     TEXT    NOT NULL,             -- file of the text before from_token; empty at the beginning
    model      TEXT    NOT NULL,             -- no reference: files outlive the registry
    key        TEXT    NOT NULL,             -- of the weights, and all else that the state depends on
    context    TEXT    NOT NULL,             -- of the drafter whose context is in it
    kind       TEXT    NOT NULL,             -- prompt or answer
    from_token INTEGER NOT NULL,
    to_token   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    digest     TEXT    NOT NULL,             -- of the text up to to_token
    run        INTEGER NOT NULL,             -- that computed it; 0 = unknown
    hits       INTEGER NOT NULL DEFAULT 0,
    name       TEXT    NOT NULL DEFAULT '',
    pinned     INTEGER NOT NULL DEFAULT 0,
    gone       TEXT    NOT NULL DEFAULT '',  -- why the file is gone; empty while it is there
    created_at TEXT    NOT NULL,
    used_at    TEXT    NOT NULL,             -- when it was last restored, made, or lost
    -- milliseconds of prefill that uses saved, at the pace measured then, less what restoring took
    saved_ms   REAL    NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX checkpoints_model ON checkpoints (model, to_token);
CREATE INDEX checkpoints_run ON checkpoints (run);
CREATE INDEX checkpoints_parent ON checkpoints (parent);
CREATE INDEX checkpoints_gone ON checkpoints (used_at) WHERE gone <> '';
CREATE UNIQUE INDEX checkpoints_name ON checkpoints (name) WHERE name <> '';

CREATE TABLE chats (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL CHECK (kind IN ('chat', 'code')),
    title      TEXT    NOT NULL, -- a person's, or made of the first message; empty before that
    system     TEXT    NOT NULL, -- the system prompt
    options    TEXT    NOT NULL, -- JSON, the page's: how to sample
    leaf       INTEGER NOT NULL, -- message that the shown branch ends with; 0 while there is none
    used       INTEGER NOT NULL, -- counts up: the greater, the later it was written to
    created_at TEXT    NOT NULL,
    updated_at TEXT    NOT NULL,
    pinned     INTEGER NOT NULL DEFAULT 0 -- 1 = listed before all others
) STRICT;

CREATE UNIQUE INDEX chats_used ON chats (used);

CREATE TABLE chat_messages (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    chat       INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    parent     INTEGER NOT NULL, -- message that it follows; 0 = it begins the chat
    role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    content    TEXT    NOT NULL,
    model      TEXT    NOT NULL, -- that answered
    finish     TEXT    NOT NULL, -- why it ended; empty while it grows, or if nobody saw its end
    run        INTEGER NOT NULL, -- that generated it; 0 = unknown, or a person's
    facts      TEXT    NOT NULL, -- JSON, the page's: timings, what was drafted
    created_at TEXT    NOT NULL
) STRICT;

CREATE INDEX chat_messages_chat ON chat_messages (chat, id);
CREATE INDEX chat_messages_parent ON chat_messages (chat, parent);
-- The chat of a checkpoint, and what completed a run, are looked up by run.
CREATE INDEX chat_messages_run ON chat_messages (run) WHERE run > 0;

CREATE TABLE benches (
    id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at      TEXT    NOT NULL,
    model   TEXT    NOT NULL, -- no reference: figures outlive the registry
    machine TEXT    NOT NULL,
    version TEXT    NOT NULL, -- of the program
    result  TEXT    NOT NULL  -- JSON
) STRICT;

CREATE TABLE responses (
    id         TEXT    NOT NULL PRIMARY KEY, -- random
    owner      TEXT    NOT NULL,             -- name of the request's key; empty = none
    run        INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    previous   TEXT    NOT NULL,             -- response that it continues, which may be gone; empty = none
    bytes      INTEGER NOT NULL,             -- of its row in response_texts
    created_at TEXT    NOT NULL,
    used_at    TEXT    NOT NULL              -- when it, or the last one that continues it, was stored
) STRICT;

CREATE INDEX responses_run ON responses (run);
CREATE INDEX responses_used ON responses (used_at, created_at, bytes);

-- Long texts have their own table, because storing a response looks at all rows of responses.
CREATE TABLE response_texts (
    id       TEXT NOT NULL PRIMARY KEY REFERENCES responses (id) ON DELETE CASCADE,
    input    TEXT NOT NULL, -- JSON list: input of the request, without that of previous
    output   TEXT NOT NULL, -- JSON list: the output of the model
    response TEXT NOT NULL  -- JSON: the rest of the body
) STRICT;

CREATE TABLE thoughts (
    owner   INTEGER NOT NULL, -- id of the request's key; 0 = none
    model   TEXT    NOT NULL,
    history TEXT    NOT NULL, -- hash of the conversation up to the answer, with it
    run     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tokens  INTEGER NOT NULL,
    sealed  BLOB    NOT NULL, -- only who knows the conversation can open it
    bytes   INTEGER NOT NULL, -- of sealed
    used_at TEXT    NOT NULL, -- when it was stored, or put back
    UNIQUE (owner, model, history)
) STRICT;

CREATE INDEX thoughts_run ON thoughts (run);
CREATE INDEX thoughts_used ON thoughts (used_at, bytes);
