package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A value on the command line becomes the JSON that its setting takes.
func TestSettingValuesBecomeJSON(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"port", "9000", "9000"},
		{"port", "null", "null"},
		{"port", "high", `"high"`}, // the server refuses it and names the setting
		{"network", "true", "true"},
		{"allowed_hosts", "a.example,b.example", `["a.example","b.example"]`},
		{"allowed_hosts", `["a.example"]`, `["a.example"]`},
		{"allowed_hosts", "", "[]"},
		{"hub_cache", "/a b", `"/a b"`},
		{"hub_cache", "7", `"7"`},
		{"keep_requests", "30d", `"30d"`},
		{"checkpoint_disk", "20GB", "20000000000"},
		{"checkpoint_disk", "0", "0"},
		{"nothing", "x", `"x"`},
	} {
		if got := string(settingValue(c.name, c.text)); got != c.want {
			t.Errorf("%s=%s becomes %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// The list names the source of each setting. A setting is in force in the next process too. A wrong
// command line fails with the reason.
func TestSettingsAreListedWithTheirSource(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	if code := c.tandem(t.Context(), "settings", "set", "idle_unload_minutes=30",
		"allowed_hosts=mac.example"); code != 0 ||
		c.stderr != "tandem: allowed_hosts counts from now on\ntandem: idle_unload_minutes counts from now on\n" {
		t.Fatalf("exit %d: %s", code, c.stderr)
	}
	c = newConsole(t, home)
	if code := c.tandem(t.Context(), "settings"); code != 0 {
		t.Fatalf("exit %d: %s", code, c.stderr)
	}
	for _, want := range []string{"idle_unload_minutes 30 setting",
		`allowed_hosts ["mac.example"] setting`, "port 8263 default", "hub_token not set default"} {
		if text := strings.Join(strings.Fields(c.stdout), " "); !strings.Contains(text, want) {
			t.Errorf("the list lacks %q: %s", want, text)
		}
	}
	for _, bad := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"settings", "set"}, 2, "NAME=VALUE"},
		{[]string{"settings", "set", "port"}, 2, "NAME=VALUE"},
		{[]string{"settings", "set", "port=80"}, 1, "between 1024 and 65535"},
		{[]string{"settings", "set", "colour=red"}, 1, `no setting "colour"`},
		{[]string{"settings", "set", "hub_token=hf_x"}, 2, "HF_TOKEN"},
		{[]string{"settings", "get"}, 2, "no verb"},
		{[]string{"keys", "delete", "nobody"}, 1, "no key"},
		{[]string{"keys", "add"}, 2, "a key's name"},
	} {
		c := newConsole(t, home)
		if code := c.tandem(t.Context(), bad.args...); code != bad.code ||
			!strings.Contains(c.stderr, bad.says) {
			t.Errorf("%v: exit %d, want %d and %q: %s",
				bad.args, code, bad.code, bad.says, c.stderr)
		}
	}
}

// The list shows the address of the proxy without its password.
func TestSettingsListHasNoPassword(t *testing.T) {
	home := newHome(t)
	if code := newConsole(t, home).tandem(t.Context(), "settings", "set",
		"hub_proxy=http://ada:sesame@proxy.example:3128"); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, args := range [][]string{{"settings"}, {"settings", "--json"}} {
		c := newConsole(t, home)
		if code := c.tandem(t.Context(), args...); code != 0 ||
			strings.Contains(c.stdout, "sesame") ||
			!strings.Contains(c.stdout, "http://proxy.example:3128") {
			t.Errorf("%v: exit %d, want the proxy without its password: %s", args, code, c.stdout)
		}
	}
}

// The doctor names the cache folder of the settings, with and without a server.
func TestDoctorNamesTheCacheFolder(t *testing.T) {
	home := newHome(t)
	c, set := newConsole(t, home), filepath.Join(t.TempDir(), "set")
	delete(c.env, "HF_HUB_CACHE")
	if code := c.tandem(t.Context(), "settings", "set", "hub_cache="+set); code != 0 {
		t.Fatalf("exit %d: %s", code, c.stderr)
	}
	c.tandem(t.Context(), "doctor")
	if !strings.Contains(c.stdout, set+", made by") {
		t.Errorf("the doctor says %s, want %s", c.stdout, set)
	}
	p := serveProcess(t, home)
	defer p.stop(t)
	c.tandem(t.Context(), "doctor")
	if !strings.Contains(c.stdout, "/hub, made by") {
		t.Errorf("with a server the doctor says %s, want the server's folder", c.stdout)
	}
}

