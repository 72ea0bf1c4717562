package supervise

import (
	"bytes"
	"io"
	"sync"
)

// maxLine bounds how much of a line is kept, in bytes.
const maxLine = 4 << 10

// A lastLine passes text on, and keeps the last line that is not empty.
type lastLine struct {
	w io.Writer

	mu   sync.Mutex
	last []byte // a complete line
	part []byte // of a line that has no end yet
}

// Write implements io.Writer.
func (l *lastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	for line := range bytes.Lines(b) {
		l.part = append(l.part, line[:min(len(line), maxLine-len(l.part))]...)
		if line[len(line)-1] != '\n' {
			continue
		}
		if text := bytes.TrimSpace(l.part); len(text) > 0 {
			l.last = append(l.last[:0], text...)
		}
		l.part = l.part[:0]
	}
	l.mu.Unlock()
	return l.w.Write(b)
}

// line returns the kept line, or "".
func (l *lastLine) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := bytes.TrimSpace(l.part); len(text) > 0 {
		return string(text)
	}
	return string(l.last)
}
