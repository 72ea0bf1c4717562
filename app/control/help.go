package control

import "time"

// A LogLine is one line of the log. Of what clients write it holds names alone: no prompt, no
// answer, no key.
type LogLine struct {
	Seq   int64     `json:"seq"` // counts from the start of the process, from 1 on
	Time  time.Time `json:"time"`
	Level string    `json:"level"` // INFO, WARN or ERROR
	Text  string    `json:"text"`
}

// LogLines is the answer of GET /app/log. A client that accepts text/event-stream gets each LogLine
// as an event, and later lines too.
type LogLines struct {
	Lines []LogLine `json:"lines"` // the oldest first
}

// A Diagnosis is what another person needs to help: the answer of GET /app/report. It has no text of
// a request or an answer, no secret, and no name that a person gave to a key, a chat or a machine that
// may call. The user's folder is written ~.
type Diagnosis struct {
	MadeAt  time.Time `json:"made_at"`
	Version string    `json:"version"`
	Go      string    `json:"go"`
	Machine Machine   `json:"machine"`

	State    State         `json:"state"`
	Settings SettingsState `json:"settings"`
	Keys     int           `json:"keys"` // how many there are
	Models   []Model       `json:"models"`
	Runs     []Run         `json:"runs"` // the latest
	Log      []LogLine     `json:"log"`  // the end of it
}

// SaveReport is the body of POST /app/report, which saves a report that a person has read.
type SaveReport struct {
	Text string `json:"text" need:"send the answer of GET /app/report"`
}

// Saved says where a file was written.
type Saved struct {
	Path string `json:"path"`
}

// CommandLine says whether the command line tool can be called by its name.
type CommandLine struct {
	Path     string   `json:"path"`    // of the link, ~/.local/bin/tandem
	Program  string   `json:"program"` // the program that it leads to, or would
	Link     LinkKind `json:"link"`
	OnPath   bool     `json:"on_path"`   // the link's folder is in PATH as this process knows it
	PathLine string   `json:"path_line"` // a line for a shell's profile that puts it there
}

// LinkKind says what is where the link should be.
type LinkKind string

// The values of LinkKind.
const (
	LinkAbsent  LinkKind = "absent"
	LinkOurs    LinkKind = "ours"    // it leads to this program
	LinkStale   LinkKind = "stale"   // it leads to where a Tandem was
	LinkForeign LinkKind = "foreign" // something else, which is left alone
)

// Updates says whether there is a newer version. The feed is asked only if the settings or a person
// say so.
type Updates struct {
	Offered   bool      `json:"offered"`             // the program was built with an address to ask
	Newer     bool      `json:"newer"`               // than this one
	Version   string    `json:"version,omitempty"`   // the newest one
	Page      string    `json:"page,omitempty"`      // where to get it
	CheckedAt time.Time `json:"checked_at,omitzero"` // zero = never
	Error     string    `json:"error,omitempty"`     // why the last check failed; Version is then from an earlier one
}
