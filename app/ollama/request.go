package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// An ollamaRequest is the body of /api/generate or /api/chat.
type ollamaRequest struct {
	api.Question
	chat      bool
	plain     *api.Completion // the request for a model without a chat template; nil for none
	keepAlive *time.Duration  // nil for the time that is set
}

func (r *ollamaRequest) Format() api.ReplyFormat {
	return lineFormat{chat: r.chat, model: r.Common().Model}
}

func (r *ollamaRequest) Prompts(ctx context.Context, m model.Model) ([]*api.Prompt, error) {
	list, err := r.Question.Prompts(ctx, m)
	if e, ok := errors.AsType[*control.Error](err); ok && e.Code == control.CodeNoTemplate &&
		r.plain != nil {
		return r.plain.Prompts(ctx, m)
	}
	return list, err
}

// readOllamaGenerate reads a prompt as a message, after a system message if there is one. Under
// raw, and with a suffix, the prompt is the text itself.
func readOllamaGenerate(f *wire.Fields) (api.Request, error) {
	f.As(generateRequestShape)
	p, r := readOllama(f), &ollamaRequest{keepAlive: readKeepAlive(f)}
	p.PromptParam = "prompt"
	text, system := f.String("prompt"), f.String("system")
	c := &api.Completion{Params: p, Texts: []string{text}, Suffix: f.String("suffix")}
	raw := f.Bool("raw")
	c.Fill = c.Suffix != "" && !raw
	if f.String("template") != "" {
		f.Fail("template",
			"is not supported: the model's own is used; send raw to write the prompt as it is.")
	}
	for _, key := range []string{"context", "images"} {
		refuseList(f, key)
	}
	for _, key := range []string{"width", "height", "steps"} {
		if n := f.Raw(key); n != nil && string(n) != "0" {
			f.Fail(key, "is not supported: the models here write text; leave it out.")
		}
	}
	if raw && system != "" {
		f.Fail("system", "cannot be combined with raw.")
	}
	if f.Err() != nil {
		return nil, f.Err()
	}
	if raw || c.Fill {
		r.Question = c
		return r, nil
	}
	asked := &api.Conversation{Params: p}
	if system == "" {
		r.plain = c
	} else {
		asked.Messages = append(asked.Messages, api.NewMessage("system", system))
	}
	asked.Messages = append(asked.Messages, api.NewMessage("user", text))
	r.Question = asked
	return r, asked.Complete()
}

// refuseList refuses a list that is not empty.
func refuseList(f *wire.Fields, key string) {
	v := f.Raw(key)
	if _, n := wire.FirstValues(v, 0); v != nil && n != 0 {
		why := api.TextOnly("image")
		if key == "context" {
			why = "send the earlier messages to /api/chat; they are not computed again"
		}
		f.Fail(key, "is not supported: %s.", why)
	}
}

func readOllamaChat(f *wire.Fields) (api.Request, error) {
	f.As(chatRequestShape)
	c := &api.Conversation{Params: readOllama(f)}
	c.PromptParam = "messages"
	c.Truncate = api.First(true, wire.ReadOptional(f, "truncate", f.Bool))
	r := &ollamaRequest{Question: c, chat: true, keepAlive: readKeepAlive(f)}
	c.Messages = readMessages(f)
	c.Tools = api.ReadTools(f)
	if f.Err() != nil {
		return nil, f.Err()
	}
	return r, c.Complete()
}

func readMessages(f *wire.Fields) (list []api.Message) {
	for m := range api.EachMessage(f) {
		m.List("images", "must be a list of images.") // says what is wrong
		m.Rename(ollamaNames)
		read := api.ReadMessage(m, true) // Ollama's library for Python leaves out an empty content
		read.UseTemplateIDs()
		list = append(list, read)
	}
	return list
}

// ollamaNames are the templates' names for members that Ollama calls otherwise.
var ollamaNames = map[string]string{"thinking": "reasoning_content", "tool_name": "name"}

// readOllama reads the fields of both routes. It ignores unknown options: most are about how
// another program computes.
func readOllama(f *wire.Fields) api.Params {
	p := api.Params{N: 1, Model: neededModel(f, "model")}
	p.Stream = f.Raw("stream") == nil || f.Bool("stream")
	p.Grammar, p.GrammarParam = readOllamaFormat(f), "format"
	if p.Grammar == nil {
		p.Grammar, p.GrammarParam = api.ReadResponseFormat(f, "response_format"), "response_format"
	}
	api.RefuseForms(f, "format", "response_format")
	p.Thinking = readThink(f)
	p.Logprobs = f.Bool("logprobs")
	if n := f.Whole("top_logprobs"); n != nil && p.Logprobs {
		p.TopLogprobs = *n
	}
	o := f.Object("options")
	if o == nil {
		return p
	}
	p.ReadSampling(o, "repeat_penalty")
	p.Stop = api.ReadStop(o, "stop")
	if v := o.Raw("seed"); v != nil && v[0] != '-' { // a seed below 0 means any
		p.Seed = api.ReadSeed(o, "seed")
	}
	if n := o.Whole("num_predict"); n != nil && *n > 0 { // otherwise the context is the limit
		p.MaxTokens = n
	}
	return p
}

// neededModel reads the model's name, from one of these fields.
func neededModel(f *wire.Fields, fields ...string) string {
	for _, key := range fields {
		if name := f.String(key); name != "" {
			return name
		}
	}
	f.Fail("model", "is missing: name a model of /api/tags.")
	return ""
}

// openAIFormats are the types of a format in the form of chats. No JSON schema has such a type.
var openAIFormats = []string{"text", "json_object", "json_schema", "grammar"}

// readOllamaFormat returns the grammar of the answer, or nil for any text. The format is a schema;
// some clients send OpenAI's object in its place.
func readOllamaFormat(f *wire.Fields) *model.Grammar {
	v := f.Raw("format")
	switch {
	case v == nil || string(v) == `""`:
	case string(v) == `"json"`:
		return api.AnyObject()
	case v[0] == '{':
		o := f.Object("format")
		var kind string
		if o == nil {
			return nil
		}
		if json.Unmarshal(o.Raw("type"), &kind) == nil && slices.Contains(openAIFormats, kind) {
			return api.ReadResponseFormat(f, "format")
		}
		return api.SchemaGrammar(f, "format", false)
	default:
		f.Fail("format", "must be \"json\" or a JSON schema.")
	}
	return nil
}

// readThink reads whether the model should think, or how much.
func readThink(f *wire.Fields) (t api.Thinking) {
	v := f.Raw("think")
	switch {
	case v == nil:
	case v[0] == '"':
		if t.Effort = f.Word("think"); t.Effort != "" {
			t.On = new(t.Effort != api.EffortNone)
		}
	default:
		t.On = new(f.Bool("think"))
	}
	return t
}

// readKeepAlive reads seconds, or a duration in Go's form. Below 0 means for ever.
func readKeepAlive(f *wire.Fields) *time.Duration {
	v := f.Raw("keep_alive")
	if v == nil {
		return nil
	}
	if wire.IsNumber(v) {
		if s := f.Number("keep_alive", -math.MaxFloat64, math.MaxFloat64); s != nil {
			return new(time.Duration(min(max(*s, -1), 1e9) * float64(time.Second)))
		}
		return nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(f.String("keep_alive")))
	if err != nil {
		f.Fail("keep_alive", "must be seconds or a duration such as \"5m\".")
		return nil
	}
	return &d
}
