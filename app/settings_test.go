package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/settings"
	"tandem/engine/texts"
	"tandem/models/hub"
)

// change posts a change of settings and returns the settings in force after it.
func (r *running) change(t *testing.T, change string) (control.SettingsState, error) {
	t.Helper()
	var c control.SettingsChange
	if err := json.Unmarshal([]byte(change), &c); err != nil {
		t.Fatal(err)
	}
	return control.Call(t.Context(), r.client(t), control.ChangeSettings, c)
}

// sourceOf returns the state of one setting, or the zero value.
func sourceOf(st control.SettingsState, name string) control.SettingState {
	for _, s := range st.Sources {
		if s.Name == name {
			return s
		}
	}
	return control.SettingState{}
}

// A setting is in force at once and after a restart. A refused change alters nothing, and null
// puts the default back.
func TestSettingIsInForceAtOnceAndAfterARestart(t *testing.T) {
	home, set := t.TempDir(), filepath.Join(t.TempDir(), "new", "hub")
	o := Options{Home: home, Hub: hub.Options{CacheDir: "/default/hub"}}
	t.Run("set", func(t *testing.T) {
		r := start(t, o, "")
		st, err := r.change(t,
			`{"idle_unload_minutes": 30, "hub_cache": "`+set+`", "hub_proxy": "http://127.0.0.1:3128"}`)
		if err != nil || st.Settings.IdleUnloadMinutes != 30 ||
			sourceOf(st, "hub_cache").Source != control.FromSetting ||
			sourceOf(st, "port").Source != control.FromDefault {
			t.Fatalf("the change gives %+v, %v", st, err)
		}
		if h := r.settings.Hub(); h.CacheDir != set || h.Client == nil {
			t.Errorf("the hub's options are %+v", h)
		}
		for _, bad := range []string{`{"idle_unload_minutes": 5, "port": 1}`,
			`{"idle_unload_minutes": 5, "nothing": 1}`,
			`{"idle_unload_minutes": 5, "hub_token": "two words"}`} {
			if _, err := r.change(t, bad); err == nil {
				t.Errorf("%s is accepted", bad)
			} else if e, ok := errors.AsType[*control.Error](err); !ok ||
				e.Code != control.CodeInvalid {
				t.Errorf("%s: %v, want %s", bad, err, control.CodeInvalid)
			}
		}
	})
	r := start(t, o, "")
	st, err := control.Ask(t.Context(), r.client(t), control.GetSettings)
	if err != nil || st.Settings.IdleUnloadMinutes != 30 || r.settings.Hub().CacheDir != set {
		t.Errorf("after a restart: %+v, %v", st, err)
	}
	st, err = r.change(t, `{"hub_cache": null}`)
	if err != nil || st.Settings.HubCache != "/default/hub" ||
		sourceOf(st, "hub_cache").Source != control.FromDefault ||
		r.settings.Hub().CacheDir != "/default/hub" {
		t.Errorf("after null: %+v, %v, want the default of hub_cache", st, err)
	}
}

