package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
)

// A branchRequest continues a checkpoint. It adds a person's next message to the checkpoint's chat,
// or a text as it is.
type branchRequest struct {
	api.Params
	base   []int32
	answer bool // base ends with an answer
	text   string
	raw    bool
	said   branchObjects
}

// branchRequestShape is a completion's body with raw.
var branchRequestShape = wire.AllOf(completionRequestShape, wire.Object(wire.Optional("raw", wire.Bool)))

// branchObjects are the objects of a chat or of a completion, depending on the prompt.
type branchObjects struct{ objects }

// Branch answers a request that continues a chosen checkpoint. The body is that of /v1/completions.
// prompt is the next message, or with raw the text itself. The model is the checkpoint's.
func (v *Routes) Branch(w http.ResponseWriter, r *http.Request) error {
	c, base, err := v.To.Texts.CheckpointText(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return v.Continue(w, r, "/app/checkpoints/branch",
		func(f *wire.Fields) (api.Request, error) {
			f.As(branchRequestShape).Values["model"] = wire.Quote(c.Model)
			b := &branchRequest{
				Params: api.Params{PromptParam: "prompt"}, base: base,
				answer: c.Kind == control.KindAnswer, said: branchObjects{completionObjects{}},
			}
			b.Read(f)
			b.MaxTokens = api.ReadLimit(f, "max_tokens")
			b.text, b.raw = f.String("prompt"), f.Bool("raw")
			if b.text == "" && !b.raw {
				f.Fail("prompt",
					"is missing: say what comes next, or set raw to continue the text as it is.")
			}
			return b, f.Err()
		})
}

func (b *branchRequest) Common() *api.Params { return &b.Params }

func (*branchRequest) Offers() *api.Toolbox { return nil }

func (b *branchRequest) Format() api.ReplyFormat { return choicesFormat{objects: &b.said} }

func (b *branchRequest) Prompts(ctx context.Context, m model.Model) ([]*api.Prompt, error) {
	if err := api.CheckLength(m, "prompt", len(b.text)); err != nil {
		return nil, err
	}
	if !b.raw {
		turn, err := b.turn(ctx, m)
		if err == nil {
			b.said.objects = chatObjects{}
			p := &api.Prompt{IDs: slices.Concat(b.base, turn)}
			if m.Dialect().Reasons() {
				p.Parsing = &dialect.Options{Prompt: api.PromptEnd(m.Tokenizer().Decode(turn))}
			}
			return []*api.Prompt{p}, nil
		}
		if !errors.Is(err, model.ErrNoTemplate) {
			return nil, err
		}
	}
	ids, err := b.encodeAfter(m, b.text)
	if err != nil {
		return nil, err
	}
	return []*api.Prompt{{IDs: slices.Concat(b.base, ids)}}, nil
}

// seam is how many tokens before a continuation are encoded with it. Some tokenizers add a space at
// the beginning of a text.
const seam = 8

// encodeAfter encodes text that continues the base.
func (b *branchRequest) encodeAfter(m model.Model, text string) ([]int32, error) {
	last := m.Tokenizer().Decode(b.base[max(0, len(b.base)-seam):])
	before, err := m.Tokenizer().Encode(last, false)
	if err != nil {
		return nil, err
	}
	both, err := m.Tokenizer().Encode(last+text, false)
	if err != nil {
		return nil, err
	}
	if len(both) >= len(before) && slices.Equal(both[:len(before)], before) {
		return both[len(before):], nil
	}
	return m.Tokenizer().Encode(text, false) // apart from base, as tokens would merge
}

// marker takes the place of the earlier text when a template is asked what it writes after that.
const marker = "0tandem0"

// turn returns the tokens from the base to the model's next answer, with text as a person's
// message. It leaves out tokens that the base already ends with.
func (b *branchRequest) turn(ctx context.Context, m model.Model) ([]int32, error) {
	if b.answer {
		ids, err := b.after(ctx, m, api.NewMessage("user", "0"), api.NewMessage("assistant", marker))
		return b.withoutRepeat(ids), err
	}
	// The text comes after the system's message, or after a person's message if the template lets
	// two of them follow each other.
	var failed error
	for _, role := range []string{"system", "user"} {
		ids, err := b.after(ctx, m, api.NewMessage(role, marker))
		if errors.Is(err, model.ErrNoTemplate) {
			return nil, err
		}
		rest := b.withoutRepeat(ids)
		known := ids[:len(ids)-len(rest)]
		if err == nil && strings.TrimSpace(m.Tokenizer().Decode(known)) != "" {
			return rest, nil
		}
		failed = cmp.Or(failed, err)
	}
	if failed != nil {
		return nil, failed
	}
	return nil, control.Errorf(control.CodeInvalid,
		"The checkpoint ends in the middle of a message, so no other message can follow; branch "+
			"its text (raw), or choose another checkpoint.")
}

// after returns the tokens that a template writes after the last of some messages and before the
// answer to the text. The last message is the marker.
func (b *branchRequest) after(ctx context.Context, m model.Model, before ...api.Message) ([]int32, error) {
	messages := append(before, api.NewMessage("user", b.text))
	chat := m.Chat(false)
	text, err := chat.Render(ctx, new(api.Conversation).Vars(messages, true, chat.History()))
	if err != nil {
		return nil, err
	}
	_, after, ok := strings.Cut(text, marker)
	if !ok {
		return nil, control.Errorf(control.CodeInvalid,
			"The model's chat template leaves out what was said before; branch the text (raw).")
	}
	return m.Tokenizer().Encode(after, false)
}

// withoutRepeat returns ids without the beginning that the base already ends with.
func (b *branchRequest) withoutRepeat(ids []int32) []int32 {
	known := min(len(ids), len(b.base))
	for known > 0 && !slices.Equal(b.base[len(b.base)-known:], ids[:known]) {
		known--
	}
	return ids[known:]
}