// A key is printed once. Later lists show only its name.
func TestKeyIsPrintedOnce(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	if code := c.tandem(t.Context(), "keys", "add", "phone"); code != 0 {
		t.Fatalf("exit %d: %s", code, c.stderr)
	}
	secret := strings.TrimSpace(c.stdout)
	if !strings.HasPrefix(secret, "tandem-") || strings.Contains(c.stderr, secret) {
		t.Errorf("keys add prints %q, and %q on standard error", secret, c.stderr)
	}
	if code := c.tandem(t.Context(), "keys", "add", "phone"); code != 1 ||
		c.stderr != "tandem: There is a key \"phone\" already; choose another name.\n" {
		t.Errorf("a second key of the name: exit %d, %q", code, c.stderr)
	}
	c = newConsole(t, home)
	if code := c.tandem(t.Context(), "keys"); code != 0 || !strings.Contains(c.stdout, "phone") ||
		strings.Contains(c.stdout, secret) {
		t.Errorf("keys: exit %d, want the name alone: %s", code, c.stdout)
	}
	if code := newConsole(t, home).tandem(t.Context(), "keys", "delete", "phone"); code != 0 {
		t.Errorf("keys delete: exit %d", code)
	}
}

// A flag and the environment win over the settings, and the list says so.
func TestFlagsAndEnvironmentWinOverSettings(t *testing.T) {
	home := newHome(t)
	if code := newConsole(t, home).tandem(t.Context(), "settings", "set",
		"hub_endpoint=https://set.example", "checkpoint_disk=68MB"); code != 0 {
		t.Fatalf("exit %d", code)
	}
	t.Setenv("HF_ENDPOINT", "https://env.example")
	t.Setenv("HTTPS_PROXY", "http://ada:secret@proxy.example:3128")
	p := serveProcess(t, home, "--checkpoint-disk", "70MB")
	defer p.stop(t)
	st, err := control.Ask(t.Context(), client(t, home), control.GetSettings)
	if err != nil {
		t.Fatal(err)
	}
	s := st.Settings
	if s.HubEndpoint != "https://env.example" || s.CheckpointDisk != 7e7 ||
		s.HubProxy != "http://proxy.example:3128" {
		t.Errorf("the settings are %+v, want those of the flag and the environment", s)
	}
	by := map[string]string{}
	for _, x := range st.Sources {
		by[x.Name] = string(x.Source) + " " + x.By
	}
	for name, want := range map[string]string{
		"hub_endpoint": "environment HF_ENDPOINT", "checkpoint_disk": "flag --checkpoint-disk",
		"hub_proxy": "environment HTTPS_PROXY", "port": "flag --addr",
		"keep_requests": "default ",
	} {
		if by[name] != want {
			t.Errorf("%s is decided by %q, want %q", name, by[name], want)
		}
	}
}

