package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
)

// TestBadInputGetsOneClearError sends every kind of wrong request and model to a serving process.
// Each gets one clear error. The process goes on answering, and the history has a run for each
// request.
func TestBadInputGetsOneClearError(t *testing.T) {
	home := newHome(t)
	p := serveProcess(t, home, "--model", "pocket")
	c := client(t, home)
	runs := 0 // the number of requests so far; each makes a run
	// record checks the newest run in the history.
	record := func(t *testing.T, failed bool) {
		t.Helper()
		waitState(t, c, func(s control.State) bool { return len(s.Active) == 0 })
		list, err := control.Call(t.Context(), c, control.ListRuns, control.RunQuery{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		runs++
		if len(list.Runs) != runs {
			t.Fatalf("%d runs are on record, want %d", len(list.Runs), runs)
		}
		if r := list.Runs[0]; r.EndedAt.IsZero() || failed != (r.FinishReason == control.FinishError) ||
			failed != (r.Error != "") {
			t.Errorf("the newest run is %+v, failed must be %t", r, failed)
		}
	}
	// alive checks that the process is healthy and completes a good request.
	alive := func(t *testing.T) {
		t.Helper()
		resp, err := http.Get(p.url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("/health: %s, want 200", resp.Status)
		}
		if status, body := p.post(t, "/v1/completions", "application/json",
			`{"model":"tandem","prompt":"func","max_tokens":1}`); status != http.StatusOK {
			t.Errorf("a good request: %d %s", status, body)
		}
		record(t, false)
	}
	waitState(t, c, func(s control.State) bool { return s.Phase == control.PhaseReady })
	alive(t)

	t.Run("requests", func(t *testing.T) {
		for _, b := range badRequests() {
			t.Run(b.name, func(t *testing.T) {
				for _, route := range b.routes {
					kind := b.kind
					if kind == "" {
						kind = "application/json"
					}
					status, body := p.post(t, route, kind, b.body)
					if status != b.status {
						t.Errorf("%s: status %d, want %d", route, status, b.status)
					}
					checkError(t, body, b.words...)
					record(t, true)
				}
				alive(t)
			})
		}
	})

	t.Run("models", func(t *testing.T) {
		for _, b := range badModels {
			t.Run(b.name, func(t *testing.T) {
				dir := tinyModel(t, strings.ReplaceAll(b.name, " ", "-"), nil)
				b.spoil(t, dir)
				// The headers show some faults at once. The load shows the others.
				_, err := control.Call(t.Context(), c, control.AddModel, control.AddRequest{Path: dir})
				if e, ok := errors.AsType[*control.Error](err); ok {
					if e.Code != control.CodeModelInvalid {
						t.Errorf("the code is %s, want %s", e.Code, control.CodeModelInvalid)
					}
					checkMessage(t, e.Message, b.words...)
				} else if err != nil {
					t.Fatal(err)
				} else {
					status, body := p.post(t, "/v1/completions", "application/json",
						fmt.Sprintf(`{"model":%q,"prompt":"a"}`, filepath.Base(dir)))
					if status != http.StatusUnprocessableEntity {
						t.Errorf("status %d, want 422", status)
					}
					checkError(t, body, b.words...)
					record(t, true)
					t.Log("only the load shows the fault")
				}
				alive(t)
			})
		}
	})

	state, err := control.Ask(t.Context(), c, control.GetState)
	if err != nil || state.PID != p.Process.Pid || len(state.Active) != 0 {
		t.Errorf("the state is %+v, %v, want process %d and no request",
			state, err, p.Process.Pid)
	}
	p.stop(t)
	if text := p.stderr.String(); strings.Contains(text, "panic") ||
		strings.Contains(text, "goroutine") {
		t.Errorf("standard error has a panic:\n%s", text)
	}
}

// post posts a body of a Content-Type to a route and returns the status and the body of the answer.
func (p *process) post(t *testing.T, route, kind, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(p.url+route, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// checkError checks that the body is an error in OpenAI's form whose message has the words.
func checkError(t *testing.T, body string, words ...string) {
	t.Helper()
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Type == "" ||
		e.Error.Code == "" {
		t.Errorf("not an error in OpenAI's form (%v): %.300s", err, body)
		return
	}
	checkMessage(t, e.Error.Message, words...)
}

// checkMessage checks that a message is one line of 15 to 500 bytes for a person and has the words.
func checkMessage(t *testing.T, message string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("%q lacks %q", message, w)
		}
	}
	for _, w := range []string{"\n", "panic", "goroutine", "runtime error", "%!", "unmarshal",
		"<nil>"} {
		if strings.Contains(message, w) {
			t.Errorf("%q has %q, which is not for a person", message, w)
		}
	}
	if len(message) < 15 || len(message) > 500 {
		t.Errorf("the message has %d bytes, want 15 to 500: %.600q", len(message), message)
	}
}

type badRequest struct {
	name   string
	routes []string
	kind   string // Content-Type; empty = JSON
	body   string
	status int
	words  []string // that the message has
}

func badRequests() []badRequest {
	chat, completions := []string{"/v1/chat/completions"}, []string{"/v1/completions"}
	both := []string{chat[0], completions[0]}
	long := strings.Repeat("7,", 40_000-1) + "7"
	huge := `{"model":"tandem","prompt":"` + strings.Repeat("x", 64<<20) + `"}`
	return []badRequest{
		{"prompt beyond the context", completions, "", `{"model":"tandem","prompt":[` + long + `]}`, 400, []string{"32768", "40000"}},
		{"stream beyond the context", completions, "", `{"model":"tandem","stream":true,"prompt":[` + long + `]}`, 400, []string{"32768", "40000"}},
		{"invalid UTF-8", both, "", "{\"model\":\"tandem\",\"prompt\":\"\xff\xfe\",\"messages\":[]}", 400, []string{"UTF-8"}},
		{"unknown role", chat, "", `{"model":"tandem","messages":[{"role":"wizard","content":"x"}]}`, 400, []string{"wizard", "user"}},
		{"negative max_tokens", completions, "", `{"model":"tandem","prompt":"a","max_tokens":-3}`, 400, []string{"max_tokens", "-3"}},
		{"negative max_completion_tokens", chat, "", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"max_completion_tokens":-5}`, 400, []string{"max_completion_tokens", "-5"}},
		{"negative temperature", completions, "", `{"model":"tandem","prompt":"a","temperature":-0.1}`, 400, []string{"temperature", "-0.1"}},
		{"negative n", completions, "", `{"model":"tandem","prompt":"a","n":-1}`, 400, []string{"n ", "-1"}},
		{"negative top_k", completions, "", `{"model":"tandem","prompt":"a","top_k":-7}`, 400, []string{"top_k", "-7"}},
		{"negative token id", completions, "", `{"model":"tandem","prompt":[-1]}`, 400, []string{"prompt"}},
		{"token id beyond the vocabulary", completions, "", `{"model":"tandem","prompt":[99999999]}`, 400, []string{"prompt"}},
		{"number beyond float64", completions, "", `{"model":"tandem","prompt":"a","temperature":1e999}`, 400, []string{"temperature"}},
		{"body of 64 MB", completions, "", huge, 413, []string{"32 MiB"}},
		{"text for JSON", both, "text/plain", `{"model":"tandem","prompt":"a"}`, 415, []string{"Content-Type: application/json"}},
		{"form for JSON", completions, "multipart/form-data; boundary=a", `prompt=a`, 415, []string{"Content-Type: application/json"}},
		{"unknown model", both, "", `{"model":"nobody/knows","prompt":"a","messages":[{"role":"user","content":"x"}]}`, 404, []string{"nobody/knows", "tandem pull"}},
		{"empty body", both, "", ``, 400, []string{"empty"}},
		{"half a body", both, "", `{"model":"tandem","prompt":"a`, 400, []string{"JSON"}},
		{"list for an object", both, "", `[1,2]`, 400, []string{"JSON object"}},
		{"deep nesting", completions, "", strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), 400, []string{"64"}},
		{"no messages", chat, "", `{"model":"tandem","messages":[]}`, 400, []string{"messages"}},
		{"no prompt", completions, "", `{"model":"tandem"}`, 400, []string{"prompt"}},
		{"messages of the wrong kind", chat, "", `{"model":"tandem","messages":[7]}`, 400, []string{"messages[0]"}},
		{"too many stop texts", completions, "", `{"model":"tandem","prompt":"a","stop":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q"]}`, 400, []string{"stop", "16"}},
		{"unknown drafter", both, "", `{"model":"tandem","prompt":"a","messages":[{"role":"user","content":"x"}],"speculation":{"drafter":"psychic"}}`, 400, []string{"speculation.drafter", "ngram"}},
		{"drafter the model has not", both, "", `{"model":"tandem","prompt":"a","messages":[{"role":"user","content":"x"}],"speculation":{"drafter":"mtp"}}`, 400, []string{"speculation.drafter", "mtp", "ngram"}},
		{"drafter the model has not, streamed", completions, "", `{"model":"tandem","prompt":"a","stream":true,"speculation":{"drafter":"mtp"}}`, 400, []string{"speculation.drafter", "mtp", "ngram"}},
		{"depth beyond the limit", completions, "", `{"model":"tandem","prompt":"a","speculation":{"depth":32}}`, 400, []string{"speculation.depth", "31"}},
		{"depth of the wrong kind", completions, "", `{"model":"tandem","prompt":"a","speculation":{"depth":"deep"}}`, 400, []string{"speculation.depth"}},
		{"no such word on speculation", completions, "", `{"model":"tandem","prompt":"a","speculation":{"dept":3}}`, 400, []string{"dept", "depth"}},
		{"prediction of the wrong kind", chat, "", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"prompt":"a","prediction":{"type":"diff","content":"x"}}`, 400, []string{"prediction.type", "content"}},
		{"prediction beyond the context", chat, "", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"prediction":{"type":"content","content":"` + strings.Repeat("x y ", 40_000) + `"}}`, 400, []string{"prediction.content", "32768"}},
		{"a picture", chat, "", `{"model":"tandem","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`, 400, []string{"image_url"}},
	}
}

// badModels are folders that hold no usable model. The error names the fault.
var badModels = []struct {
	name  string
	spoil func(t *testing.T, dir string)
	words []string
}{
	{"missing folder", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, []string{"there is no such folder"}},
	{"no config", remove("config.json"), []string{"config.json"}},
	{"no tokenizer", remove("tokenizer.json"), []string{"tokenizer.json"}},
	{"no weights", remove("model.safetensors"), []string{"model.safetensors"}},
	{"half downloaded", func(t *testing.T, dir string) {
		must(t, os.Rename(filepath.Join(dir, "model.safetensors"),
			filepath.Join(dir, "model-00001-of-00002.safetensors")))
		write(t, dir, "model.safetensors.index.json",
			`{"weight_map":{"model.norm.weight":"model-00001-of-00002.safetensors","lm_head.weight":"model-00002-of-00002.safetensors"}}`)
	}, []string{"model-00002-of-00002.safetensors"}},
	{"index leads outside", func(t *testing.T, dir string) {
		write(t, dir, "model.safetensors.index.json",
			`{"weight_map":{"model.norm.weight":"../../../etc/passwd"}}`)
		must(t, os.Remove(filepath.Join(dir, "model.safetensors")))
	}, []string{"../../../etc/passwd"}},
	{"index names a tensor twice", func(t *testing.T, dir string) {
		must(t, os.Rename(filepath.Join(dir, "model.safetensors"),
			filepath.Join(dir, "a.safetensors")))
		write(t, dir, "model.safetensors.index.json",
			`{"weight_map":{"model.norm.weight":"a.safetensors","model.norm.weight":"a.safetensors"}}`)
	}, []string{"model.norm.weight"}},
	{"truncated weights", func(t *testing.T, dir string) {
		must(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 50_000))
	}, []string{"model.safetensors"}},
	{"empty weights", func(t *testing.T, dir string) {
		must(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 0))
	}, []string{"model.safetensors"}},
	{"header of 2^63 bytes", header(1<<63, "{}"), []string{"model.safetensors"}},
	{"header of 99 MB in a small file", header(99<<20, "{}"), []string{"model.safetensors"}},
	{"header that is no JSON", header(4, "\xff\xff{["), []string{"model.safetensors"}},
	{"tensor beyond the file", tensors(`{"model.norm.weight":{"dtype":"F32","shape":[1024],"data_offsets":[0,4096]}}`), []string{"model.safetensors"}},
	{"tensor of 2^64 elements", tensors(`{"model.norm.weight":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`), []string{"model.safetensors"}},
	{"tensor of negative size", tensors(`{"model.norm.weight":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}}`), []string{"model.safetensors"}},
	{"tensors that overlap", tensors(`{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}`), []string{"model.safetensors"}},
	{"tensor of an unknown dtype", tensors(`{"a":{"dtype":"X9","shape":[4],"data_offsets":[0,16]}}`), []string{"X9"}},
	{"other tensors", tensors(`{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}`), []string{"tensor"}},
	{"unknown architecture", config("model_type", "mamba9"), []string{"mamba9"}},
	{"config that is no JSON", func(t *testing.T, dir string) { write(t, dir, "config.json", "hidden_size = 64") }, []string{"config.json"}},
	{"hidden_size of 2^40", config("hidden_size", 1<<40), []string{"hidden_size"}},
	{"negative hidden_size", config("hidden_size", -64), []string{"hidden_size"}},
	{"a billion layers", config("num_hidden_layers", 1_000_000_000), []string{"num_hidden_layers"}},
	{"no heads", config("num_attention_heads", 0), []string{"num_attention_heads"}},
	{"vocabulary of 2^50", config("vocab_size", 1<<50), []string{"vocab_size"}},
	{"context of 2^60", config("max_position_embeddings", 1<<60), []string{"max_position_embeddings"}},
	{"sizes that contradict the weights", config("intermediate_size", 256), []string{"mlp"}},
	{"tokenizer of another model", func(t *testing.T, dir string) { addTokens(t, dir, 5000, -1) }, []string{"tokenizer.json has ids up to 5000", "vocab_size is 260"}},
	{"tokenizer that is no JSON", func(t *testing.T, dir string) { write(t, dir, "tokenizer.json", "{") }, []string{"tokenizer.json"}},
	{"tokenizer of an unknown kind", func(t *testing.T, dir string) { write(t, dir, "tokenizer.json", `{"model":{"type":"Oracle"}}`) }, []string{"Oracle"}},
}

