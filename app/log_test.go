package app

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// The ring keeps the latest lines in order, with the attributes of the logger. A waiting reader
// learns of the next line. Lines of level debug are dropped, and long lines are cut.
func TestLogRingKeepsTheLatestLinesInOrder(t *testing.T) {
	ring := newLogRing()
	log := slog.New(ringHandler{ring: ring})
	_, more := ring.after(0)
	log.Debug("not for a person")
	select {
	case <-more:
		t.Error("a line of level debug is kept")
	default:
	}
	log.With("model", "m").WithGroup("g").Warn("odd", "n", 1)
	select {
	case <-more:
	default:
		t.Error("the waiting reader does not learn of a new line")
	}
	lines, _ := ring.after(0)
	if len(lines) != 1 {
		t.Fatalf("len(lines) = %v, want 1", len(lines))
	}
	if lines[0].Text != "odd model=m g.n=1" {
		t.Errorf(`lines[0].Text = %q, want "odd model=m g.n=1"`, lines[0].Text)
	}
	if lines[0].Level != "WARN" {
		t.Errorf(`lines[0].Level = %q, want "WARN"`, lines[0].Level)
	}
	if lines[0].Seq != 1 {
		t.Errorf("lines[0].Seq = %v, want 1", lines[0].Seq)
	}
	if lines[0].Time.IsZero() {
		t.Error("lines[0].Time is zero")
	}
	for i := range maxLogLines + 5 {
		log.Info("line", "i", i)
	}
	lines, _ = ring.after(0)
	if len(lines) != maxLogLines || lines[0].Seq != 7 || lines[len(lines)-1].Seq != maxLogLines+6 {
		t.Errorf("%d lines, from %d to %d", len(lines), lines[0].Seq, lines[len(lines)-1].Seq)
	}
	if some, _ := ring.after(maxLogLines + 4); len(some) != 2 {
		t.Errorf("%d lines after the last but two, want 2", len(some))
	}
	log.Info(strings.Repeat("é", maxLogLine))
	if lines, _ = ring.after(maxLogLines + 6); len(lines[0].Text) > maxLogLine+len("…") {
		t.Errorf("a long line has %d bytes", len(lines[0].Text))
	}
}

// secret is in every prompt of the next test. The tokenizer of the tiny model has its letters.
const secret = "sesamesesame"

