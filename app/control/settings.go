package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// DefaultPort is where editors look for Tandem.
const DefaultPort = 8263

// Settings are what a person can set, by their names in JSON. The hub's token is not among them: it
// is written and never read, see SettingHubToken.
type Settings struct {
	Port           int      `json:"port"`            // of the endpoint
	Network        bool     `json:"network"`         // other machines may call, with a key
	RequireKey     bool     `json:"require_key"`     // programs on this machine need a key too
	AllowedHosts   []string `json:"allowed_hosts"`   // names by which the endpoint may be called, beside this machine's own
	AllowedOrigins []string `json:"allowed_origins"` // pages and apps that may call /v1 from a browser

	HubCache     string   `json:"hub_cache"`     // folder that models are downloaded to, absolute
	HubEndpoint  string   `json:"hub_endpoint"`  // where models are downloaded from; empty = huggingface.co
	HubProxy     string   `json:"hub_proxy"`     // proxy on the way there; empty = as the system is set
	ModelFolders []string `json:"model_folders"` // further folders that are searched for models, absolute

	CheckpointMemory int64 `json:"checkpoint_memory"` // bytes at most; 0 = by the machine
	CheckpointDisk   int64 `json:"checkpoint_disk"`   // bytes at most; 0 = by the machine

	IdleUnloadMinutes int           `json:"idle_unload_minutes"` // after which an idle model leaves the memory; 0 = never
	KeepRequests      KeepRequests  `json:"keep_requests"`       // see KeepRequests
	PutBackThoughts   bool          `json:"put_back_thoughts"`   // thoughts of earlier answers that clients leave out
	LoadOnRequest     LoadOnRequest `json:"load_on_request"`     // see LoadOnRequest
	Dtype             Dtype         `json:"dtype"`               // see Dtype
	KVBits            int           `json:"kv_bits"`             // of an element in keys and values that are kept: 8 or 4; 0 = as computed

	MenuSpeed    bool `json:"menu_speed"`    // tokens per second beside the icon in the menu bar
	StartHidden  bool `json:"start_hidden"`  // the menu bar opens no window when it starts
	CheckUpdates bool `json:"check_updates"` // ask for a newer version once a day
}

// SettingHubToken is the name of the hub's token in a SettingsChange.
const SettingHubToken = "hub_token"

// KeepRequests says how long the tokens of a request stay with its run. The run can be verified for
// as long.
type KeepRequests string

// The values of KeepRequests.
const (
	KeepNone  KeepRequests = "off"
	KeepWeek  KeepRequests = "7d"
	KeepMonth KeepRequests = "30d"
)

// LoadOnRequest says what happens to a request for a model that is not in memory. The chosen model
// is always loaded.
type LoadOnRequest string

// The values of LoadOnRequest.
const (
	LoadBeside  LoadOnRequest = "beside"  // loads it beside the others, if there is room
	LoadReplace LoadOnRequest = "replace" // loads it in the place of the others
	LoadNever   LoadOnRequest = "never"   // refuses the request
)

// Dtype says in which type models compute, and hold what is not quantized.
type Dtype string

// The values of Dtype.
const (
	DtypeAuto    Dtype = "auto"    // float32 on a CPU, as stored on a GPU
	DtypeFloat32 Dtype = "float32" // everywhere
	// as stored; a GGUF file computes in float32 on a CPU
	DtypeCheckpoint Dtype = "checkpoint"
)

// Valid reports whether d is one of the values.
func (d Dtype) Valid() bool {
	return slices.Contains([]Dtype{DtypeAuto, DtypeFloat32, DtypeCheckpoint}, d)
}

// KVBits are the values of kv_bits. With 8 or 4, the layers that attend all positions keep each
// element of keys and values in that many bits. Each 64 or 32 elements have a scale and a bias. With
// 0 the layers keep them as they are computed.
var KVBits = []int{0, 4, 8}

// A Source says what decides a setting. A flag wins over the environment, the environment over what
// was set, and that over the default.
type Source string

// The sources.
const (
	FromDefault     Source = "default"
	FromSetting     Source = "setting"
	FromEnvironment Source = "environment"
	FromFlag        Source = "flag"
)

// A Given says that the environment or a flag decides a setting while the program runs.
type Given struct {
	Source Source
	By     string // HF_HOME, --addr
}

