package api

import (
	"encoding/json"
	"slices"
	"strings"

	"tandem/app/wire"
)

// Kinds of parts.
const (
	textPart     = "text"
	thoughtPart  = "thinking"
	documentPart = "document"
)

// unreadable are the kinds of parts that have no text.
var unreadable = []string{"image", "image_url", "input_image", "audio", "input_audio", "video",
	"video_url", "file", "input_file", "computer_screenshot", "container_upload", documentPart}

// ReadParts calls read for each part of the content in the field key. Content is one text or a list
// of parts. A text counts as a part, also in the list.
func ReadParts(f *wire.Fields, key string, read func(p *wire.Fields, kind string)) {
	list := []json.RawMessage{f.Raw(key)}
	if list[0][0] != '"' {
		list = f.List(key, "must be a string or a list of parts.")
	}
	for i, v := range list {
		if v[0] == '"' {
			list[i] = slices.Concat(json.RawMessage(`{"type":"text","text":`), v,
				json.RawMessage(`}`))
		}
	}
	for p := range f.Items(key, list) {
		kind := p.String("type")
		if kind == "" && p.Values[textPart] == nil {
			p.Fail("type", "is missing.")
		}
		if p.Err() == nil {
			read(p, kind)
		}
	}
}

// ReadContent returns the parts of the content in the field key as one text. think gets the
// reasoning among them; if it is nil, that is text.
func ReadContent(f *wire.Fields, key string, think func(string)) string {
	if f.Raw(key) == nil {
		return "" // an assistant's message with calls alone
	}
	var b strings.Builder
	ReadParts(f, key, func(p *wire.Fields, kind string) {
		if think != nil && IsThought(kind) {
			think(PartText(p, kind))
			return
		}
		b.WriteString(PartText(p, kind))
	})
	return b.String()
}

// IsThought reports whether a part of that kind holds a thought.
func IsThought(kind string) bool {
	return kind == thoughtPart || kind == "reasoning" || kind == "redacted_thinking"
}

// PartText returns the text of a part, also of an unknown kind. It fails p if the part has no text.
func PartText(p *wire.Fields, kind string) string {
	o := p.As(nil) // the shape has the members of the known kinds alone
	switch kind {
	case textPart, "input_text", "output_text":
		return wire.NeededText(o, textPart)
	case "refusal":
		return wire.NeededText(o, kind)
	case "tool_reference":
		return wire.NeededText(o, "tool_name")
	case "search_result":
		return joinLines(o.String("title"), o.String("source"), innerText(o, "content"))
	case "redacted_thinking":
		return "" // another server's, encrypted
	case documentPart:
		if text, ok := documentText(o); ok {
			return joinLines(o.String("title"), o.String("context"), text)
		}
	}
	if slices.Contains(unreadable, kind) {
		o.Fail("type", "%q is not supported: this endpoint takes text only.", kind)
		return ""
	}
	text, ok := anyText(o, kind)
	if !ok {
		o.Fail("type", "cannot be %q here: such a part has no text.", wire.Clip(kind))
	}
	return text
}

// OwnText returns the text of a block of a tool that the vendor's servers ran. It leaves out parts
// without one, such as files.
func OwnText(p *wire.Fields, kind string) string {
	o := p.Apart()
	list := []json.RawMessage{o.Values["content"]}
	switch v := list[0]; {
	case kind == documentPart || kind == "search_result" || len(v) == 0 ||
		holdsText(o, "stdout") || holdsText(o, "stderr") || v[0] != '[' && v[0] != '{':
		if text := PartText(o, kind); o.Err() == nil {
			return text
		}
		return ""
	case v[0] == '[':
		list = o.List("content", "must be a list.")
	}
	var b strings.Builder
	for _, v := range list {
		var text string
		if json.Unmarshal(v, &text) == nil {
			b.WriteString(text)
			continue
		}
		if inner := o.Item("content", 0, v); inner != nil {
			b.WriteString(OwnText(inner, inner.String("type")))
		}
	}
	return b.String()
}

// anyText returns the text of a part of any kind, where such parts commonly have it: reasoning under
// the name of its kind, programs as two texts.
func anyText(o *wire.Fields, kind string) (text string, ok bool) {
	if holdsText(o, "stdout") || holdsText(o, "stderr") {
		return joinLines(innerText(o, "stdout"), innerText(o, "stderr")), true
	}
	for _, key := range []string{textPart, kind, "content"} {
		if holdsText(o, key) {
			return ReadContent(o, key, nil), true
		}
	}
	if inner := o.Raw("content"); inner != nil && inner[0] == '{' {
		list := []json.RawMessage{inner}
		for p := range o.Items("content", list) {
			text = PartText(p, p.String("type"))
		}
		return text, true
	}
	text = joinLines(innerText(o, "title"), innerText(o, "url"))
	return text, text != "" || IsThought(kind)
}

// holdsText reports whether a field is a text or a list of parts.
func holdsText(o *wire.Fields, key string) bool {
	v := o.Raw(key)
	return v != nil && (v[0] == '"' || v[0] == '[')
}

// innerText returns the text of a field, or an empty text if it holds something else.
func innerText(o *wire.Fields, key string) string {
	if !holdsText(o, key) {
		return ""
	}
	return ReadContent(o, key, nil)
}

// documentText returns the text of a document. ok is false if the document has another form.
func documentText(o *wire.Fields) (text string, ok bool) {
	source := o.Object("source")
	if source == nil {
		return "", o.Err() != nil
	}
	switch kind := source.String("type"); kind {
	case "text":
		return wire.NeededText(source, "data"), true
	case "content":
		return innerText(source, "content"), true
	}
	return "", source.Err() != nil
}

// joinLines returns the lines that are not empty.
func joinLines(lines ...string) string {
	empty := func(s string) bool { return s == "" }
	return strings.Join(slices.DeleteFunc(lines, empty), "\n")
}
