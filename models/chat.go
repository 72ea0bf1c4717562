package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"tandem/engine/native"
	"tandem/models/gguf"
)

// ErrNoTemplate says that a model has no chat template at all.
var ErrNoTemplate = errors.New("the model has no chat template")

// A Chat has the chat templates of a model: one for all conversations, or another one for those
// with tools. The zero Chat has none.
type Chat struct {
	// Source is the text of all templates, in which callers look for the model's special tokens.
	Source string

	// FallbackReason is why the template of a GGUF file cannot be read, if the template of the model's
	// family is used instead.
	FallbackReason error

	plain, tools chatTemplate
}

// A chatTemplate is a template, or why there is none.
type chatTemplate struct {
	template *native.Template
	err      error
}

// Template returns the template for conversations with or without tools. Error: ErrNoTemplate, or
// an *Error for a template that cannot be read.
func (c *Chat) Template(tools bool) (*native.Template, error) {
	t := c.plain
	if tools {
		t = c.tools
	}
	if t.template == nil && t.err == nil {
		return nil, ErrNoTemplate
	}
	return t.template, t.err
}

// Err returns why a template of the model cannot be read, nil if each can.
func (c *Chat) Err() error { return cmp.Or(c.plain.err, c.tools.err) }

// close frees the templates.
func (c *Chat) close() error {
	var err error
	if c.plain.template != nil {
		err = c.plain.template.Close()
	}
	if c.tools.template != nil && c.tools.template != c.plain.template {
		err = errors.Join(err, c.tools.template.Close())
	}
	return err
}

// chat compiles the chat templates. They have to be closed, so this comes last, when nothing can fail any
// more. lane lets one slow template of the program compute at a time, see [native.Lane].
func (f *Files) chat(lane *native.Lane) Chat {
	sources, err := f.chatTemplates()
	if err != nil {
		broken := chatTemplate{err: err}
		return Chat{plain: broken, tools: broken}
	}
	c := compileChat(sources, lane)
	if c.Err() == nil {
		return c
	}
	fsys, err := f.files()
	folder, isGGUF := fsys.(*gguf.Folder)
	if err != nil || !isGGUF {
		return c
	}
	template := folder.FamilyTemplate()
	if template == "" {
		return c
	}
	family := compileChat(templates{template, template}, lane)
	family.FallbackReason = c.Err()
	return family
}

// compileChat compiles the chat templates of given sources, which may be empty.
func compileChat(sources templates, lane *native.Lane) Chat {
	c := Chat{Source: sources.source()}
	if c.Source == "" {
		return c
	}
	c.plain = compileTemplate(sources.plain, lane)
	c.tools = c.plain
	if sources.tools != sources.plain {
		c.tools = compileTemplate(sources.tools, lane)
	}
	return c
}

func compileTemplate(source string, lane *native.Lane) chatTemplate {
	t, err := native.NewTemplate(source, lane)
	if err == nil {
		if err = checkNames(t); err != nil {
			err = errors.Join(err, t.Close())
		}
	}
	if err != nil {
		return chatTemplate{err: unreadable(err)}
	}
	return chatTemplate{template: t}
}

// unreadable returns the error for a chat template that cannot be read.
func unreadable(err error) *Error {
	return &Error{Code: CodeInvalid, Err: err, Message: "has a chat template that cannot be read: " +
		strings.TrimPrefix(err.Error(), "chat template: ")}
}

// dryRunTimeout bounds the rendering in checkNames. The error of a template that takes longer is
// reported at the first request.
const dryRunTimeout = time.Second

// checkNames returns the error of a template that names an unknown filter, test or function. It
// renders the shortest conversation as a dry run, because the compiler does not look names up. So a
// name in a branch that is not rendered passes.
func checkNames(t *native.Template) error {
	ctx, cancel := context.WithTimeout(context.Background(), dryRunTimeout)
	defer cancel()
	_, err := t.Render(ctx, []byte(`{"messages":[{"role":"user","content":"1"}],"tools":null,`+
		`"documents":null,"bos_token":"","eos_token":"","add_generation_prompt":true}`))
	e, ok := errors.AsType[*native.TemplateError](err)
	if ok && e.Kind == native.KindRender && unknownNames.MatchString(e.Message) {
		return e
	}
	return nil
}

