package control

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSettingsChangeWithAPatchOrNotAtAll(t *testing.T) {
	defaults := DefaultSettings()
	for _, c := range []struct {
		change string
		param  string // the setting at fault; empty if the change is good
		says   string
	}{
		{`{}`, "", ""},
		{`{"port": 9000, "network": true, "allowed_hosts": ["models.example.org"]}`, "", ""},
		{`{"port": 80}`, "port", "between 1024 and 65535, not 80"},
		{`{"port": 65536}`, "port", "between"},
		{`{"port": "8263"}`, "port", "a whole number"},
		{`{"port": 8263.5}`, "port", "a whole number"},
		{`{"network": 1}`, "network", "true or false"},
		{`{"allowed_hosts": "x"}`, "allowed_hosts", "a list of strings"},
		{`{"allowed_hosts": ["http://x"]}`, "allowed_hosts", `"http://x": write one name`},
		{`{"allowed_hosts": [""]}`, "allowed_hosts", "none of them empty"},
		{`{"allowed_origins": ["https://x.example/"]}`, "allowed_origins", "as browsers do"},
		{`{"allowed_origins": ["app://obsidian.md"]}`, "", ""},
		{`{"hub_endpoint": "ftp://x"}`, "hub_endpoint", "such as https://huggingface.co"},
		{`{"hub_endpoint": "https://u:p@x.example"}`, "hub_endpoint", "such as"},
		{`{"hub_endpoint": ""}`, "", ""},
		{`{"hub_proxy": "proxy:3128"}`, "hub_proxy", "such as http://"},
		{`{"hub_proxy": "socks5://127.0.0.1:1080"}`, "", ""},
		{`{"hub_cache": ""}`, "hub_cache", "from / on"},
		{`{"hub_cache": "models"}`, "hub_cache", "from / on"},
		{`{"hub_cache": "/a\nb"}`, "hub_cache", "one line"},
		{`{"model_folders": ["/a", "b"]}`, "model_folders", `not "b"`},
		{`{"checkpoint_memory": 5}`, "checkpoint_memory", "at least 64 MiB, not 5 bytes;"},
		{`{"checkpoint_memory": -1073741824}`, "checkpoint_memory", "not -1 GiB;"},
		{`{"checkpoint_disk": 50000000}`, "checkpoint_disk", "not 0.05 GB;"},
		{`{"checkpoint_disk": 0}`, "checkpoint_disk", "not 0 GB; leave it empty, or null, for the default"},
		{`{"idle_unload_minutes": -1}`, "idle_unload_minutes", "which is never"},
		{`{"keep_requests": "1d"}`, "keep_requests", "off, 7d or 30d"},
		{`{"keep_requests": "off"}`, "", ""},
		{`{"dtype": "int1"}`, "dtype", "auto, float32 or checkpoint"},
		{`{"dtype": "checkpoint"}`, "", ""},
		{`{"Port": 9000}`, "", `no setting "Port"`},
		{`{"hub_token": "x"}`, "", `no setting "hub_token"`}, // the token is no setting
		{`{"network": true, "port": 1}`, "port", "between"},  // the whole change is refused
	} {
		var change SettingsChange
		if err := json.Unmarshal([]byte(c.change), &change); err != nil {
			t.Fatal(err)
		}
		got, err := defaults.With(change, defaults)
		e, _ := errors.AsType[*Error](err)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.change, err)
		case c.says == "":
			for name, want := range change {
				raw, err := got.Value(name)
				var a, b any
				if err := errors.Join(err, json.Unmarshal(raw, &a),
					json.Unmarshal(want, &b)); err != nil || !reflect.DeepEqual(a, b) {
					t.Errorf("%s: %s is %s: %v", c.change, name, raw, err)
				}
			}
		case e == nil || e.Code != CodeInvalid || e.Param != c.param ||
			!strings.Contains(e.Message, c.says) || !strings.HasPrefix(e.Message, c.param):
			t.Errorf("%s: %v, want %q at %q", c.change, err, c.says, c.param)
		}
	}
	if !reflect.DeepEqual(defaults, DefaultSettings()) {
		t.Error("a change alters the settings that it starts from")
	}
}

// null restores the default that the program started with.
func TestNullSetsTheDefaultBack(t *testing.T) {
	defaults := DefaultSettings()
	defaults.HubCache = "/here"
	s := defaults
	s.HubCache, s.Port = "/there", 9000
	s, err := s.With(SettingsChange{"hub_cache": json.RawMessage("null")}, defaults)
	if err != nil || s.HubCache != "/here" || s.Port != 9000 {
		t.Errorf("%+v: %v", s, err)
	}
}

// Each field has one name, and no two fields share it.
func TestEachSettingHasItsOwnName(t *testing.T) {
	names := SettingNames()
	sorted := slices.Sorted(slices.Values(names))
	if slices.Contains(names, "") || len(slices.Compact(sorted)) != len(names) {
		t.Errorf("the names are %q", names)
	}
}

// FuzzSettings expects that accepted settings stay the same when they are written and read again.
// No input causes a panic.
func FuzzSettings(f *testing.F) {
	f.Add(`{"port": 9000, "allowed_hosts": ["a"], "hub_proxy": "http://x:1"}`)
	f.Add(`{"keep_requests": null, "network": false}`)
	f.Fuzz(func(t *testing.T, text string) {
		var change SettingsChange
		if json.Unmarshal([]byte(text), &change) != nil {
			return
		}
		s, err := DefaultSettings().With(change, DefaultSettings())
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again := SettingsChange{}
		for name, value := range change {
			if string(value) == "null" {
				again[name] = value
			} else if again[name], err = s.Value(name); err != nil {
				t.Fatal(err)
			}
		}
		if same, err := DefaultSettings().With(again, DefaultSettings()); err != nil ||
			!reflect.DeepEqual(same, s) {
			t.Fatalf("%q: %+v, then %+v: %v", text, s, same, err)
		}
	})
}