// A SettingsChange is the body of POST /app/settings: new values by name. null puts the default
// back. All of it is done, or nothing.
type SettingsChange map[string]json.RawMessage

// SettingState says what decides a setting.
type SettingState struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	By     string `json:"by,omitempty"`    // the flag or the variable that decides
	Later  Later  `json:"later,omitempty"` // when what was set last begins to count
}

// Later says when a changed setting counts, if not at once.
type Later string

// The values of Later.
const (
	AtNextLoad Later = "load" // when a model is loaded next
)

// SettingsState is the answer of /app/settings.
type SettingsState struct {
	Settings Settings       `json:"settings"`  // that are in force, or will be: see Sources
	Sources  []SettingState `json:"sources"`   // of each, and of the hub's token
	HubToken bool           `json:"hub_token"` // there is one

	Automatic Automatic `json:"automatic"` // what is left to Tandem comes to

	// Reached are the addresses by which other machines call the endpoint, empty unless they may.
	Reached []string `json:"reached,omitempty"`

	// Link opens the page with a session where it is now, if a change moved it.
	Link string `json:"link,omitempty"`
}

// Automatic has the values, in bytes, of settings that are 0 and so left to Tandem.
type Automatic struct {
	CheckpointMemory int64 `json:"checkpoint_memory"`
	CheckpointDisk   int64 `json:"checkpoint_disk"` // as much is free now; 0 = not known
}

// DefaultSettings returns the settings of a new home folder.
func DefaultSettings() Settings {
	return Settings{
		Port: DefaultPort, AllowedHosts: []string{}, AllowedOrigins: []string{}, ModelFolders: []string{},
		KeepRequests: KeepWeek, PutBackThoughts: true, LoadOnRequest: LoadBeside, Dtype: DtypeAuto,
	}
}

// SettingNames returns the names of all settings, in their order.
func SettingNames() []string {
	t := reflect.TypeFor[Settings]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("json")
	}
	return names
}

// SettingKind returns what a setting is: text, list, number or switch. It is empty for a name that
// is not a setting.
func SettingKind(name string) string {
	if name == SettingHubToken {
		return "text"
	}
	f := new(Settings).field(name)
	if !f.IsValid() {
		return ""
	}
	switch f.Kind() {
	case reflect.Bool:
		return "switch"
	case reflect.Slice:
		return "list"
	case reflect.Int, reflect.Int64:
		return "number"
	}
	return "text"
}

// field returns the field of that name, or the zero Value.
func (s *Settings) field(name string) reflect.Value {
	if i := slices.Index(SettingNames(), name); i >= 0 {
		return reflect.ValueOf(s).Elem().Field(i)
	}
	return reflect.Value{}
}

// WithoutSecrets returns what others may see. It drops the password of a proxy's address.
func (s Settings) WithoutSecrets() Settings {
	if u, err := url.Parse(s.HubProxy); err == nil && u.User != nil {
		u.User = nil
		s.HubProxy = u.String()
	}
	return s
}

// Value returns one setting as JSON.
func (s Settings) Value(name string) (json.RawMessage, error) {
	f := s.field(name)
	if !f.IsValid() {
		return nil, noSetting(name)
	}
	return json.Marshal(f.Interface())
}

