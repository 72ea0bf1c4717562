package terminal

import (
	"strings"
	"testing"
)

// A gauge has 30 cells and shows 100% at most.
func TestGaugeShowsAShare(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{{0, 7, "  0%"}, {7, 7, "100%"}, {9, 7, "100%"}, {1 << 62, 1 << 62, "100%"}} {
		if got := Gauge(c.done, c.total); !strings.HasSuffix(got, c.want) ||
			len(got) != len("[] 100%")+30 {
			t.Errorf("Gauge(%d, %d) is %q, want %q at its end", c.done, c.total, got, c.want)
		}
	}
}

// What a bar draws stays on one line of the terminal: a long name loses its beginning.
func TestBarIsOneLine(t *testing.T) {
	var out strings.Builder
	term := "xterm"
	p := &Program{Stderr: &out, Terminal: true, Getenv: func(string) string { return term }}
	b := p.NewBar()
	b.Draw("loading mlx-community/Qwen3-Coder-30B-A3B-Instruct-4bit", " "+Gauge(1, 2)+" 3.0 GB of 6.0 GB")
	b.Draw("a\x1b[2J", "b\r")
	b.Faint = true
	b.Draw("reading", "")
	b.Erase()
	const want = "\r\x1b[K…r-30B-A3B-Instruct-4bit [===============               ]  50% 3.0 GB of 6.0 GB" +
		"\r\x1b[Ka\ufffd[2Jb\ufffd\r\x1b[K\x1b[2mreading\x1b[0m\r\x1b[K"
	if out.String() != want {
		t.Errorf("drew %q, want %q", out.String(), want)
	}
	out.Reset()
	p.Terminal = false
	draws := func(where string) {
		b := p.NewBar()
		b.Draw("a", "b")
		b.End()
		if out.Len() > 0 {
			t.Errorf("%s it drew %q", where, out.String())
		}
	}
	draws("without a terminal")
	p.Terminal, term = true, "dumb"
	draws("on a terminal without escape sequences")
}
