package openai

import (
	"tandem/app/api"
	"tandem/app/wire"
)

// A fimRequest is the body of /v1/fim/completions, Mistral's route for the text between a prompt
// and a suffix. It takes all fields of /v1/completions, and Mistral's name for the seed.
type fimRequest struct{ *completionRequest }

func readFIM(f *wire.Fields) (api.Request, error) {
	c := newCompletion(f.As(fimRequestShape))
	// A file that ends at the gap has an empty suffix. Only a request without a suffix continues
	// the prompt.
	c.Fill = f.Raw("suffix") != nil
	if seed := api.ReadSeed(f, "random_seed"); c.Seed == nil {
		c.Seed = seed
	}
	return fimRequest{c}, c.Check(f)
}

func (c fimRequest) Format() api.ReplyFormat { return choicesFormat{objects: fimObjects{}} }
