package history

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/engine/tokenizer"
	"tandem/storage"
)

const (
	titleTokens = 16 << 10 // at the end of a text, searched for a title
	codeTokens  = 2 << 10  // likewise, if the text is not a chat
	endTokens   = 2 * endRunes
	titleRunes  = 80     // of a title, at most
	endRunes    = 60     // of the last words at most
	maxTitles   = 10_000 // remembered at most
)

// titles remembers the titles of checkpoints, by id. A file's text does not change, and finding its
// title reads the file.
type titles struct {
	mu sync.Mutex
	of map[string]control.CheckpointTitle
}

func (t *titles) get(id string) control.CheckpointTitle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id]
}

func (t *titles) set(title control.CheckpointTitle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || len(t.of) >= maxTitles {
		t.of = map[string]control.CheckpointTitle{}
	}
	t.of[title.ID] = title
}

// withOrigins adds to checkpoints their clients and titles, as far as these are known without
// reading files.
func (h *History) withOrigins(ctx context.Context,
	list []control.Checkpoint) ([]control.Checkpoint, error) {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	origins, err := h.db.Checkpoints.Origins(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range list {
		o := origins[list[i].ID]
		list[i].Client, list[i].Title = o.Client, cmp.Or(o.Title, h.titles.get(list[i].ID).Title)
	}
	return list, nil
}

// CheckpointTitles returns the titles of checkpoints. A checkpoint that cannot be read has none:
// its model or its file may be gone. It implements server.Checkpoints.
func (h *History) CheckpointTitles(ctx context.Context,
	ids []string) ([]control.CheckpointTitle, error) {
	var rows []storage.Checkpoint
	for _, id := range ids {
		row, err := h.db.Checkpoints.Get(ctx, id)
		if storage.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	// One tokenizer is kept, so the checkpoints of one model come in a row.
	slices.SortStableFunc(rows,
		func(a, b storage.Checkpoint) int { return cmp.Compare(a.Model, b.Model) })
	list := []control.CheckpointTitle{}
	unread := "" // the last model without a tokenizer
	for _, row := range rows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		title := h.titles.get(row.ID)
		if title.ID == "" && row.Model != unread {
			t, err := h.pool.Tokenizer(ctx, row.Model)
			if err != nil {
				unread = row.Model
				continue
			}
			if title = h.readTitle(row, t); title.ID != "" {
				h.titles.set(title)
			}
		}
		if title.ID != "" {
			list = append(list, title)
		}
	}
	return list, nil
}

// readTitle returns the title of a checkpoint's text, the zero title if the text cannot be read or
// is empty.
func (h *History) readTitle(row storage.Checkpoint,
	t *tokenizer.Tokenizer) control.CheckpointTitle {
	text, err := h.readText(row)
	if err != nil {
		return control.CheckpointTitle{}
	}
	title := titleOf(text, t)
	ends := lastWords(t.Decode(text[max(0, len(text)-endTokens):], false))
	if title == "" && ends == "" {
		return control.CheckpointTitle{}
	}
	return control.CheckpointTitle{ID: row.ID, Title: title, Ends: ends}
}

// RunTitles names runs by their prompts, as far as these are kept. It implements server.Runs.
func (h *History) RunTitles(ctx context.Context, runs []control.Run) map[int64]string {
	titles := map[int64]string{}
	byModel := slices.SortedFunc(slices.Values(runs), // one tokenizer is kept, see CheckpointTitles
		func(a, b control.Run) int { return cmp.Compare(a.Model, b.Model) })
	for _, r := range byModel {
		if ctx.Err() != nil {
			break
		}
		text := h.tokens(ctx, r.ID)
		text = text[:min(len(text), r.PromptTokens)]
		if len(text) == 0 {
			continue
		}
		if t, err := h.pool.Tokenizer(ctx, r.Model); err == nil {
			titles[r.ID] = titleOf(text, t)
		}
	}
	return titles
}

// titleOf returns a title for tokens.
func titleOf(text []int32, t *tokenizer.Tokenizer) string {
	text = text[max(0, len(text)-titleTokens):]
	return textTitle(t.Decode(text, false), t.Decode(text[max(0, len(text)-codeTokens):], true))
}

// marks are what models write between messages, with the speaker.
var marks = regexp.MustCompile(`<\|(?:im_start|start|channel)\|>\w*|<start_of_turn>\w*|<end_of_turn>|<\|start_header_id\|>\w*|<\|\w+\|>|<｜[^<>｜]+｜>|\[/?INST\]|</s>`)

// lastWords returns the end of a text, on one line and without marks.
func lastWords(text string) string {
	line := []rune(oneLine(marks.ReplaceAllString(text, " ")))
	if len(line) <= endRunes {
		return string(line)
	}
	line = line[len(line)-endRunes+1:]
	if i := slices.Index(line, ' '); i >= 0 && i < endRunes/2 {
		line = line[i+1:] // the first word is cut
	}
	return "…" + string(line)
}

// textTitle returns a title for a text. A chat is named by the first words of a person's last
// message. Another text is named by its last line that is not indented, where in code a declaration
// begins. Without one, its last line with a word counts. ending is the end of the text without
// special tokens.
func textTitle(text, ending string) string {
	for {
		said, before, ok := lastSaid(text)
		if !ok {
			break
		}
		if title := firstWords(strings.Split(said, "\n")); title != "" &&
			!strings.HasPrefix(said, "<tool_response>") {
			return title
		}
		text = before
	}
	lines := strings.Split(ending, "\n")
	slices.Reverse(lines)
	outer := slices.DeleteFunc(slices.Clone(lines),
		func(line string) bool { return strings.TrimLeft(line, " \t") != line })
	return cmp.Or(firstWords(outer), firstWords(lines))
}

// turns are the texts that models write before and after a person's message.
var turns = []struct{ before, after string }{
	{"<|im_start|>user\n", "<|im_end|>"},                               // Qwen and many others
	{"<start_of_turn>user\n", "<end_of_turn>"},                         // Gemma
	{"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},     // Llama 3
	{"[INST]", "[/INST]"},                                              // Mistral, Llama 2
	{"<|start|>user<|message|>", "<|end|>"},                            // gpt-oss
	{"<|user|>\n", "<|"},                                               // Phi, GLM
	{"<｜User｜>", "<｜"},                                                 // DeepSeek
	{"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"}, // Command
}

// lastSaid returns a person's last message in the text of a chat, and the text before it.
func lastSaid(text string) (said, before string, ok bool) {
	at := -1
	for _, t := range turns {
		if i := strings.LastIndex(text, t.before); i > at {
			at = i
			said, _, _ = strings.Cut(text[i+len(t.before):], t.after)
		}
	}
	if at < 0 {
		return "", "", false
	}
	return strings.TrimSpace(said), text[:at], true
}

// tagLine is a line with a tag only, as some editors put around a person's message.
var tagLine = regexp.MustCompile(`^<[^<>]*>$`)

// oneLine returns a text with one space in place of each run of spaces, line ends and control
// characters.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text,
		func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// firstWords returns the first line with a letter or a number, cut to a title.
func firstWords(lines []string) string {
	for _, line := range lines {
		line = oneLine(line)
		if tagLine.MatchString(line) || !strings.ContainsFunc(line,
			func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			continue
		}
		if utf8.RuneCountInString(line) > titleRunes {
			line = string([]rune(line)[:titleRunes-1]) + "…"
		}
		return line
	}
	return ""
}
