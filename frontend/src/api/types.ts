// Made of the structs of app/control by `go run ./build setup`. Edit those.

// A Bench is what two minutes of measuring found out about a model on this
// machine.
export interface Bench {
  id: number
  at: string
  model: string
  machine: string
  version: string // of the program
  result: BenchResult
}

// A Spread is the median of measurements, and the interval in which it lies with
// 95 % by the bootstrap.
export interface Spread {
  median: number
  low: number
  high: number
}

// BenchResult holds the figures of a Bench.
export interface BenchResult {
  seconds: number // that it took, without those that it stood back
  waited: number // seconds that it stood back for requests
  again: number // measurements that were made again, for a request came in between
  device: string // cpu or gpu
  dtype: string
  mlx: string // version
  drafter: string // kind; empty if there was none but what looks up the text
  decode: BenchDecode
  restore: BenchRestore
  verify: BenchVerify
}

// BenchDecode compares plain decoding with decoding with drafts as requests get
// it, on code.
export interface BenchDecode {
  plain: Spread // tokens per second
  drafted: Spread // tokens per second
  times: Spread // as fast with drafts
  tokens_per_verify: number // 0 if nothing was drafted
  pairs: number // 0 if no prompt was of use
  prompts: number // that the pairs come from
  left: number // prompts that do not count, for their answers loop or are too short
  differing: number // answers that parted from plain decoding's other than by rounding
}

// BenchRestore compares bringing back a prompt from disk with computing it.
export interface BenchRestore {
  tokens: number // of the prompt
  bytes: number // of one prompt's files
  recomputed: Spread // milliseconds to the first token
  restored: Spread // milliseconds to the first token
  times: Spread // as fast restored
  pairs: number
}

// BenchVerify is what a forward over several tokens costs beside a plain step.
export interface BenchVerify {
  context: number // tokens before them
  step: Spread // milliseconds of a plain step
  rows: BenchRows[]
  turns: number // measurements of each
}

// BenchRows is the cost of one number of tokens.
export interface BenchRows {
  rows: number
  ms: Spread
  steps: Spread // plain steps that it costs
}

// Benches is the answer of GET /app/benches.
export interface Benches {
  benches: Bench[] // the newest first
  running: boolean
  progress?: BenchProgress | null // of the one that runs, once it has said something
  failure?: string // why the last one found out nothing, one sentence, unless a person ended it
}

// BenchRequest is the body of POST /app/benches.
export interface BenchRequest {
  stay?: boolean // it goes on when whoever asked for it leaves
}

// BenchProgress is one event of POST /app/benches. The stream ends with one that
// has Bench set, or with an error event.
export interface BenchProgress {
  part: string // decode, restore or verify
  done: number // measurements of it
  total: number // at most
  waiting?: boolean // for requests to end
  bench?: Bench | null
}

// A Chat is a conversation of the window, field for field that of package storage. Its messages are
// a tree: a message that is edited, or answered again, gets a sibling.
export interface Chat {
  id: number
  kind: string // chat or code
  title: string // given by a person, or made from the first message
  system: string // what the model is told first
  options: unknown // an object of the page's, how to sample; null = none
  leaf: number // the last message of the branch that is shown; 0 while there is none
  used: number // counts up with each write: the greater, the later
  created_at: string
  updated_at: string
}

// A Message is one of a chat, field for field that of package storage.
export interface Message {
  id: number
  chat: number
  parent: number // the message before it; 0 = it begins the chat
  role: string // user or assistant
  content: string
  model: string // the model that answered
  finish: string // why it ended; empty while it grows, or if its end was not seen
  run: number // the run that generated it; 0 = unknown, or a person wrote it
  facts: unknown // an object of the page's, timings and what was drafted; null = none
  created_at: string
}

// WholeChat is the answer of GET /app/chats/{id}.
export interface WholeChat {
  chat: Chat
  messages: Message[] // oldest first
}

// ChatList is the answer of GET /app/chats.
export interface ChatList {
  chats: Chat[] // the last written to first
  next: number // Before of the next page; 0 at the end
  keep: boolean // chats are kept
  count: number // of all chats, whatever was searched for
  bytes: number // of all their messages
}

