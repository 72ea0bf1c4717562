package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

// An ollamaRequest is the body of /api/generate or /api/chat.
type ollamaRequest struct {
	question
	chat      bool
	plain     *completion    // what is asked of a model without a chat template; nil for nothing
	keepAlive *time.Duration // nil for as long as is set
}

// form implements request.
func (r *ollamaRequest) form() form {
	return ollamaForm{chat: r.chat, model: r.common().model}
}

// prompts implements request.
func (r *ollamaRequest) prompts(m model.Model) ([]*prompt, error) {
	list, err := r.question.prompts(m)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoTemplate && r.plain != nil {
		return r.plain.prompts(m)
	}
	return list, err
}

// readOllamaGenerate reads a prompt that is a message, with a system message before
// it if there is one; under raw, and where a suffix follows, it is the text itself.
func readOllamaGenerate(f *fields) (request, error) {
	p, r := readOllama(f), &ollamaRequest{keepAlive: readKeepAlive(f)}
	p.promptParam = "prompt"
	text, system := f.string("prompt"), f.string("system")
	c := &completion{params: p, texts: []string{text}, suffix: f.string("suffix")}
	raw := f.bool("raw")
	c.fill = c.suffix != "" && !raw
	if f.string("template") != "" {
		f.fail("template", "is not supported: the model's own is used; send raw to write the prompt as it is.")
	}
	for _, key := range []string{"context", "images"} {
		refuseList(f, key)
	}
	if raw && system != "" {
		f.fail("system", "cannot be combined with raw.")
	}
	if f.err != nil {
		return nil, f.err
	}
	if raw || c.fill {
		r.question = c
		return r, nil
	}
	asked := &chat{params: p}
	asked.kwargs = p.thinking.into(nil)
	if system == "" {
		r.plain = c
	} else {
		asked.messages = append(asked.messages, ollamaMessage("system", system))
	}
	asked.messages = append(asked.messages, ollamaMessage("user", text))
	r.question = asked
	return r, asked.complete()
}

func ollamaMessage(role, text string) json.RawMessage {
	b := appendString([]byte(`{"role":`), role)
	return append(appendString(append(b, `,"content":`...), text), '}')
}

// refuseList refuses a list that is not empty.
func refuseList(f *fields, key string) {
	var list []json.RawMessage
	if v := f.raw(key); v != nil && (json.Unmarshal(v, &list) != nil || len(list) > 0) {
		why := "this endpoint takes text only."
		if key == "context" {
			why = "send what was said before as messages to /api/chat; it is not computed again."
		}
		f.fail(key, "is not supported: %s", why)
	}
}

func readOllamaChat(f *fields) (request, error) {
	c := &chat{params: readOllama(f)}
	c.promptParam = "messages"
	r := &ollamaRequest{question: c, chat: true, keepAlive: readKeepAlive(f)}
	renameMessages(f)
	if f.err != nil {
		return nil, f.err
	}
	c.messages = readMessages(f)
	c.tools = readTools(f)
	c.kwargs = c.thinking.into(nil)
	if f.err != nil {
		return nil, f.err
	}
	return r, c.complete()
}

// ollamaNames are Ollama's names for what templates know by another.
var ollamaNames = map[string]string{"thinking": "reasoning_content", "tool_name": "name"}

// renameMessages has the messages as they are elsewhere, in their own order of
// names.
func renameMessages(f *fields) {
	var list []json.RawMessage
	if v := f.raw("messages"); v == nil || json.Unmarshal(v, &list) != nil {
		return // to be refused
	}
	out := []byte{'['}
	for i, v := range list {
		m, err := parseFields(v, fmt.Sprintf("messages[%d].", i))
		if err != nil {
			f.take(&fields{err: err})
			return
		}
		refuseList(m, "images")
		f.take(m)
		if i > 0 {
			out = append(out, ',')
		}
		out = appendRenamed(out, v)
	}
	f.values["messages"] = append(out, ']')
}

// appendRenamed copies a message, which is an object, without its images, which are
// none.
func appendRenamed(dst []byte, v json.RawMessage) []byte {
	dst = append(dst, '{')
	start := len(dst)
	_ = eachMember(v, func(key string, value json.RawMessage) error { // it was read before
		if key == "images" {
			return nil
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = appendString(dst, cmp.Or(ollamaNames[key], key))
		dst = append(append(dst, ':'), value...)
		return nil
	})
	return append(dst, '}')
}

// readOllama reads what both routes take. What is not known among the options is
// nobody's business: most are about how another program computes.
func readOllama(f *fields) params {
	p := params{n: 1, model: ollamaID(f.string("model"))}
	if f.err == nil && p.model == "" {
		f.fail("model", "is missing: name a model of /api/tags.")
	}
	p.stream = f.raw("stream") == nil || f.bool("stream")
	p.grammar, p.grammarParam = readOllamaFormat(f), "format"
	p.thinking = readThink(f)
	p.logprobs = f.bool("logprobs")
	if n := f.int("top_logprobs", 0, engine.MaxTopLogprobs); n != nil && p.logprobs {
		p.topLogprobs = *n
	}
	o := f.object("options")
	if o == nil {
		return p
	}
	defer f.take(o)
	p.readSampling(o, "repeat_penalty")
	p.stop = readStop(o, "stop")
	if v := o.raw("seed"); v != nil && v[0] != '-' { // below 0 it is any
		p.seed = readSeed(o, "seed")
	}
	if n := o.int("num_predict", math.MinInt32, math.MaxInt32); n != nil && *n > 0 { // otherwise what the context leaves
		p.maxTokens = n
	}
	return p
}

// readOllamaFormat returns what the answer may be, nil for any text.
func readOllamaFormat(f *fields) *model.Grammar {
	v := f.raw("format")
	switch {
	case v == nil || string(v) == `""`:
	case string(v) == `"json"`:
		return &model.Grammar{JSON: dialect.Guided(json.RawMessage(`{"type":"object"}`), true)}
	case v[0] == '{':
		if f.object("format") != nil {
			return &model.Grammar{JSON: dialect.Guided(v, false)}
		}
	default:
		f.fail("format", "must be \"json\" or a JSON schema.")
	}
	return nil
}

// readThink reads whether the model is to think, or how much.
func readThink(f *fields) (t thinking) {
	v := f.raw("think")
	switch {
	case v == nil:
	case v[0] == '"':
		if t.effort = f.oneOf("think", efforts); t.effort != "" {
			t.on = new(t.effort != efforts[0])
		}
	default:
		t.on = new(f.bool("think"))
	}
	return t
}

// readKeepAlive reads seconds or a duration as Go writes it; below 0 is for ever.
func readKeepAlive(f *fields) *time.Duration {
	v := f.raw("keep_alive")
	if v == nil {
		return nil
	}
	if isNumber(v) {
		if s := f.number("keep_alive", -math.MaxFloat64, math.MaxFloat64); s != nil {
			return new(time.Duration(min(max(*s, -1), 1e9) * float64(time.Second)))
		}
		return nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(f.string("keep_alive")))
	if err != nil {
		f.fail("keep_alive", "must be seconds or a duration such as \"5m\".")
		return nil
	}
	return &d
}
