// Made of the structs of app/control and storage/record by `go run ./build setup`. Edit those.

// Activity is the answer of GET /app/activity?minutes=N: what the requests of the last minutes took
// in and gave. A request in flight has what it took and gave so far.
export interface Activity {
  from: string // the first interval begins
  seconds: number // length of an interval
  read: number[] // prompt tokens that were read, a second, by interval
  written: number[] // tokens of answers, likewise
}

// Insights is the answer of GET /app/insights: what the requests of today took and why some were
// slow, the dearest reason first.
export interface Insights {
  today: Today
  slow: Insight[]
}

// Today are the figures of the requests that began today, in local time.
export interface Today {
  requests: number
  failed: number // or interrupted, as in RunQuery
  stopped: number
  per_second: number // tokens of an answer, median of the requests; 0 = unknown
  prompt_tokens: number // of all requests
  restored_tokens: number // of them, from checkpoints
  checkpoints_ms: number
  drafts_ms: number
}

// An Insight is one reason why requests of today were slow, with what it cost.
export interface Insight {
  kind: string
  cost_ms: number // of all its runs together; 0 where nothing was computed
  runs: number
  latest: number // id of the newest of them
  client?: string
  models?: string[] // in the order of their names
  parted?: Divergence | null // of the newest run, where its client changes its prompts
  tokens?: number // of the longest prompt that did not fit, or that the newest run read again
  behind?: string // the client whose requests were waited for most
  why?: string // why there were no drafts
}

// A Bench is the result of measuring a model on this machine for some minutes.
export interface Bench {
  id: number
  at: string
  model: string
  machine: string
  version: string // of the program
  result: BenchResult
}

// A Spread is the median of measurements, and its 95 % interval by the bootstrap.
export interface Spread {
  median: number
  low: number
  high: number
}

// BenchResult holds the figures of a Bench.
export interface BenchResult {
  seconds: number // that measuring took, without the waits for requests
  waited: number // seconds of waiting for requests
  again: number // measurements that were repeated because a request came in between
  device: string // cpu or gpu
  dtype: string
  mlx: string // version
  drafter: string // kind of the one that requests had; empty if only the text was looked up
  decode: BenchDecode // with what requests had
  drafters?: BenchDrafter[] // each that the model could have; looking up text alone is the last; nil in results of earlier versions
  restore: BenchRestore
  verify: BenchVerify
}

// BenchDrafter is what one of the drafters that a model could have gains. The text was looked up
// too, as it is for requests.
export interface BenchDrafter {
  name: string // for people
  kind?: string // as in Drafter; ngram if the text alone was looked up; empty if the drafter was left out
  source: string // as in Drafter
  choice: string // what sets it, see DrafterRequest
  served?: boolean // requests had it
  bytes?: number // of its weights in memory
  why?: string // why it was left out, one sentence
  decode: BenchDecode
}

// BenchDecode compares plain decoding with decoding as requests get it, with drafts, on code.
export interface BenchDecode {
  plain: Spread // tokens per second
  drafted: Spread // tokens per second
  times: Spread // how many times as fast with drafts
  tokens_per_verify: number // 0 if nothing was drafted
  pairs: number // 0 if no prompt was of use
  prompts: number // prompts that the pairs come from
  left: number // prompts that do not count, because their answers loop or are too short
  differing: number // answers that differ from plain ones by more than rounding
}

// BenchRestore compares restoring a prompt from disk with computing it.
export interface BenchRestore {
  tokens: number // of the prompt
  bytes: number // of one prompt's files
  recomputed: Spread // milliseconds to the first token
  restored: Spread // milliseconds to the first token
  times: Spread // how many times as fast restored
  pairs: number
}

// BenchVerify is the cost of a forward over several tokens, compared with a plain step.
export interface BenchVerify {
  context: number // tokens before them
  step: Spread // milliseconds of a plain step
  rows: BenchRows[]
  turns: number // measurements of each row
}

// BenchRows is the cost of one number of tokens.
export interface BenchRows {
  rows: number
  ms: Spread
  steps: Spread // its cost in plain steps
}

// Benches is the answer of GET /app/benches.
export interface Benches {
  benches: Bench[] // the newest first
  running: boolean
  progress?: BenchProgress | null // of the one that runs, after its first event
  failure?: string // why the last one failed, one sentence; empty if a person ended it
  plan?: BenchPlan | null // of the chosen model; nil if it is not known
}

