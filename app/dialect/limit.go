package dialect

// Thinking reports whether the next byte belongs to a thought.
func (p *Parser) Thinking() bool {
	switch m := p.mode.(type) {
	case *thought:
		return true
	case *messages:
		return (m.at == inMessage || m.at == atBody) && m.kind == Reasoning
	}
	return false
}

// Closing returns the text that ends a thought at its token limit, with the white space that the
// templates write around it. It returns "" if the dialect has no thoughts.
func (d *Dialect) Closing() string {
	switch {
	case d.messages != nil:
		return d.messages.ends[0] + messageStart + "assistant" // the model chooses to call or to answer
	case d.thought == think:
		return "\n</think>\n\n"
	}
	return d.thought.close
}
