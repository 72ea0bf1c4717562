package terminal

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/creack/pty"
)

// Keys come through as they are typed, and a paste as text on one line, wherever the terminal's bytes are
// cut.
func TestPasteIsOneLine(t *testing.T) {
	const begin, end = "\x1b[200~", "\x1b[201~"
	for _, c := range []struct {
		typed, want string
		interrupted bool
	}{
		{"é日\x1b[A\r", "é日\x1b[A\r", false},
		{"a\x03", "a\x03", true},
		{begin + "a\rb\r\nc\nd\te" + end + "\r", begin + "a␤b␤c␤d␉e" + end + "\r", false},
		{begin + "\x03\x1b[31mé\x7f\x00\x1b[20" + end + "x\ry", begin + "[31mé[20" + end + "x\ry", false},
		{begin + "\x1b\x1b[201~", begin + end, false},
		{begin + "a\u009b2J\u202eb\u200b\u2066c\x9bé\xe6\x97d" + end, begin + "a2Jbc\ufffdéd" + end, false},
		{"\u009d0;x\u202e語", "0;x語", false},
		{"\uf8ff \U0001fae9", "\uf8ff \U0001fae9", false}, // a private character, and one of Unicode 16
		{begin + end + begin + "\n\n" + end, begin + end + begin + "␤␤" + end, false},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.typed), iotest.OneByteReader(strings.NewReader(c.typed))} {
			k := &keyReader{r: r}
			got, err := io.ReadAll(k)
			if err != nil || string(got) != c.want || k.interrupted != c.interrupted {
				t.Errorf("%q is read as %q, %v, interrupted: %t, want %q", c.typed, got, err, k.interrupted, c.want)
			}
		}
	}
}

// The history has no empty line, and none twice in a row.
func TestHistoryHasEachLineOnce(t *testing.T) {
	var p past
	for _, line := range []string{"a", "", "b", "b", "a"} {
		p.Add(line)
	}
	if p.Len() != 3 || p.At(0) != "a" || p.At(1) != "b" || p.At(2) != "a" {
		t.Errorf("the history is %q", p)
	}
}

// What is logged while a person types is shown above the line, which stays whole.
func TestLogIsShownAboveTheLine(t *testing.T) {
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	defer tty.Close()
	p := &Program{Stdin: tty, Stdout: tty, Stderr: tty, Terminal: true}
	e, err := p.NewEditor()
	if err != nil {
		t.Fatal(err)
	}
	line := make(chan string, 1)
	go func() {
		text, _ := e.ReadLine(t.Context(), "> ")
		line <- text
	}()
	shown := ""
	sees := func(want string) {
		for b := make([]byte, 256); !strings.Contains(shown, want); {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatalf("the screen shows %q, want %q: %v", shown, want, err)
			}
			shown += string(b[:n])
		}
		_, shown, _ = strings.Cut(shown, want)
	}
	sees("> ")
	io.WriteString(screen, "ab")
	sees("ab")
	p.Logger(false).Warn("hot")
	sees("msg=hot\r\n> ab")
	io.WriteString(screen, "c\r")
	if got := <-line; got != "abc" {
		t.Errorf("the line is %q", got)
	}
}
