package responses

import (
	"bytes"
	"encoding/json"

	"tandem/app/api"
	"tandem/app/wire"
)

// A callHead is what the items of all calls have.
type callHead struct {
	ID     string `json:"id"`
	Type   string `json:"type" enum:"function_call,custom_tool_call,shell_call,local_shell_call,apply_patch_call,tool_search_call"`
	Status string `json:"status" enum:"in_progress,completed,incomplete"`
	CallID string `json:"call_id"`
}

// The items of calls.
type (
	callItem struct {
		callHead
		toolName
		Arguments string `json:"arguments"`
	}
	customCallItem struct {
		callHead
		toolName
		Input string `json:"input"`
	}
	shellCallItem struct {
		callHead
		Action shellAction `json:"action"`
	}
	localShellCallItem struct {
		callHead
		Action localShellAction `json:"action"`
	}
	patchCallItem struct {
		callHead
		Operation patchOperation `json:"operation"`
	}
	searchItem struct {
		callHead
		Execution string         `json:"execution" enum:"client"`
		Arguments wire.RawObject `json:"arguments"`
	}
)

type shellAction struct {
	Commands        []string `json:"commands"`
	TimeoutMS       *float64 `json:"timeout_ms,omitempty"`
	MaxOutputLength *float64 `json:"max_output_length,omitempty"`
}

type localShellAction struct {
	Type             string            `json:"type" enum:"exec"`
	Command          []string          `json:"command"`
	Env              map[string]string `json:"env"`
	TimeoutMS        *float64          `json:"timeout_ms,omitempty"`
	User             *string           `json:"user,omitempty"`
	WorkingDirectory *string           `json:"working_directory,omitempty"`
}

type patchOperation struct {
	Type string  `json:"type"`
	Path string  `json:"path"`
	Diff *string `json:"diff,omitempty"`
}

// A toolName is the name of a tool, with its namespace if it is in one.
type toolName struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// readCall reads the arguments that a model wrote, each into its place. It returns false if one is of
// another type than its place.
func readCall(arguments []byte, into map[string]any) bool {
	list, _ := wire.ReadMembers(api.WholeMembers(arguments))
	for _, m := range list {
		if string(m.Value) == "null" {
			continue
		}
		ok := true
		switch to := into[m.Key].(type) {
		case *string:
			*to, ok = readText(m.Value)
		case **string:
			var text string
			if text, ok = readText(m.Value); ok {
				*to = &text
			}
		case **float64:
			n := new(0.0)
			if ok = json.Unmarshal(bytes.Trim(m.Value, `"`), n) == nil; ok {
				*to = n
			}
		case *[]string:
			*to, ok = readTexts(m.Value)
		case *map[string]string:
			*to, ok = readTextMap(m.Value)
		}
		if !ok {
			return false
		}
	}
	return true
}

// readText reads a text. The text of a number or a bool is its spelling.
func readText(v json.RawMessage) (text string, ok bool) {
	switch v[0] {
	case '"':
		return text, json.Unmarshal(v, &text) == nil
	case '{', '[', 'n':
		return "", false
	}
	return string(v), true
}

// readTexts reads a list of texts, at least one. A text alone is such a list.
func readTexts(v json.RawMessage) ([]string, bool) {
	list, texts := []json.RawMessage{v}, []string{}
	if v[0] == '[' {
		list = nil
		_ = json.Unmarshal(v, &list) // it is a list
	}
	for _, v := range list {
		text, ok := readText(v)
		if !ok {
			return []string{}, false
		}
		texts = append(texts, text)
	}
	return texts, len(texts) > 0
}

// readTextMap reads an object whose members are texts.
func readTextMap(v json.RawMessage) (texts map[string]string, ok bool) {
	list, err := wire.ReadMembers(v)
	texts = map[string]string{}
	for _, m := range list {
		if texts[m.Key], ok = readText(m.Value); !ok {
			return map[string]string{}, false
		}
	}
	return texts, err == nil
}

func readShell(arguments []byte) (a shellAction, ok bool) {
	a.Commands = []string{}
	ok = readCall(arguments, map[string]any{"commands": &a.Commands, "timeout_ms": &a.TimeoutMS,
		"max_output_length": &a.MaxOutputLength})
	return a, ok && len(a.Commands) > 0
}

func readLocalShell(arguments []byte) (a localShellAction, ok bool) {
	a = localShellAction{Type: "exec", Command: []string{}, Env: map[string]string{}}
	ok = readCall(arguments, map[string]any{"command": &a.Command, "env": &a.Env, "timeout_ms": &a.TimeoutMS,
		"user": &a.User, "working_directory": &a.WorkingDirectory})
	return a, ok && len(a.Command) > 0
}

func readPatch(arguments []byte) (o patchOperation, ok bool) {
	ok = readCall(arguments, map[string]any{"type": &o.Type, "path": &o.Path, "diff": &o.Diff})
	switch o.Type {
	case "create_file", "update_file":
		ok = ok && o.Diff != nil
	case "delete_file":
		o.Diff = nil
	default:
		ok = false
	}
	return o, ok && o.Path != ""
}

// accepts returns whether arguments can be read by one of these functions.
func accepts[T any](read func([]byte) (T, bool)) func([]byte) bool {
	return func(arguments []byte) bool {
		_, ok := read(arguments)
		return ok
	}
}

func shellItem(h callHead, _ toolName, arguments []byte) any {
	a, _ := readShell(arguments)
	return shellCallItem{h, a}
}

func localShellItem(h callHead, _ toolName, arguments []byte) any {
	a, _ := readLocalShell(arguments)
	return localShellCallItem{h, a}
}

func patchItem(h callHead, _ toolName, arguments []byte) any {
	o, _ := readPatch(arguments)
	if o.Diff == nil && o.Type != "delete_file" { // it comes with the whole item, unless the call was cut
		o.Diff = new("")
	}
	return patchCallItem{h, o}
}

// patchBegun reports whether the arguments of a call that was cut say what it does to which file. A deletion has no
// more arguments: a client that does not look at the state would delete the file.
func patchBegun(arguments []byte) bool {
	o, _ := readPatch(arguments)
	return (o.Type == "create_file" || o.Type == "update_file") && o.Path != ""
}

// A callEvent is an event with the arguments of a call.
type callEvent struct {
	kind  string
	event any
}

func functionEvents(place func() itemPlace, name toolName, arguments []byte) (list []callEvent) {
	const delta, done = "response.function_call_arguments.delta", "response.function_call_arguments.done"
	text := string(arguments)
	if text != "" {
		list = append(list, callEvent{delta, argumentsDelta{delta, place(), text}})
	}
	return append(list, callEvent{done, argumentsDone{done, place(), name, text}})
}

func customEvents(place func() itemPlace, _ toolName, arguments []byte) (list []callEvent) {
	const delta, done = "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"
	input := api.CallInput(arguments)
	if input != "" {
		list = append(list, callEvent{delta, inputDelta{delta, place(), input}})
	}
	return append(list, callEvent{done, inputDone{done, place(), input}})
}

func shellEvents(place func() itemPlace, _ toolName, arguments []byte) (list []callEvent) {
	const added, delta, done = "response.shell_call_command.added", "response.shell_call_command.delta",
		"response.shell_call_command.done"
	a, _ := readShell(arguments)
	for i, command := range a.Commands {
		list = append(list, callEvent{added, commandEvent{added, place(), i, ""}},
			callEvent{delta, commandDelta{delta, place(), i, command}},
			callEvent{done, commandEvent{done, place(), i, command}})
	}
	return list
}