var unknownNames = regexp.MustCompile(`unknown (filter|test|function)`)

// templates are the sources of the templates: for conversations with tools and for others. Both are
// empty if the model has none.
type templates struct{ plain, tools string }

// source returns the text of both.
func (t templates) source() string {
	if t.tools == t.plain {
		return t.plain
	}
	return t.plain + "\n" + t.tools
}

// Names of templates, as transformers has them.
const (
	defaultTemplate = "default"
	toolsTemplate   = "tool_use"
)

// readTemplates returns the sources of the chat templates. As in transformers, files of templates
// replace those in tokenizer_config.json, and "default" and "tool_use" count among named
// ones. A model with only one uses it for all conversations.
func readTemplates(fsys fs.FS, tokenizerConfig []byte) (templates, error) {
	named, err := templateFiles(fsys)
	if err == nil && len(named) == 0 {
		named, err = configTemplates(tokenizerConfigFile, tokenizerConfig)
	}
	if err != nil {
		return templates{}, err
	}
	t := templates{named[defaultTemplate], named[toolsTemplate]}
	if t.plain == "" {
		t.plain = t.tools
	}
	if names := slices.Sorted(maps.Keys(named)); t.plain == "" && len(names) == 1 {
		t.plain = named[names[0]]
	} else if t.plain == "" && len(names) > 1 {
		return templates{}, errorf(CodeUnsupported,
			"has chat templates named %s, and none named default; name one of them so",
			strings.Join(names, ", "))
	}
	if t.tools == "" {
		t.tools = t.plain
	}
	return t, nil
}

// templatesFolder is the folder of further chat templates, each named as its file.
const templatesFolder = "additional_chat_templates"

// templateFiles returns the templates that have files of their own, by name. The file
// chat_template.json is that of older processors.
func templateFiles(fsys fs.FS) (map[string]string, error) {
	named := map[string]string{}
	switch old, err := readJSON(fsys, "chat_template.json"); {
	case err == nil:
		if named, err = configTemplates("chat_template.json", old); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, unreadable(err)
	}
	files, err := fs.Glob(fsys, templatesFolder+"/*.jinja")
	if err != nil {
		return nil, err
	}
	for _, file := range append(files, "chat_template.jinja") {
		text, err := readFile(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unreadable(err)
		}
		name := strings.TrimSuffix(path.Base(file), ".jinja")
		if name == "chat_template" {
			name = defaultTemplate
		}
		named[name] = string(text)
	}
	return named, nil
}

// configTemplates returns the templates in a JSON file by name. Its member chat_template is a text,
// a list of named texts, or an object of them.
func configTemplates(file string, config []byte) (map[string]string, error) {
	named := map[string]string{}
	if len(config) == 0 {
		return named, nil
	}
	var members struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
	}
	if err := json.Unmarshal(config, &members); err != nil {
		return nil, errorf(CodeInvalid, "has a %s that cannot be read: %v", file, err)
	}
	v := bytes.TrimSpace(members.ChatTemplate)
	var err error
	switch {
	case len(v) == 0 || string(v) == "null":
	case v[0] == '[':
		var list []struct{ Name, Template string }
		err = json.Unmarshal(v, &list)
		for _, t := range list {
			named[t.Name] = t.Template
		}
	case v[0] == '{':
		err = json.Unmarshal(v, &named)
	default:
		var source string
		err = json.Unmarshal(v, &source)
		named[defaultTemplate] = source
	}
	if err != nil {
		return nil, errorf(CodeInvalid,
			"has a chat_template in %s that is no text and no list of named texts", file)
	}
	for name, source := range named {
		if source == "" {
			delete(named, name)
		}
	}
	return named, nil
}
