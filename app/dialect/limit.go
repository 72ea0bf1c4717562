package dialect

// Thinking reports whether what comes next is part of a thought.
func (p *Parser) Thinking() bool {
	_, ok := p.mode.(*thought)
	return ok
}

// Closing is what closes a thought at a limit, as the templates write it, with what they write
// behind it. It is empty if there are no thoughts.
func (d *Dialect) Closing() string {
	if !d.Reasons() {
		return ""
	}
	return "\n" + d.thought.close + "\n\n"
}
