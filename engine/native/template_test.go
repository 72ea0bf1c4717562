package native

import "testing"

func TestRender(t *testing.T) {
	tm, err := NewTemplate("{% for m in messages %}\n<|{{ m.role }}|>{{ m.content ~ 1e20 }} {{ m|tojson }} {{ '%s-%s' % (1, 'x') }}\n{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	s, err := tm.Render([]byte(`{"messages":[{"role":"user","content":"hé","x":1.0,"items":[1e-7,123456789012345678901234567890123456789012345]}]}`))
	const want = "<|user|>hé1e+20 {\"role\": \"user\", \"content\": \"hé\", \"x\": 1.0, \"items\": [1e-07, 123456789012345678901234567890123456789012345]} 1-x\n"
	if s != want || err != nil {
		t.Errorf("got %q, %v", s, err)
	}
}
