package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	urls "net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/app/wire"
)

// Kinds of parts.
const (
	textPart        = "text"
	thoughtPart     = "thinking"
	redactedThought = "redacted_thinking"
	encryptedPart   = "encrypted_content"
	documentPart    = "document"
)

// files are the kinds of parts that are files, with what a template reads in their place. A few
// hold text.
var files = map[string]string{"image": "image", "image_url": "image", "input_image": "image",
	"computer_screenshot": "image", "audio": "audio", "input_audio": "audio", "video": "video",
	"video_url": "video", "file": "file", "input_file": "file", "container_upload": "file",
	documentPart: "file"}

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
			p.FailMissing("type")
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
	line := false // a line break has to follow the previous part
	ReadParts(f, key, func(p *wire.Fields, kind string) {
		if think != nil && IsThought(kind) {
			think(PartText(p, kind))
			return
		}
		file := files[kind] != ""
		if (file || line) && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		text := PartText(p, kind)
		b.WriteString(text)
		line = file || strings.HasSuffix(text, omittedEnd)
	})
	return b.String()
}

// IsThought reports whether a part of that kind holds a thought.
func IsThought(kind string) bool {
	return kind == thoughtPart || kind == "reasoning" || kind == redactedThought
}

// PartTypes returns the types of text parts and of file parts.
func PartTypes() []string { return append(slices.Sorted(maps.Keys(files)), textTypes...) }

// IsPart reports whether kind is one of PartTypes.
func IsPart(kind string) bool { return files[kind] != "" || slices.Contains(textTypes, kind) }

var textTypes = []string{textPart, "input_text", "output_text"}

// PartText returns the text of a part, also of an unknown kind. If the part has no text, it returns a
// line that says so, and p omits the part.
func PartText(p *wire.Fields, kind string) string {
	o := p.As(nil) // the shape has the members of the known kinds alone
	if slices.Contains(textTypes, kind) {
		return joinLines(wire.NeededText(o, textPart), ReadMedia(o))
	}
	switch kind {
	case "refusal":
		return wire.NeededText(o, kind)
	case "tool_reference":
		return wire.NeededText(o, "tool_name")
	case "search_result":
		return joinLines(o.String("title"), o.String("source"), innerText(o, "content"))
	case redactedThought, encryptedPart: // another server's, encrypted
		o.Omitted.Add(kind)
		return ""
	case documentPart:
		if text, ok := documentText(o); ok {
			return joinLines(o.String("title"), o.String("context"), text)
		}
	case "file", "input_file":
		if text, ok := attachedText(o, kind); ok {
			return text
		}
	}
	if what := files[kind]; what != "" {
		o.Omit(what, "type", "%q is not supported: %s.", control.Word(kind), TextOnly(what))
		return OmittedLine(what)
	}
	text, ok := anyText(o, kind)
	if text == "" && IsThought(kind) && o.String("signature") != "" { // another server's, which has the words
		o.Omitted.Add(kind)
	}
	if !ok && o.Err() == nil {
		instead := textPart
		if o.Omitted != nil {
			instead = cmp.Or(o.Omitted.TextPart, instead)
		}
		o.Omit(kind, "type", "cannot be %q here: such a part has no text; send a part of the type %q.",
			wire.Clip(kind), control.Word(instead))
		return OmittedLine(wire.Clip(kind))
	}
	if kind == "" { // a text part, whose type is optional
		text = joinLines(text, ReadMedia(o))
	}
	return text
}

// omitFile leaves out a file that is not read because of the field key, for that reason.
func omitFile(o *wire.Fields, key string, why control.Word) string {
	const what = "file"
	if why == notText {
		o.Omit(what, key, "is not supported: %s.", TextOnly(what))
	} else {
		o.Omit(what, key, "cannot be read: %s.", why)
	}
	return OmittedLine(what)
}

// TextOnly says what to send in place of a file of a kind.
func TextOnly(what string) control.Word {
	instead := map[string]control.Word{"image": "describe the image in words", "audio": "send what is said as text",
		"video": "describe the video in words"}[what]
	return "this endpoint takes text only; " + cmp.Or(instead, "send the file's text")
}

const omittedEnd = " omitted: this model reads text only]"

// OmittedLine says that something was left out.
func OmittedLine(what string) string { return "[" + what + omittedEnd }

// mediaFields are the fields in which clients of several vendors send media beside the content of a message. Each has
// the word that OmittedLine puts in its place.
var mediaFields = map[string]string{
	"image": "image", "images": "image", "image_url": "image", "image_urls": "image", "image_data": "image",
	"input_image": "image", "audio": "audio", "audios": "audio", "audio_url": "audio", "audio_urls": "audio",
	"input_audio": "audio", "video": "video", "videos": "video", "video_url": "video", "video_urls": "video",
	"file": "file", "files": "file", "file_id": "file", "file_ids": "file", "file_url": "file", "input_file": "file",
	"attachment": "file", "attachments": "file", "experimental_attachments": "file", "media": "file",
}

// ReadMedia reads the image, audio, video and file fields of a message, a tool result or a text part, and omits their
// data. It returns an OmittedLine for each of them.
func ReadMedia(m *wire.Fields) string {
	var lines []string
	for _, x := range m.Members() {
		what := mediaFields[x.Key]
		if what == "" || wire.SaysNothing(x.Value) {
			continue
		}
		list, n := wire.FirstValues(x.Value, 1)
		if n < 0 || wire.IsNumber(list[0]) { // the bytes of one
			n = 1
		}
		for range min(n, wire.MaxItems) {
			m.Omit(what, x.Key, "is not supported: %s.", TextOnly(what))
		}
		lines = append(lines, OmittedLine(what))
	}
	return strings.Join(lines, "\n")
}

