package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/roomtest"
	"tandem/engine"
)

// requestFields are the fields that the vendors' libraries send, recorded by build/fixtures/fields.py.
//
//go:embed testdata/request-fields.json
var requestFields []byte

// fieldRoutes has the routes of the tables in README.md by vendor and short name.
var fieldRoutes = map[string]map[string]string{
	"OpenAI": {"chat": "/v1/chat/completions", "completions": "/v1/completions",
		"embeddings": "/v1/embeddings", "responses": "/v1/responses",
		"compact": "/v1/responses/compact", "input_tokens": "/v1/responses/input_tokens"},
	"Anthropic": {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"},
	"Ollama": {"chat": "/api/chat", "generate": "/api/generate", "embed": "/api/embed",
		"embeddings": "/api/embeddings", "show": "/api/show", "pull": "/api/pull", "options": "options"},
	"Cohere and Jina": {"rerank": "/v1/rerank"},
}

// A fieldOf is a field of a route's request.
type fieldOf struct{ route, name string }

// listedFields returns the first words about each field in the tables of README.md.
func listedFields(t *testing.T) map[fieldOf]string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| (`.*`) \\| (.*) \\| (honoured|no effect|refused|left out)(.*) \\|$")
	name := regexp.MustCompile("`([a-z0-9_]+)`")
	listed := map[fieldOf]string{}
	for vendor, routes := range fieldRoutes {
		_, table, _ := strings.Cut(string(text), "### Fields of "+vendor+"\n")
		_, table, _ = strings.Cut(table, "| --- | --- | --- |\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for line := range strings.SplitSeq(table, "\n") {
			m := row.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("README.md, fields of %s: %q has no fields, routes and effect", vendor, line)
			}
			for short := range strings.SplitSeq(m[2], ", ") {
				for _, f := range name.FindAllStringSubmatch(m[1], -1) {
					key := fieldOf{routes[short], f[1]}
					if key.route == "" || listed[key] != "" {
						t.Errorf("README.md, fields of %s: %s of %s is listed twice, or no route", vendor, f[1], short)
					}
					listed[key] = m[3]
				}
			}
		}
	}
	return listed
}

// TestReadmeListsEveryFieldOfTheVendors: no field is missing, and none is there that no vendor has.
func TestReadmeListsEveryFieldOfTheVendors(t *testing.T) {
	var recorded struct{ Routes map[string][]string }
	if err := json.Unmarshal(requestFields, &recorded); err != nil {
		t.Fatal(err)
	}
	listed := listedFields(t)
	for route, fields := range recorded.Routes {
		for _, name := range fields {
			if listed[fieldOf{route, name}] == "" {
				t.Errorf("README.md does not say what Tandem does with %s of %s", name, route)
			}
			delete(listed, fieldOf{route, name})
		}
	}
	for f := range listed {
		if recorded.Routes[f.route] == nil {
			continue // their libraries are not among those of build/clients
		}
		t.Errorf("README.md has %s of %s, which no library sends", f.name, f.route)
	}
}