// BenchPlan says what the next bench measures.
export interface BenchPlan {
  model: string
  drafters: string[] // names; looking up text alone is not among them
  seconds: number // that it takes, about
}

// BenchRequest is the body of POST /app/benches.
export interface BenchRequest {
  stay?: boolean // it goes on when the client leaves
}

// BenchProgress is one event of POST /app/benches. The stream ends with one that has Bench set, or
// with an error event.
export interface BenchProgress {
  part: string // decode, restore or verify
  done: number // measurements of it
  total: number // at most
  drafter?: string // name of the one that is measured, in decode
  nth?: number // which of Of drafters that is, from 1
  of?: number
  waiting?: boolean // for requests to end
  bench?: Bench | null
}

// ChatRequest is the body of POST /app/chats: a chat to begin.
export interface ChatRequest {
  kind?: string // empty = chat
  title: string
  system: string
  options: unknown
}

// MessageRequest is the body of POST /app/chats/{id}/messages: a message to append.
export interface MessageRequest {
  parent: number
  role: string
  content: string
  model: string
  finish: string
  run: number
  facts: unknown
}

// WholeChat is the answer of GET /app/chats/{id}.
export interface WholeChat {
  chat: Chat
  messages: Message[] // oldest first
}

// ChatList is the answer of GET /app/chats.
export interface ChatList {
  chats: Chat[] // the last written to first; the first page begins with all pinned ones
  words?: string[]
  next: number // Before of the next page; 0 at the end
  keep: boolean // chats are kept
  count: number // of all chats, whatever was searched for
  bytes: number // of all their messages
}

// KeepChats is the body of POST /app/chats/keep, and its answer.
export interface KeepChats {
  keep: boolean
}

// DeletedChats is the answer of DELETE /app/chats and /app/chats/{id}: what was deleted. GET
// /app/chats/deletion and /app/chats/{id}/deletion answer the same: what would be deleted. They
// delete nothing. The routes of a message, /app/chats/{id}/messages/{message}, answer it too. Their
// Chats is 0: the message goes with all that follow it.
export interface DeletedChats {
  chats: number
  checkpoints: number
  bytes: number // of their files
}

// A Checkpoint is the state of a model after a text, on disk.
export interface Checkpoint extends CheckpointFile {
  text_only?: boolean
  text?: string
  title?: string
  client?: string
}

// CheckpointChange is the body of POST /app/checkpoints/{id}. A nil field stays.
export interface CheckpointChange {
  name?: string | null // empty takes the name away
  pinned?: boolean | null
}

// Deleted is the answer of DELETE /app/checkpoints/{id}: what was deleted, with all that went on
// from it. GET /app/checkpoints/{id}/deletion answers the same, or why it would be refused; it
// deletes nothing.
export interface Deleted {
  checkpoints: string[]
  bytes: number // of their files
}

// Integrity is the answer of POST /app/checkpoints/{id}/verify.
export interface Integrity {
  id: string
  error?: string // what is wrong with the file; empty if nothing is
}

// ForgetRequest is the body of POST /app/forget: the history and the checkpoints to delete. Each
// field that is not empty narrows it. At least one is not empty.
export interface ForgetRequest {
  model?: string
  client?: string // as the history has it
  day?: string // YYYY-MM-DD, where the server is
}

// Forgotten is the answer of POST /app/forget: what was deleted. GET /app/forget answers what would
// be deleted; it deletes nothing.
export interface Forgotten {
  runs: number
  checkpoints: number
  tokens: number // of the memory of texts
  bytes: number // of the files of these
  in_flight: number
}

// A Divergence is the place where a prompt stops being the same as a kept text.
export interface Divergence {
  at: number // tokens that both begin with
  kept: string // the next token of the kept text
  given: string // the next token of the prompt
  answer: boolean // the kept text is an answer there
  new?: boolean // all before what was said since the last answer is the same
  run?: number // whose text was kept; 0 = unknown
}

// A DivergenceText is a Divergence with the words around it, as far as the texts are still kept.
export interface DivergenceText extends Divergence {
  before?: string // the last words that both have
  kept_text?: string // how the kept text goes on, from Kept on
  given_text?: string // how the prompt goes on, from Given on
}

// CheckpointList is the answer of GET /app/checkpoints: one page. A checkpoint that is used between
// two pages does not come twice.
export interface CheckpointList {
  checkpoints: Checkpoint[] // the last used first
  next: string // Before of the next page; empty at the end
  count: number // of all pages
  bytes: number // of all pages
  saved_ms: number // of all pages
}

