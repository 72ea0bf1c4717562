package control

import (
	"encoding/json"
	"net/http"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	remove = http.MethodDelete // delete is a builtin
)

// The last field of a route writes its input into the path and the query; nil if it is all in the
// body. WouldX returns what X would do, and changes nothing.

// The state, and sessions of pages.
var (
	GetState   = Route[None, State]{get, "/app/state", nil} // or a stream of it, see Client.Watch
	SetWelcome = Route[WelcomeRequest, State]{post, "/app/welcome", nil}

	IssueCode    = Route[None, SessionCode]{post, "/app/session", nil}       // only on the control socket
	ExchangeCode = Route[SessionRequest, Session]{post, "/app/session", nil} // only over TCP
)

// Models in memory. Load waits until the model is loaded.
var (
	LoadModel        = Route[LoadRequest, State]{post, "/app/load", nil}
	UnloadModel      = Route[UnloadRequest, State]{post, "/app/unload", nil}
	GetMemory        = Route[None, Memory]{get, "/app/memory", nil}
	SetDrafter       = Route[DrafterRequest, Drafter]{post, "/app/drafter", nil} // an empty Drafter changes nothing
	GetModelSettings = Route[string, ModelSettingsState]{get, "/app/model-settings", neededModel}
	SetModelSettings = Route[ModelSettings, ModelSettingsState]{post, "/app/model-settings", nil}
)

// Models on disk.
var (
	ListModels       = Route[None, ModelList]{get, "/app/models", nil}
	AddModel         = Route[AddRequest, Model]{post, "/app/models", nil}
	RemoveModel      = Route[string, Removal]{remove, "/app/models/{id...}", modelInPath}
	WouldRemoveModel = Route[string, Removal]{get, "/app/removal", modelInQuery}
	RevealModel      = Route[RevealRequest, State]{post, "/app/reveal", nil}
	FindModels       = Route[None, Found]{get, "/app/found", nil}
	GetCatalogue     = Route[bool, Catalogue]{get, "/app/catalogue", sizesInQuery} // In: ask the hub for sizes
	GetStorage       = Route[None, Storage]{get, "/app/storage", nil}

	PullModel     = Route[PullRequest, Progress]{post, "/app/pull", nil} // events, see Client.Pull
	StartDownload = Route[PullRequest, State]{post, "/app/downloads", nil}
	PauseDownload = Route[PullRequest, State]{post, "/app/downloads/pause", nil}
	DropDownload  = Route[DropRequest, State]{post, "/app/downloads/drop", nil}
)

// The history.
var (
	ListRuns      = Route[RunQuery, RunList]{get, "/app/runs", runQuery}
	ListRunValues = Route[None, RunValues]{get, "/app/runs/values", nil}
	GetActivity   = Route[int, Activity]{get, "/app/activity", minutesInQuery}
	GetInsights   = Route[None, Insights]{get, "/app/insights", nil}
	GetRun        = Route[int64, Run]{get, "/app/runs/{id}", runID}
	GetRunReport  = Route[int64, Report]{get, "/app/runs/{id}/report", runID}
	CancelRun     = Route[CancelRequest, None]{post, "/app/runs/{id}/cancel", (*CancelRequest).params}
	ResumeRun     = Route[int64, None]{post, "/app/runs/{id}/resume", runID} // see Client.ResumeRun
	VerifyRun     = Route[RunVerification, Replayed]{post, "/app/runs/{id}/verify", (*RunVerification).params}
)

// Checkpoints, and what is remembered of texts.
var (
	ListCheckpoints       = Route[CheckpointQuery, CheckpointList]{get, "/app/checkpoints", checkpointQuery}
	ListCheckpointTitles  = Route[[]string, CheckpointTitles]{get, "/app/checkpoint-titles", titleIDs}
	GetCheckpoint         = Route[CheckpointRead, Checkpoint]{get, "/app/checkpoints/{name}", (*CheckpointRead).params}
	ChangeCheckpoint      = Route[CheckpointUpdate, Checkpoint]{post, "/app/checkpoints/{name}", (*CheckpointUpdate).params}
	DeleteCheckpoint      = Route[CheckpointDeletion, Deleted]{remove, "/app/checkpoints/{name}", (*CheckpointDeletion).params}
	WouldDeleteCheckpoint = Route[CheckpointDeletion, Deleted]{get, "/app/checkpoints/{name}/deletion", (*CheckpointDeletion).params}
	VerifyCheckpoint      = Route[string, Integrity]{post, "/app/checkpoints/{name}/verify", checkpointInPath}
	BranchCheckpoint      = Route[string, None]{post, "/app/checkpoints/{name}/branch", checkpointInPath} // answers as /v1/completions

	Forget      = Route[ForgetRequest, Forgotten]{post, "/app/forget", nil}
	WouldForget = Route[ForgetRequest, Forgotten]{get, "/app/forget", (*ForgetRequest).params}
	ForgetTexts = Route[int64, Forgotten]{remove, "/app/texts/{id}", textsOwner} // In: a key's id; 0 = of clients without one
)