// A flag and the environment win over a stored setting. The setting cannot be changed while they
// win, and the stored value stays.
func TestFlagAndEnvironmentWinOverAStoredSetting(t *testing.T) {
	home := t.TempDir()
	t.Run("set", func(t *testing.T) {
		if _, err := start(t, Options{Home: home}, "").change(t,
			`{"hub_endpoint": "https://mirror.example.org", "hub_token": "hf_set"}`); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("given", func(t *testing.T) {
		given := start(t, Options{Home: home,
			Hub: hub.Options{Endpoint: "https://env.example.org", Token: "hf_env"},
			Overrides: map[string]control.Given{
				"hub_endpoint":          {Source: control.FromEnvironment, By: "HF_ENDPOINT"},
				control.SettingHubToken: {Source: control.FromEnvironment, By: "HF_TOKEN"},
			}}, "127.0.0.1:0")
		st, err := control.Ask(t.Context(), given.client(t), control.GetSettings)
		if err != nil || st.Settings.HubEndpoint != "https://env.example.org" ||
			sourceOf(st, "hub_endpoint") != (control.SettingState{Name: "hub_endpoint",
				Source: control.FromEnvironment, By: "HF_ENDPOINT"}) {
			t.Errorf("with HF_ENDPOINT: %+v, %v", st, err)
		}
		if by := sourceOf(st, "port").By; by != "--addr" {
			t.Errorf("the port is decided by %q, want --addr", by)
		}
		if h := given.settings.Hub(); h.Endpoint != "https://env.example.org" ||
			h.Token != "hf_env" {
			t.Errorf("the hub's options are %+v, want those of the environment", h)
		}
		for _, c := range []struct{ change, by string }{{`{"hub_endpoint": "https://x.example"}`,
			"HF_ENDPOINT"}, {`{"hub_token": "x"}`, "HF_TOKEN"}, {`{"port": 9000}`, "--addr"}} {
			if _, err := given.change(t, c.change); err == nil ||
				!strings.Contains(err.Error(), "was set with "+c.by) {
				t.Errorf("%s: %v, want it decided by %s", c.change, err, c.by)
			}
		}
	})
	r := start(t, Options{Home: home}, "")
	if h := r.settings.Hub(); h.Endpoint != "https://mirror.example.org" || h.Token != "hf_set" {
		t.Errorf("the hub's options are %+v, want the stored ones", h)
	}
}

// The token of the hub is in a file that its owner alone can read, and in no answer. null deletes
// the file.
func TestHubTokenIsInAPrivateFileAndInNoAnswer(t *testing.T) {
	r := start(t, Options{}, "")
	st, err := r.change(t, `{"hub_token": "hf_secret"}`)
	if err != nil || !st.HubToken || sourceOf(st,
		control.SettingHubToken).Source != control.FromSetting {
		t.Fatalf("the change gives %+v, %v", st, err)
	}
	if b, err := json.Marshal(st); err != nil || strings.Contains(string(b), "hf_secret") {
		t.Errorf("the answer has the token: %s, %v", b, err)
	}
	path := r.home.Path(settings.TokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token file: %v, %v, want mode 0600", info, err)
	}
	if got := r.settings.Hub().Token; got != "hf_secret" {
		t.Errorf("the hub gets the token %q, want hf_secret", got)
	}
	if st, err = r.change(t, `{"hub_token": null}`); err != nil || st.HubToken ||
		r.settings.Hub().Token != "" {
		t.Errorf("the token stays after null: %+v, %v", st, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the token file stays after null: %v", err)
	}
}

// The next start deletes the temporary files of unfinished writes, because they can have a token or
// a key. It deletes nothing else.
func TestStartDeletesUnfinishedWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a] home*")
	write := func(names ...string) string {
		path := filepath.Join(append([]string{dir}, names...)...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte("hf_secret"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := []string{write(".new-123"), write(home.ConnectFolder, "aider", ".new-456")}
	stay := []string{write(settings.TokenFile),
		write(home.ConnectFolder, "aider", "aider.conf.yml"), write("checkpoints", ".new-789")}
	a, err := Open(t.Context(), Options{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, path := range gone {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s stays after the start: %v", path, err)
		}
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// The menu bar reads start_hidden in the home folder, without a server.
func TestStartHiddenIsReadWithoutAServer(t *testing.T) {
	home := t.TempDir()
	r := start(t, Options{Home: home}, "")
	for _, on := range []bool{true, false} {
		if _, err := r.change(t, fmt.Sprintf(`{"start_hidden": %t}`, on)); err != nil ||
			control.StartsHidden(home) != on {
			t.Errorf("start_hidden is %t, want %t: %v", control.StartsHidden(home), on, err)
		}
	}
}

// A change that fails in one part changes nothing: no setting, no file, and the door asks for no
// key while the settings say that none is required.
func TestChangeThatFailsInPartChangesNothing(t *testing.T) {
	r := start(t, Options{}, "127.0.0.1:0")
	if _, err := control.Call(t.Context(), r.client(t), control.AddKey,
		control.KeyRequest{Name: "zed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"hub_token": "hf_before"}`); err != nil {
		t.Fatal(err)
	}
	blocked := r.home.Path(control.HiddenFile)
	if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	models := func() int {
		resp, err := http.Get(r.url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, change := range []string{
		`{"start_hidden": true, "require_key": true, "hub_token": "hf_after"}`,
		`{"start_hidden": true, "require_key": true, "hub_token": null}`,
	} {
		if _, err := r.change(t, change); codeOf(err) != control.CodeFolder {
			t.Errorf("%s: %v, want %s", change, err, control.CodeFolder)
		}
		st, err := control.Ask(t.Context(), r.client(t), control.GetSettings)
		if err != nil || st.Settings.RequireKey || st.Settings.StartHidden ||
			sourceOf(st, "require_key").Source != control.FromDefault {
			t.Errorf("%s changes settings in part: %+v, %v", change, st.Settings, err)
		}
		if got := models(); got != http.StatusOK {
			t.Errorf("%s: a request without a key gets %d, want 200", change, got)
		}
		if got := readText(t, r.home.Path(settings.TokenFile)); got != "hf_before\n" ||
			r.settings.Hub().Token != "hf_before" {
			t.Errorf("%s: the token is %q, want hf_before", change, got)
		}
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	// The files stay as they were when the database cannot store the change.
	if _, err := r.change(t, `{"start_hidden": true, "require_key": true}`); err != nil ||
		models() != http.StatusUnauthorized {
		t.Errorf("the change after the folder is gone: %v; a request without a key gets %d",
			err, models())
	}
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ChangeSettings(t.Context(),
		control.SettingsChange{"start_hidden": json.RawMessage("false"),
			control.SettingHubToken: json.RawMessage("null")}); err == nil {
		t.Error("the change succeeds with a closed database")
	}
	if got := readText(t, r.home.Path(settings.TokenFile)); got != "hf_before\n" ||
		!control.StartsHidden(r.home.Dir) {
		t.Errorf("the token is %q, want hf_before; start_hidden is %t, want true",
			got, control.StartsHidden(r.home.Dir))
	}
}

// Checkpoints get no more memory and disk than the machine has. The refusal names the figures.
func TestCheckpointBudgetAboveTheMachineIsRefused(t *testing.T) {
	home := t.TempDir()
	o := Options{Home: home, Memory: 8 << 30}
	t.Run("set", func(t *testing.T) {
		r := start(t, o, "")
		for _, c := range []struct{ change, param, says string }{
			{`{"checkpoint_memory": 3221225472}`, "", ""}, // half of three quarters
			{`{"checkpoint_memory": 3221225473}`, "checkpoint_memory", "must be 3,221,225,472 bytes at most, not 3,221,225,473: this machine has 8 GiB, and the rest is for models and the system."},
			{`{"checkpoint_memory": 4294967296}`, "checkpoint_memory", "must be 3 GiB at most, not 4 GiB: "},
			{`{"checkpoint_memory": 9223372036854775807}`, "checkpoint_memory", "3 GiB at most"},
			{`{"checkpoint_disk": 9223372036854775807}`, "checkpoint_disk", "are free on the disk, and checkpoints have 0 GB"},
			{`{"checkpoint_disk": 1000000000000000000}`, "checkpoint_disk", "not 1000000000 GB: "},
			{`{"checkpoint_disk": 67108864}`, "", ""},
			{`{"checkpoint_disk": null}`, "", ""},
		} {
			_, err := r.change(t, c.change)
			if c.param == "" && err != nil || c.param != "" &&
				(codeOf(err) != control.CodeInvalid || paramOf(err) != c.param ||
					!strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: %v, want %q", c.change, err, c.says)
			}
		}
	})
	// With less memory the stored value stays, checkpoints get what there is room for, and other
	// settings can be changed.
	o.Memory = 4 << 30
	t.Run("less", func(t *testing.T) {
		r := start(t, o, "")
		if st, err := r.change(t, `{"idle_unload_minutes": 5}`); err != nil ||
			st.Settings.CheckpointMemory != 3<<30 {
			t.Errorf("with 4 GiB: %+v, %v", st.Settings, err)
		}
		if r.pool.CheckpointBytes() != 1<<30 || r.pool.Room() != 1<<30-texts.MaxBytes {
			t.Errorf("checkpoints get %d bytes and models %d, want 1 GiB each, less what texts take",
				r.pool.CheckpointBytes(), r.pool.Room())
		}
	})
}

// The program starts with budgets of flags that are too high, because the disk may have filled
// since. The memory of checkpoints is held to the bound of the machine.
func TestStartAcceptsFlagsWithTooHighBudgets(t *testing.T) {
	o := Options{Home: t.TempDir(), Memory: 8 << 30, Settings: control.DefaultSettings()}
	o.Settings.CheckpointMemory, o.Settings.CheckpointDisk = 7<<30, 1<<60
	a, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.pool.CheckpointBytes() != 3<<30 || a.pool.Room() != 3<<30-texts.MaxBytes ||
		a.settings.Current().CheckpointDisk != 1<<60 {
		t.Errorf("checkpoints get %d bytes of memory, models %d; checkpoint_disk is %d bytes",
			a.pool.CheckpointBytes(), a.pool.Room(), a.settings.Current().CheckpointDisk)
	}
}

// A folder that can be neither used nor made is refused with the reason. A stored folder that is
// gone stays when another one is added.
func TestFolderThatCannotBeUsedIsRefused(t *testing.T) {
	dir := t.TempDir()
	file, shelf := filepath.Join(dir, "file"), filepath.Join(dir, "shelf")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(shelf, 0o700)); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{}, "")
	for _, c := range []struct{ name, value, says string }{
		{"hub_cache", `"/dev/null/x"`, "hub_cache cannot have /dev/null/x: /dev/null is no folder."},
		{"hub_cache", `"` + file + `"`, file + " is no folder."},
		{"hub_cache", `"` + filepath.Join(file, "a", "b") + `"`, file + " is no folder."},
		{"hub_cache", `"` + filepath.Join(dir, "a", "b") + `"`, ""},
		{"model_folders", `["` + shelf + `", "` + filepath.Join(dir, "nope") + `"]`, "nope: there is no such folder; make it first."},
		{"model_folders", `["` + file + `"]`, "file is no folder."},
		{"model_folders", `["/dev/null/x"]`, "it lies in a file."},
		{"model_folders", `["` + shelf + `"]`, ""},
	} {
		_, err := r.change(t, fmt.Sprintf(`{%q: %s}`, c.name, c.value))
		if c.says == "" && err != nil || c.says != "" &&
			(codeOf(err) != control.CodeInvalid || paramOf(err) != c.name ||
				!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s: %v, want %q", c.name, c.value, err, c.says)
		}
	}
	if err := os.Remove(shelf); err != nil { // as when its disk is unplugged
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"model_folders": ["`+shelf+`", "`+dir+`"]}`); err != nil {
		t.Error(err)
	}
	r = start(t, Options{Hub: hub.Options{CacheDir: "/dev/null/hub"}}, "")
	for _, change := range []string{`{"hub_cache": "` + dir + `"}`, `{"hub_cache": null}`} {
		if _, err := r.change(t, change); err != nil {
			t.Errorf("%s with a default that cannot be made: %v", change, err)
		}
	}
}