// With returns the settings after a change. It checks each value as far as that needs nothing but
// the value. null takes the value of defaults. Error: CodeInvalid, with the field.
func (s Settings) With(change SettingsChange, defaults Settings) (Settings, error) {
	for _, name := range slices.Sorted(maps.Keys(change)) {
		raw, f := change[name], s.field(name)
		switch {
		case !f.IsValid():
			return s, noSetting(name)
		case string(raw) == "null":
			f.Set(defaults.field(name))
			continue
		}
		v := reflect.New(f.Type())
		if err := json.Unmarshal(raw, v.Interface()); err != nil {
			return s, badSetting(name, "must be %s.", kindWords[SettingKind(name)])
		}
		f.Set(v.Elem())
		if err := s.check(name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// MinBudget is the smallest budget for checkpoints, in bytes.
const MinBudget = 64 << 20

// Bounds of settings.
const (
	minPort       = 1024 // below it a program needs more rights than it should have
	maxMinutes    = 7 * 24 * 60
	maxList       = 64   // entries
	maxSettingLen = 4096 // bytes of a text
)

// check returns what is wrong with the value of one setting.
func (s *Settings) check(name string) error {
	refuse := func(format string, args ...any) error { return badSetting(name, format, args...) }
	f := s.field(name)
	if err := checkForm(name, f); err != nil {
		return err
	}
	switch name {
	case "port":
		if s.Port < minPort || s.Port > 65535 {
			return refuse("must be between %d and 65535, not %d.", minPort, s.Port)
		}
	case "idle_unload_minutes":
		if s.IdleUnloadMinutes < 0 || s.IdleUnloadMinutes > maxMinutes {
			return refuse("must be between 0, which is never, and %d, not %d.", maxMinutes, s.IdleUnloadMinutes)
		}
	case "checkpoint_memory", "checkpoint_disk":
		if n := f.Int(); n < MinBudget { // the default, 0, comes by null
			return refuse("must be at least %d MiB, not %s; leave it empty, or null, for the default.", MinBudget>>20, unitOf(name).Exactly(n))
		}
	case "keep_requests":
		if !slices.Contains([]KeepRequests{KeepNone, KeepWeek, KeepMonth}, s.KeepRequests) {
			return refuse("must be off, 7d or 30d.")
		}
	case "load_on_request":
		if !slices.Contains([]LoadOnRequest{LoadBeside, LoadReplace, LoadNever}, s.LoadOnRequest) {
			return refuse("must be beside, replace or never.")
		}
	case "dtype":
		if !s.Dtype.Valid() {
			return refuse("must be auto, float32 or checkpoint.")
		}
	case "kv_bits":
		if !slices.Contains(KVBits, s.KVBits) {
			return refuse("must be 8, 4 or 0, not %d.", s.KVBits)
		}
	case "allowed_hosts":
		for _, h := range s.AllowedHosts {
			if err := CheckHost(h); err != nil {
				return refuse("has %q: %v.", h, err)
			}
		}
	case "allowed_origins":
		for _, o := range s.AllowedOrigins {
			if err := CheckOrigin(o); err != nil {
				return refuse("has %q: %v.", o, err)
			}
		}
	case "hub_endpoint":
		if u, err := url.Parse(s.HubEndpoint); s.HubEndpoint != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			return refuse("must be an address such as https://huggingface.co.")
		}
		s.HubEndpoint = strings.TrimRight(s.HubEndpoint, "/")
	case "hub_proxy":
		if u, err := url.Parse(s.HubProxy); s.HubProxy != "" && (err != nil || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) || u.Hostname() == "") {
			return refuse("must be an address such as http://proxy.example.org:3128.")
		}
	case "hub_cache":
		if !filepath.IsAbs(s.HubCache) {
			return refuse("must be the whole path of a folder, from / on.")
		}
	case "model_folders":
		for _, dir := range s.ModelFolders {
			if !filepath.IsAbs(dir) {
				return refuse("must have whole paths of folders, from / on, not %q.", dir)
			}
		}
	}
	return nil
}

// checkForm refuses texts of several lines, and more or longer ones than a setting may have.
func checkForm(name string, f reflect.Value) error {
	switch v := f.Interface().(type) {
	case string:
		if len(v) > maxSettingLen || strings.ContainsAny(v, "\x00\r\n") {
			return badSetting(name, "must be one line of %d bytes at most.", maxSettingLen)
		}
	case []string:
		if len(v) > maxList {
			return badSetting(name, "must have %d entries at most.", maxList)
		}
		for _, x := range v {
			if x == "" || len(x) > maxSettingLen || strings.ContainsAny(x, "\x00\r\n") {
				return badSetting(name, "must have entries of one line each, none of them empty.")
			}
		}
		if v == nil { // an empty list is one in JSON too
			f.Set(reflect.ValueOf([]string{}))
		}
	}
	return nil
}

// kindWords say what a value must be, by the kind of its setting.
var kindWords = map[string]string{"number": "a whole number", "switch": "true or false",
	"list": "a list of strings", "text": "a string"}

func noSetting(name string) *Error {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf("There is no setting %q; there are %s and %s.", name, strings.Join(SettingNames(), ", "), SettingHubToken)}
}

func badSetting(name, problem string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Param: name, Message: name + " " + fmt.Sprintf(problem, args...)}
}
