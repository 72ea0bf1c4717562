package openai

import (
	"tandem/app/api"
	"tandem/app/dialect"
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

// Form implements api.Request.
func (c fimRequest) Form() api.Form { return choicesForm{members: fimMembers{}} }

// fimMembers are the members of /v1/completions. A choice has its text a second time in Mistral's
// place, where editors read it.
type fimMembers struct{ completionMembers }

func (m fimMembers) appendWhole(dst []byte, c *api.Choice) []byte {
	dst = append(m.completionMembers.appendWhole(dst, c),
		`,"message":{"role":"assistant","content":`...)
	return append(wire.AppendString(dst, c.Text()), '}')
}

func (m fimMembers) appendPart(dst []byte, c *api.Choice, p dialect.Part) []byte {
	return m.appendDelta(dst, p.Text)
}

func (m fimMembers) appendBegin(dst []byte, c *api.Choice) []byte {
	if !c.Echo {
		return dst
	}
	return m.appendDelta(dst, c.Prompt.Text)
}

func (m fimMembers) appendEnd(dst []byte) []byte { return m.appendDelta(dst, "") }

func (fimMembers) appendDelta(dst []byte, text string) []byte {
	dst = append(wire.AppendString(append(dst, `"text":`...), text), `,"delta":{"content":`...)
	return append(wire.AppendString(dst, text), '}')
}
