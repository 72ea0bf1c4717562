package api_test

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// generatingRoutes has for each generating route a body without its limit, and the limit's names.
var generatingRoutes = []struct{ path, body, limits string }{
	{"/v1/chat/completions", `"messages":[{"role":"user","content":"x"}]`,
		"max_tokens max_completion_tokens"},
	{"/v1/completions", `"prompt":"x"`, "max_tokens"},
	{"/v1/fim/completions", `"prompt":"x","suffix":"y"`, "max_tokens"},
	{"/v1/responses", `"input":"x"`, "max_output_tokens"},
	{"/v1/messages", `"messages":[{"role":"user","content":"x"}]`, "max_tokens"},
	{"/api/v0/chat/completions", `"messages":[{"role":"user","content":"x"}]`,
		"max_tokens max_completion_tokens"},
	{"/api/v0/completions", `"prompt":"x"`, "max_tokens"},
	{"/completion", `"prompt":"x"`, "n_predict max_tokens"},
	{"/infill", `"input_prefix":"x"`, "n_predict max_tokens"},
	{"/api/generate", `"prompt":"x"`, "num_predict"},
	{"/api/chat", `"messages":[{"role":"user","content":"x"}]`, "num_predict"},
	{branchPath, `"prompt":"x","raw":true`, "max_tokens"},
}

// askSocket posts fields and the name of the model to a route of the socket, which has them all.
func askSocket(fake *roomtest.Backend, path, fields string) *httptest.ResponseRecorder {
	fake.OnDisk.ID, fake.OnDisk.Model = "abc", "tandem"
	w := httptest.NewRecorder()
	serve(fake).ServeHTTP(w,
		roomtest.Request(path, `{"model":"tandem",`+fields+`}`))
	return w
}

func TestLimitBelowZeroCountsAsLeftOut(t *testing.T) {
	for _, r := range generatingRoutes {
		for limit := range strings.FieldsSeq(r.limits) {
			for value, refused := range map[string]bool{"-1": false, "-2": false, "-1.0": false,
				"null": limit == "max_tokens" && r.path == "/v1/messages", "-3": true, `"-1"`: true} {
				field := `"` + limit + `":` + value
				if limit == "num_predict" {
					field = `"options":{` + field + `}`
					refused = value == `"-1"`
				}
				fake := roomtest.NewBackend()
				w := askSocket(fake, r.path, r.body+`,`+field)
				path := r.path
				if refused {
					if w.Code != 400 || !strings.Contains(w.Body.String(), limit) {
						t.Errorf("%s %s: %d %s", path, field, w.Code, w.Body)
					}
					continue
				}
				if w.Code != 200 || len(fake.Model.Requests) != 1 {
					t.Fatalf("%s %s: %d %s", path, field, w.Code, w.Body)
				}
				if n := fake.Model.Requests[0].MaxTokens; n != nil {
					t.Errorf("%s %s: at most %d tokens", path, field, *n)
				}
			}
		}
	}
}

func TestLimitBelowZeroLeavesTheOthersInForce(t *testing.T) {
	for fields, want := range map[string]int{
		`"max_tokens":3,"max_completion_tokens":-1`: 3,
		`"max_tokens":-1,"max_completion_tokens":4`: 4,
	} {
		fake := roomtest.NewBackend()
		roomtest.Post(serve(fake), "/v1/chat/completions", roomtest.ChatBody(fields))
		if n := fake.Model.Requests[0].MaxTokens; n == nil || *n != want {
			t.Errorf("%s: %v", fields, n)
		}
	}
}

func TestResponseShowsLimitBelowZeroAsNone(t *testing.T) {
	w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/responses",
		roomtest.ResponseBody(`"input":"x","max_output_tokens":-1`))
	if !strings.Contains(w.Body.String(), `"max_output_tokens":null`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestThoughtBudgetBelowZeroIsNone(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/messages":         roomtest.MessageBody(`"thinking":{"type":"enabled","budget_tokens":-1}`),
		"/v1/chat/completions": roomtest.ChatBody(`"thinking_budget":-1`),
	} {
		if w := roomtest.Post(serve(roomtest.Speaking("x")), path, body); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Two runs with the seed -1 get seeds of their own. Any other seed decides the answer.
func TestSeedMinusOneIsAnySeed(t *testing.T) {
	for _, r := range generatingRoutes {
		names := []string{"seed"}
		if r.path == "/v1/fim/completions" {
			names = append(names, "random_seed")
		}
		for _, name := range names {
			seeds := map[uint64]int{}
			for _, value := range []string{"-1", "-1", "-1.0", "7", "7"} {
				field := `"` + name + `":` + value
				if strings.HasPrefix(r.path, "/api/") && !strings.HasPrefix(r.path, "/api/v0/") {
					field = `"options":{` + field + `}`
				}
				if r.path == "/v1/messages" {
					field += `,"max_tokens":4`
				}
				fake := roomtest.NewBackend()
				w := askSocket(fake, r.path, r.body+`,`+field)
				if len(fake.Model.Requests) != 1 {
					t.Fatalf("%s %s: %d %s", r.path, field, w.Code, w.Body)
				}
				seeds[*fake.Model.Requests[0].Seed]++
			}
			if len(seeds) != 4 || seeds[7] != 2 || seeds[math.MaxUint64] != 0 {
				t.Errorf("%s, %s: %v", r.path, name, seeds)
			}
		}
	}
}

// These are what clients send for a field that they leave to the server.
func TestFieldsLeftToTheServerAreTaken(t *testing.T) {
	var got struct{ Error json.RawMessage }
	for _, fields := range []string{`"top_k":0`, `"top_k":-1`, `"n":null`, `"seed":null`,
		`"stop":null`, `"stop":""`, `"stop":[]`, `"logit_bias":{}`, `"logit_bias":null`,
		`"temperature":null`, `"top_p":null`, `"max_tokens":null`, `"min_p":0`,
		`"best_of":null`, `"logprobs":null`, `"response_format":null`, `"speculation":null`} {
		w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/completions",
			`{"model":"tandem","prompt":"x",`+fields+`}`)
		if _ = json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 {
			t.Errorf("%s: %d %s", fields, w.Code, got.Error)
		}
	}
}