// ChatChange is the body of POST /app/chats/{id}. A nil field stays.
export interface ChatChange {
  title?: string | null // empty = of the first message
  system?: string | null
  options?: unknown
  leaf?: number | null
}

// MessageChange is the body of POST /app/chats/{id}/messages/{message}. A nil field stays.
export interface MessageChange {
  content?: string | null // begins with what it was
  model?: string | null
  finish?: string | null
  run?: number | null
  facts?: unknown
}

// KeepChats is the body of POST /app/chats/keep, and its answer.
export interface KeepChats {
  keep: boolean
}

// DeletedChats is the answer of DELETE /app/chats and /app/chats/{id}: what was deleted. GET
// /app/chats/deletion and /app/chats/{id}/deletion answer the same: what would be deleted. They
// delete nothing.
export interface DeletedChats {
  chats: number
  checkpoints: number
  bytes: number // of their files
}

// A Checkpoint is the state of a model after a text, on disk.
export interface Checkpoint extends CheckpointRecord {
  text?: string
  title?: string
  client?: string
}

// A CheckpointRecord is field for field the record of package storage. Clients do not see
// the fields without a JSON name.
export interface CheckpointRecord {
  id: string
  parent: string // id of the one before FromToken; empty at the beginning
  model: string
  kind: string // prompt or answer
  from_token: number
  to_token: number
  bytes: number
  run: number // that computed it; 0 = unknown
  hits: number
  name: string
  pinned: boolean
  created_at: string
  used_at: string
  saved_ms: number // by all uses, at the model's pace; below 0 = they cost time
}

// CheckpointChange is the body of POST /app/checkpoints/{id}. What is nil stays.
export interface CheckpointChange {
  name?: string | null // empty takes the name away
  pinned?: boolean | null
}

// Deleted is the answer of DELETE /app/checkpoints/{id}: what went, with all
// that went on from it. It is that of GET /app/checkpoints/{id}/deletion too, which
// says what would go, or why it would not, and deletes nothing.
export interface Deleted {
  checkpoints: string[]
  bytes: number // of their files
}

// Integrity is the answer of POST /app/checkpoints/{id}/verify.
export interface Integrity {
  id: string
  error?: string // what is wrong with the file; empty if nothing is
}

// ForgetRequest is the body of POST /app/forget: whose state and history is to
// go. What is not empty narrows it; one of them at least is not.
export interface ForgetRequest {
  model?: string
  client?: string // as the history has it
  day?: string // YYYY-MM-DD, where the server is
}

// Forgotten is the answer of POST /app/forget, and of GET, which says what would go
// and forgets nothing.
export interface Forgotten {
  runs: number
  checkpoints: number
  bytes: number // of the files of these
  in_flight: number
}

// A Parted is where a prompt leaves a text that was kept.
export interface Parted {
  at: number // tokens that both have
  kept: string // the token that follows in the other text
  given: string // in the prompt
  answer: boolean // the other text is an answer there
}

// CheckpointList is the answer of GET /app/checkpoints: one page. Of what is used
// between two pages none comes twice.
export interface CheckpointList {
  checkpoints: Checkpoint[] // the last used first
  next: string // Before of the next page; empty at the end
  count: number // of all that were asked for, on whatever page
  bytes: number // of all these
  saved_ms: number // likewise
}

// CheckpointTitles is the answer of GET /app/checkpoint-titles?ids=ID,ID: what the
// texts of checkpoints are about, of those that can be read.
export interface CheckpointTitles {
  titles: CheckpointTitle[]
}

// A CheckpointTitle is what a checkpoint's text is about: the first words of what a
// person said last, or the last line of code.
export interface CheckpointTitle {
  id: string
  title: string
  ends?: string // the last words of the text
}

// Connect is the answer of GET /app/connect: what clients need to use the
// endpoint.
export interface Connect {
  base_url: string // http://127.0.0.1:8263/v1
  model: string // id behind the name "tandem"
  context: number // of that model, in tokens; 0 = unknown
  needs_key: boolean // any key will do otherwise
  longer: LongerModel[] // registered models with a longer context, the longest first
  connections: Connection[]
}

