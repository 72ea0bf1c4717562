package llamacpp

import (
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// An infillRequest is the body of /infill: a text with a gap. The text before the gap has two
// parts, as editors send it: the lines above, and the line of the cursor up to it.
type infillRequest struct{ api.Completion }

func readInfill(f *wire.Fields) (api.Request, error) {
	f.As(infillRequestShape)
	p := api.Params{N: 1, Model: named(f.String("model")), PromptParam: "input_prefix"}
	p.Stream = f.Bool("stream")
	p.ReadSampling(f, "repeat_penalty")
	p.Seed = api.ReadSeed(f, "seed")
	p.Stop = api.ReadStop(f, "stop")
	p.MaxTokens = api.ReadLimit(f, "n_predict")
	p.Grammar, p.GrammarParam = api.ReadResponseFormat(f, "response_format"), "response_format"
	api.RefuseForms(f, "response_format")
	before := readExtra(f) + f.String("input_prefix") + f.String("prompt")
	return &infillRequest{api.Completion{
		Params: p, Texts: []string{before}, Suffix: f.String("input_suffix"), Fill: true,
	}}, f.Err
}

// readExtra returns the texts of other files, which come before the text with the gap.
func readExtra(f *wire.Fields) string {
	const what = "must be a list of objects with a text."
	var b strings.Builder
	for o := range f.Items("input_extra", f.List("input_extra", what)) {
		o.String("filename")
		if text := o.String("text"); text != "" {
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// Form implements api.Request.
func (r *infillRequest) Form() api.Form { return infillForm{} }
