package texts

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	ada = Owner{Client: "key Ada", Tokenizer: "t"}
	bob = Owner{Client: "key Bob", Tokenizer: "t"}
)

// A logged store says what it logs.
type logged struct {
	*Store
	dir string
	log *bytes.Buffer
}

func openStore(t *testing.T, dir string) logged {
	t.Helper()
	log := &bytes.Buffer{}
	s := NewStore(Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(s.Flush)
	return logged{s, dir, log}
}

// say adds a text as a request of an owner does.
func (s logged) say(o Owner, from Origin, prompt, answer string) {
	u := s.Open(o, from)
	defer u.Close()
	u.Add(Text{Tokens: ids(prompt + answer), Prompt: len(prompt)})
	s.Flush()
}

// guess says how a text of an owner may go on.
func (s logged) guess(o Owner, context string) string {
	u := s.Open(o, Origin{})
	defer u.Close()
	s.Flush()
	list, _ := u.Find(ids(context), nil, 8, 0)
	return text(list)
}

func (s logged) tokens(t *testing.T) int {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Error(err)
	}
	n := 0
	for _, k := range list {
		n += k.Tokens
	}
	return n
}

func (s logged) file(t *testing.T, o Owner) string {
	t.Helper()
	return filepath.Join(s.dir, fileName(o))
}

func TestTextsAreRememberedAfterARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "texts")
	s := openStore(t, dir)
	if got := s.guess(ada, "hello wor"); got != "" {
		t.Errorf("nothing was said, and %q is guessed", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a folder was made for nothing: %v", err)
	}
	s.say(ada, Origin{Model: "m"}, "say hello: ", "hello world, my friend")
	for range 2 { // the second time after a restart
		if got := s.guess(ada, "well, hello wor"); got != "ld, my f" {
			t.Errorf("guessed %q", got)
		}
		for _, o := range []Owner{bob, {}, {Client: ada.Client, Tokenizer: "other"}} {
			if got := s.guess(o, "well, hello wor"); got != "" {
				t.Errorf("%+v is shown %q, another's text", o, got)
			}
		}
		s = openStore(t, dir)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, s.file(t, ada): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %o", path, info.Mode(), err, want)
		}
	}
	if s.log.Len() > 0 {
		t.Error(s.log)
	}
}

func TestConversationCountsOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	conversation, want := "", 0
	for turn := range 5 {
		prompt := conversation + fmt.Sprintf("[user %d: and what of %s?]", turn, strings.Repeat("x", 50*turn))
		answer := fmt.Sprintf("[answer %d: %s]", turn, strings.Repeat("y", 30*turn))
		s.say(ada, Origin{}, prompt, answer)
		conversation = prompt + answer
		want = len(conversation)
		if got := s.tokens(t); got != want {
			t.Fatalf("after turn %d there are %d tokens, want %d", turn, got, want)
		}
		if turn == 2 { // what is known of prefixes comes back too
			s = openStore(t, dir)
		}
	}
	s.say(ada, Origin{}, conversation, "") // nothing new
	s.say(ada, Origin{}, conversation[:300]+"Z", "")
	// Another end after 300 tokens: known up to the last place that is a multiple of markEvery.
	if got := s.tokens(t); got <= want || got > want+markEvery+1 {
		t.Errorf("a branch of the conversation adds %d tokens", got-want)
	}
	s.say(ada, Origin{}, conversation, "another answer")
	if got := s.tokens(t) - want; got > 2*markEvery {
		t.Errorf("another answer to the same prompt adds %d tokens", got)
	}
}