// The window's own conversations.
var (
	ListChats        = Route[ChatQuery, ChatList]{get, "/app/chats", chatQuery}
	AddChat          = Route[ChatRequest, Chat]{post, "/app/chats", nil}
	DeleteChats      = Route[None, DeletedChats]{remove, "/app/chats", nil}
	WouldDeleteChats = Route[None, DeletedChats]{get, "/app/chats/deletion", nil}
	SetKeepChats     = Route[KeepChats, KeepChats]{post, "/app/chats/keep", nil}
	GetChat          = Route[int64, WholeChat]{get, "/app/chats/{id}", chatID}
	ChangeChat       = Route[ChatUpdate, Chat]{post, "/app/chats/{id}", (*ChatUpdate).params}
	DeleteChat       = Route[int64, DeletedChats]{remove, "/app/chats/{id}", chatID}
	WouldDeleteChat  = Route[int64, DeletedChats]{get, "/app/chats/{id}/deletion", chatID}

	AddMessage         = Route[NewMessage, Message]{post, "/app/chats/{id}/messages", (*NewMessage).params}
	ChangeMessage      = Route[MessageUpdate, Message]{post, "/app/chats/{id}/messages/{message}", (*MessageUpdate).params}
	DeleteMessage      = Route[MessageID, DeletedChats]{remove, "/app/chats/{id}/messages/{message}", (*MessageID).params}
	WouldDeleteMessage = Route[MessageID, DeletedChats]{get, "/app/chats/{id}/messages/{message}/deletion", (*MessageID).params}

	ListPresets  = Route[None, Presets]{get, "/app/presets", nil}
	SetPreset    = Route[Preset, Preset]{post, "/app/presets", nil}
	DeletePreset = Route[string, Presets]{remove, "/app/presets/{name...}", nameInPath}
)

// Benches. RunBench answers with events, see Client.Bench.
var (
	ListBenches = Route[None, Benches]{get, "/app/benches", nil}
	RunBench    = Route[BenchRequest, BenchProgress]{post, "/app/benches", nil}
	CancelBench = Route[None, None]{post, "/app/benches/cancel", nil}
	DeleteBench = Route[int64, None]{remove, "/app/benches/{id}", benchID}
)

// Settings, and who may use the endpoint.
var (
	GetSettings    = Route[None, SettingsState]{get, "/app/settings", nil}
	ChangeSettings = Route[SettingsChange, SettingsState]{post, "/app/settings", nil}
	PutSettings    = Route[SettingsChange, SettingsState]{put, "/app/settings", nil} // as ChangeSettings
	ExportSettings = Route[None, Saved]{post, "/app/settings/export", nil}
	SetPort        = Route[PortRequest, State]{post, "/app/port", nil}

	ListKeys  = Route[None, KeyList]{get, "/app/keys", nil}
	AddKey    = Route[KeyRequest, NewKey]{post, "/app/keys", nil}
	DeleteKey = Route[int64, None]{remove, "/app/keys/{id}", keyID}

	GetConnect      = Route[None, Connect]{get, "/app/connect", nil}
	WriteConnection = Route[string, Connection]{post, "/app/connect/{id}", idInPath}
)

// Help.
var (
	GetMachine      = Route[None, Machine]{get, "/app/machine", nil}
	GetLog          = Route[None, LogLines]{get, "/app/log", nil}
	GetDiagnosis    = Route[None, json.RawMessage]{get, "/app/report", nil} // a Diagnosis
	SaveDiagnosis   = Route[SaveReport, Saved]{post, "/app/report", nil}
	GetUpdates      = Route[None, Updates]{get, "/app/updates", nil} // as known; asks no other machine
	CheckUpdates    = Route[None, Updates]{post, "/app/updates", nil}
	GetCommandLine  = Route[None, CommandLine]{get, "/app/command-line", nil}
	LinkCommandLine = Route[None, CommandLine]{post, "/app/command-line", nil}
)
