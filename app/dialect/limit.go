package dialect

// Thinking reports whether what comes next is part of a thought.
func (p *Parser) Thinking() bool {
	switch m := p.mode.(type) {
	case *thought:
		return true
	case *messages:
		return m.at == inMessage && m.kind == Reasoning
	}
	return false
}

// Closing is what ends a thought at a limit, with what the templates write around it. It is empty
// if there are no thoughts.
func (d *Dialect) Closing() string {
	switch {
	case d.channels:
		return "<|end|>" + harmonyStart + "assistant" // whether it calls or answers is the model's to say
	case d.thought == think:
		return "\n</think>\n\n"
	}
	return d.thought.close
}