// CheckpointTitles is the answer of GET /app/checkpoint-titles?ids=ID,ID. Checkpoints that cannot
// be read are left out.
export interface CheckpointTitles {
  titles: CheckpointTitle[]
}

// A CheckpointTitle says what a checkpoint's text is about: the first words of what a person said
// last, or the last line of code.
export interface CheckpointTitle {
  id: string
  title: string
  ends?: string // the last words of the text
}

// Connect is the answer of GET /app/connect: what clients need to use the endpoint.
export interface Connect {
  base_url: string // http://127.0.0.1:8263/v1
  container_url: string // the same for programs in a container on this machine
  model: string // the id that the name "tandem" stands for
  context: number // of that model, in tokens; 0 = unknown
  needs_key: boolean // any key will do otherwise
  longer: LongerModel[] // installed models that generate text with a longer context, but for the demo model; the longest first
  connections: Connection[]
  seen: SeenClient[] // who asked, the latest first
}

// A LongerModel is a model that has a longer context than the chosen one.
export interface LongerModel {
  id: string
  context: number // tokens
}

// A Connection is what one client needs.
export interface Connection {
  id: string
  name: string
  where: string // where the text goes, and what to do then
  text: string // to copy
  context: number // tokens that the client needs; 0 = it takes what there is
  file?: string // the text is written there on request; empty if the client reads no file
  use?: string // command that uses the file
  written: Written
  endpoint?: string // the one that the file names, if it is stale and names one
}

// Removal is the answer of GET /app/removal: what removing a model or a drafter would do. DELETE
// /app/models/{id} answers the same: what it did.
export interface Removal {
  id: string
  deletes: boolean // its files are deleted, because Tandem downloaded them; otherwise they stay
  bytes: number // what this frees on disk: files that no other model has
  in_memory?: boolean // it leaves the memory first
}

// Storage is the answer of GET /app/storage: what Tandem takes of the disk, by model, client and
// day. Files of other programs are not counted.
export interface Storage {
  home: string // the folder of everything but models
  free: number // bytes, on the disk of that folder
  models: StoredModel[]
  checkpoints: number
  checkpoint_bytes: number
  pinned_bytes: number // the pinned ones among these
  written_today: number // of checkpoints begun on this day of this machine's clock, with those evicted since; forgotten ones do not count
  most_a_day: number // bytes of checkpoints written in 24 hours at most
  runs: number
  history_bytes: number // of the database: runs, chats and all else
  texts: RememberedTexts[] // the memory of texts, by client
  by_model: Usage[] // the one with the most bytes first
  by_client: Usage[] // the one with the most bytes first
  by_day: Usage[] // of this machine's clock, the latest first
}

// RememberedTexts is what is remembered of one client's prompts and answers, as token ids, to guess
// how similar ones go on. DELETE /app/texts/{key_id}, or /app/texts/none, removes all of it, POST
// /app/forget what is of a scope.
export interface RememberedTexts {
  key_id: number // the client's; 0 for all clients without a key
  key: string // its name
  texts: number // prompts with their answers
  tokens: number // about a million at most for each tokenizer, the newest ones
  bytes: number // of the files
  used_at?: string // when the last of the requests came that left them
}

// WelcomeRequest is the body of POST /app/welcome.
export interface WelcomeRequest {
  done: boolean // a person has gone through the first steps, or skipped them; false shows them again
}

// StoredModel is a model, or a drafter, on the disk.
export interface StoredModel {
  id: string
  path: string
  bytes: number // what removing it would free, if it is Ours; otherwise its weights
  ours: boolean // Tandem downloaded it
  drafter?: boolean // it only drafts for another model
}

// DrafterRequest asks what drafts for a model, or sets it: the body of POST /app/drafter.
export interface DrafterRequest {
  model: string
  drafter?: string
}

// Drafter says what drafts for a model.
export interface Drafter {
  model: string
  choice: string // auto, none or a folder
  source: string // the folder that it leads to; empty if there is none
  loaded: boolean // the model is in memory, and so is its drafter
  kind?: string // dflash, dspark, mtp or model, once loaded
  reason?: string // why the drafter cannot be used
  embedding?: string
  sliding?: string
  trials?: Trial[] // the measurements that decided
  measuring?: boolean // they are not complete
}

