package anthropic

import (
	"tandem/app/control"
	"tandem/app/wire"
)

// clearThinking, clearToolUses and compact are the edits of Anthropic's context management.
const (
	clearThinking = "clear_thinking_20251015"
	clearToolUses = "clear_tool_uses_20250919"
	compact       = "compact_20260112"
)

// keepAll asks clearThinking to keep all thoughts.
const keepAll = "all"

// triggers are the lengths of a prompt, in tokens, from which on edits work if the request names none.
var triggers = map[string]int{clearToolUses: 100_000, compact: 150_000}

// readContextManagement reads which parts of a long conversation the client wants to be left out. None
// is left out here: before the trigger of an edit there is nothing to do, and beyond it the request is
// refused. Thoughts are kept as the template keeps them, which an edit may ask for.
func (c *messagesRequest) readContextManagement(f *wire.Fields) {
	o := f.Object("context_management")
	if o == nil {
		return
	}
	for edit := range o.Items("edits", o.List("edits", "must be a list of objects.")) {
		switch kind := edit.NeededWord("type"); kind {
		case "":
			return
		case clearThinking:
			readKeep(edit)
		default:
			c.readTrigger(edit, kind)
		}
	}
}

// readKeep refuses to leave out thoughts.
func readKeep(edit *wire.Fields) {
	const param = "keep"
	v := edit.Raw(param)
	if v != nil && v[0] == '{' {
		v = edit.Object(param).Raw("type")
	}
	if string(v) != `"`+keepAll+`"` {
		edit.Fail(param, "must be %q: the model's template decides which thoughts stay.", control.Word(keepAll))
	}
}

// readTrigger reads when an edit leaves something out.
func (c *messagesRequest) readTrigger(edit *wire.Fields, kind string) {
	most := triggers[kind]
	if o := edit.Object("trigger"); o != nil {
		n := o.Whole("value")
		switch of := o.NeededWord("type"); {
		case of == "" || n == nil:
			o.FailMissing("value")
			return
		case of == "tool_uses":
			if uses := len(c.Called); uses > *n {
				o.Fail("value", "is %d, and the conversation has %d tool uses, which are not cleared here: leave old ones out.",
					*n, uses)
			}
			return
		}
		most = *n
	}
	c.AtMost(most, edit.Path+"trigger", "leave out old messages, or sum them up")
}

// contextManagementShape is the shape of context_management.
var contextManagementShape = wire.Object(wire.Optional("edits", wire.List(wire.Either(
	wire.Typed(clearThinking, wire.Required("keep", wire.Either(wire.Enum(keepAll), wire.Typed(keepAll)))),
	wire.Typed(clearToolUses, triggerField),
	wire.Typed(compact, triggerField),
))))

var triggerField = wire.Optional("trigger", wire.Object(
	wire.Required("type", wire.Enum("input_tokens", "tool_uses")),
	wire.Required("value", wire.Int(0, wire.MaxExact)),
), "Nothing is cleared or compacted: a prompt that is longer is refused.")
