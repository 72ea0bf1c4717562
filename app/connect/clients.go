package connect

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

// A client is a program that can use the endpoint. The form of its settings is from the program's
// documentation, late 2026. Its context is the advice of that documentation, or of other local
// servers'.
type client struct {
	id, name string
	where    string // where to put the text and what to do next: two short sentences at most
	text     func(Endpoint) string
	context  int // tokens that it needs; 0 = any

	file string                        // name of its file, or ""
	use  func(path, dir string) string // returns the command for the file; arguments are quoted; nil: command's

	command func(e Endpoint, dir string) Command // nil: it cannot be told of the endpoint for one run
	install string                               // its vendor's line, for those with a command
}

// clients returns the clients in the order of the page.
func clients() []client { return slices.Concat(editors(), agents(), scripts()) }

func editors() []client {
	return []client{
		{
			// docs.continue.dev/reference
			id: "continue", name: "Continue", text: continueText,
			where: "These lines go into ~/.continue/config.yaml. Where that file has models already, " +
				"add only the entry below “models” to its list.",
			file: "config.yaml",
			// docs.continue.dev/cli/configuration
			command: func(e Endpoint, dir string) Command {
				path := filepath.Join(dir, "config.yaml")
				return Command{File: path, Text: continueText(e), Args: []string{"cn", "--config", path}}
			},
			install: "npm install -g @continuedev/cli",
		},
		{
			// zed.dev/docs/ai/use-api-access, openai-compatible. The key comes from the
			// environment, in a variable named after the provider.
			id: "zed", name: "Zed", text: zedText, context: 0,
			where: "Put “language_models” into the braces of settings.json (command “zed: open settings file”); an empty file takes all lines. " +
				"Under “agent: open settings”, LLM Providers, type any key, or one of Tandem's if it asks for keys; then choose Tandem in the agent panel.",
		},
		{
			// docs.cline.bot. The context is from docs.ollama.com/integrations/cline.
			id: "cline", name: "Cline", where: "In its settings choose the provider “OpenAI Compatible”. " +
				"Copy each value into the field of its name; the last one is under “Model Configuration”.", context: 32_000,
			text: func(e Endpoint) string {
				return fmt.Sprintf(
					"Base URL: %s\nAPI Key: %s\nModel ID: %s\nContext Window Size: %s\n",
					e.BaseURL, e.Key, e.Model, e.tokens())
			},
			// docs.cline.bot/cli/cli-reference. Its history is in that folder too, and goes with it.
			command: func(e Endpoint, dir string) Command {
				return Command{
					Before: []string{"cline", "auth", "--data-dir", dir, "--provider", "openai-compatible",
						"--baseurl", e.BaseURL, "--apikey", e.Key, "--modelid", e.Model},
					Args: []string{"cline", "--data-dir", dir},
				}
			},
			install: "npm install -g cline",
		},
	}
}

// scripts returns the entries for the user's own scripts and programs.
func scripts() []client {
	return []client{
		{
			// llm.datasette.io/en/stable/other-models.html
			id: "llm", name: "llm", where: "These lines go into extra-openai-models.yaml, beside the file that `llm logs path` names. " +
				"Then `llm -m tandem` asks Tandem.",
			text: func(e Endpoint) string {
				text := fmt.Sprintf(
					"- model_id: %s\n  model_name: %[1]s\n  api_base: %s\n", e.Model, e.BaseURL)
				if e.needsKey() {
					text += "  api_key_name: tandem # set by: llm keys set tandem\n"
				}
				return text
			},
			file: "extra-openai-models.yaml", use: func(_, dir string) string { return "LLM_USER_PATH=" + dir + " llm -m tandem 'Hello'" },
		},
		{
			id: "curl", name: "curl", where: "Paste these lines into a terminal.", text: curlText,
			file: "chat.sh", use: func(path, _ string) string { return "sh " + path },
		},
		{
			id: "python", name: "OpenAI for Python", where: "Save these lines as chat.py, and run it after `pip install openai`.", text: pythonText,
			file: "chat.py", use: func(path, _ string) string { return "python3 " + path },
		},
		{
			id: "javascript", name: "OpenAI for JavaScript", where: "Save these lines as chat.mjs, and run it after `npm install openai`.", text: javascriptText,
			file: "chat.mjs", use: func(path, _ string) string { return "node " + path },
		},
	}
}

// An object is written as JSON, with its keys in alphabetical order.
type object = map[string]any

func jsonText(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // it has strings and numbers only
	}
	return string(b) + "\n"
}

const question = "Write a Go function named Reverse."

func continueText(e Endpoint) string {
	text := fmt.Sprintf(`name: Tandem
version: 1.0.0
schema: v1
models:
  - name: Tandem
    provider: openai
    model: %s
    apiBase: %s
    apiKey: %s
    roles: [chat, edit, apply, autocomplete]
`, e.Model, e.BaseURL, e.Key)
	if e.Context > 0 {
		text += fmt.Sprintf("    defaultCompletionOptions:\n      contextLength: %d\n", e.Context)
	}
	return text
}

func zedText(e Endpoint) string {
	const usual = 32_768 // Zed needs a number
	model := object{
		"name": e.Model, "display_name": "Tandem", "max_tokens": e.contextOr(usual),
		"capabilities": object{"tools": true, "images": false, "parallel_tool_calls": true, "prompt_cache_key": false},
	}
	return jsonText(object{"language_models": object{"openai_compatible": object{"Tandem": object{"api_url": e.BaseURL, "available_models": []any{model}}}}})
}

func curlText(e Endpoint) string {
	key := ""
	if e.needsKey() {
		key = fmt.Sprintf(" -H 'Authorization: Bearer %s'", e.Key)
	}
	return fmt.Sprintf(`curl %s/chat/completions -H 'Content-Type: application/json'%s \
  -d '{"model": "%s", "max_tokens": 200, "messages": [{"role": "user", "content": "%s"}]}'
`, e.BaseURL, key, e.Model, question)
}

func pythonText(e Endpoint) string {
	return fmt.Sprintf(`from openai import OpenAI

client = OpenAI(base_url="%s", api_key="%s")
answer = client.chat.completions.create(
    model="%s",
    max_tokens=200,
    messages=[{"role": "user", "content": "%s"}],
)
print(answer.choices[0].message.content)
`, e.BaseURL, e.Key, e.Model, question)
}

func javascriptText(e Endpoint) string {
	return fmt.Sprintf(`import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '%s', apiKey: '%s' })
const answer = await client.chat.completions.create({
  model: '%s',
  max_tokens: 200,
  messages: [{ role: 'user', content: '%s' }],
})
console.log(answer.choices[0].message.content)
`, e.BaseURL, e.Key, e.Model, question)
}