// The log, the report and the exported settings have no text of a prompt, no hub token, no
// password and no key. This holds whether a request succeeds or fails.
func TestLogAndReportHaveNoPromptTokenOrKey(t *testing.T) {
	user := t.TempDir()
	home := filepath.Join(user, "tandem")
	r := start(t, Options{Model: writeModel(t, "tiny"), Home: home, UserHome: user}, "127.0.0.1:0")
	c := r.client(t)
	key, err := control.Call(t.Context(), c, control.AddKey, control.KeyRequest{Name: "zed"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.change(t, `{"hub_token": "hf_`+secret+`", "hub_proxy": "http://ada:`+secret+`@127.0.0.1:3128"}`); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"model": "tandem", "prompt": "` + secret + `", "max_tokens": 4}`,
		`{"model": "tandem", "prompt": "` + secret + `", "max_tokens": 4, "stream": true}`,
		`{"model": "tandem", "prompt": "` + secret + strings.Repeat(secret, 3) +
			`", "max_tokens": 4}`,
		`{"model": "tandem", "prompt": "` + secret + strings.Repeat("abc", 12) +
			`", "max_tokens": 4}`,
		`{"model": "tandem", "prompt": "` + strings.Repeat(secret, 5000) + `"}`,
		`{"model": "tandem", "prompt": "` + secret + `", "temperature": "` + secret + `"}`,
		`{"model": "tandem", "prompt": "` + secret + `", "stop": ["` + secret + `"], "suffix": "` +
			secret + `"}`,
		`{"model": "tandem", "prompt": "` + secret,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			r.url+"/v1/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key.Secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	await(t, c, func(s control.State) bool { return len(s.Active) == 0 })

	// A verdict names two tokens of an answer.
	if err := r.history.KeepVerdict(t.Context(),
		control.Replayed{Run: 1, Tokens: 4, Same: 2, Answered: secret, Now: secret}); err != nil {
		t.Fatal(err)
	}
	// The verdict of run 2 has a form that no version writes.
	if err := r.db.Runs.SetVerdict(t.Context(), 2, json.RawMessage(`"`+secret+`"`)); err != nil {
		t.Fatal(err)
	}

	lines, err := control.Ask(t.Context(), c, control.GetLog)
	if err != nil || len(lines.Lines) < 6 {
		t.Fatalf("the log has %d lines: %v, want 6 or more", len(lines.Lines), err)
	}
	saved, err := saveReport(t.Context(), c)
	if err != nil || filepath.Dir(saved.Path) != user {
		t.Fatalf("the report is at %+v %v, want it in %s", saved, err, user)
	}
	exported, err := control.Ask(t.Context(), c, control.ExportSettings)
	if err != nil {
		t.Fatal(err)
	}
	report, settings := readText(t, saved.Path), readText(t, exported.Path)
	for name, text := range map[string]string{"the log": fmt.Sprint(lines), "the report": report,
		"the settings": settings} {
		for _, s := range []string{secret, key.Secret,
			fmt.Sprintf("%x", sha256.Sum256([]byte(key.Secret)))} {
			if strings.Contains(text, s) {
				t.Errorf("%s has the secret %s: %s", name, s, text)
			}
		}
	}
	if strings.Contains(report, user) || !strings.Contains(report, `"home": "~/tandem"`) {
		t.Errorf("the report names the user's folder: %s", report)
	}
	var d control.Diagnosis
	if err := json.Unmarshal([]byte(report), &d); err != nil {
		t.Fatalf("the report: %v", err)
	}
	if len(d.Runs) != 8 {
		t.Errorf("the report: len(d.Runs) = %v, want 8", len(d.Runs))
	}
	if d.Keys != 1 {
		t.Errorf("the report: d.Keys = %v, want 1", d.Keys)
	}
	if len(d.Log) == 0 {
		t.Error("the report: len(d.Log) is 0")
	}
	if d.Machine.Engine == "" {
		t.Error("the report: d.Machine.Engine is empty")
	}
	if d.Settings.Settings.HubProxy != "http://127.0.0.1:3128" {
		t.Errorf(`the report: d.Settings.Settings.HubProxy = %q, want "http://127.0.0.1:3128"`,
			d.Settings.Settings.HubProxy)
	}
	parted := 0
	runs, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs.Runs {
		if len(r.Divergence) > 0 {
			parted++
		}
		if len(d.Runs[i].Divergence) > 0 {
			t.Errorf("the report tells where run %d parted from another: %s", r.ID, d.Runs[i].Divergence)
		}
	}
	first, err := control.VerdictOf(d.Runs[len(d.Runs)-1])
	if want := (control.Replayed{Run: 1, Tokens: 4, Same: 2, Forgotten: true}); err != nil ||
		first == nil || *first != want {
		t.Errorf("the report has the verdict %+v, want %+v: %v", first, want, err)
	}
	if parted == 0 {
		t.Error("no run says where it parted, so the test shows nothing")
	}
	if st, err := control.Ask(t.Context(), c, control.GetSettings); err != nil ||
		!strings.Contains(st.Settings.HubProxy, secret) {
		t.Errorf("the proxy's password is lost: %+v %v", st.Settings, err)
	}
}

// A saved file goes to Downloads. If its name is taken there, the new file gets a number.
func TestSavedFileReplacesNoOther(t *testing.T) {
	user := t.TempDir()
	downloads := filepath.Join(user, "Downloads")
	if err := os.Mkdir(downloads, 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, Options{UserHome: user}, "").client(t)
	for _, want := range []string{"tandem-settings.json", "tandem-settings-2.json"} {
		s, err := control.Ask(t.Context(), c, control.ExportSettings)
		if err != nil || s.Path != filepath.Join(downloads, want) {
			t.Errorf("the file is at %+v %v, want %s", s, err, want)
		}
	}
	var set control.Settings
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(downloads, "tandem-settings.json"))),
		&set); err != nil || set.Port != control.DefaultPort {
		t.Errorf("the exported settings are %+v %v", set, err)
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
