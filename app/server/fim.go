package server

import "tandem/app/dialect"

// A fimRequest is the body of /v1/fim/completions, Mistral's route for what
// stands between a prompt and a suffix. It takes all that /v1/completions takes, and
// Mistral's name for the seed.
type fimRequest struct{ *completionRequest }

func readFIM(f *fields) (request, error) {
	c := newCompletion(f)
	// A file whose end is the gap has an empty suffix; only without any is the
	// prompt gone on from.
	c.fill = f.raw("suffix") != nil
	if seed := readSeed(f, "random_seed"); c.seed == nil {
		c.seed = seed
	}
	return fimRequest{c}, c.check(f)
}

// form implements request.
func (c fimRequest) form() form { return choicesForm{members: fimMembers{}} }

// fimMembers are those of /v1/completions with the choices' text a second time where
// Mistral has it, which is what editors read.
type fimMembers struct{ completionMembers }

func (m fimMembers) appendWhole(dst []byte, c *choice) []byte {
	dst = append(m.completionMembers.appendWhole(dst, c), `,"message":{"role":"assistant","content":`...)
	return append(appendString(dst, c.text()), '}')
}

func (m fimMembers) appendPart(dst []byte, c *choice, p dialect.Part) []byte {
	return m.appendDelta(dst, p.Text)
}

func (m fimMembers) appendBegin(dst []byte, c *choice) []byte {
	if !c.echo {
		return dst
	}
	return m.appendDelta(dst, c.prompt.text)
}

func (m fimMembers) appendEnd(dst []byte) []byte { return m.appendDelta(dst, "") }

func (fimMembers) appendDelta(dst []byte, text string) []byte {
	dst = append(appendString(append(dst, `"text":`...), text), `,"delta":{"content":`...)
	return append(appendString(dst, text), '}')
}
