package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
)

// saveReport saves the report of this moment, as the window does.
func saveReport(ctx context.Context, c *control.Client) (control.Saved, error) {
	report, err := control.Ask(ctx, c, control.GetDiagnosis)
	if err != nil {
		return control.Saved{}, err
	}
	return control.Call(ctx, c, control.SaveDiagnosis, control.SaveReport{Text: string(report)})
}

// The report has nothing that a person wrote, or that is named after one: no prompt, answer, title,
// system prompt, tool, schema, key, machine or folder. The tokenizer of the tiny model has the letters
// of the words.
func TestReportHasNoTextOrNameOfAPerson(t *testing.T) {
	const text, person = "sesamesesame", "adalove"
	user := filepath.Join(t.TempDir(), person)
	shelf := filepath.Join(t.TempDir(), person, "models")
	for _, dir := range []string{filepath.Join(user, "Downloads"), shelf} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, Options{Model: writeModel(t, "tiny"), Home: filepath.Join(user, "tandem"), UserHome: user,
		Version: "1.2.3", IssuePage: "https://example.org/issues"}, "127.0.0.1:0")
	c, ctx := r.client(t), t.Context()
	call := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := control.Call(ctx, c, control.AddKey, control.KeyRequest{Name: person + "'s telephone"})
	call(key, err)
	call(r.change(t, fmt.Sprintf(`{"allowed_hosts": [%q], "allowed_origins": [%q], "model_folders": [%q],
		"hub_token": "hf_%s", "hub_proxy": "http://ada:%[4]s@127.0.0.1:3128"}`,
		person+".local", "http://"+person+".local", shelf, text)))
	call(control.Call(ctx, c, control.SetPreset, control.Preset{Name: person, System: text}))
	chat, err := control.Call(ctx, c, control.AddChat, control.ChatRequest{Kind: "chat", Title: text, System: text})
	call(chat, err)
	for _, role := range []string{"user", "assistant"} {
		call(control.Call(ctx, c, control.AddMessage,
			control.NewMessage{Chat: chat.ID, MessageRequest: control.MessageRequest{Role: role, Content: text}}))
	}

	asks := func(fields string) {
		a := r.sendAs(person+"-agent/1.0", "/v1/chat/completions", `{"max_tokens": 4, `+fields+`}`)
		if a.err != nil {
			t.Fatal(a.err)
		}
	}
	said := fmt.Sprintf(`"messages": [{"role": "system", "content": %q}, {"role": "user", "content": %[1]q}]`, text)
	function := fmt.Sprintf(`{"name": %q, "description": %[1]q, "parameters": {"type": "object", "properties": {%[1]q: {"type": %[1]q}}}}`, text)
	for _, fields := range []string{
		`"model": "` + person + `"`, `"model": "say \"` + text + `\" to ` + person + `", ` + said,
		`"model": "tandem", ` + said, `"model": "tandem", "temperature": "` + text + `", ` + said,
		`"model": "tandem", "tools": [{"type": "function", "function": ` + function + `}], ` + said,
		`"model": "tandem", "tool_choice": {"type": "function", "function": {"name": "` + text + `"}}, ` + said,
		`"model": "tandem", "response_format": {"type": "json_schema", "json_schema": {"name": "` + text +
			`", "schema": {"type": "object", "required": ["` + text + `"], "properties": {"` + text + `": {"type": "` + text + `"}}}}}, ` + said,
		`"model": "tandem", "logit_bias": {"` + text + `": "` + text + `"}, "` + text + `": "` + text + `", ` + said,
		`"model": "tandem", "messages": [{"role": "` + text + `", "` + text + `": {"` + text + `": 1}}]`,
	} {
		asks(fields)
	}
	for range 2 { // the second prompt is restored, and the answer to both is the prompt itself
		a := r.Send("/v1/completions", `{"model": "tandem", "prompt": "`+text+`", "echo": true, "max_tokens": 4}`)
		if a.err != nil || !strings.Contains(a.body, text) {
			t.Fatalf("the answer has no secret: %+v", a)
		}
	}
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })

	shown, err := control.Ask(ctx, c, control.GetDiagnosis)
	call(shown, err)
	saved, err := control.Call(ctx, c, control.SaveDiagnosis, control.SaveReport{Text: string(shown)})
	call(saved, err)
	report := readText(t, saved.Path)
	if strings.TrimSuffix(report, "\n") != string(shown) {
		t.Error("the file is not what was shown")
	}
	for _, secret := range []string{text, person, key.Secret, user} {
		for line := range strings.Lines(report) {
			if strings.Contains(line, secret) {
				t.Errorf("the report has %s: %s", secret, line)
			}
		}
	}

	// It still helps.
	var d control.Diagnosis
	if err := json.Unmarshal(shown, &d); err != nil {
		t.Fatal(err)
	}
	if d.Machine.System == "" || d.Version == "" || d.State.IssuePage == "" || len(d.Models) == 0 || len(d.Log) == 0 {
		t.Errorf("the report lacks something: %s", report)
	}
	if n := len(d.Settings.Settings.AllowedHosts); n != 1 {
		t.Errorf("it has %d allowed hosts, want the number of them, 1", n)
	}
	clients, models := map[string]bool{}, map[string]bool{}
	for _, run := range d.Runs {
		clients[run.Client], models[run.Model] = true, true
	}
	if want := []string{"program 1", "program 2"}; len(clients) != 2 || !clients[want[0]] || !clients[want[1]] {
		t.Errorf("the clients are %v, want %q", clients, want)
	}
	if !models[unknownModel] || !models[d.State.Choice] {
		t.Errorf("the models of runs are %v, want %s and %q", models, d.State.Choice, unknownModel)
	}
	if !slices.ContainsFunc(d.Log, func(l control.LogLine) bool { return strings.Contains(l.Text, "model="+d.State.Choice) }) {
		t.Error("no line of the log names the model")
	}
	if call, err := control.Call(ctx, c, control.SaveDiagnosis, control.SaveReport{Text: "no JSON"}); codeOf(err) != control.CodeInvalid {
		t.Errorf("another text is saved: %+v, %v", call, err)
	}
}