func TestDamagedFileIsReplaced(t *testing.T) {
	flip := func(at int) func(b []byte) []byte {
		return func(b []byte) []byte { b[(len(b)+at)%len(b)] ^= 1; return b }
	}
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		left   string
		why    string
	}{
		{"a torn end", func(b []byte) []byte { return b[:len(b)-3] }, "first ", "in the middle of a record"},
		{"a torn head", func(b []byte) []byte { return append(b, 1, 2, 3) }, "first second ", "in the middle of a record"},
		{"a flipped token", flip(-2), "first ", "checksum"},
		{"a flipped owner", flip(30), "", "checksum"},
		{"another magic", flip(0), "", "no file of texts"},
		{"nothing", func([]byte) []byte { return nil }, "", "no file of texts"},
		{"a huge record", func(b []byte) []byte { return append(b, 255, 255, 255, 255, 0, 0, 0, 0) }, "first second ", "claims"},
		{"another's", func([]byte) []byte {
			b, _ := appendRecord([]byte(magic), bob, nil)
			b, _ = appendRecord(b, record{Count: 9}, ids("Bob's one"))
			return b
		}, "", "another client"},
	} {
		s := openStore(t, t.TempDir())
		s.say(ada, Origin{}, "first ", "one two three")
		s.say(ada, Origin{}, "second ", "four five six")
		path := s.file(t, ada)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, c.change(data), 0o600); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, s.dir)
		if kept, err := s.List(); err != nil || c.left != "" && len(kept) != 1 {
			t.Errorf("%s: %d memories are listed, want 1, %v", c.name, len(kept), err)
		}
		for range 2 {
			left := ""
			for context, name := range map[string]string{"one two": "first ", "Bob's": "Bob "} {
				if s.guess(ada, context) != "" {
					left += name
				}
			}
			if s.guess(ada, "four five") != "" {
				left += "second "
			}
			if left != c.left {
				t.Errorf("%s: left are %q, want %q", c.name, left, c.left)
			}
			if !strings.Contains(s.log.String(), c.why) || c.why == "" && s.log.Len() > 0 {
				t.Errorf("%s: the log has %q, want %q", c.name, s.log, c.why)
			}
			s = openStore(t, s.dir) // it is whole now
			c.why = ""
		}
		s.say(ada, Origin{}, "third ", "seven eight nine")
		if s = openStore(t, s.dir); s.guess(ada, "seven eight") == "" || s.log.Len() > 0 {
			t.Errorf("%s: nothing is kept after that; %s", c.name, s.log)
		}
	}
}

// A file that cannot be read for a moment is as it was after it, and its memory comes back.
func TestFileThatCannotBeReadStays(t *testing.T) {
	s := openStore(t, t.TempDir())
	s.say(ada, Origin{}, "first ", "one two three")
	s.say(bob, Origin{}, "second ", "four five six")
	path, aside := s.file(t, ada), filepath.Join(s.dir, "aside")
	if err := errors.Join(os.Rename(path, aside), os.Symlink(path, path)); err != nil {
		t.Fatal(err) // a link to itself cannot be followed
	}
	s = openStore(t, s.dir)
	if got := s.guess(ada, "one two"); got != "" || !strings.Contains(s.log.String(), "cannot be read") {
		t.Errorf("guessed %q; the log has %q", got, s.log)
	}
	gone, err := s.Forget(func(Owner, Origin) bool { return true })
	if want := len("second four five six"); err == nil || gone.Tokens != want {
		t.Errorf("%d tokens are forgotten, want %d; %v", gone.Tokens, want, err)
	}
	s.say(bob, Origin{}, "third ", "seven eight nine")
	if target, err := os.Readlink(path); target != path {
		t.Errorf("what could not be read was changed: %q, %v", target, err)
	}
	if err := errors.Join(os.Remove(path), os.Rename(aside, path)); err != nil {
		t.Fatal(err)
	}
	if got := s.guess(ada, "one two"); got != " three" {
		t.Errorf("guessed %q when the file can be read again", got)
	}
}

// The tokens before a text's new part count once, whether the memory has grown or was read again.
func TestLeadTokensCountOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	s.say(ada, Origin{}, "[say] one two three", "")
	s.say(ada, Origin{}, "[say] one two three", " four five")
	check := func(when string) {
		u := s.Open(ada, Origin{})
		defer u.Close()
		s.Flush()
		for context, want := range map[string]Match{
			"o thre": {Length: 6, Count: 1, Share: 1}, "three fo": {Length: 8, Count: 1, Share: 1},
		} {
			if _, got := u.Find(ids(context), nil, 8, 0); got != want {
				t.Errorf("%s: %q has %+v, want %+v", when, context, got, want)
			}
		}
	}
	check("at first")
	u := s.Open(ada, Origin{})
	long := make([]int32, smallest)
	for i := range long {
		long[i] = int32(1000 + i)
	}
	u.Add(Text{Tokens: long})
	u.Close()
	check("in a larger ring")
	s = openStore(t, s.dir)
	check("after a restart")
}

