package engine

import "strings"

// Stops find stop texts in a stream of text, wherever token borders fall. They hold back
// text that may yet become one.
type Stops struct {
	Texts []string
	Found string // the one of Texts that was hit

	held string
}

// Push adds text and returns what is certain not to belong to a stop text. On a hit it
// returns the text before the earliest match.
func (m *Stops) Push(text string) (out string, hit bool) {
	if len(m.Texts) == 0 {
		return text, false
	}
	all := m.held + text
	first := -1
	for _, stop := range m.Texts {
		if i := strings.Index(all, stop); i >= 0 && (first < 0 || i < first) {
			first, m.Found = i, stop
		}
	}
	if first >= 0 {
		m.held = ""
		return all[:first], true
	}
	keep := 0
	for _, stop := range m.Texts {
		keep = max(keep, overlap(all, stop))
	}
	m.held = all[len(all)-keep:]
	return all[:len(all)-keep], false
}

// Flush returns the text that was held back, at the end of a text. The next Push begins a
// new one.
func (m *Stops) Flush() string {
	out := m.held
	m.held = ""
	return out
}

// overlap returns the length of the longest end of text with which stop begins.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasPrefix(stop, text[len(text)-n:]) {
			return n
		}
	}
	return 0
}
