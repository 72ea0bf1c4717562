package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"tandem/app/api"
	"tandem/app/wire"
)

// A toolKind is a kind of tools that the client runs. For the model each tool is a function. A call and
// its result have items of their kind.
type toolKind struct {
	tool string // its type in tools

	// Of the function, if all tools of the kind are the same one. A tool_search has parameters and a
	// description of its own.
	name, about, parameters string

	call   string // type of a call's item
	prefix string // of its id
	holds  string // the member with the arguments

	// accepts is that of dialect.Tool.
	accepts func(arguments []byte) bool
	// item returns the item of a call. It is nil for a tool that the model cannot call.
	item func(h callHead, name toolName, arguments []byte) any
	// early are the arguments that the item has from its beginning; nil for none.
	early []string
	// begun reports whether a call that was cut has an item, which stays in progress. If it is nil, each has one,
	// which is incomplete.
	begun func(arguments []byte) bool
	// events returns the events with the arguments, once they are whole. It may be nil.
	events func(place func() itemPlace, name toolName, arguments []byte) []callEvent

	output string // type of a result's item
	// result returns the text of a result. It is nil for a text or parts in output.
	result func(f *wire.Fields) string
}

// toolKinds are the kinds. A function is the first.
var toolKinds = []toolKind{
	{
		tool: "function",
		call: "function_call", prefix: "fc_", holds: "arguments",
		item: func(h callHead, name toolName, arguments []byte) any {
			return callItem{h, name, string(arguments)}
		},
		events: functionEvents,
		output: "function_call_output",
	},
	{
		tool: api.CustomTool,
		call: "custom_tool_call", prefix: "ctc_", holds: "input",
		item: func(h callHead, name toolName, arguments []byte) any {
			return customCallItem{h, name, api.CallInput(arguments)}
		},
		events: customEvents,
		output: "custom_tool_call_output",
	},
	{
		tool: "shell", name: "shell", about: "Runs shell commands and returns what they print.",
		parameters: `{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},"minItems":1,` +
			`"description":"The commands, each a line for a shell."},"timeout_ms":{"type":"integer"},` +
			`"max_output_length":{"type":"integer","description":"Characters of output to return."}},` +
			`"required":["commands"],"additionalProperties":false}`,
		call: "shell_call", prefix: "sh_", holds: "action", accepts: accepts(readShell),
		item: shellItem, events: shellEvents,
		output: "shell_call_output", result: shellResult,
	},
	{
		tool: "local_shell", name: "local_shell", about: "Runs a program and returns what it prints.",
		parameters: `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"minItems":1,` +
			`"description":"The program and its arguments, such as [\"bash\", \"-lc\", \"ls\"]."},` +
			`"env":{"type":"object","additionalProperties":{"type":"string"}},"timeout_ms":{"type":"integer"},` +
			`"user":{"type":"string"},"working_directory":{"type":"string"}},` +
			`"required":["command"],"additionalProperties":false}`,
		call: "local_shell_call", prefix: "lsh_", holds: "action", accepts: accepts(readLocalShell),
		item:   localShellItem,
		output: "local_shell_call_output",
	},
	{
		tool: "apply_patch", name: "apply_patch", about: "Creates, updates or deletes a file.",
		parameters: `{"type":"object","properties":{"type":{"type":"string","enum":["create_file","update_file","delete_file"]},` +
			`"path":{"type":"string"},"diff":{"type":"string","description":"Lines that begin with + are added, those ` +
			`with - removed, those with a space stay; a line of @@ begins each part. A new file has only lines with +. ` +
			`Empty for delete_file."}},"required":["type","path","diff"],"additionalProperties":false}`,
		call: "apply_patch_call", prefix: "apc_", holds: "operation", accepts: accepts(readPatch),
		item: patchItem, early: []string{"type", "path"}, begun: patchBegun,
		output: "apply_patch_call_output", result: patchResult,
	},
	{ // refused in tools; the items are those of a conversation with another model
		tool: "computer", name: "computer",
		call: "computer_call", prefix: "cu_", holds: "actions",
		output: "computer_call_output", result: screenshotResult,
	},
	{
		tool: "tool_search", name: "tool_search", about: "Searches for more tools.",
		parameters: `{"type":"object"}`,
		call:       "tool_search_call", prefix: "tsc_", holds: "arguments",
		item: func(h callHead, _ toolName, arguments []byte) any {
			return searchItem{h, "client", wire.RawObject(api.WholeMembers(arguments))}
		},
		output: foundTools,
	},
}

// kindBy returns the kind of which one of the types has a value, or nil.
func kindBy(of func(*toolKind) string, value string) *toolKind {
	for i := range toolKinds {
		if k := &toolKinds[i]; of(k) == value {
			return k
		}
	}
	return nil
}

// offeredKind returns the kind of a tool of that type, or nil if the model gets none.
func offeredKind(toolType string) *toolKind {
	if k := kindBy((*toolKind).toolType, toolType); k != nil && k.item != nil {
		return k
	}
	return nil
}

func (k *toolKind) toolType() string   { return k.tool }
func (k *toolKind) callType() string   { return k.call }
func (k *toolKind) outputType() string { return k.output }

// readArguments returns the arguments in the item of a call as the model wrote them, for the template.
func (k *toolKind) readArguments(f *wire.Fields) json.RawMessage {
	switch k.holds {
	case "arguments":
		v := f.Raw(k.holds)
		if v != nil && v[0] != '"' && v[0] != '{' {
			f.Fail(k.holds, "must be a string.")
		}
		return v
	case "input":
		return api.TextArguments(f.String(k.holds))
	case "actions": // the preview has one
		var list wire.Members
		if f.Object("action") != nil {
			list = wire.Members{{Key: "action", Value: f.Raw("action")}}
		}
		for range f.Items(k.holds, f.List(k.holds, "must be a list of objects.")) {
		}
		if v := f.Raw(k.holds); v != nil {
			list = list.With(k.holds, v)
		}
		return list.JSON()
	}
	o := wire.Needed(f, k.holds)
	if o == nil {
		return nil
	}
	var list wire.Members
	for _, m := range o.Members() {
		if v := string(m.Value); v != "null" && v != "{}" && !(k.holds == "action" && m.Key == "type") {
			list = append(list, m)
		}
	}
	if k.holds == "operation" && list.Get("diff") == nil {
		list = list.With("diff", wire.Quote(""))
	}
	return list.JSON()
}

// shellResult returns what commands printed, and how each ended.
func shellResult(f *wire.Fields) string {
	var b strings.Builder
	for o := range f.Items("output", f.List("output", "must be a list of objects.")) {
		for _, text := range []string{o.String("stdout"), o.String("stderr")} {
			if b.WriteString(text); text != "" && !strings.HasSuffix(text, "\n") {
				b.WriteByte('\n')
			}
		}
		switch outcome := o.Object("outcome"); {
		case outcome == nil:
		case outcome.String("type") == "timeout":
			b.WriteString("[timeout]\n")
		default:
			fmt.Fprintf(&b, "[exit code %s]\n", outcome.Raw("exit_code"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// screenshotResult returns the line that takes the place of a screenshot.
func screenshotResult(f *wire.Fields) string {
	o := wire.Needed(f, "output")
	if o == nil {
		return ""
	}
	return api.PartText(o, o.NeededWord("type"))
}

// patchResult returns whether a patch was applied, and what the client says of it.
func patchResult(f *wire.Fields) string {
	status, said := f.NeededWord("status"), f.String("output")
	if said == "" {
		return status
	}
	return status + "\n" + said
}
