package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
)

// printed returns what a table prints at a terminal, or in a pipe.
func printed(t *testing.T, shown bool, env string, columns []Column, rows [][]any) string {
	t.Helper()
	var out strings.Builder
	p := &Program{Stdout: &out, Shown: shown, Getenv: func(name string) string {
		if name == env {
			return "dumb"
		}
		return ""
	}}
	if err := p.Table(columns, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A table prints control characters as U+FFFD, so that no name moves the terminal's cursor.
func TestTableHasNoControlCharacters(t *testing.T) {
	columns := []Column{{Name: "MODEL"}, {Name: "CLIENT"}}
	rows := [][]any{{"\x1b]0;gone\a", "a\tb\nc"}, {ID("\u009b2J"), "\u202eab\r"}, {Marked{"é 日本", Wrong}, Figure("-\x1b")}}
	const want = "MODEL      CLIENT\n�]0;gone�  a�b�c\n�2J        �ab�\né 日本     -�\n"
	if got := printed(t, false, "", columns, rows); got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	if got := printed(t, true, "", columns, rows); strings.Count(got, "\x1b") != 6 { // two headers and a mark
		t.Errorf("on a terminal the table is %q, which has other escapes than its styles", got)
	}
}

// In a pipe a table is whole and plain; on a terminal it has styles, figures to the right and relative times.
func TestTableIsPlainInAPipe(t *testing.T) {
	at := time.Now().Add(-3*time.Minute - 20*time.Second)
	columns := []Column{{Name: "ID"}, {Name: "ABOUT"}, {Name: "SIZE"}, {Name: "USED"}, {Name: "N"}}
	rows := [][]any{{Marked{ID("*one"), Chosen}, "a", Figure("1.5 GB"), at, 7}, {"two", "b", Figure("-"), time.Time{}, 12345}}
	const (
		header = "ID    ABOUT    SIZE  USED           N\n"
		first  = "*one  a      1.5 GB  3 min ago      7\n"
		second = "two   b           -  -          12345\n"
	)
	for _, c := range []struct {
		shown     bool
		env, want string
	}{
		{false, "", "ID    ABOUT  SIZE    USED                 N\n*one  a      1.5 GB  " + at.Local().Format(time.DateTime) +
			"  7\ntwo   b      -       -                    12345\n"},
		{true, "NO_COLOR", header + first + second},
		{true, "TERM", header + first + second},
		{true, "", "\x1b[2mID\x1b[0m    \x1b[2mABOUT\x1b[0m    \x1b[2mSIZE\x1b[0m  \x1b[2mUSED\x1b[0m           \x1b[2mN\x1b[0m\n" +
			strings.Replace(first, "*one", "\x1b[1m*one\x1b[0m", 1) + second},
	} {
		if got := printed(t, c.shown, c.env, columns, rows); got != c.want {
			t.Errorf("shown: %t, %s=dumb:\n%s\nwant\n%s", c.shown, c.env, got, c.want)
		}
	}
}

// A table fits 80 columns: first it leaves out the spare columns that have no room, then it cuts the widest.
func TestTableFitsTheTerminal(t *testing.T) {
	long := strings.Repeat("日本 ", 30)
	columns := []Column{{Name: "ID", Whole: true}, {Name: "TITLE"}, {Name: "MODEL"}, {Name: "SPARE", Spare: true}, {Name: "N"}}
	row := func(title, model string) [][]any {
		return [][]any{{"0123456789abcdef", title, ID(model), "this is left out", 1234567}}
	}
	for _, c := range []struct {
		title, model, want string
	}{
		{"short", "m", "ID                TITLE  MODEL  SPARE                   N\n" +
			"0123456789abcdef  short  m      this is left out  1234567\n"},
		{"a title that has more than twenty-five letters", "short", "ID                TITLE                                           MODEL        N\n" +
			"0123456789abcdef  a title that has more than twenty-five letters  short  1234567\n"},
		{"a title that has more than twenty-five letters", "mlx-community/Qwen3-Coder-30B-A3B-4bit",
			"ID                TITLE                      MODEL                             N\n" +
				"0123456789abcdef  a title that has more th…  …/Qwen3-Coder-30B-A3B-4bit  1234567\n"},
		{long, "m", "ID                TITLE                                           MODEL        N\n" +
			"0123456789abcdef  日本 日本 日本 日本 日本 日本 日本 日本 日本 …  m      1234567\n"},
	} {
		got := printed(t, true, "NO_COLOR", columns, row(c.title, c.model))
		if got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.title, c.model, got, c.want)
		}
		for line := range strings.Lines(got) {
			if width := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); width > 80 {
				t.Errorf("%d columns: %s", width, line)
			}
		}
	}
}

// A terminal that is too narrow even for short texts loses the last columns, and no line is wider than it.
func TestNarrowTerminalLosesTheLastColumns(t *testing.T) {
	columns := []Column{{Name: "ID", Whole: true}, {Name: "TITLE"}, {Name: "MODEL"}, {Name: "SPARE", Spare: true}, {Name: "N"}, {Name: "WHY"}}
	row := []string{"0123456789abcdef", "a title that has some words", "org/Name-4bit", "left out", "1234567", "reading the prompt"}
	for width, want := range map[int]string{80: "ID TITLE MODEL N WHY", 60: "ID TITLE MODEL N WHY", 50: "ID TITLE MODEL N", 40: "ID TITLE MODEL", 30: "ID TITLE"} {
		var all table
		for i, c := range columns {
			all = append(all, newColumn(c, []cell{{text: row[i]}}))
		}
		fitted := all.fit(width)
		var names []string
		for _, c := range fitted {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%d columns show %s, want %s", width, got, want)
		}
		for n := range 2 {
			if line := strings.TrimSuffix(fitted.row(n, false), "\n"); uniseg.StringWidth(line) > width {
				t.Errorf("%d columns: %s", width, line)
			}
		}
	}
}

// Facts go on below their names, and in a pipe each is one line.
func TestFactsAreWrapped(t *testing.T) {
	sentence := strings.TrimSpace(strings.Repeat("eight by ", 12))
	facts := func(shown bool) string {
		var out strings.Builder
		p := &Program{Stdout: &out, Shown: shown, Getenv: func(string) string { return "1" }}
		if err := p.Facts([][]any{{"name", sentence}, {"at", time.Time{}}, {"  1", "  two  spaces"}}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := facts(false), "name  "+sentence+"\nat    -\n  1     two  spaces\n"; got != want {
		t.Errorf("in a pipe: %q, want %q", got, want)
	}
	want := "name  " + sentence[:71] + "\n      " + sentence[72:] + "\nat    -\n  1     two  spaces\n"
	if got := facts(true); got != want {
		t.Errorf("on a terminal: %q, want %q", got, want)
	}
}

func TestTimesAreRelative(t *testing.T) {
	now := time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC)
	for past, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago",
		time.Hour: "1 h ago", 14 * time.Hour: "14 h ago", 15 * time.Hour: "yesterday", 38 * time.Hour: "yesterday",
		39 * time.Hour: "2 days ago", 6 * 24 * time.Hour: "6 days ago", 7 * 24 * time.Hour: "2026-11-22",
	} {
		if got := ago(now.Add(-past), now); got != want {
			t.Errorf("%v ago is %q, want %q", past, got, want)
		}
	}
	night := time.Date(2026, 11, 29, 1, 0, 0, 0, time.UTC)
	if got := ago(night.Add(-2*time.Hour), night); got != "2 h ago" {
		t.Errorf("two hours before 1:00 is %q", got)
	}
}