// What cannot be written is remembered while its client is there, and forgotten with the rest.
func TestFolderThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "texts")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	s.say(ada, Origin{}, "hello ", "world, my friend")
	s.say(ada, Origin{}, "good ", "morning, my friend")
	if got := s.guess(ada, "hello wor"); got != "ld, my f" {
		t.Errorf("guessed %q", got)
	}
	if n := strings.Count(s.log.String(), "cannot be written"); n != 1 {
		t.Errorf("said %d times: %s", n, s.log)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(func(Owner, Origin) bool { return true }); err != nil {
		t.Error(err)
	}
	if got := s.guess(ada, "hello wor"); got != "" {
		t.Errorf("guessed %q of a forgotten text", got)
	}
}

func TestMemoryHoldsTheNewestTokens(t *testing.T) {
	s := openStore(t, t.TempDir())
	number := func(i int) []int32 {
		list := make([]int32, 100_000)
		for j := range list {
			list[j] = int32(i*len(list) + j)
		}
		return list
	}
	for i := range 25 {
		u := s.Open(ada, Origin{})
		u.Add(Text{Tokens: number(i)})
		u.Close()
	}
	for restart := range 2 {
		for _, i := range []int{0, 14, 15, 24} {
			u := s.Open(ada, Origin{})
			s.Flush()
			list, _ := u.Find(number(i)[100:120], nil, 8, 0)
			u.Close()
			if got, want := len(list) > 0, i >= 15; got != want {
				t.Errorf("restart %d: text %d of 25 is known: %v", restart, i, got)
			}
			if want := number(i)[120:128]; len(list) > 0 && !slices.Equal(list, want) {
				t.Errorf("restart %d: %v, want %v", restart, list, want)
			}
		}
		if n := s.tokens(t); n > rewriteTokens {
			t.Errorf("restart %d: the file has %d tokens", restart, n)
		}
		s = openStore(t, s.dir)
	}
}

// A text longer than a memory leaves its end. Of many short texts not all beginnings are known.
func TestLimits(t *testing.T) {
	s := openStore(t, t.TempDir())
	long := make([]int32, 2*MaxTokens)
	for i := range long {
		long[i] = int32(i)
	}
	u := s.Open(ada, Origin{})
	defer u.Close()
	u.Add(Text{Tokens: long, Prompt: 10})
	s.Flush()
	if list, _ := u.Find(long[len(long)-20:len(long)-4], nil, 9, 0); len(list) != 4 {
		t.Errorf("%v goes on", list)
	}
	for i := range 100_000 {
		u.memory.addRecord(record{Hash: uint64(i), Count: 1, tokens: []int32{int32(i)}})
	}
	if n := len(u.memory.marks); n > maxMarks || n < maxMarks/4 {
		t.Errorf("%d beginnings of texts are known", n)
	}
}

func TestIdleMemoryLeaves(t *testing.T) {
	s := NewStore(Options{Dir: t.TempDir(), Idle: 10 * time.Millisecond})
	u := s.Open(ada, Origin{})
	u.Add(Text{Tokens: ids("hello world")})
	u.Close()
	s.Flush()
	for deadline := time.Now().Add(5 * time.Second); len(s.allOpened()) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("it stays")
		}
		time.Sleep(time.Millisecond)
	}
	for i := range 3 * maxOpen {
		u := s.Open(Owner{Client: fmt.Sprint(i), Tokenizer: "t"}, Origin{})
		u.Close()
	}
	if n := len(s.allOpened()); n > maxOpen {
		t.Errorf("%d memories are in the process", n)
	}
	s.Flush()
}

