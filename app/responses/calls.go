package responses

import (
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

// readCall reads the arguments that a model wrote, each into its place. One of another type than it
// should have is left out, except a text in place of a list of texts.
func readCall(arguments []byte, into map[string]any) {
	list, _ := wire.ReadMembers(api.WholeMembers(arguments))
	for _, m := range list {
		texts, isList := into[m.Key].(*[]string)
		if isList && m.Value[0] == '"' {
			*texts = []string{""}
			_ = json.Unmarshal(m.Value, &(*texts)[0]) // it is a text
		} else if to := into[m.Key]; to != nil {
			_ = json.Unmarshal(m.Value, to)
		}
	}
}

func shellItem(h callHead, _ toolName, arguments []byte) any {
	a := shellAction{Commands: []string{}}
	readCall(arguments, map[string]any{"commands": &a.Commands, "timeout_ms": &a.TimeoutMS,
		"max_output_length": &a.MaxOutputLength})
	return shellCallItem{h, a}
}

func localShellItem(h callHead, _ toolName, arguments []byte) any {
	a := localShellAction{Type: "exec", Command: []string{}, Env: map[string]string{}}
	readCall(arguments, map[string]any{"command": &a.Command, "env": &a.Env, "timeout_ms": &a.TimeoutMS,
		"user": &a.User, "working_directory": &a.WorkingDirectory})
	return localShellCallItem{h, a}
}

// patchItem returns the item of a patch. One that was cut stays in progress: clients know no other
// status.
func patchItem(h callHead, _ toolName, arguments []byte) any {
	var o patchOperation
	readCall(arguments, map[string]any{"type": &o.Type, "path": &o.Path, "diff": &o.Diff})
	switch {
	case o.Type == "delete_file":
		o.Diff = nil
	case o.Diff == nil:
		o.Diff = new("")
	}
	if h.Status == Incomplete {
		h.Status = InProgress
	}
	return patchCallItem{h, o}
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
	var commands []string
	readCall(arguments, map[string]any{"commands": &commands})
	for i, command := range commands {
		list = append(list, callEvent{added, commandEvent{added, place(), i, ""}},
			callEvent{delta, commandDelta{delta, place(), i, command}},
			callEvent{done, commandEvent{done, place(), i, command}})
	}
	return list
}