// A LongerModel could be chosen for its context.
export interface LongerModel {
  id: string
  context: number // tokens
}

// A Connection is what one client needs.
export interface Connection {
  id: string
  name: string
  where: string // the text goes, a sentence
  text: string // to copy
  context: number // tokens that the client needs; 0 = it takes what there is
  file?: string // that the text is written to on request; empty if the client reads none
  use?: string // command that uses the file
  written: Written
  endpoint?: string // that the file names, if it is stale and names one
}

// Removal is the answer of GET /app/removal, which says what removing a model or a
// drafter would do, and of DELETE /app/models/{id}, which did it.
export interface Removal {
  id: string
  deletes: boolean // its files, for Tandem downloaded them; otherwise they stay
  bytes: number // that this frees on disk: of files that no other model has
  in_memory?: boolean // it leaves the memory first
}

// Storage is the answer of GET /app/storage: what Tandem takes of the disk, and of
// what. What lies elsewhere or was put there by others is not counted.
export interface Storage {
  home: string // folder of all but the models
  free: number // bytes, on the disk of that folder
  models: StoredModel[]
  checkpoints: number
  checkpoint_bytes: number
  pinned_bytes: number // of these, of checkpoints that stay
  runs: number
  history_bytes: number // of the database: runs, chats and all else
  by_model: Usage[] // the one with the most bytes first
  by_client: Usage[] // likewise
  by_day: Usage[] // of this machine's clock, the latest first
}

// WelcomeRequest is the body of POST /app/welcome.
export interface WelcomeRequest {
  done: boolean // somebody has gone through the first steps, or past them; false shows them again
}

// StoredModel is a model, or a drafter, that lies on the disk.
export interface StoredModel {
  id: string
  path: string
  bytes: number // that removing it would free, if it is Ours; otherwise of its weights
  ours: boolean // Tandem downloaded it
  drafter?: boolean // it is none of its own
}

// Usage is what runs of one kind left behind.
export interface Usage {
  name: string
  runs: number
  checkpoints: number
  bytes: number // of checkpoints
}

// DrafterRequest asks what drafts for a model, or sets it: the body of POST
// /app/drafter.
export interface DrafterRequest {
  model: string
  drafter?: string
}

// Drafter says what drafts for a model.
export interface Drafter {
  model: string
  choice: string // auto, none or a folder
  source: string // the folder it comes to; empty if there is none
  loaded: boolean // the model is in memory, and so is its drafter
  kind?: string // dflash or model, once loaded
  reason?: string // why it can't be used
  embedding?: string
  sliding?: string
  trials?: Trial[] // by which measurements
  measuring?: boolean // they are not complete
}

// A Trial is what one reading of a drafter was measured at.
export interface Trial {
  embedding?: string
  sliding?: string
  tokens_per_verify: number // greedy, of whole blocks
  blocks: number
}

// A LogLine is one line of the log of the process that serves. It holds nothing
// that a client wrote but names: no prompt, no answer, no key.
export interface LogLine {
  seq: number // counts from the start of the process, from 1 on
  time: string
  level: string // INFO, WARN or ERROR
  text: string
}

// A Diagnosis is what helps others to help: no text of a request or an answer, no
// secret, and the user's folder as ~.
export interface Diagnosis {
  made_at: string
  version: string
  go: string
  system: string // darwin/arm64
  cores: number
  memory: number // bytes
  engine: string // MLX's version and what it computes on
  state: State
  settings: SettingsState
  keys: number // how many there are
  models: Model[]
  runs: Run[] // the latest
  log: LogLine[] // the end of it
}

// Saved says where a file was written that somebody asked for.
export interface Saved {
  path: string
}

// CommandLine says whether the command line tool can be called by its name.
export interface CommandLine {
  path: string // of the link, ~/.local/bin/tandem
  program: string // that it leads to, or would
  link: LinkKind
  on_path: boolean // the link's folder is in PATH as this process knows it
  path_line: string // puts it there, in a shell's profile
}

// Updates says whether there is a newer version. Nothing is asked of anybody
// unless the settings say so, or a person does.
export interface Updates {
  offered: boolean // the program was built with an address to ask
  newer: boolean // than this one
  version?: string // that is the newest
  page?: string // where to get it
  checked_at?: string // zero = never
  error?: string // why that failed; the version is the one that was found before
}

