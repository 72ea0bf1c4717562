package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// A clientTool is a tool that the client runs and whose parameters Anthropic publishes. Requests have
// its type alone, so the model is told the rest from here.
type clientTool struct {
	name, description string
	schema            string // of its parameters, as JSON
}

// parameters returns the schema without the white space of the source.
func (t clientTool) parameters() json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(t.schema)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// clientTools are Anthropic's client tools by type.
var clientTools = map[string]clientTool{
	"bash_20241022":        bash,
	"bash_20250124":        bash,
	"text_editor_20241022": undoingEditor,
	"text_editor_20250124": undoingEditor,
	"text_editor_20250429": insertingEditor,
	"text_editor_20250728": insertingEditor,
	"memory_20250818":      memory,
}

// servedTools are the kinds of tools that Anthropic's servers run, in any version.
var servedTools = []string{"web_search", "web_fetch", "code_execution", "tool_search_tool_bm25",
	"tool_search_tool_regex", "advisor", "mcp_toolset"}

// screenTools are the kinds of tools whose results are screenshots.
var screenTools = []string{"computer", "computer_toolset", "browser_toolset"}

// version is the date at the end of a tool's type.
var version = regexp.MustCompile(`_\d{8}$`)

// kindOf returns a tool's type without its version.
func kindOf(toolType string) string { return version.ReplaceAllString(toolType, "") }

var bash = clientTool{"bash", "Runs a command in a bash shell that stays open between calls.", `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "description": "The command to run."},
		"restart": {"type": "boolean", "description": "true starts a new shell, and the command is not run."}
	},
	"required": ["command"],
	"additionalProperties": false
}`}

var (
	undoingEditor   = editor("str_replace_editor", `"insert", "undo_edit"`, "new_str")
	insertingEditor = editor("str_replace_based_edit_tool", `"insert"`, "insert_text")
)

// editor returns a version of the text editor. insertion is the parameter with the text to insert.
func editor(name, commands, insertion string) clientTool {
	const text = `,
		"insert_text": {"type": "string", "description": "For insert: the text to insert."}`
	replacement, more := "For str_replace: the new text.", text
	if insertion == "new_str" {
		replacement, more = "For str_replace: the new text. For insert: the text to insert.", ""
	}
	return clientTool{name, "Views, creates and edits text files.", fmt.Sprintf(`{
	"type": "object",
	"properties": {
		"command": {"type": "string", "enum": ["view", "create", "str_replace", %s]},
		"path": {"type": "string", "description": "The absolute path of the file, or of a folder to view."},
		"file_text": {"type": "string", "description": "For create: the content of the new file."},
		"old_str": {"type": "string", "description": "For str_replace: the text to replace, exactly as it is in the file, where it must occur once."},
		"new_str": {"type": "string", "description": %q},
		"insert_line": {"type": "integer", "description": "For insert: the line after which the text goes; 0 for the beginning of the file."},
		"view_range": {"type": "array", "items": {"type": "integer"}, "description": "For view: the first and the last line, counted from 1; -1 for the end of the file."}%s
	},
	"required": ["command", "path"],
	"additionalProperties": false
}`, commands, replacement, more)}
}

var memory = clientTool{"memory", "Keeps files between conversations, in the folder /memories. " +
	"View that folder before anything else, and note there what a later conversation needs.", `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
		"path": {"type": "string", "description": "For all but rename: the file or folder, such as /memories/notes.md."},
		"file_text": {"type": "string", "description": "For create: the content of the file."},
		"old_str": {"type": "string", "description": "For str_replace: the text to replace, exactly as it is in the file."},
		"new_str": {"type": "string", "description": "For str_replace: the new text."},
		"insert_line": {"type": "integer", "description": "For insert: the line after which the text goes; 0 for the beginning of the file."},
		"insert_text": {"type": "string", "description": "For insert: the text to insert."},
		"view_range": {"type": "array", "items": {"type": "integer"}, "description": "For view: the first and the last line, counted from 1; -1 for the end of the file."},
		"old_path": {"type": "string", "description": "For rename: the file or folder."},
		"new_path": {"type": "string", "description": "For rename: its new path."}
	},
	"required": ["command"],
	"additionalProperties": false
}`}