// A DrafterChoice is a drafter that a person can choose for a model.
export interface DrafterChoice {
  name: string // for people
  source: string // as in Drafter
  choice: string // what sets it, see DrafterRequest
  own?: boolean
}

// A Trial is the measurement of one reading of a drafter.
export interface Trial {
  embedding?: string
  sliding?: string
  tokens_per_verify: number // greedy, of whole blocks
  blocks: number
}

// A LogLine is one line of the log. Of what clients write it holds names alone: no prompt, no
// answer, no key.
export interface LogLine {
  seq: number // counts from the start of the process, from 1 on
  time: string
  level: string // INFO, WARN or ERROR
  text: string
}

// LogLines is the answer of GET /app/log. A client that accepts text/event-stream gets each LogLine
// as an event, and later lines too.
export interface LogLines {
  lines: LogLine[] // the oldest first
}

// A Diagnosis is what another person needs to help: the answer of GET /app/report. It has no text of
// a request or an answer, no secret, and no name that a person gave to a key, a chat or a machine that
// may call. The user's folder is written ~.
export interface Diagnosis {
  made_at: string
  version: string
  go: string
  machine: Machine
  state: State
  settings: SettingsState
  keys: number // how many there are
  models: Model[]
  runs: Run[] // the latest
  log: LogLine[] // the end of it
}

// SaveReport is the body of POST /app/report, which saves a report that a person has read.
export interface SaveReport {
  text: string
}

// Saved says where a file was written.
export interface Saved {
  path: string
}

// CommandLine says whether the command line tool can be called by its name.
export interface CommandLine {
  path: string // of the link, ~/.local/bin/tandem
  program: string // the program that it leads to, or would
  link: LinkKind
  on_path: boolean // the link's folder is in PATH as this process knows it
  path_line: string // a line for a shell's profile that puts it there
}

// Updates says whether there is a newer version. The feed is asked only if the settings or a person
// say so.
export interface Updates {
  offered: boolean // the program was built with an address to ask
  newer: boolean // than this one
  version?: string // the newest one
  page?: string // where to get it
  checked_at?: string // zero = never
  error?: string // why the last check failed; Version is then from an earlier one
}

// RunList is the answer of GET /app/runs.
export interface RunList {
  runs: Run[] // the newest first, unless the query sorts them
  titles?: Record<number, string>
}

// CancelRequest is the body of POST /app/runs/{id}/cancel.
export interface CancelRequest {
  left?: boolean // the program that read its answer has gone
}

// A Key lets a program call the endpoint from another machine, or from this one where keys are
// required. Its name is the client of its runs.
export interface Key {
  id: number
  name: string
  created_at: string
  used_at?: string // to the minute; zero = never
}

// KeyList is the answer of GET /app/keys.
export interface KeyList {
  keys: Key[] // the oldest first
}

// KeyRequest makes a key: the body of POST /app/keys.
export interface KeyRequest {
  name: string
}

// NewKey is the answer of POST /app/keys. The secret is told this once.
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

// PortRequest is the body of POST /app/port: the port to serve at. 0 is the one that was asked for
// before.
export interface PortRequest {
  port?: number
}

// Found is the answer of GET /app/found: the models on this machine. None of them is registered
// until a person chooses it.
export interface Found {
  models: FoundModel[]
  cut?: boolean // there are more than were looked at
}

// FoundModel is the folder of a model.
export interface FoundModel {
  id: string // that it has, or would get
  path: string
  place: string
  bytes: number // of its weights; 0 where they are not known
  architecture: string
  quantization: string
  dtype?: string // as in Model
  file_type?: string // as in Model
  context_length: number
  kind?: string // see KindEmbedding
  registered?: boolean
  names?: string[] // all that Ollama has for it
  why?: string // why it cannot be served, one sentence; empty if it can
  no_chat?: string // as in ModelNeeds
  needs?: Needs | null // nil if it cannot be served, or if only its registration can tell them
}

// Needs is the memory that a model needs with a context of that length.
export interface Needs {
  bytes: number
  context: number // tokens: as asked for, or the most that there is room for
  fits: boolean
}

// Memory is the answer of GET /app/memory: what the installed models need of this machine.
export interface Memory {
  total: number // bytes of the machine; 0 = not known
  room: number // of them for models; 0 = not known
  models: ModelNeeds[]
}

