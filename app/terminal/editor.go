package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// ErrInterrupted is returned where Ctrl-C drops a line.
var ErrInterrupted = errors.New("interrupted")

// An Editor reads lines that a person types, with a history and the keys of a shell. A paste of several
// lines is one line, in which newlines are shown as signs.
//
// golang.org/x/term edits the line. Go's authors keep it, it adds 0.15 MB, and it knows where a paste
// begins and ends. Of the others, peterh/liner v1.2.3 answers each line of a paste as one of its own,
// chzyer/readline had its last release in 2022, and reeflective/readline v1.3.0 adds 2.6 MB. x/term
// counts a wide character as one column, as liner does not: while a line of them is edited, the cursor
// is shown beside its place.
type Editor struct {
	program  *Program
	in       *os.File
	out      io.Writer
	keys     *keyReader
	terminal *term.Terminal
	past     *past
}

// NewEditor returns an editor of lines on the program's standard input, which must be a terminal.
func (p *Program) NewEditor() (*Editor, error) {
	in, ok := p.Stdin.(*os.File)
	if !ok || !isTerminal(in) {
		return nil, errors.New("standard input is no terminal")
	}
	e := &Editor{program: p, in: in, out: p.Stdout, past: &past{}}
	e.reset()
	p.editor = e
	return e, nil
}

// reset forgets what was typed and not read.
func (e *Editor) reset() {
	e.keys = &keyReader{r: e.in}
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, e.out}, "")
	e.terminal.History = e.past
	e.program.typing.Store(e.terminal)
}

// ReadLine shows a prompt and reads a line, without its newline. Errors: [ErrInterrupted], io.EOF for
// Ctrl-D on an empty line, or why ctx ended.
func (e *Editor) ReadLine(ctx context.Context, prompt string) (string, error) {
	fd := int(e.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, before) // an error says that the terminal is gone
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		if err := e.terminal.SetSize(width, height); err != nil {
			return "", err
		}
	}
	e.terminal.SetPrompt(prompt)
	e.terminal.SetBracketedPasteMode(true)
	defer e.terminal.SetBracketedPasteMode(false)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // it outlives ctx
		text, err := e.terminal.ReadLine()
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err == nil {
			return strings.NewReplacer(newlineSign, "\n", tabSign, "\t").Replace(l.text), nil
		}
		_, _ = io.WriteString(e.out, "\r\n") // below the line that is left
		if l.err == io.EOF && e.keys.interrupted {
			e.reset()
			return "", ErrInterrupted
		}
		return "", l.err
	case <-ctx.Done():
		_, _ = io.WriteString(e.out, "\r\n")
		return "", ctx.Err()
	}
}

// ReadText is ReadLine for a text that may have several lines, between """ and """.
func (e *Editor) ReadText(ctx context.Context, prompt string) (string, error) {
	const quotes = `"""`
	text, err := e.ReadLine(ctx, prompt)
	if err != nil || !strings.HasPrefix(text, quotes) {
		return text, err
	}
	text = strings.TrimPrefix(text, quotes)
	for !strings.HasSuffix(text, quotes) {
		line, err := e.ReadLine(ctx, "... ")
		if err != nil {
			return "", err
		}
		text += "\n" + line
	}
	return strings.Trim(strings.TrimSuffix(text, quotes), "\n"), nil
}

// past is the lines that were read, newest last.
type past []string

func (p *past) Len() int { return len(*p) }

// At returns the line that is i lines ago.
func (p *past) At(i int) string { return (*p)[len(*p)-1-i] }

// Add adds a line that is not empty and not the one before.
func (p *past) Add(line string) {
	if line != "" && (len(*p) == 0 || p.At(0) != line) {
		*p = append(*p, line)
	}
}

const (
	// newlineSign and tabSign stand for what is pasted and would move the cursor.
	newlineSign, tabSign = "␤", "␉"

	// A terminal puts these around a paste.
	pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

	ctrlC, escape = 3, '\x1b'
)

// A keyReader reads what is typed as it is, and what is pasted as text on one line.
type keyReader struct {
	r           io.Reader
	ready       []byte
	part        []byte // of a character that is not ASCII
	pasting     bool
	seen        int  // bytes of the marker that were read
	afterCR     bool // the last pasted byte was one
	interrupted bool // Ctrl-C was typed
}

func (k *keyReader) Read(p []byte) (int, error) {
	var b [256]byte
	for len(k.ready) == 0 {
		n, err := k.r.Read(b[:])
		for _, c := range b[:n] {
			k.take(c)
		}
		if err != nil && len(k.ready) == 0 {
			return 0, err
		}
	}
	n := copy(p, k.ready)
	k.ready = k.ready[n:]
	return n, nil
}

// take makes one byte of the terminal ready.
func (k *keyReader) take(c byte) {
	if !k.pasting {
		k.add(c)
		k.interrupted = k.interrupted || c == ctrlC
		k.pasting = k.follows(c, pasteBegins)
		return
	}
	held := k.seen
	switch {
	case k.follows(c, pasteEnds):
		k.pasting = false
		k.ready = append(k.ready, pasteEnds...)
	case k.seen == 0 || held >= k.seen: // held bytes were none of the marker
		if held > 0 {
			k.ready = append(k.ready, pasteEnds[1:held]...)
		}
		if k.seen == 0 {
			k.paste(c)
		}
	}
}

// add makes a character ready once it is whole. A terminal obeys some that are not ASCII, and would get them
// back as the echo.
func (k *keyReader) add(c byte) {
	if c < utf8.RuneSelf {
		k.ready, k.part = append(k.ready, c), nil
		return
	}
	if k.part = append(k.part, c); !utf8.FullRune(k.part) {
		return
	}
	// What a font may show stays, whether or not this version of Unicode knows it.
	r, _ := utf8.DecodeRune(k.part)
	if visible(r) == r || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		k.ready = utf8.AppendRune(k.ready, r)
	}
	k.part = nil
}

// follows reports whether c completes the marker.
func (k *keyReader) follows(c byte, marker string) bool {
	switch c {
	case marker[k.seen]:
		k.seen++
	case escape:
		k.seen = 1
	default:
		k.seen = 0
	}
	if k.seen < len(marker) {
		return false
	}
	k.seen = 0
	return true
}

// paste makes one byte of a paste ready. Of control characters, newlines and tabs become signs.
func (k *keyReader) paste(c byte) {
	afterCR := k.afterCR
	k.afterCR = c == '\r'
	switch {
	case c == '\n' && afterCR:
	case c == '\n' || c == '\r':
		k.ready = append(k.ready, newlineSign...)
	case c == '\t':
		k.ready = append(k.ready, tabSign...)
	case c >= ' ' && c != 127:
		k.add(c)
	}
}