// addTokens adds an ordinary token "zz" and an added token "<zz>" to the tokenizer in dir. An id
// below 0 adds none.
func addTokens(t *testing.T, dir string, ordinary, added int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	must(t, err)
	var file map[string]any
	must(t, json.Unmarshal(b, &file))
	if ordinary >= 0 {
		file["model"].(map[string]any)["vocab"].(map[string]any)["zz"] = ordinary
	}
	if added >= 0 {
		file["added_tokens"] = append(file["added_tokens"].([]any),
			map[string]any{"id": added, "content": "<zz>", "special": true})
	}
	b, err = json.Marshal(file)
	must(t, err)
	write(t, dir, "tokenizer.json", string(b))
}

// Some checkpoints have an added token that their weights do not have. Only a prompt that holds
// this token is refused.
func TestAddedTokenWithoutWeightsIsRefusedInPrompts(t *testing.T) {
	dir := tinyModel(t, "tiny", nil)
	addTokens(t, dir, 259, 260) // 259 is the last id that the model knows
	p := serveProcess(t, newHome(t), "--model", dir)
	defer p.stop(t)
	for _, c := range []struct {
		text   string
		status int
	}{{"a", http.StatusOK}, {"a<zz>", http.StatusBadRequest}} {
		for route, body := range map[string]string{
			"/v1/completions":      `{"model":"tandem","max_tokens":1,"prompt":%q}`,
			"/v1/chat/completions": `{"model":"tandem","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
		} {
			status, reply := p.post(t, route, "application/json", fmt.Sprintf(body, c.text))
			if status != c.status {
				t.Errorf("%s %q: status %d, %s, want %d", route, c.text, status, reply, c.status)
			} else if status != http.StatusOK {
				checkError(t, reply, "<zz>", "260", "tiny", "Leave the token out")
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
}

func config(name string, value any) func(*testing.T, string) {
	return func(t *testing.T, dir string) { setConfig(t, dir, map[string]any{name: value}) }
}

// header writes weights whose first 8 bytes give the size of the header, and the text after them.
func header(size uint64, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		write(t, dir, "model.safetensors", string(binary.LittleEndian.AppendUint64(nil, size))+text)
	}
}

// tensors writes weights with the header in text and 32 bytes of data.
func tensors(text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
		b = append(append(b, text...), bytes.Repeat([]byte{0}, 32)...)
		write(t, dir, "model.safetensors", string(b))
	}
}