// ModelNeeds is what one installed model needs, or why it cannot be loaded.
export interface ModelNeeds {
  id: string
  kind?: string // see KindEmbedding
  needs: Needs // zero with Why
  least?: number // bytes that it can be loaded with, beside others; 0 with Why
  why?: string // one sentence
  no_chat?: string
  inexact?: string
}

// Catalogue is the answer of GET /app/catalogue: a short list of models that are worth downloading,
// by the memory that they need.
export interface Catalogue {
  memory: number // bytes of the machine; 0 = not known
  class: number // of the machine: the largest From that it has the memory for; 0 = none
  models: Suggested[] // the smallest class first, and in a class the first choice first
  why?: string // why sizes are not known, one sentence
}

// Suggested is one model of the catalogue.
export interface Suggested {
  id: string
  revision?: string // commit; empty = the branch main as it is
  what: string // what it is good for, a few words
  from: number // GiB of memory that the machine should have
  drafters?: SuggestedDrafter[] // made for it; the first is downloaded with it
  bytes?: number // to download; 0 = not known
  registered?: boolean // it is there already
}

// SuggestedDrafter is a published drafter of a suggested model.
export interface SuggestedDrafter {
  id: string
  revision?: string // as in Suggested
  kind: string // as in Drafter
  bytes?: number // to download; 0 = not known
  here?: boolean // in the hub's cache already
}

// A Machine is the answer of GET /app/machine: what this computer is, as far as the system tells.
export interface Machine {
  chip?: string // its name, as the maker writes it
  cores: number
  fast_cores?: number // the ones that do not save power
  memory: number // bytes; 0 = not known
  room: number // bytes of it for models; 0 = not known
  system: string // macOS 26.1
  kind: string // darwin/arm64
  engine: string // MLX's version and what it computes on
}

// AtLogin says whether Tandem starts at login. It is the answer of GET /supervisor/login, which the
// window asks at the menu bar's door. POST takes one and sets On.
export interface AtLogin {
  known: boolean // it can be chosen here
  on: boolean
}

// ToShow is the answer of POST /supervisor/to-show, which the window asks at the menu bar's door. It
// says what a row of the menu wants the window to show, once: an address such as #/now, or the id of
// an action in the interface's table of keys. It is empty if a row wants the window alone.
export interface ToShow {
  show: string
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
  kv_bits?: number | null // one of KVBits, from the next load on
  draft_window?: number | null
  drafter_bits?: number | null
}

// SamplingDefaults are what a model's authors recommend. A field is nil where they recommend
// nothing.
export interface SamplingDefaults {
  temperature?: number | null
  top_p?: number | null
  top_k?: number | null
  min_p?: number | null
  repetition_penalty?: number | null
  ignored?: string[]
}

// ModelSettingsState is the answer of /app/model-settings.
export interface ModelSettingsState {
  settings: ModelSettings
  defaults: SamplingDefaults // where nothing is set
  context_length: number // of the model, in tokens
  longest?: number // tokens of the context, as far as there is memory for it; 0 = not known
  needs?: Needs | null // with these settings; nil where that is not known
  serving?: number // tokens of the context in memory; 0 if the model is not loaded
  later?: boolean // the model in memory has another context, other bits or another draft window: Settings count from the next load on
  drafter: string // auto, none or a folder: see /app/drafter
  drafters?: DrafterChoice[] // that could be chosen: the model's own first
}

// A PhaseTime is the time of one part of a run.
export interface PhaseTime {
  name: string
  ms: number
}

// A Preset is a system prompt with a name, for chats to come. It is the body of POST /app/presets,
// which replaces the preset of that name, and the answer.
export interface Preset {
  name: string
  system: string
}

// Presets is the answer of GET /app/presets, and of DELETE /app/presets/{name}: all that there are.
export interface Presets {
  presets: Preset[] // by their names
}

// Pressure tells of a shortage of memory of the whole machine, and what Tandem freed because of it.
// Models come back with the next request that names them. Checkpoints stay on disk.
export interface Pressure {
  level: string // PressureWarning or PressureCritical
  since: string
  unloaded: string[] // models that left the memory, the first one first
  freed_bytes: number // of memory, by these models
  checkpoint_bytes: number // of memory, by checkpoints
  text: string // all of this in plain words
}

// Replayed is the answer of POST /app/runs/{id}/verify. It compares the answer of a run with what
// the model says when nothing is restored and nothing is drafted. The run keeps the latest.
export interface Replayed {
  run: number
  at: string // when they were compared
  tokens: number // of the answer
  same: number // how many of them are the same, from the first on
  answered?: string
  now?: string
  forgotten?: boolean
  tie?: boolean
}

