package openai_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tandem/app/model"
	"tandem/app/roomtest"
)

// TestTemplateGetsClientsText: the template gets the client's own text in its order. Only forms
// that templates do not know are changed.
func TestTemplateGetsClientsText(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`"messages":[{"role":"user","content":"é\u0000<"}]`,
			`{"messages":[{"role":"user","content":"é\u0000<"}],"add_generation_prompt":true}`},
		{`"messages":[{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"role":"developer","name":"z"}]`,
			`{"messages":[{"role":"system","content":"ab","name":"z"}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"assistant","content":null,"refusal":null,"reasoning":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"z\": 1, \"a\": [2]}"}}]},{"role":"tool","tool_call_id":"1","content":"ok"}]`,
			`{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"z": 1, "a": [2]}}}],"reasoning_content":"hm"},{"role":"tool","content":"ok","tool_call_id":"1"}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{broken","name":"f"}}]}]`,
			`{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"call00001","type":"function","function":{"arguments":"{broken","name":"f"}}]}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}]`,
			`{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":{}}}]},{"role":"tool","content":"1","name":"f","tool_call_id":"call00001"}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"zeta":1,"alpha":{"b":1,"a":2}}}}]`,
			`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"zeta":1,"alpha":{"b":1,"a":2}}}}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"user","content":"x"}],"functions":[{"name":"f"},{"name":"g"}]`,
			`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","name":"f"}],"tool_choice":"none"`,
			`{"messages":[{"role":"user","content":"x"}],"add_generation_prompt":true}`},
		{`"messages":[{"role":"user","content":"x"}],"tools":[],"chat_template_kwargs":{"enable_thinking":false,"add_generation_prompt":false,"aa":{"y":1,"b":2}}`,
			`{"messages":[{"role":"user","content":"x"}],"enable_thinking":false,"add_generation_prompt":false,"aa":{"y":1,"b":2}}`},
	} {
		fake := roomtest.NewBackend()
		fake.Model.AnyArguments = true
		w := roomtest.Post(serve(fake), "/v1/chat/completions", `{"model":"tandem",`+c.body+`}`)
		if w.Code != 200 {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
			continue
		}
		if got := fake.Model.Vars[0]; got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.body, got, c.want)
		}
	}
}

// TestSamplingFallsBackToModel: the request sets a field, else the model, else it is 1 or off.
func TestSamplingFallsBackToModel(t *testing.T) {
	own := model.Defaults{Temperature: new(0.6), TopK: new(20), TopP: new(0.9), MinP: new(0.05),
		RepetitionPenalty: new(1.1)}
	for _, c := range []struct {
		fields   string
		defaults model.Defaults
		want     string
	}{
		{``, model.Defaults{}, `[1 0 1 0 1 0 0]`},
		{``, own, `[0.6 20 0.9 0.05 1.1 0 0]`},
		{`,"temperature":0,"top_k":-1,"top_p":1,"min_p":0,"repetition_penalty":1,"presence_penalty":0.5,"frequency_penalty":-0.5`, own, `[0 0 1 0 1 0.5 -0.5]`},
		{`,"temperature":null,"top_k":40`, own, `[0.6 40 0.9 0.05 1.1 0 0]`},
	} {
		fake := roomtest.NewBackend()
		fake.Model.Sampling = c.defaults
		w := roomtest.Post(serve(fake), "/v1/completions",
			`{"model":"tandem","prompt":"x"`+c.fields+`}`)
		if w.Code != 200 {
			t.Fatalf("%s: %d %s", c.fields, w.Code, w.Body)
		}
		p := fake.Model.Requests[0].Sampling
		var want []float64
		if err := json.Unmarshal([]byte(strings.ReplaceAll(c.want, " ", ",")), &want); err != nil {
			t.Fatal(err)
		}
		got := []float64{p.Temperature, float64(p.TopK), p.TopP, p.MinP, p.RepetitionPenalty,
			p.PresencePenalty, p.FrequencyPenalty}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %v, want %v", c.fields, got, want)
				break
			}
		}
	}

	fake := roomtest.NewBackend()
	roomtest.Post(serve(fake), "/v1/completions",
		`{"model":"tandem","prompt":"x","n":3,"seed":-2,"top_p":0,"logit_bias":{"7":-100},"ignore_eos":true,"stop":["a","","b"]}`)
	seeds := map[uint64]bool{}
	for i, r := range fake.Model.Requests {
		seeds[*r.Seed] = true
		if r.Sampling.TopP <= 0 {
			t.Errorf("choice %d: r.Sampling.TopP = %v, want more than 0", i, r.Sampling.TopP)
		}
		if r.Sampling.TopP > 1e-9 {
			t.Errorf("choice %d: r.Sampling.TopP = %v, want at most 1e-9", i, r.Sampling.TopP)
		}
		if r.Sampling.LogitBias[7] != -100 {
			t.Errorf("choice %d: r.Sampling.LogitBias[7] = %v, want -100", i, r.Sampling.LogitBias[7])
		}
		if !r.IgnoreEOS {
			t.Errorf("choice %d: r.IgnoreEOS = false, want true", i)
		}
		if len(r.Stop) != 2 {
			t.Errorf("choice %d: len(r.Stop) = %v, want 2", i, len(r.Stop))
		}
	}
	if !seeds[math.MaxUint64-1] || len(seeds) != 3 { // the first has the request's
		t.Errorf("seeds %v", seeds)
	}
}
