package bridge

import (
	"fmt"
	"io"
)

// The middle of a log longer than both is left out.
const (
	logHead = 2 << 20 // bytes
	logTail = 512 << 10
)

// A boundedLog writes the head of what a command prints immediately and keeps the tail until close.
type boundedLog struct {
	to         io.Writer
	head, most int // bytes left to write immediately, and bytes of the tail

	tail []byte
	lost int64 // bytes between head and tail
	err  error // the first of to's
}

func newBoundedLog(to io.Writer) *boundedLog {
	return &boundedLog{to: to, head: logHead, most: logTail}
}

// Write never fails. A log that cannot be written must not stop the command.
func (l *boundedLog) Write(p []byte) (int, error) {
	n := len(p)
	if l.head > 0 {
		first := p[:min(len(p), l.head)]
		l.write(first)
		l.head -= len(first)
		p = p[len(first):]
	}
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - l.most; over > l.most {
		l.drop(over)
	}
	return n, nil
}

func (l *boundedLog) drop(n int) {
	l.tail = l.tail[:copy(l.tail, l.tail[n:])]
	l.lost += int64(n)
}

func (l *boundedLog) write(p []byte) {
	if l.err == nil {
		_, l.err = l.to.Write(p)
	}
}

// close writes the tail. It returns the first error of all writes.
func (l *boundedLog) close() error {
	if over := len(l.tail) - l.most; over > 0 {
		l.drop(over)
	}
	if l.lost > 0 {
		l.write(fmt.Appendf(nil, "\n[%d bytes are left out here]\n", l.lost))
	}
	l.write(l.tail)
	l.tail = nil
	return l.err
}