// VerifyRequest is the body of POST /app/runs/{id}/verify.
export interface VerifyRequest {
  progress?: boolean // answer with events, see VerifyProgress, not with the verdict alone
}

// VerifyProgress is one event of a verification. The last event has Verdict set, or is an error
// event.
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
  parting?: DivergenceText | null
}

// A Fact is a name and a sentence.
export interface Fact {
  name: string
  text: string
}

// Settings are what a person can set, by their names in JSON. The hub's token is not among them: it
// is written and never read, see SettingHubToken.
export interface Settings {
  port: number // of the endpoint
  network: boolean // other machines may call, with a key
  require_key: boolean // programs on this machine need a key too
  allowed_hosts: string[] // names by which the endpoint may be called, beside this machine's own
  allowed_origins: string[] // pages and apps that may call /v1 from a browser
  hub_cache: string // folder that models are downloaded to, absolute
  hub_endpoint: string // where models are downloaded from; empty = huggingface.co
  hub_proxy: string // proxy on the way there; empty = as the system is set
  model_folders: string[] // further folders that are searched for models, absolute
  checkpoint_memory: number // bytes at most; 0 = by the machine
  checkpoint_disk: number // bytes at most; 0 = by the machine
  idle_unload_minutes: number // after which an idle model leaves the memory; 0 = never
  keep_requests: KeepRequests // see KeepRequests
  put_back_thoughts: boolean // thoughts of earlier answers that clients leave out
  load_on_request: LoadOnRequest // see LoadOnRequest
  dtype: Dtype // see Dtype
  kv_bits: number // of an element in keys and values that are kept: 8 or 4; 0 = as computed
  menu_speed: boolean // tokens per second beside the icon in the menu bar
  start_hidden: boolean // the menu bar opens no window when it starts
  check_updates: boolean // ask for a newer version once a day
}

// SettingState says what decides a setting.
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

// Automatic has the values, in bytes, of settings that are 0 and so left to Tandem.
export interface Automatic {
  checkpoint_memory: number
  checkpoint_disk: number // as much is free now; 0 = not known
}

// Speculation says how a request was decoded, round by round.
export interface Speculation {
  rounds: RoundRun[] // of the first choice, in order
  cut?: number // rounds after those, which were not kept
  drafted_at: number[]
  accepted_at: number[]
  drafters?: DrafterRounds[]
  block_ms?: BlockMS | null // of the first choice; nil without drafts
  asked?: Asked | null // nil if the request said nothing
}

// Asked is what a request said of speculation.
export interface Asked {
  drafter?: string
  depth?: number | null
  rollback?: string
  rule?: string
  exact?: boolean
}

// BlockMS are the times of rounds with drafts. The first eight also pay for what is set up on the
// way.
export interface BlockMS {
  first8: number
  mean: number
  max: number
}

// DrafterRounds tells what one drafter did in a request.
export interface DrafterRounds {
  name: string
  rounds: number // with its drafts
  drafted: number
  accepted: number
  trials?: number // of Rounds, to find out what its drafts gain
  idle?: number // rounds in which it had nothing to propose
  slower?: number // rounds in which it was expected to be slower than what was chosen
  preceded?: number // rounds in which an earlier one drafted, as the request sets the depth
  failed?: string // why it was given up
}

// A RoundRun counts equal rounds in a row: tokens drafted by each, tokens accepted, the number
// of rounds, and who drafted them. That is a place in Speculation.Drafters, counted from 1; 0 for a
// plain round, and in runs of earlier versions.
export type RoundRun = [number, number, number, number]

// State is the answer of GET /app/state. A client that accepts text/event-stream gets it again
// after each change: see [Follower].
export interface State {
  rev?: number // counts the events of a stream, from 1 on
  version: string
  pid: number
  home: string
  address: string // http://127.0.0.1:8263; empty while the endpoint is closed
  started_at: string
  phase: Phase
  choice: string // the id that the name "tandem" stands for
  loading?: Loading | null // nil unless a model is being loaded
  loaded: Loaded | null // the chosen model if it is in memory, else the one used last; nil if none is
  error?: string // what failed, one sentence
  warning?: string // what is not as it should be although all works, one sentence
  in_memory: Loaded[] // all models in memory, in the order of their loads
  port_taken?: PortTaken | null
  endpoint_closed?: boolean
  issue_page?: string
  menu_speed?: boolean
  welcome?: boolean // the first steps have been neither gone through nor skipped
  context_limit?: number
  models: Choosable[] // the registry, the last used first
  downloads: Download[] // oldest first
  active_bytes: number // MLX, now
  peak_bytes: number // MLX, since start
  memory_room?: number // bytes that models may take; 0 = not known
  pressure?: Pressure | null
  active: Active[] // requests in flight, oldest first; the server fills it in
  measuring?: BenchProgress | null // how far a bench is; nil if none runs
}