// Full memories take what is counted for them, and no request opens more than may be open.
func TestMemoriesInUseAreBounded(t *testing.T) {
	if got := int64(maxOpen) * newCorpus(MaxTokens).bytes(); got != MaxBytes {
		t.Errorf("full memories take %d bytes, and %d are counted", got, MaxBytes)
	}
	s := openStore(t, t.TempDir())
	client := func(i int) Owner { return Owner{Client: fmt.Sprint(i), Tokenizer: "t"} }
	var in []*Use
	for i := range maxOpen {
		in = append(in, s.Open(client(i), Origin{}))
	}
	if u := s.Open(client(maxOpen), Origin{}); u != nil {
		t.Error("one client more has a memory")
	}
	if u := s.Open(client(0), Origin{}); u == nil {
		t.Error("another request of a client has no memory")
	}
	in[1].Close()
	if u := s.Open(client(maxOpen), Origin{}); u == nil {
		t.Error("a client has no memory though another's request has ended")
	}
	if n := len(s.allOpened()); n != maxOpen {
		t.Errorf("%d memories are in the process", n)
	}
}

// Requests of several clients look up, add and forget concurrently.
func TestManyAtOnce(t *testing.T) {
	s := openStore(t, t.TempDir())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			o := Owner{Client: fmt.Sprint(i % 3), Tokenizer: "t"}
			for j := range 20 {
				u := s.Open(o, Origin{Run: int64(j)})
				mine := fmt.Sprintf("client %d says %d things", i%3, j)
				list, _ := u.Find(ids("client "), nil, 8, 0)
				if len(list) > 0 && list[0] != int32('0'+i%3) {
					t.Errorf("client %d is shown %q", i%3, text(list))
				}
				u.Add(Text{Tokens: ids(mine)})
				u.Close()
				if j%7 == 6 {
					if _, err := s.Forget(func(_ Owner, o Origin) bool { return o.Run%2 == 0 }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	s.Flush()
	if _, err := s.List(); err != nil {
		t.Error(err)
	}
}

func TestNoStoreRemembersNothing(t *testing.T) {
	var s *Store
	u := s.Open(ada, Origin{})
	u.Add(Text{Tokens: ids("hello")})
	u.Close()
	s.Flush()
	if list, err := s.List(); list != nil || err != nil {
		t.Error(list, err)
	}
}

// What could not be read again is not written, and the file stays whole.
func TestLongDescriptionIsNotWritten(t *testing.T) {
	s := openStore(t, t.TempDir())
	s.say(ada, Origin{}, "first ", "one two three")
	s.say(ada, Origin{Model: strings.Repeat("m", maxInfo)}, "second ", "four five six")
	if !strings.Contains(s.log.String(), "description") {
		t.Errorf("the log has %q", s.log)
	}
	s.say(ada, Origin{}, "third ", "seven eight nine")
	s = openStore(t, s.dir)
	for context, want := range map[string]string{"one two": " three", "four five": "", "seven eight": " nine"} {
		if got := s.guess(ada, context); got != want {
			t.Errorf("%q goes on with %q, want %q", context, got, want)
		}
	}
	if s.log.Len() > 0 {
		t.Error(s.log)
	}
}

// Whatever a file holds, it is refused or read, and what is read can be written and read again.
func FuzzFile(f *testing.F) {
	data, err := appendRecord([]byte(magic), ada, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	data, err = appendRecord(data, record{Count: 3, Origin: Origin{Model: "m"}}, []int32{1, 300, 70000})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[len(magic):])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, append([]byte(magic), data...)} {
			owner, list, err := parse(data, true)
			if err != nil {
				continue
			}
			again, err := appendRecord([]byte(magic), owner, nil)
			for _, r := range list {
				if len(r.tokens) != r.Count {
					t.Fatalf("%d tokens, said to be %d", len(r.tokens), r.Count)
				}
				if err == nil {
					again, err = appendRecord(again, r, r.tokens)
				}
			}
			if err != nil && strings.Contains(err.Error(), "description") {
				continue // JSON that is written escapes more than what was read
			}
			if err != nil {
				t.Fatal(err)
			}
			if owner2, list2, err := parse(again, true); err != nil || owner2 != owner ||
				len(list2) != len(list) {
				t.Fatalf("%v: %+v and %d texts, then %+v and %d", err, owner, len(list), owner2, len(list2))
			}
			m := &memory{owner: owner}
			m.fill(list)
		}
	})
}