// The setting kv_bits decides how keys and values are kept. The environment wins over it, and the flag
// over both. A request by `run` says so too, and cannot change what another process loaded.
func TestKVBitsAreAFlagAVariableAndASetting(t *testing.T) {
	home := newHome(t)
	c := newConsole(t, home)
	dir := enginetest.TinyModel(t, "qwen3", map[string]any{"head_dim": 32})
	c.must(t, "settings", "set", "kv_bits=8")
	bits := func() int {
		t.Helper()
		var runs []control.Run
		enginetest.Await(t, "the run's row is complete", func() bool { // after the answer
			list, err := control.Call(t.Context(), client(t, home), control.ListRuns,
				control.RunQuery{})
			runs = list.Runs
			if err != nil || len(runs) == 0 {
				t.Fatal(runs, err)
			}
			return !runs[0].EndedAt.IsZero()
		})
		return runs[0].KVBits
	}
	p := serveProcess(t, home, "--model", dir)
	waitState(t, client(t, home), func(s control.State) bool { return s.Phase == control.PhaseReady })
	c.must(t, "run", "--max-tokens", "2", "x")
	if got := bits(); got != 8 {
		t.Errorf("the setting gives %d bits", got)
	}
	c.must(t, "run", "--kv-bits", "8", "--max-tokens", "2", "x") // which the model has
	if list := c.must(t, "models"); !strings.Contains(list, ", kv_bits 8 ") {
		t.Errorf("the list of models has no bits: %s", list)
	}
	if found := c.must(t, "doctor"); !strings.Contains(found, ", ready, kv_bits 8\n") {
		t.Errorf("the doctor tells no bits: %s", found)
	}
	if code := c.tandem(t.Context(), "run", "--kv-bits", "4", "x"); code != 1 ||
		!strings.Contains(c.stderr, "has kv_bits 8, ") ||
		!strings.Contains(c.stderr, "tandem settings set kv_bits=N") {
		t.Errorf("run --kv-bits beside a server: exit %d, %s", code, c.stderr)
	}
	c.must(t, "settings", "set", "kv_bits=4")
	if !strings.HasPrefix(c.stderr, "tandem: kv_bits counts from the next load on; `tandem models unload` ") {
		t.Errorf("a setting that counts later: %q", c.stderr)
	}
	unloadAlone := func(set string) {
		t.Helper()
		if code := c.tandem(t.Context(), "run", "--kv-bits", "4", "x"); code != 1 ||
			!strings.Contains(c.stderr, "its next load has 4, so unload it by `tandem models unload`") ||
			strings.Contains(c.stderr, "change what is set") || strings.Contains(c.stderr, "kv_bits=N") {
			t.Errorf("run --kv-bits as %s has it since the load: exit %d, %s", set, code, c.stderr)
		}
	}
	unloadAlone("the setting")
	c.must(t, "models", "unload")
	c.must(t, "run", "--kv-bits", "4", "--max-tokens", "2", "x") // which its load gives it
	if got := bits(); got != 4 {
		t.Errorf("the changed setting gives %d bits", got)
	}
	c.must(t, "settings", "set", "kv_bits=8")
	c.must(t, "models", "unload")
	c.must(t, "run", "--max-tokens", "2", "x") // which loads it with 8
	setOwnBits(t, home, `{"model": "tandem", "kv_bits": 4}`)
	unloadAlone("the model")
	c.must(t, "models", "unload")
	c.must(t, "run", "--kv-bits", "4", "--max-tokens", "2", "x") // which is set for the model
	if code := c.tandem(t.Context(), "run", "--kv-bits", "8", "x"); code != 1 ||
		!strings.Contains(c.stderr, "change what is set for the model") {
		t.Errorf("run --kv-bits against what is set for the model: exit %d, %s", code, c.stderr)
	}
	p.stop(t)
	p = serveProcess(t, home, "--model", dir, "--kv-bits", "4") // which the setting cannot change
	if code := c.tandem(t.Context(), "run", "--kv-bits", "8", "x"); code != 1 ||
		!strings.Contains(c.stderr, "there --kv-bits decides, so stop that Tandem") ||
		strings.Contains(c.stderr, "settings set") {
		t.Errorf("run --kv-bits beside a server with a flag: exit %d, %s", code, c.stderr)
	}
	p.stop(t)
	for _, x := range []struct {
		env  string
		args []string
		want int
	}{{"4", nil, 4}, {"4", []string{"--kv-bits", "0"}, 0}, {"", []string{"--kv-bits", "4"}, 4}} {
		c.env["TANDEM_KV_BITS"] = x.env
		c.must(t, append([]string{"run", "--json", "--max-tokens", "2"}, append(x.args, "x")...)...)
		c.env["TANDEM_KV_BITS"] = ""
		runs := lines[control.Run](t, c.must(t, "runs", "--json"))
		if runs[0].KVBits != x.want {
			t.Errorf("variable %q, flags %v: %d bits, want %d", x.env, x.args, runs[0].KVBits, x.want)
		}
	}
	c.env["TANDEM_KV_BITS"] = "many"
	if code := c.tandem(t.Context(), "run", "x"); code != 1 ||
		!strings.Contains(c.stderr, "TANDEM_KV_BITS must be 8, 4 or 0") {
		t.Errorf("TANDEM_KV_BITS=many: exit %d, %s", code, c.stderr)
	}
}

// setOwnBits posts the settings of a model to the process that serves the home folder.
func setOwnBits(t *testing.T, home, body string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", control.SocketPath(home))
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Post("http://tandem/app/model-settings", "application/json",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", body, resp.Status)
	}
}

// The setting dtype decides in which type a model computes, and the flag of that name wins over it.
func TestDtypeIsAFlagAndASetting(t *testing.T) {
	home, dir := newHome(t), filepath.Join(t.TempDir(), "packed")
	if err := os.CopyFS(dir, enginetest.RecordedModel(t, "../../../models/testdata/parity",
		"llama-4bit")); err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, home)
	c.must(t, "settings", "set", "dtype=checkpoint")
	for _, run := range []struct {
		flags  []string
		dtype  string
		source control.SettingState
	}{
		{nil, "BF16", control.SettingState{Source: control.FromSetting}},
		{[]string{"--dtype", "auto"}, "F32",
			control.SettingState{Source: control.FromFlag, By: "--dtype"}},
	} {
		p := serveProcess(t, home, append([]string{"--model", dir}, run.flags...)...)
		st := waitState(t, client(t, home),
			func(s control.State) bool { return s.Phase == control.PhaseReady })
		if st.Loaded.Dtype != run.dtype {
			t.Errorf("%v: it computes in %s, want %s", run.flags, st.Loaded.Dtype, run.dtype)
		}
		set, err := control.Ask(t.Context(), client(t, home), control.GetSettings)
		run.source.Name = "dtype"
		if err != nil || !slices.Contains(set.Sources, run.source) {
			t.Errorf("%v: %+v, %v, want %+v", run.flags, set.Sources, err, run.source)
		}
		p.stop(t)
	}
	if code := c.tandem(t.Context(), "serve", "--dtype", "int1"); code != 2 ||
		!strings.Contains(c.stderr, "auto, float32 or checkpoint") {
		t.Errorf("--dtype int1: exit %d, %s", code, c.stderr)
	}
}