// Choosable is what it takes to choose a model of the registry.
export interface Choosable {
  id: string
  load_ms?: number // of the last load; 0 = never loaded
}

// Download is a pull that goes on by itself, or that a person paused.
export interface Download {
  id: string
  done: number // bytes, all files together
  total: number // bytes, all files together; 0 until it is known
  per_second: number
  paused?: boolean
  waiting?: string // why nothing moves
  error?: string // why it failed, one sentence
  drafter?: string
  drafter_error?: string
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
  kv_bits?: number // of an element in keys and values that are kept; 0 = as they are computed
  load_ms: number
  queued: number // requests waiting for their first chunk
  drafter?: string // kind of the drafter in memory; empty if there is none
  no_drafter?: string // why there is none, where there should be
  drafting?: string // on or off, for requests that do not say; empty if that cannot be set
  short_context?: string // why the context is shorter than the one asked for
  kv_layout?: string
  bytes: number // of memory: its weights and its drafter's; 0 = not known
  needs: number // of memory, with a whole context; 0 = not known
  in_use?: boolean // a request uses it, so it cannot be unloaded now
}

// Active is one request in flight.
export interface Active {
  run_id: number
  endpoint: string
  model: string
  client: string
  started_at: string
  begun?: boolean // the reading of its prompt has begun; the first part may take seconds
  prompt_done: number // prompt tokens evaluated, or restored
  prompt_tokens: number
  prompt_restored?: number // of PromptDone, from checkpoints
  completion_tokens: number
  restoring_since?: string // zero before the engine begins; readings of texts have none
  reading_since?: string // zero before the reading begins
  writing_since?: string // zero before the first token
  per_second: number // tokens, over the last seconds; 0 before the second token
  verifies: number // rounds with drafts
  drafted: number // tokens of the drafts in these rounds
  accepted: number // of Drafted
}

// ModelList is the answer of GET /app/models.
export interface ModelList {
  models: Model[] // registered
}

// LoadRequest is the body of POST /app/load.
export interface LoadRequest {
  model: string
}

// UnloadRequest is the body of POST /app/unload.
export interface UnloadRequest {
  model: string // empty = all in memory
}

// RevealRequest is the body of POST /app/reveal.
export interface RevealRequest {
  model: string
}

// AddRequest registers a folder: the body of POST /app/models.
export interface AddRequest {
  path: string // absolute
  id?: string // empty = from the folder's name
}

// PullRequest is the body of POST /app/pull.
export interface PullRequest {
  id: string
  revision?: string // empty = main
  no_drafter?: boolean
}

// DropRequest is the body of POST /app/downloads/drop.
export interface DropRequest {
  id: string
  discard?: boolean // delete what Tandem fetched of it; otherwise it stays in the cache
}

// Progress is one event of a pull. The last event has Model set, or is an error event. A model that
// is pulled is registered; a drafter is not.
export interface Progress {
  done: number // bytes, all files together
  total: number // bytes, all files together
  per_second: number // bytes, over the last seconds
  waiting?: string // why nothing moves, e.g. a pause between attempts
  note?: string // what a person should know although the pull succeeds; at most one event has it
  model?: Model | null
}

// SessionCode is the answer of POST /app/session on the socket. The code buys one session, once,
// before it expires.
export interface SessionCode {
  code: string
  expires_at: string
  url: string // http://127.0.0.1:PORT/#CODE
}

// SessionRequest is the body of POST /app/session over TCP.
export interface SessionRequest {
  code: string // of the link that was opened
}

// Session is the answer of POST /app/session over TCP: the token for the header Authorization:
// Bearer.
export interface Session {
  session: string
}

// A Chat is a conversation of the window. Its messages are a tree: a message that is edited, or
// answered again, gets a sibling.
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
  pinned: boolean // it comes before all others
}

