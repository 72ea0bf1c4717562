package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/library"
	"tandem/app/terminal"
)

// runWords are the words after run, once it is known what each is.
type runWords struct {
	model  string   // as it was named; empty for the current one
	prompt []string // empty for a chat
}

// splitWords tells the model from the prompt. A first word that names a model is the model. A word alone
// is the prompt, unless it is exactly an id.
func splitWords(words []string, isID, names func(string) bool) runWords {
	isModel := names
	if len(words) == 1 {
		isModel = isID
	}
	if len(words) > 0 && isModel(words[0]) {
		return runWords{words[0], words[1:]}
	}
	return runWords{prompt: words}
}

// A known is what can be run: the models here, and those of the catalogue.
type known struct {
	c         *control.Client
	here      []string
	catalogue []control.Suggested
}

func askKnown(ctx context.Context, c *control.Client) (known, error) {
	k := known{c: c}
	list, err := control.Ask(ctx, c, control.ListModels)
	if err != nil {
		return k, err
	}
	for _, m := range list.Models {
		k.here = append(k.here, m.ID)
	}
	catalogue, err := control.Call(ctx, c, control.GetCatalogue, false)
	k.catalogue = catalogue.Models
	return k, err
}

// suggested returns the model of the catalogue with that id, if it is not here; nil if there is none.
func (k known) suggested(id string) *control.Suggested {
	i := slices.IndexFunc(k.catalogue, func(s control.Suggested) bool { return s.ID == id })
	if i < 0 || slices.Contains(k.here, id) {
		return nil
	}
	return &k.catalogue[i]
}

func (k known) has(id string) bool { return slices.Contains(k.here, id) || k.suggested(id) != nil }

// near returns the id that a prompt of one word is probably meant for: the one whose name begins like it,
// with the tag of Ollama's names if it has one. qwen3 means Qwen3-8B rather than Qwen3.5-9B. It is empty if
// there is none.
func (k known) near(prompt string) string {
	const shortest = 3 // letters that say something
	word, tag, tagged := strings.Cut(strings.ToLower(prompt), ":")
	if strings.ContainsFunc(prompt, unicode.IsSpace) || len(letters(word)) < shortest {
		return ""
	}
	ids := slices.Clone(k.here)
	for _, s := range k.catalogue {
		ids = append(ids, s.ID)
	}
	for _, meant := range []func(name string) bool{
		func(name string) bool { return tagged && strings.HasPrefix(letters(name), letters(word+tag)) },
		func(name string) bool { return strings.HasPrefix(strings.ToLower(name), word+"-") },
		func(name string) bool { return strings.HasPrefix(letters(name), letters(word)) },
	} {
		for _, id := range ids {
			if meant(id) || meant(id[strings.LastIndexByte(id, '/')+1:]) {
				return id
			}
		}
	}
	return ""
}

// hubID matches what may be the name of a model at the hub.
var hubID = regexp.MustCompile(`^[\w-][\w.-]*/[\w-][\w.-]*$`)

// hint returns what to write if a word is meant for a model, empty if it does not look like one.
func (k known) hint(word string) string {
	if id := k.near(word); id != "" {
		return fmt.Sprintf("to name a model, write tandem run %s 'PROMPT'", id)
	}
	if hubID.MatchString(word) {
		return "to download a model of that name, write tandem pull " + word
	}
	return ""
}

// letters returns the letters and digits of a name in lower case.
func letters(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}

// readWords tells the model from the prompt, by what the server knows.
func (m *Main) readWords(ctx context.Context, cmd *cobra.Command, c *control.Client, words []string) (runWords,
	error) {
	k, err := askKnown(ctx, c)
	if err != nil {
		return runWords{}, err
	}
	w := splitWords(words, k.has, func(word string) bool {
		id, err := idOf(ctx, c, word)
		return err != nil || word == control.Alias || k.has(id) || library.IsFolder(word)
	})
	switch {
	case len(w.prompt) > 1:
		if hint := k.hint(words[0]); hint != "" && w.model == "" {
			return w, terminal.Mistake(cmd, fmt.Sprintf("there is no model %q here; %s. A prompt of several words is put in quotes",
				words[0], hint))
		}
		return w, tooManyWords(cmd, w.prompt)
	case w.model != "":
		return w, m.offer(ctx, cmd, k, w.model)
	}
	w.model = control.Alias
	return w, m.tellAnswerer(ctx, k, words[0])
}

// tellAnswerer says which model answers a prompt that looks like the name of one.
func (m *Main) tellAnswerer(ctx context.Context, k known, prompt string) error {
	hint := k.hint(prompt)
	if hint == "" {
		return nil
	}
	state, err := control.Ask(ctx, k.c, control.GetState)
	if err != nil {
		return err
	}
	m.Remark("tandem: %s answers %q; %s", state.Choice, prompt, hint)
	return nil
}

// offer downloads a model of the catalogue that is not here, if the person says so.
func (m *Main) offer(ctx context.Context, cmd *cobra.Command, k known, id string) error {
	if k.suggested(id) == nil {
		return nil
	}
	if !m.Typed || !m.Terminal {
		return terminal.Mistake(cmd, fmt.Sprintf("%s is not on this machine; `tandem pull %[1]s` downloads it", id))
	}
	size := "of unknown size"
	if catalogue, err := control.Call(ctx, k.c, control.GetCatalogue, true); err == nil { // it asks the hub
		k.catalogue = catalogue.Models
		if s := k.suggested(id); s != nil && s.Bytes > 0 {
			n := s.Bytes
			if len(s.Drafters) > 0 && !s.Drafters[0].Here {
				n += s.Drafters[0].Bytes
			}
			size = control.ByteSize(n)
		}
	}
	yes, err := m.Ask(ctx, fmt.Sprintf("%s is not on this machine; download it, %s?", id, size))
	if err == nil && !yes {
		err = errors.New("nothing was downloaded; `tandem list` shows the models that are here")
	}
	if err != nil {
		return err
	}
	_, err = m.download(ctx, k.c, id, control.PullRequest{ID: id})
	return err
}
