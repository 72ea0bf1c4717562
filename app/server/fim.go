package server

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
func (c fimRequest) form() form { return fimForm{} }

// fimForm is that of /v1/completions with the choices' text a second time where
// Mistral has it, which is what editors read.
type fimForm struct{ completionForm }

func (f fimForm) appendWhole(dst []byte, text string) []byte {
	dst = append(f.completionForm.appendWhole(dst, text), `,"message":{"role":"assistant","content":`...)
	return append(appendString(dst, text), '}')
}

func (f fimForm) appendDelta(dst []byte, text string) []byte {
	dst = append(f.completionForm.appendWhole(dst, text), `,"delta":{"content":`...)
	return append(appendString(dst, text), '}')
}

func (f fimForm) appendBegin(dst []byte, c *choice) []byte {
	if !c.echo {
		return dst
	}
	return f.appendDelta(dst, c.prompt.text)
}

func (f fimForm) appendEnd(dst []byte) []byte { return f.appendDelta(dst, "") }