// TestEveryToolOfAnthropicIsKnown: each type is offered, left out or refused for what it is.
func TestEveryToolOfAnthropicIsKnown(t *testing.T) {
	for _, kind := range recordedTypes(t, "anthropic_tools", 30) {
		w := roomtest.Post(New(services(roomtest.Speaking("ok")), Options{}).Endpoint(), "/v1/messages",
			roomtest.MessageBody(fmt.Sprintf(`"tools":[{"type":%q,"name":"a","input_schema":{"type":"object"}}]`, kind)))
		if w.Code != 200 && !strings.Contains(w.Body.String(), "whose results are images") {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
		ran := w.Code == 200 && !strings.Contains(w.Body.String(), "left_out") && kind != "custom"
		if ran != slices.Contains(api.MessageTools, kind) {
			t.Errorf("%s is offered: %t, but other routes know of %q", kind, ran, api.MessageTools)
		}
	}
}

// TestEveryBlockOfAnthropicIsKnown: none of an answer is left out as one of an unknown type.
func TestEveryBlockOfAnthropicIsKnown(t *testing.T) {
	for _, kind := range recordedTypes(t, "anthropic_blocks", 24) {
		w := roomtest.Post(New(services(roomtest.Speaking("ok")), Options{}).Endpoint(), "/v1/messages", fmt.Sprintf(
			`{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":%q}]},{"role":"user","content":"y"}]}`, kind))
		if w.Code >= 500 || strings.Contains(w.Body.String(), "unknown types") || strings.Contains(w.Body.String(), "part of type") != (kind == "redacted_thinking") {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
}

// TestEveryToolOfOpenAIIsKnown: each type is offered, left out by its name, or refused for what it is, and
// README.md lists it.
func TestEveryToolOfOpenAIIsKnown(t *testing.T) {
	kinds := recordedTypes(t, "openai_tools", 18)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "OpenAI's tools are of these kinds.")
	table, _, _ = strings.Cut(table, "\n\nA custom tool's")
	version := regexp.MustCompile(`(_use)?(_preview)?(_\d{4}_\d\d_\d\d)?$`)
	for _, kind := range kinds {
		if !strings.Contains(table, "`"+version.ReplaceAllString(kind, "")+"`") {
			t.Errorf("README.md does not say what Tandem does with the tool %s", kind)
		}
		fake := roomtest.Speaking("ok")
		w := roomtest.Post(New(services(fake), Options{}).Endpoint(), "/v1/responses", roomtest.ResponseBody(fmt.Sprintf(
			`"input":"x","tools":[{"type":%q,"name":"a","execution":"client","tools":[{"type":"custom","name":"b"}]}]`, kind)))
		offered := len(fake.Model.Vars) > 0 && strings.Contains(fake.Model.Vars[0], `"tools":[`)
		toldLeftOut := strings.Contains(w.Body.String(), `"left_out":"tools of OpenAI's servers: `+kind+`"`)
		refused := w.Code == 400 && strings.Contains(w.Body.String(), "needs a model that sees")
		if !offered && !toldLeftOut && !refused {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
}

// TestEveryItemOfOpenAIIsKnown: no type of item is left out or refused as an unknown one.
func TestEveryItemOfOpenAIIsKnown(t *testing.T) {
	for _, kind := range recordedTypes(t, "openai_items", 30) {
		w := roomtest.Post(New(services(roomtest.Speaking("ok")), Options{}).Endpoint(), "/v1/responses", roomtest.ResponseBody(
			fmt.Sprintf(`"input":[{"role":"user","content":"x"},{"type":%q,"call_id":"c"}]`, kind)))
		if w.Code >= 500 || strings.Contains(w.Body.String(), "unknown types") || strings.Contains(w.Body.String(), "is not known here") {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
}

// recordedTypes returns a list of requestFields, which has that many entries or more.
func recordedTypes(t *testing.T, list string, least int) (types []string) {
	t.Helper()
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(requestFields, &recorded); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(recorded[list], &types); err != nil || len(types) < least {
		t.Fatalf("%s has %d types, %v", list, len(types), err)
	}
	return types
}

// A fieldSample is a value of a field that has the effect.
type fieldSample struct {
	value string
	with  string // other fields, also of the request without the field
	code  int    // of an answer to a value that is read and wrong; 0 = 200
}

const (
	chatTools     = roomtest.TwoTools
	responseTools = `"tools":[{"type":"function","name":"look"},{"type":"function","name":"go"}]`
	messageTools  = `"tools":[{"name":"look","input_schema":{"type":"object"}},{"name":"go","input_schema":{"type":"object"}}]`
)

// longInput does not fit the context.
var longInput = `"input":[{"role":"user","content":"` + strings.Repeat("word ", 2000) + `"},` +
	`{"role":"assistant","content":"y"},{"role":"user","content":"x"}]`

// anySample has a value for the fields that mean the same on every route.
var anySample = map[string]fieldSample{
	"model":       {value: `"nope"`, code: 404},
	"stream":      {value: `true`},
	"temperature": {value: `0.5`},
	"top_p":       {value: `0.5`},
	"n":           {value: `2`},
	"seed":        {value: `2`},
	"stop":        {value: `"l"`},
	"messages":    {value: `[{"role":"user","content":"y"}]`},
	"input":       {value: `"other"`},
	"prompt":      {value: `"y"`},
	"tools":       {value: strings.TrimPrefix(chatTools, `"tools":`)},
	"user":        {value: `"u"`}, "safety_identifier": {value: `"u"`},
	"metadata": {value: `{"a":"b"}`}, "service_tier": {value: `"flex"`}, "verbosity": {value: `"low"`},
	"prompt_cache_key": {value: `"k"`}, "prompt_cache_retention": {value: `"24h"`},
	"prompt_cache_options": {value: `{"mode":"explicit"}`},
	"presence_penalty":     {value: `1`}, "frequency_penalty": {value: `1`},
	"max_tokens": {value: `3`}, "max_completion_tokens": {value: `3`}, "max_output_tokens": {value: `3`},
	"logit_bias":         {value: `{"65":5}`},
	"functions":          {value: `[{"name":"look","parameters":{"type":"object"}}]`},
	"function_call":      {value: `{"name":"look"}`, with: `"functions":[{"name":"look","parameters":{"type":"object"}}]`},
	"prediction":         {value: `{"type":"content","content":"hello"}`},
	"reasoning_effort":   {value: `"low"`},
	"response_format":    {value: `{"type":"json_object"}`},
	"stream_options":     {value: `{"include_usage":true}`, with: `"stream":true`},
	"suffix":             {value: `"z"`},
	"echo":               {value: `true`},
	"best_of":            {value: `2`},
	"encoding_format":    {value: `"base64"`},
	"dimensions":         {value: `2`},
	"moderation":         {value: `{"model":"omni-moderation-latest"}`},
	"reasoning":          {value: `{"effort":"low"}`},
	"background":         {value: `true`},
	"conversation":       {value: `"conv_1"`},
	"truncation":         {value: `"auto"`},
	"text":               {value: `{"format":{"type":"json_object"}}`},
	"store":              {value: `false`},
	"instructions":       {value: `"Be brief."`},
	"image":              {value: `{"detail":"low"}`},
	"personality":        {value: `"friendly"`},
	"max_tool_calls":     {value: `1`},
	"access_programs":    {value: `["a"]`},
	"web_search_options": {value: `{}`}, "audio": {value: `{"voice":"alloy","format":"wav"}`},
	"modalities": {value: `["text","audio"]`},
	"system":     {value: `"Be brief."`}, "thinking": {value: `{"type":"adaptive"}`},
	"output_config": {value: `{"effort":"low"}`}, "stop_sequences": {value: `["l"]`},
	"mcp_servers": {value: `[{"type":"url","name":"a","url":"https://a.b"}]`}, "container": {value: `"container_1"`},
	"thread": {value: `{"type":"create"}`}, "cache_control": {value: `{"type":"ephemeral"}`},
	"diagnostics": {value: `{"previous_message_id":"msg_1"}`}, "fallbacks": {value: `"default"`},
	"fallback_credit_token": {value: `"t"`}, "inference_geo": {value: `"eu"`}, "speed": {value: `"fast"`},
	"user_profile_id": {value: `"u"`}, "workspace_id": {value: `"wrkspc_1"`}, "betas": {value: `["context-1m-2025-08-07"]`},
	"billing_policy": {value: `{"type":"billing_policy","bill_to":"self"}`}, "compaction": {value: `{"type":"summary"}`},
	"format": {value: `"json"`}, "think": {value: `true`}, "keep_alive": {value: `0`}, "raw": {value: `true`},
	"options": {value: `{"seed":2}`}, "template": {value: `"{{ .Prompt }}"`}, "context": {value: `[1]`},
	"insecure": {value: `true`},
	"query":    {value: `"y"`}, "documents": {value: `["c"]`}, "top_n": {value: `1`}, "return_documents": {value: `true`},
	"max_tokens_per_doc": {value: `2`}, "rank_fields": {value: `["text"]`}, "max_chunks_per_doc": {value: `1`},
	"priority": {value: `1`},
	"images":   {value: `["aaaa"]`}, "width": {value: `64`}, "height": {value: `64`}, "steps": {value: `4`},
	"previous_response_id": {value: `"resp_none"`, code: 400},
	"top_k":                {value: `3`}, "num_predict": {value: `3`}, "repeat_penalty": {value: `1.5`},
}

// routeSample has a value for fields that differ between routes.
var routeSample = map[fieldOf]fieldSample{
	{"/v1/chat/completions", "logprobs"}:                  {value: `true`},
	{"/v1/chat/completions", "top_logprobs"}:              {value: `2`, with: `"logprobs":true`},
	{"/v1/chat/completions", "tool_choice"}:               {value: `"required"`, with: chatTools},
	{"/v1/chat/completions", "parallel_tool_calls"}:       {value: `false`, with: chatTools + `,"tool_choice":"required"`},
	{"/v1/completions", "logprobs"}:                       {value: `2`},
	{"/v1/responses", "tools"}:                            {value: strings.TrimPrefix(responseTools, `"tools":`)},
	{"/v1/responses", "tool_choice"}:                      {value: `"required"`, with: responseTools},
	{"/v1/responses", "parallel_tool_calls"}:              {value: `false`, with: responseTools + `,"tool_choice":"required"`},
	{"/v1/responses", "include"}:                          {value: `["message.output_text.logprobs"]`},
	{"/v1/responses", "top_logprobs"}:                     {value: `2`, with: `"include":["message.output_text.logprobs"]`},
	{"/v1/responses", "prompt"}:                           {value: `{"id":"pmpt_1"}`},
	{"/v1/responses", "background_options"}:               {value: `{"completion_window":"2h"}`},
	{"/v1/responses", "stream_options"}:                   {value: `{"include_obfuscation":true}`, with: `"stream":true`},
	{"/v1/responses/input_tokens", "parallel_tool_calls"}: {value: `false`, with: responseTools},
	{"/v1/responses", "context_management"}:               {value: `[{"type":"compaction","compact_threshold":1}]`, code: 400},
	{"/v1/messages", "context_management"}:                {value: `{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":1}}]}`, code: 400},
	{"/v1/messages/count_tokens", "context_management"}:   {value: `{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":1}}]}`, code: 400},
	{"/v1/responses", "truncation"}:                       {value: `"auto"`, with: longInput},
	{"/v1/responses/input_tokens", "truncation"}:          {value: `"auto"`, with: longInput},
	{"/v1/responses/input_tokens", "tools"}:               {value: strings.TrimPrefix(responseTools, `"tools":`)},
	{"/v1/responses/input_tokens", "tool_choice"}:         {value: `"none"`, with: responseTools},
	{"/v1/messages", "tools"}:                             {value: strings.TrimPrefix(messageTools, `"tools":`)},
	{"/v1/messages", "tool_choice"}:                       {value: `{"type":"any"}`, with: messageTools},
	{"/v1/messages/count_tokens", "tools"}:                {value: strings.TrimPrefix(messageTools, `"tools":`)},
	{"/v1/messages/count_tokens", "tool_choice"}:          {value: `{"type":"none"}`, with: messageTools},
	{"/api/chat", "logprobs"}:                             {value: `true`},
	{"/api/chat", "top_logprobs"}:                         {value: `2`, with: `"logprobs":true`},
	{"/api/generate", "logprobs"}:                         {value: `true`},
	{"/api/generate", "top_logprobs"}:                     {value: `2`, with: `"logprobs":true`},
	{"/api/embed", "truncate"}:                            {value: `false`, with: `"input":"` + strings.Repeat("word ", 2000) + `"`, code: 400},
	{"options", "num_ctx"}:                                {value: `2048`},
}

// fieldBases are the requests without the field.
var fieldBases = map[string]string{
	"/v1/chat/completions":       `"model":"tandem","seed":1,"messages":[{"role":"user","content":"x"}]`,
	"/v1/completions":            `"model":"tandem","seed":1,"prompt":"x"`,
	"/v1/embeddings":             `"model":"tandem","input":"x"`,
	"/v1/responses":              `"model":"tandem","seed":1,"input":"x"`,
	"/v1/responses/compact":      `"model":"tandem","input":"x"`,
	"/v1/responses/input_tokens": `"model":"tandem","input":"x"`,
	"/v1/messages":               `"model":"tandem","seed":1,"max_tokens":400,"messages":[{"role":"user","content":"x"}]`,
	"/v1/messages/count_tokens":  `"model":"tandem","messages":[{"role":"user","content":"x"}]`,
	"/api/chat":                  `"model":"tandem","stream":false,"options":{"seed":1},"messages":[{"role":"user","content":"x"}]`,
	"/api/generate":              `"model":"tandem","stream":false,"options":{"seed":1},"prompt":"x"`,
	"/api/embed":                 `"model":"tandem","input":"x"`,
	"/api/embeddings":            `"model":"tandem","prompt":"x"`,
	"/api/show":                  `"model":"tandem"`,
	"/api/pull":                  `"model":"tandem","stream":false`,
	"/v1/rerank":                 `"model":"tandem","query":"x","documents":["a","b c d e"]`,
}

// TestFieldsDoWhatReadmeSays sends each field and compares with the same request without it: what the
// model gets, what the client gets, and what is left out.
func TestFieldsDoWhatReadmeSays(t *testing.T) {
	for f, effect := range listedFields(t) {
		t.Run(strings.Trim(f.route, "/")+"/"+f.name, func(t *testing.T) {
			sample, ok := routeSample[f]
			if !ok {
				sample, ok = anySample[f.name]
			}
			if !ok {
				sample.value = `1` // an option
			}
			route, name, value := f.route, f.name, sample.value
			if route == "options" {
				route, name = "/api/chat", "options"
				value = fmt.Sprintf(`{"seed":1,%q:%s}`, f.name, sample.value)
				if f.name == "seed" {
					value = fmt.Sprintf(`{"seed":%s}`, sample.value)
				}
			}
			if sample.code == 0 {
				sample.code = http.StatusOK
			}
			without := observe(t, route, name, sample.with)
			with := observe(t, route, name, sample.with, fmt.Sprintf("%q:%s", name, value))
			if without.code != http.StatusOK && effect != "honoured" {
				t.Fatalf("without the field: %d %s", without.code, without.answer)
			}
			switch effect {
			case "honoured":
				if with.code != sample.code || with.equal(without) {
					t.Errorf("%s is honoured: %+v, as without it", value, with)
				}
			case "no effect":
				if !with.equal(without) {
					t.Errorf("%s has no effect:\n%+v\nwithout it\n%+v", value, with, without)
				}
			case "refused":
				if with.code != http.StatusBadRequest || !strings.Contains(with.answer, f.name+" ") {
					t.Errorf("%s is refused: %d %s", value, with.code, with.answer)
				}
			case "left out":
				if with.code != http.StatusOK || !strings.Contains(with.leftOut, f.name) {
					t.Errorf("%s is left out: %d, told %q", value, with.code, with.leftOut)
				}
			}
		})
	}
}

// An observed request.
type observed struct {
	code     int
	answer   string // without ids, times, durations and the field, which some answers repeat
	kept     string // what a later request gets of it
	vars     []string
	asked    []string // of the engine
	unloaded []string
	leftOut  string
}

func (o observed) equal(other observed) bool { return reflect.DeepEqual(o, other) }

// observe sends a request with more fields, of which own is to have an effect.
func observe(t *testing.T, route, own string, more ...string) (o observed) {
	t.Helper()
	body := map[string]json.RawMessage{}
	for _, fields := range append([]string{fieldBases[route]}, more...) {
		if err := json.Unmarshal([]byte("{"+fields+"}"), &body); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	fake := roomtest.Speaking("hello " + roomtest.LookCall + roomtest.GoCall)
	fake.SetPurpose(route)
	s := New(services(fake), Options{}).Endpoint()
	w := roomtest.Post(s, route, string(b))
	o = observed{code: w.Code, vars: fake.Model.Vars, unloaded: fake.Unloaded}
	for line := range strings.Lines(w.Body.String()) {
		o.answer += withoutTimes(strings.TrimPrefix(line, "data: "), own)
	}
	var made struct{ ID string }
	if route == "/v1/responses" && json.Unmarshal(w.Body.Bytes(), &made) == nil && made.ID != "" {
		repeated := own
		if own == "metadata" { // to be found there is its effect
			repeated = ""
		}
		o.kept = withoutTimes(roomtest.Get(s, route+"/"+made.ID).Body.String(), repeated)
	}
	for _, r := range fake.Model.Requests {
		if !strings.Contains(string(b), `"seed"`) {
			r.Seed = nil // it is random
		}
		o.asked = append(o.asked, figures(r))
	}
	for _, ids := range fake.Model.ReadTexts {
		o.asked = append(o.asked, fmt.Sprint(ids))
	}
	if len(fake.Rows) > 0 {
		o.leftOut = fake.LastRun().LeftOut
	}
	return o
}

// figures returns the exported fields of a request to the engine, with what pointers lead to.
func figures(r engine.Request) string {
	var out []string
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if b, err := json.Marshal(v.Field(i).Interface()); err == nil {
			out = append(out, v.Type().Field(i).Name+"="+string(b))
		}
	}
	return strings.Join(out, " ")
}

// withoutTimes returns a JSON value without what differs each time, and without the field own.
func withoutTimes(text, own string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	odd := regexp.MustCompile(`^(.*_?id|created(_at)?|completed_at|timings|.*_duration)$`)
	var scrub func(v any)
	scrub = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				scrub(x)
			}
		case map[string]any:
			maps.DeleteFunc(v, func(key string, _ any) bool { return odd.MatchString(key) || key == own })
			for _, key := range slices.Sorted(maps.Keys(v)) {
				scrub(v[key])
			}
		}
	}
	scrub(v)
	b, _ := json.Marshal(v) // it was JSON
	return string(b) + "\n"
}