// RunValues are what there is to narrow a RunQuery by: the answer of GET
// /app/runs/values. Each lists the values that occur, the latest first, a hundred
// at most.
export interface RunValues {
  models: string[]
  clients: string[]
  endpoints: string[]
  finishes: string[] // of runs that have ended
  days: string[]
}

// A Key lets a program in that calls the endpoint from another machine, or
// anywhere where one is asked for. Its name is told as the client of its runs.
export interface Key {
  id: number
  name: string
  created_at: string
  used_at?: string // to the minute; zero until it is
}

// KeyRequest makes a key: the body of POST /app/keys.
export interface KeyRequest {
  name: string
}

// NewKey is the answer: the only time that the key itself is told.
export interface NewKey {
  key: Key
  secret: string // goes into Authorization: Bearer
}

// PortTaken says that another program has the endpoint's port.
export interface PortTaken {
  port: number
  owner: string // "another Tandem", "python3 (pid 812)", "another program"
  next?: number // a port that was free; 0 = none was found
}

// PortRequest is the body of POST /app/port: the port to serve at, 0 for the one
// that was asked for before.
export interface PortRequest {
  port?: number
}

// Found is the answer of GET /app/found: models on this machine, whoever put them
// there. Nothing of them is registered unless somebody chooses it.
export interface Found {
  models: FoundModel[]
  cut?: boolean // there is more than was looked at
}

// FoundModel is the folder of a model.
export interface FoundModel {
  id: string // that it has, or would get
  path: string
  place: string
  bytes: number // of its weights; 0 where they are not known
  architecture: string
  quantization: string
  context_length: number
  kind?: string // see KindEmbedding
  registered?: boolean
  why?: string // it cannot be served, one sentence; empty if it can
  needs?: Needs | null // nil if it cannot be served
}

// Needs is what a model takes of memory with a context of that length.
export interface Needs {
  bytes: number
  context: number // tokens: those asked for, or as many as there is room for
  fits: boolean
}

// Memory is the answer of GET /app/memory: what the registered models need of
// this machine.
export interface Memory {
  total: number // bytes of the machine; 0 = not known
  room: number // of them for models; 0 = not known
  models: ModelNeeds[]
}

// ModelNeeds is what one of them needs.
export interface ModelNeeds {
  id: string
  needs: Needs
}

// Catalogue is the answer of GET /app/catalogue: a short list of models that are
// worth downloading, by the memory that they want.
export interface Catalogue {
  memory: number // bytes of the machine; 0 = not known
  class: number // of the machine: the largest From that it has the memory for; 0 = none
  models: Suggested[] // the smallest class first, and in a class the first choice first
  why?: string // sizes are not known, one sentence
}

// Suggested is one model of the catalogue.
export interface Suggested {
  id: string
  revision?: string // commit; empty = the branch main as it is
  what: string // it is good for, a few words
  from: number // GiB of memory that the machine should have
  drafter?: string // id of the one that was made for it
  drafter_revision?: string
  bytes?: number // to download; 0 = not known
  drafter_bytes?: number // likewise
  registered?: boolean // it is there already
  has_drafter?: boolean // and so is its drafter
}

// AtLogin says whether Tandem starts at login: the answer of GET /supervisor/login,
// which the window asks at the menu bar's door. A POST takes it, and sets On.
export interface AtLogin {
  known: boolean // it can be chosen here
  on: boolean
}

// A Machine is the answer of GET /app/machine: what this computer is, as far as it
// tells.
export interface Machine {
  chip?: string // as its maker calls it
  cores: number
  fast_cores?: number // of these, where the others save power
  memory: number // bytes; 0 = not known
  room: number // of them for models; 0 = not known
  system: string // macOS 26.1
  kind: string // darwin/arm64
  engine: string // MLX's version and what it computes on
}