func TestReportLeavesOutUnknownModels(t *testing.T) {
	const gone = `model="a model that is not here"`
	for line, want := range map[string]string{
		"model loaded model=tiny ms=5":               "model loaded model=tiny ms=5",
		`request run=1 model="" status=400`:          `request run=1 model="" status=400`,
		"request run=1 model=ada status=404":         "request run=1 " + gone + " status=404",
		`request run=1 model="a \"b\" c" status=404`: "request run=1 " + gone + " status=404",
		`request run=1 model="cut within \"it an…`:   "request run=1 " + gone,
	} {
		names := unknownNames{here: []string{"tiny"}, known: func(string) bool { return false }}
		if got := names.ofLine(line); got != want {
			t.Errorf("%s becomes %s, want %s", line, got, want)
		}
	}
}

// The name of a model that is not here, and the host of a hub of one's own, are left out also where an
// error or an address has them. Other words stay, and so do models here and in the catalogue.
func TestReportLeavesOutNamesInErrors(t *testing.T) {
	names := unknownNames{here: []string{"acme/coder", "acme/tiny-2", "ada/secret-of-all"}, known: func(id string) bool { return id == "org/offered" }}
	names.addHosts("https://hub.ada.example:8443/x", "http://ada:pw@proxy.lan", "https://huggingface.co", "", "http://localhost:1", "http://127.0.0.1", "http://[::1]:3")
	for name, want := range map[string]string{
		"acme/tiny": unknownModel, "ada/secret": unknownModel, "ada/secret-2": unknownModel, "error": unknownModel, "n/x": unknownModel,
		`a"/b`: unknownModel, "acme/coder": "acme/coder", "org/offered": "org/offered", "": "",
	} {
		if got := names.ofModel(name); got != want {
			t.Errorf("%s is called %s, want %s", name, got, want)
		}
	}
	const gone = unknownModel
	for text, want := range map[string]string{
		`{"error":"no model ada/secret"}`:                     `{"error":"no model ` + gone + `"}`,
		`"https://hub.ada.example:8443/ada/secret/resolve/x"`: `"https://…:8443/` + gone + `/resolve/x"`,
		`"open /c/models--ada--secret-2/blobs"`:               `"open /c/` + gone + `/blobs"`,
		`"ada/secret,ada/secret,ada/secret-2"`:                `"` + gone + "," + gone + "," + gone + `"`,
		`"proxyconnect proxy.lan: refused"`:                   `"proxyconnect …: refused"`,
		`"a\n/x"`:                                             `"a\n/x"`,
		`"http://localhost and 127.0.0.1"`:                    `"http://localhost and 127.0.0.1"`,
		`"ada/secrets"`:                                       `"ada/secrets"`,
		`"https://huggingface.co/acme/coder"`:                 `"https://huggingface.co/acme/coder"`,
		`"first\nada/secret"`:                                 `"first\n` + gone + `"`,
		`"\u003cada/secret\u003e \tada/secret"`:               `"\u003c` + gone + `\u003e \t` + gone + `"`,
		`"msg=\"bad:\\nada/secret\""`:                         `"msg=\"bad:\\n` + gone + `\""`,
		`"ada%2Fsecret?x, ada/secret."`:                       `"` + gone + `?x, ` + gone + `."`,
		`"ada/secret.gguf and ada/secret-3"`:                  `"` + gone + ` and ` + gone + `"`,
		`"acme/tiny-2 beside acme/tiny"`:                      `"acme/tiny-2 beside ` + gone + `"`,
		`"/c/models--acme--tiny-2/x, models--acme--tiny/y"`:   `"/c/models--acme--tiny-2/x, ` + gone + `/y"`,
		`"ada/secret-of-all, xada/secret, x-ada/secret"`:      `"ada/secret-of-all, xada/secret, x-ada/secret"`,
		`"https://cdn.hub.ada.example/x"`:                     `"https://…/x"`,
		`"lookup a.b-c.HUB.ada.example: no such host"`:        `"lookup …: no such host"`,
		`"nohub.ada.example"`:                                 `"nohub.ada.example"`,
	} {
		if got := string(names.replace([]byte(text))); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestReportNamesKnownProgramsAlone(t *testing.T) {
	counted := map[string]string{}
	for _, c := range []struct{ client, want string }{
		{"claude-cli/2.1", "Claude Code"}, {"ada", "program 1"}, {"bob/2", "program 2"}, {"ada", "program 1"}, {"", ""},
		{"tandem", "Command line"},
	} {
		if got := programName(c.client, counted); got != c.want {
			t.Errorf("%s is called %q, want %q", c.client, got, c.want)
		}
	}
}