// ChatChange changes a chat. A nil field stays.
export interface ChatChange {
  title?: string | null // empty = of the first message
  system?: string | null
  options?: unknown
  leaf?: number | null
  pinned?: boolean | null
}

// A Message is a message of a chat.
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

// MessageChange changes an answer that is still being generated. A nil field stays.
export interface MessageChange {
  content?: string | null // begins with what it was
  model?: string | null
  finish?: string | null
  run?: number | null
  facts?: unknown
}

// A CheckpointFile describes a file with the state of a text, or a file that is gone. Fields without
// a JSON name are not sent.
export interface CheckpointFile {
  id: string
  parent: string // id of the checkpoint that ends at FromToken; empty at the beginning
  model: string
  kind: string // prompt or answer
  from_token: number
  to_token: number
  bytes: number
  run: number // the run that computed it; 0 = unknown
  hits: number
  name: string
  pinned: boolean
  created_at: string
  used_at: string // when it was last restored, made, or lost
  saved_ms: number // milliseconds that all uses saved, at the model's pace, less those of restoring; below 0 = they cost time
}

// RunValues are the values that occur in the fields of a RunQuery. Each list has at most a hundred,
// the latest first.
export interface RunValues {
  models: string[]
  clients: string[]
  endpoints: string[]
  finishes: string[] // of runs that have ended
  days: string[]
}

// A SeenClient is a client of the history, as it calls itself, with the time of its last request.
export interface SeenClient {
  client: string
  at: string
}

// Usage is what the runs of one model, client or day have left on the disk.
export interface Usage {
  name: string
  runs: number
  checkpoints: number
  bytes: number // of checkpoints
}

// Model is one row of the registry: a model that can be loaded.
export interface Model {
  id: string // org/name, or the folder's name
  path: string // folder of config.json, or a GGUF file; empty for the embedded model
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
  kind?: string // embedding or reranker; empty if it generates text
  file_type?: string // of a GGUF file, such as Q4_K_M
}

// Run is one row of the history: what one request took. It holds no text but the tokens in
// Divergence and Verdict. If a request has several choices, counts are sums and durations are the
// longest choice's. A prompt that choices share counts once.
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
  syncs: number // blocking MLX calls after the prefill
  load_ms: number // until the model was in memory
  restore_ms: number
  prefill_ms: number
  first_token_ms: number // since arrival
  draft_ms: number
  verify_ms: number
  total_ms: number // since arrival
  peak_bytes: number // MLX's peak since the engine was last idle
  finish_reason: string // stop, length, or one of the Finish constants
  miss_reason: string // why less was restored than matched, or matched than once kept
  error: string
  seed: number // of the first choice
  queue_ms: number
  no_drafter: string // a sentence: why there were no drafts, or no more
  verifies: number // of Rounds, those that verified drafts
  prediction_accepted: number
  prediction_rejected: number
  repeats: number
  speculation?: unknown
  matched_tokens: number // tokens of the prompt that some text in memory or on disk begins with
  parted?: unknown
  resumes: number // ID of the run whose answer this one completes; 0 = none
  verdict?: unknown
  message?: string
  kv_bits?: number // as in control.Loaded
  kv_layout?: string // likewise
  kv_exact_bytes?: number
  kv_own_bytes?: number
  kv_restored_bytes?: number
  put_back_thoughts?: number
  put_back_tokens?: number
  left_out?: string
  beside_ms?: number
}

export type Code = "invalid_request" | "model_not_found" | "no_chat_template" | "run_not_found" | "checkpoint_not_found" | "chat_not_found" | "bench_not_found" | "not_kept" | "key_not_found" | "port_taken" | "model_busy" | "model_not_loaded" | "not_ready" | "model_invalid" | "unauthorized" | "forbidden" | "model_gated" | "disk_full" | "memory_short" | "database_busy" | "folder_unusable" | "server_unavailable" | "server_crashed" | "cancelled" | "internal"

export type Dtype = "auto" | "float32" | "checkpoint"

export type KeepRequests = "off" | "7d" | "30d"

export type Later = "load"

export type LinkKind = "absent" | "ours" | "stale" | "foreign"

export type LoadOnRequest = "beside" | "replace" | "never"

export type Phase = "starting" | "no_model" | "loading" | "ready" | "failed" | "draining"

export type Source = "default" | "setting" | "environment" | "flag"

export type Written = "" | "current" | "stale"