// ModelSettings are what a person set for one model: the body of POST /app/model-settings, which
// replaces what was set before. A nil or empty field is not set. A request decides first, then
// these, then the model's generation_config.json.
export interface ModelSettings {
  model: string
  context?: number | null // tokens, from the next load on
  depth?: number | null // drafts in each round; nil adapts
  rule?: string // of acceptance
  temperature?: number | null
  top_p?: number | null
  top_k?: number | null
  min_p?: number | null
  repetition_penalty?: number | null
  keep_loaded?: boolean // it stays in memory while it is idle
}

// SamplingDefaults are what a model's authors recommend. A field is nil where they recommend
// nothing.
export interface SamplingDefaults {
  temperature?: number | null
  top_p?: number | null
  top_k?: number | null
  min_p?: number | null
  repetition_penalty?: number | null
}

// ModelSettingsState is the answer of /app/model-settings.
export interface ModelSettingsState {
  settings: ModelSettings
  defaults: SamplingDefaults // where nothing is set
  context_length: number // of the model, in tokens
  needs?: Needs | null // with these settings; nil where that is not known
  serving?: number // tokens of the context in memory; 0 if the model is not loaded
  later?: boolean // the model in memory has another context: Settings count from the next load on
  drafter: string // auto, none or a folder: see /app/drafter
  drafters?: string[] // ids in the hub's cache that could be chosen
}

// Replayed is the answer of POST /app/runs/{id}/verify: how the answer of a run
// compares to what the model says with nothing restored and nothing drafted. The
// run keeps the latest.
export interface Replayed {
  run: number
  at: string // when they were compared
  tokens: number // of the answer
  same: number // of them, from the first on
  answered?: string
  now?: string
  forgotten?: boolean
  tie?: boolean
}

// VerifyRequest is the body of POST /app/runs/{id}/verify.
export interface VerifyRequest {
  progress?: boolean // events, as VerifyProgress has them, in place of the verdict alone
}

// VerifyProgress is one event of a verification. The stream ends with one that has
// Verdict set, or with an error event.
export interface VerifyProgress {
  same: number // tokens that came again so far
  tokens: number // of the answer
  verdict?: Replayed | null
}

// A Report says in plain words what one run took and how it was decoded. It is the answer of GET
// /app/runs/{id}/report, and what `tandem runs show` prints.
export interface Report {
  run: Run
  facts: Fact[] // empty while it is in flight
  phases: PhaseTime[] // in order; together they are the whole run
  speculation: Speculation | null // nil where its rounds are not kept
  resumed_by?: number
}

// A Fact is a name and a sentence.
export interface Fact {
  name: string
  text: string
}

// A PhaseTime is the time of one part of a run.
export interface PhaseTime {
  name: string
  ms: number
}

// Settings are what a person can set, by their names in JSON. The hub's token is
// not among them: it is written and never read, see SettingHubToken.
export interface Settings {
  port: number // of the endpoint
  network: boolean // the endpoint answers other machines too, which need a key
  require_key: boolean // programs on this machine need one as well
  allowed_hosts: string[] // names by which the endpoint may be called, beside this machine's own
  allowed_origins: string[] // pages and apps that may call /v1 from a browser
  hub_cache: string // folder that models are downloaded to, absolute
  hub_endpoint: string // where from; empty = huggingface.co
  hub_proxy: string // on the way there; empty = as the system says
  model_folders: string[] // that are searched for models, absolute
  checkpoint_memory: number // bytes at most; 0 = by the machine
  checkpoint_disk: number // bytes at most; 0 = by the machine
  idle_unload_minutes: number // after which an idle model leaves the memory; 0 = never
  keep_requests: KeepRequests // how long the tokens of requests stay with their runs
  load_on_request: LoadOnRequest // what comes of a request for a model that is not in memory
  menu_speed: boolean // tokens per second beside the icon in the menu bar
  start_hidden: boolean // the menu bar opens no window when it starts
  check_updates: boolean // once a day
}

// SettingState says where the value of a setting comes from.
export interface SettingState {
  name: string
  source: Source
  by?: string // the flag or the variable that decides
  later?: Later // when what was set last begins to count
}

// SettingsState is the answer of /app/settings.
export interface SettingsState {
  settings: Settings // that are in force, or will be: see Sources
  sources: SettingState[] // of each, and of the hub's token
  hub_token: boolean // there is one
  automatic: Automatic // what is left to Tandem comes to
  reached?: string[]
  link?: string
}