// RefuseMedia refuses images, sound, video and files in the fields of a request's body. OpenAI's image may hold just a
// detail, which has no effect here. Its audio may hold the voice of the answer; the error then says that answers are
// text.
func RefuseMedia(f *wire.Fields) {
	for _, x := range f.Members() {
		what := mediaFields[x.Key]
		if what == "" || wire.SaysNothing(x.Value) {
			continue
		}
		var settings map[string]any
		_ = json.Unmarshal(x.Value, &settings) // nil unless it is an object
		switch _, isDetail := settings["detail"].(string); {
		case x.Key == "image" && isDetail && len(settings) == 1:
		case x.Key == "audio" && settings["voice"] != nil:
			f.Fail(x.Key, "is not supported: the answer is text from the model alone.")
		default:
			f.Fail(x.Key, "is not supported: %s.", TextOnly(what))
		}
	}
}

// OwnText returns the text of a block of a tool that the vendor's servers ran. It leaves out parts
// without one, such as files, and adds them to left.
func OwnText(p *wire.Fields, kind string, left *wire.Omissions) string {
	o := p.Apart()
	list := []json.RawMessage{o.Values["content"]}
	switch v := list[0]; {
	case kind == documentPart || kind == "search_result" || len(v) == 0 ||
		holdsText(o, "stdout") || holdsText(o, "stderr") || v[0] != '[' && v[0] != '{':
		if text := PartText(o, kind); o.Err() == nil {
			return text
		}
		left.Add(cmp.Or(files[kind], kind))
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
			b.WriteString(OwnText(inner, inner.String("type"), left))
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
		if holdsText(o, key) && (key != kind || IsThought(kind) || key == "content") {
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

// notText is why a file is not read that holds no text, or whose content the request lacks.
const notText control.Word = "it is no text"

// documentText returns the text of a document, or a line in its place. It returns false if the document has none.
func documentText(o *wire.Fields) (string, bool) {
	source := o.Object("source")
	if source == nil {
		return "", false
	}
	switch source.String("type") {
	case "":
		return "", false
	case "text":
		return wire.NeededText(source, "data"), true
	case "content":
		return innerText(source, "content"), true
	case "base64":
		text, why := fileText(source.String("media_type"), source.String("data"))
		if why != "" {
			text = omitFile(source, "data", why)
		}
		return text, true
	}
	return omitFile(source, "type", notText), true
}

// attachedText returns the name and the text of a file in OpenAI's forms, or a line in its place. It returns false
// if the file has neither data nor an address.
func attachedText(o *wire.Fields, kind string) (string, bool) {
	if kind == "file" && o.Raw(kind) != nil { // as chats have it
		if o = o.Object(kind); o == nil {
			return "", false
		}
	}
	name, data := o.String("filename"), o.String("file_data")
	if data != "" {
		text, why := fileText("", data)
		if why != "" {
			return omitFile(o, "file_data", why), true
		}
		return joinLines(name, text), true
	}
	for _, key := range []string{"file_id", "file_url"} {
		if o.String(key) != "" {
			return omitFile(o, key, notText), true
		}
	}
	return "", false
}

// fileText decodes a text file from base64 or from a data URL, whose media type overrides mediaType.
// It says why if the content is not UTF-8 text. An empty mediaType means unknown.
func fileText(mediaType, data string) (text string, why control.Word) {
	var raw []byte
	var err error
	const scheme = "data:"
	if n := len(scheme); len(data) >= n && strings.EqualFold(data[:n], scheme) {
		mediaType, data, _ = strings.Cut(data[n:], ",")
		var packed bool
		if mediaType, packed = strings.CutSuffix(strings.ToLower(mediaType), ";base64"); !packed {
			text, err = urls.PathUnescape(data)
			raw, data = []byte(text), ""
		}
	}
	if data != "" {
		raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "=\r\n"))
	}
	kind, _, _ := strings.Cut(strings.ToLower(mediaType), "/")
	found := http.DetectContentType(raw)
	switch {
	case !slices.Contains([]string{"", "text", "application"}, kind):
		return "", "only text and application media types are read; send its text as text/plain"
	case strings.HasPrefix(strings.ToLower(mediaType), "application/pdf"):
		return "", notText
	case err != nil:
		return "", "its data is broken base64, or a broken URL"
	case isUTF16(raw):
		return "", "its text must be UTF-8, not UTF-16"
	case strings.HasPrefix(found, "text/") && !utf8.Valid(raw):
		return "", "its text must be UTF-8"
	case !strings.HasPrefix(found, "text/"):
		return "", notText
	}
	return string(raw), ""
}

// isUTF16 reports whether data is UTF-16 text that begins mostly in ASCII, with or without a byte order mark.
func isUTF16(data []byte) bool {
	data = data[:min(len(data), 512)] // as much as DetectContentType considers
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		units, ascii := make([]uint16, len(data)/2), 0
		for i := range units {
			if units[i] = order.Uint16(data[2*i:]); units[i] < utf8.RuneSelf {
				ascii++
			}
		}
		kind := http.DetectContentType([]byte(string(utf16.Decode(units))))
		if len(data)%2 == 0 && 2*ascii > len(units) && strings.HasPrefix(kind, "text/") {
			return true
		}
	}
	return false
}

// joinLines returns the lines that are not empty.
func joinLines(lines ...string) string {
	empty := func(s string) bool { return s == "" }
	return strings.Join(slices.DeleteFunc(lines, empty), "\n")
}
