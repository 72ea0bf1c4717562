package connect

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/settings"
	"tandem/storage"
)

// A fixture is the Connections of a home folder whose endpoint is at an address.
type fixture struct {
	*Connections
	address string
}

func open(t *testing.T, dir string) *fixture {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	db, err := storage.Open("", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, keys, err := settings.Open(t.Context(), db, h, slog.New(slog.DiscardHandler),
		settings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	f.Connections = New(db, h, store, keys,
		func() control.State { return control.State{Address: f.address} })
	return f
}

// requireKey sets require_key, to true or false.
func (f *fixture) requireKey(t *testing.T, value string) {
	t.Helper()
	c, err := f.settings.Begin(control.SettingsChange{"require_key": json.RawMessage(value)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.End()
	if err := errors.Join(c.Check(), c.Prepare()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// at walks a parsed text by names, and in lists by indexes such as "0".
func at(v any, path ...string) any {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			v = x[0]
		default:
			return nil
		}
	}
	return v
}

// What a person does with a text is said in two short sentences at most. Zed's names the
// key, the choice and the braces.
func TestEachClientSaysWhatToDoInShort(t *testing.T) {
	for _, c := range clients() {
		list := strings.Split(strings.TrimSuffix(c.where, "."), ". ")
		if c.where == "" || len(list) > 2 {
			t.Errorf("%s: %q has %d sentences", c.id, c.where, len(list))
		}
		for _, sentence := range list {
			if n := len(strings.Fields(sentence)); n > 25 {
				t.Errorf("%s: %q has %d words", c.id, sentence, n)
			}
		}
		for _, word := range map[string][]string{"zed": {"any key", "agent panel", "the braces"},
			"cline": {"each value"}, "claude": {"terminal", "paste"}}[c.id] {
			if !strings.Contains(c.where, word) {
				t.Errorf("%s: %q does not name %s", c.id, c.where, word)
			}
		}
	}
}

// Each client's text has the form that the client reads, and names the endpoint, the model and the
// key.
func TestEachClientCanReadItsText(t *testing.T) {
	parseJSON := func(text string) (v any, err error) {
		err = json.Unmarshal([]byte(text), &v)
		return v, err
	}
	parseYAML := func(text string) (v any, err error) {
		err = yaml.Unmarshal([]byte(text), &v)
		return v, err
	}
	parseTOML := func(text string) (any, error) {
		v := map[string]any{}
		_, err := toml.Decode(text, &v)
		return v, err
	}
	// This finds a word with the quoted text after it, or a name with its value.
	find := func(pattern string) func(text string) (any, error) {
		return func(text string) (any, error) {
			v := map[string]any{}
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
				v[m[1]] = m[2]
			}
			return v, nil
		}
	}
	parseCurl := func(text string) (any, error) {
		m := regexp.MustCompile(`(?s)^curl (\S+)/chat/completions .*-d '(.*)'\n$`).FindStringSubmatch(text)
		if m == nil {
			return nil, errors.New("it is no such call")
		}
		v, err := parseJSON(m[2])
		return map[string]any{"base": m[1], "body": v}, err
	}
	const base = "http://127.0.0.1:9999/v1"
	tests := map[string]struct {
		parse  func(string) (any, error)
		values map[string]any // by path
		key    []string
	}{
		"continue": {parseYAML, map[string]any{"models 0 apiBase": base,
			"models 0 model": "tandem", "models 0 provider": "openai",
			"models 0 defaultCompletionOptions contextLength": 4096, "schema": "v1"},
			[]string{"models", "0", "apiKey"}},
		"zed": {parseJSON,
			map[string]any{"language_models openai_compatible Tandem api_url": base,
				"language_models openai_compatible Tandem available_models 0 name":       "tandem",
				"language_models openai_compatible Tandem available_models 0 max_tokens": 4096.0}, nil},
		"cline": {find(`(?m)^([A-Za-z ]+): (.*)$`),
			map[string]any{"Base URL": base, "Model ID": "tandem", "Context Window Size": "4096"},
			[]string{"API Key"}},
		"opencode": {parseJSON, map[string]any{"provider tandem options baseURL": base,
			"model": "tandem/tandem", "provider tandem models tandem limit context": 4096.0},
			[]string{"provider", "tandem", "options", "apiKey"}},
		"aider": {parseYAML, map[string]any{"openai-api-base": base, "model": "openai/tandem"},
			[]string{"openai-api-key"}},
		"codex": {parseTOML, map[string]any{"model_providers tandem base_url": base,
			"model": "tandem", "model_provider": "tandem",
			"model_providers tandem wire_api":               "responses",
			"model_providers tandem stream_idle_timeout_ms": int64(3600000),
			"model_context_window":                          int64(4096)}, nil},
		"claude": {find(`(?m)^export (\w+)=(.*)$`),
			map[string]any{"ANTHROPIC_BASE_URL": "http://127.0.0.1:9999",
				"ANTHROPIC_MODEL": "tandem", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "tandem"},
			[]string{"ANTHROPIC_AUTH_TOKEN"}},
		"goose": {find(`(?m)^export (\w+)=(.*)$`), map[string]any{"OPENAI_HOST": "http://127.0.0.1:9999",
			"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "tandem", "GOOSE_CONTEXT_LIMIT": "4096"},
			[]string{"OPENAI_API_KEY"}},
		"crush": {find(`--(base-url|context-window|api-key) (\S+)`),
			map[string]any{"base-url": base, "context-window": "4096"}, []string{"api-key"}},
		"qwen": {parseJSON, map[string]any{"modelProviders openai 0 baseUrl": base, "modelProviders openai 0 id": "tandem",
			"modelProviders openai 0 generationConfig contextWindowSize": 4096.0, "model name": "tandem",
			"modelProviders openai 0 envKey": "TANDEM_API_KEY", "security auth selectedType": "openai"},
			[]string{"env", "TANDEM_API_KEY"}},
		"llm": {parseYAML, map[string]any{"0 api_base": base, "0 model_id": "tandem",
			"0 model_name": "tandem"}, nil},
		"curl": {parseCurl, map[string]any{"base": base, "body model": "tandem",
			"body messages 0 role": "user"}, nil},
		"python": {find(`(\w+)="([^"]*)"`), map[string]any{"base_url": base, "model": "tandem"},
			[]string{"api_key"}},
		"javascript": {find(`(\w+): '([^']*)'`), map[string]any{"baseURL": base, "model": "tandem"},
			[]string{"apiKey"}},
	}
	for _, c := range clients() {
		test, ok := tests[c.id]
		if !ok {
			t.Errorf("%s is not tested", c.id)
			continue
		}
		// These are lines, because the names of Cline's fields have spaces.
		walk := func(v any, path string) any {
			if m, ok := v.(map[string]any); ok && m[path] != nil {
				return m[path]
			}
			return at(v, strings.Fields(path)...)
		}
		v, err := test.parse(c.text(Endpoint{BaseURL: base, Model: control.Alias, Key: control.Alias, Context: 4096}))
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
		}
		for path, want := range test.values {
			if got := walk(v, path); got != want {
				t.Errorf("%s has %v (%[2]T) at %s, want %v (%[4]T)", c.id, got, path, want)
			}
		}
		// The endpoint config has a key, and a model whose context is unknown.
		text := c.text(Endpoint{BaseURL: base, Model: control.Alias, Key: placeholderKey})
		if v, err = test.parse(text); err != nil {
			t.Errorf("%s without a context: %v", c.id, err)
		}
		if test.key != nil && walk(v, strings.Join(test.key, " ")) != placeholderKey {
			t.Errorf("%s has no key in\n%s", c.id, text)
		}
		if strings.Contains(text, ": 0\n") {
			t.Errorf("%s has a context that is unknown:\n%s", c.id, text)
		}
		if c.file == "" && c.use != nil || c.file != "" && c.use == nil && c.command == nil {
			t.Errorf("%s has a file and no use, or the reverse", c.id)
		}
	}
	if len(tests) != len(clients()) {
		t.Errorf("%d clients are tested, want %d", len(tests), len(clients()))
	}
}

// Files are written only below the home folder. A file for another port is stale.
func TestFilesAreWrittenBelowTheHomeFolder(t *testing.T) {
	a := open(t, filepath.Join(t.TempDir(), "it's home"))
	of := func(id string) control.Connection {
		t.Helper()
		c, err := a.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Connections, func(c control.Connection) bool { return c.ID == id })
		return c.Connections[i]
	}
	a.address = "http://127.0.0.1:8263"
	if c := of("aider"); c.Written != control.WrittenNot {
		t.Errorf("before it is written: %+v", c)
	}
	c, err := a.WriteConnection(t.Context(), "aider")
	if err != nil || c.Written != control.WrittenCurrent ||
		c.File != a.home.Path("connect", "aider", "aider.conf.yml") {
		t.Fatalf("%+v, %v", c, err)
	}
	if c := of("continue"); c.Use != `cn --config '`+strings.ReplaceAll(c.File, "'", `'\''`)+`'` {
		t.Errorf("the command for %s is %s", c.File, c.Use)
	}
	if want := `aider --config '` + strings.ReplaceAll(c.File, "'", `'\''`) + `'`; c.Use != want {
		t.Errorf("the command is %s, want %s", c.Use, want)
	}
	text, err := os.ReadFile(c.File)
	if err != nil || string(text) != c.Text ||
		!strings.Contains(c.Text, "http://127.0.0.1:8263/v1") {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(c.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.File), ".*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}

	// The port changes.
	a.address = "http://127.0.0.1:8264"
	if c := of("aider"); c.Written != control.WrittenStale ||
		c.Endpoint != "http://127.0.0.1:8263" {
		t.Errorf("for another port: %+v", c)
	}
	if c, err = a.WriteConnection(t.Context(), "aider"); err != nil ||
		of("aider").Written != control.WrittenCurrent {
		t.Errorf("written again: %+v, %v", c, err)
	}
	// A person changes the file.
	if err := os.WriteFile(c.File, append([]byte(c.Text), "auto-commits: false\n"...),
		0o600); err != nil {
		t.Fatal(err)
	}
	if c := of("aider"); c.Written != control.WrittenStale || c.Endpoint != "" {
		t.Errorf("changed by a person: %+v", c)
	}

	for _, id := range []string{"", "emacs", "../aider", "cline", "zed"} {
		if _, err := a.WriteConnection(t.Context(), id); err == nil {
			t.Errorf("%q was written", id)
		} else if e, ok := errors.AsType[*control.Error](err); !ok ||
			e.Code != control.CodeInvalid {
			t.Errorf("%q: %v", id, err)
		}
	}
	// There is a file where the folder should be.
	if err := os.WriteFile(a.home.Path("connect", "llm"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = a.WriteConnection(t.Context(), "llm")
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeFolder {
		t.Errorf("%v", err)
	}
}

// A key that a person filled in does not make a file stale. It stays when the file is written
// again.
func TestFilledInKeyStays(t *testing.T) {
	a := open(t, t.TempDir())
	key, err := a.keys.AddKey(t.Context(), control.KeyRequest{Name: "aider"})
	if err != nil {
		t.Fatal(err)
	}
	a.requireKey(t, "true")
	// as a line, in quotes, in a header, in a call
	for _, id := range []string{"aider", "opencode", "curl", "python"} {
		a.address = "http://127.0.0.1:8263"
		written := func() control.Connection {
			t.Helper()
			all, err := a.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all.Connections,
				func(c control.Connection) bool { return c.ID == id })
			return all.Connections[i]
		}
		c, err := a.WriteConnection(t.Context(), id)
		if err != nil || strings.Count(c.Text, placeholderKey) != 1 {
			t.Fatalf("%s: %+v %v", id, c, err)
		}
		filled := strings.Replace(c.Text, placeholderKey, key.Secret, 1)
		if err := os.WriteFile(c.File, []byte(filled), 0o600); err != nil {
			t.Fatal(err)
		}
		if c := written(); c.Written != control.WrittenCurrent ||
			strings.Contains(c.Text, key.Secret) {
			t.Errorf("%s: with a key it is %q", id, c.Written)
		}
		a.address = "http://127.0.0.1:8264"
		if c := written(); c.Written != control.WrittenStale {
			t.Errorf("%s: for another port it is %q", id, c.Written)
		}
		if _, err := a.WriteConnection(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, want := readText(t, c.File), strings.Replace(filled, ":8263", ":8264",
			1); got != want || written().Written != control.WrittenCurrent {
			t.Errorf("%s: written again it has\n%s\nwant\n%s", id, got, want)
		}
	}
	set := func(change string) {
		t.Helper()
		a.requireKey(t, change)
	}
	again := func() string {
		t.Helper()
		c, err := a.WriteConnection(t.Context(), "aider")
		if err != nil || strings.Contains(c.Text, key.Secret) {
			t.Fatalf("%+v %v", c, err)
		}
		return readText(t, c.File)
	}
	stale := func() bool {
		t.Helper()
		all, err := a.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all.Connections,
			func(c control.Connection) bool {
				return c.ID == "aider" &&
					c.Written == control.WrittenStale
			})
	}
	// The key stays when no key is needed any more, because its secret is shown only once.
	set("false")
	if text := again(); stale() || strings.Count(text, key.Secret) != 1 {
		t.Errorf("without the need of a key it is stale %t, and has\n%s", stale(), text)
	}
	// A deleted key goes.
	if err := a.keys.DeleteKey(t.Context(), key.Key.ID); err != nil {
		t.Fatal(err)
	}
	if !stale() {
		t.Error("with a deleted key it is current")
	}
	if text := again(); strings.Contains(text, key.Secret) {
		t.Errorf("a deleted key is written again:\n%s", text)
	}
}

// Zed refuses a model that lacks a number or an ability without a default. It ignores unknown
// names, so such a name is our mistake. Names and kinds are from its settings of late 2026.
func TestZedFindsEveryFieldItNeeds(t *testing.T) {
	type abilities struct {
		Tools             *bool `json:"tools"`
		Images            *bool `json:"images"`
		ParallelToolCalls *bool `json:"parallel_tool_calls"`
		PromptCacheKey    *bool `json:"prompt_cache_key"`
	}
	type model struct {
		Name         *string    `json:"name"`
		DisplayName  string     `json:"display_name"`
		MaxTokens    *uint64    `json:"max_tokens"`
		Capabilities *abilities `json:"capabilities"`
	}
	type provider struct {
		APIURL          *string `json:"api_url"`
		AvailableModels []model `json:"available_models"`
	}
	for _, context := range []int{0, 4096} {
		var settings struct {
			LanguageModels struct {
				OpenAICompatible map[string]provider `json:"openai_compatible"`
			} `json:"language_models"`
		}
		text := zedText(Endpoint{BaseURL: "http://127.0.0.1:1/v1", Model: control.Alias, Key: control.Alias, Context: context})
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&settings); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for name, p := range settings.LanguageModels.OpenAICompatible {
			if p.APIURL == nil || len(p.AvailableModels) != 1 {
				t.Fatalf("%s: %+v", name, p)
			}
			m := p.AvailableModels[0]
			if m.Name == nil || m.MaxTokens == nil || *m.MaxTokens == 0 || m.Capabilities == nil {
				t.Fatalf("%s: %+v", name, m)
			}
			a := m.Capabilities
			if a.Tools == nil {
				t.Errorf("%s: a.Tools is nil", name)
			}
			if a.Images == nil {
				t.Fatalf("%s: a.Images is nil", name)
			}
			if *a.Images {
				t.Errorf("%s: *a.Images = true, want false", name)
			}
			if a.ParallelToolCalls == nil {
				t.Errorf("%s: a.ParallelToolCalls is nil", name)
			}
			if a.PromptCacheKey == nil {
				t.Errorf("%s: a.PromptCacheKey is nil", name)
			}
		}
		if len(settings.LanguageModels.OpenAICompatible) != 1 {
			t.Errorf("there is no provider in\n%s", text)
		}
	}
}

// A container's 127.0.0.1 is its own, so a program in it calls its host by a name.
func TestConnectShowsTheAddressForContainers(t *testing.T) {
	a := open(t, t.TempDir())
	for address, want := range map[string]string{
		"":                      "http://host.docker.internal:8263/v1",
		"http://127.0.0.1:9000": "http://host.docker.internal:9000/v1",
	} {
		a.address = address
		if all, err := a.Connect(t.Context()); err != nil || all.ContainerURL != want {
			t.Errorf("%q: %q %v, want %q", address, all.ContainerURL, err, want)
		}
	}
}

// The models with a longer context are listed, without the demo model, which knows nothing.
func TestConnectListsModelsWithALongerContext(t *testing.T) {
	a := open(t, t.TempDir())
	for id, source := range map[string]string{"pocket": storage.SourcePocket, "long": storage.SourceFolder} {
		if _, err := a.db.Models.Register(t.Context(), storage.Model{ID: id, Source: source, Path: "/" + id,
			ContextLength: 32_768}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := a.Connect(t.Context())
	if want := []control.LongerModel{{ID: "long", Context: 32_768}}; err != nil || !slices.Equal(all.Longer, want) {
		t.Errorf("%v %v, want %v", all.Longer, err, want)
	}
}