// Automatic is what settings come to that are 0 and so left to Tandem, in bytes.
export interface Automatic {
  checkpoint_memory: number
  checkpoint_disk: number // as much is free now; 0 = not known
}

// Speculation says how a request was decoded, round by round.
export interface Speculation {
  rounds: RoundRun[] // of the first choice, in order
  cut?: number // rounds behind those, which were not kept
  drafted_at: number[]
  accepted_at: number[]
  block_ms?: BlockMS | null // of the first choice; nil without drafts
  asked?: Asked | null // nil if nothing was
}

// Asked is what a request said of speculation.
export interface Asked {
  drafter?: string
  depth?: number | null
  rollback?: string
  rule?: string
  exact?: boolean
}

// BlockMS are the times of rounds with drafts: the mean of the first eight,
// which also pay for what is set up on the way, the mean of all, and the
// longest.
export interface BlockMS {
  first8: number
  mean: number
  max: number
}

// A RoundRun is some rounds in a row that were alike: how many tokens each
// drafted, how many of those stood, and how many rounds there were.
export type RoundRun = [number, number, number]

// State is the answer of GET /app/state. To who accepts text/event-stream it is
// told again whenever it changes: see [Follower].
export interface State {
  rev?: number // counts the events of a stream, from 1 on
  version: string
  pid: number
  home: string
  address: string // http://127.0.0.1:8263; empty while the endpoint is closed
  started_at: string
  phase: Phase
  choice: string // id behind the name "tandem"
  loading?: Loading | null // nil unless a model is being loaded
  loaded: Loaded | null // the choice if it is in memory, else the model that was used last; nil if none is
  error?: string // what failed, one sentence
  warning?: string // what is not as it should be while all works, one sentence
  in_memory: Loaded[] // all models in memory, in the order in which they were loaded
  port_taken?: PortTaken | null
  endpoint_closed?: boolean
  menu_speed?: boolean
  welcome?: boolean // nobody has gone through the first steps yet, or past them
  context_limit?: number
  models: Choosable[] // the registry, the last used first
  downloads: Download[] // oldest first
  active_bytes: number // MLX, now
  peak_bytes: number // MLX, since start
  memory_room?: number // that models may take of the machine's, in bytes; 0 = not known
  active: Active[] // requests in flight, oldest first; the server fills it in
  measuring?: BenchProgress | null // how far a bench is, nil if none runs
}

// Choosable is a model of the registry, as much as it takes to choose.
export interface Choosable {
  id: string
  load_ms?: number // of the last load; 0 = never loaded
}

// Download is a pull that goes on by itself, or that a person stopped.
export interface Download {
  id: string
  done: number // bytes, all files together
  total: number // bytes, all files together; 0 until it is known
  per_second: number
  paused?: boolean
  waiting?: string // why nothing moves
  error?: string // why it failed, one sentence
}

// Loading says how far a model's load has come.
export interface Loading {
  id: string
  done: number // bytes of weights
  total: number // zero until it is known
}

// Loaded describes a model in memory.
export interface Loaded {
  id: string
  architecture: string
  context_length: number // tokens
  device: string // "cpu" or "gpu"
  dtype: string
  load_ms: number
  queued: number // requests waiting for their first chunk
  drafter?: string // kind of the drafter in memory; empty if there is none
  no_drafter?: string // why there is none, where there should be
  bytes: number // of memory: its weights and its drafter's; 0 = not known
  needs: number // of memory, with a whole context; 0 = not known
  in_use?: boolean // something holds it, a request for one: it cannot be unloaded now
}

// Active is one request in flight.
export interface Active {
  run_id: number
  endpoint: string
  model: string
  client: string
  started_at: string
  prompt_done: number // prompt tokens evaluated
  prompt_tokens: number
  completion_tokens: number
  per_second: number // tokens, of late; 0 before the second token
  verifies: number // rounds with drafts
  accepted: number // tokens that were drafted and stood
}

