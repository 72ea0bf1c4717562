package llamacpp

import (
	"cmp"
	"encoding/json"

	"tandem/app/api"
	"tandem/app/wire"
)

// A textRequest is the body of /completion or of /infill.
type textRequest struct{ api.Completion }

func (*textRequest) Format() api.ReplyFormat { return textFormat{} }

// readCompletion reads the body of /completion: a text to continue, or its token ids.
func readCompletion(f *wire.Fields) (api.Request, error) {
	r := &textRequest{api.Completion{Params: readParams(f.As(completionRequestShape), "prompt")}}
	switch v := f.Raw("prompt"); {
	case v == nil:
		f.Fail("prompt", "is missing: send a text or a list of token ids.")
	case v[0] == '[':
		r.Tokens = []json.RawMessage{v} // the ids are read when the context is known
	default:
		r.Texts = []string{f.String("prompt")}
	}
	return r, f.Err()
}

// readParams reads the fields that /completion and /infill share. param names the prompt in
// errors.
func readParams(f *wire.Fields, param string) api.Params {
	p := api.Params{N: 1, Model: f.String("model"), PromptParam: param}
	p.Stream = f.Bool("stream")
	p.ReadSampling(f, "repeat_penalty")
	p.Seed = api.ReadSeed(f, "seed")
	p.Stop = api.ReadStop(f, "stop")
	p.MaxTokens = cmp.Or(api.ReadLimit(f, "n_predict"), api.ReadLimit(f, "max_tokens"))
	p.Grammar, p.GrammarParam = api.ReadResponseFormat(f, "response_format"), "response_format"
	api.RefuseForms(f, "response_format")
	return p
}