// Model is one row of the registry, field for field that of package storage.
export interface Model {
  id: string // org/name, or the folder's name
  path: string // folder of config.json; empty for the embedded model
  source: string
  revision: string
  architecture: string
  quantization: string
  dtype: string
  parameters: number
  bytes: number
  context_length: number // tokens
  downloaded_by_us: boolean // only these are ever deleted from disk
  added_at: string
  last_used_at?: string
  load_ms?: number // of the last load; 0 = never loaded
  kind?: string // see KindEmbedding; empty if it goes on with texts
}

// Run is one row of the history, field for field that of package storage:
// what one request cost. It holds no text but that of two tokens, in Parted and
// in Verdict. Of a request with several choices
// the counts are sums, except that a prompt shared by choices counts once;
// durations are the longest choice's.
export interface Run {
  id: number
  started_at: string
  ended_at?: string // zero while in flight
  client: string // name of its key, X-Tandem-Client or User-Agent, shortened
  endpoint: string // e.g. /v1/completions
  model: string // real id; as asked if it is unknown
  drafter: string
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  drafted: number
  accepted: number
  rounds: number
  syncs: number
  load_ms: number // until the model was in memory
  restore_ms: number
  prefill_ms: number
  first_token_ms: number // since arrival
  draft_ms: number
  verify_ms: number
  total_ms: number // since arrival
  peak_bytes: number
  finish_reason: string // stop, length, or one of the Finish constants
  miss_reason: string
  error: string
  seed: number // of the first choice
  queue_ms: number
  no_drafter: string // why there were no drafts, or no more
  verifies: number // of Rounds, those with drafts
  prediction_accepted: number
  prediction_rejected: number
  repeats: number
  speculation?: unknown
  matched_tokens: number // of the prompt, that some text in memory or on disk begins with
  parted?: unknown
  resumes: number // id of the run whose answer this one completes; 0 = of none
  verdict?: unknown
  message?: string
}

// ModelRequest names a model: the body of POST /app/load, and of POST /app/unload,
// where an empty one means all that are in memory.
export interface ModelRequest {
  model: string
}

// AddRequest registers a folder: the body of POST /app/models.
export interface AddRequest {
  path: string // absolute
  id?: string // empty = from the folder's name
}

// PullRequest is the body of POST /app/pull.
export interface PullRequest {
  id: string // org/name on the hub
  revision?: string // empty = main
}

// DropRequest is the body of POST /app/downloads/drop.
export interface DropRequest {
  id: string
  discard?: boolean // what Tandem fetched of it is deleted; otherwise it stays in the cache
}

// Progress is one event of a pull. The stream ends with an event that has
// Model set, or with an error event. What is pulled is registered, unless it
// is a drafter.
export interface Progress {
  done: number // bytes, all files together
  total: number // bytes, all files together
  per_second: number // bytes, over the last seconds
  waiting?: string // why nothing moves, e.g. a pause between attempts
  note?: string // what a person should know of a pull that succeeds; at most one event has it
  model?: Model | null
}

// SessionCode is the answer of POST /app/session on the socket: a code that
// buys one session, once, before it expires.
export interface SessionCode {
  code: string
  expires_at: string
  url: string // http://127.0.0.1:PORT/#CODE
}

// Session is what POST /app/session over TCP gives for a code: the token that
// goes into Authorization: Bearer.
export interface Session {
  session: string
}

export type Code = "invalid_request" | "model_not_found" | "no_chat_template" | "run_not_found" | "checkpoint_not_found" | "chat_not_found" | "bench_not_found" | "not_kept" | "key_not_found" | "port_taken" | "model_busy" | "model_not_loaded" | "not_ready" | "model_invalid" | "unauthorized" | "forbidden" | "model_gated" | "disk_full" | "memory_short" | "folder_unusable" | "server_unavailable" | "server_crashed" | "cancelled" | "internal"

export type KeepRequests = "off" | "7d" | "30d"

export type Later = "load"

export type LinkKind = "absent" | "ours" | "stale" | "foreign"

export type LoadOnRequest = "beside" | "replace" | "never"

export type Phase = "starting" | "no_model" | "loading" | "ready" | "failed" | "draining"

export type Source = "default" | "setting" | "environment" | "flag"

export type Written = "" | "current" | "stale"
