package connect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
)

// An endpointConfig is what a client needs to know about the endpoint.
type endpointConfig struct {
	base    string // with /v1
	key     string
	context int // tokens, 0 = unknown
}

// root is the base without /v1.
func (o endpointConfig) root() string { return strings.TrimSuffix(o.base, "/v1") }

// A client is a program that can use the endpoint. The form of its settings is from the program's
// documentation, late 2026. Its context is the advice of that documentation, or of other local
// servers'.
type client struct {
	id, name string
	where    string // where to put the text and what to do next: two short sentences at most
	text     func(endpointConfig) string
	context  int // tokens that it needs; 0 = any

	file string                        // name of its file, or ""
	use  func(path, dir string) string // returns the command for the file; arguments are quoted
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
			file: "config.yaml", use: func(path, _ string) string { return "cn --config " + path },
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
			text: func(o endpointConfig) string {
				return fmt.Sprintf(
					"Base URL: %s\nAPI Key: %s\nModel ID: %s\nContext Window Size: %s\n",
					o.base, o.key, control.Alias, o.tokens())
			},
		},
	}
}

func agents() []client {
	return []client{
		{
			// opencode.ai/v1/docs/providers. The context is from ollama.com/blog/launch, also for
			// Codex and Claude Code.
			id: "opencode", name: "OpenCode", where: "These lines go into opencode.json of your project, or into ~/.config/opencode/opencode.json. " +
				"Where that file has lines already, put all but the outer braces into its own.", text: openCodeText, context: 64_000,
			file: "opencode.json", use: func(path, _ string) string { return "OPENCODE_CONFIG=" + path + " opencode" },
		},
		{
			// aider.chat/docs/config/aider_conf.html and docs/llms/openai-compat.html. The context
			// is from docs/llms/ollama.html.
			id: "aider", name: "Aider", where: "These lines go into .aider.conf.yml of your project, or of your home folder. " +
				"Then start aider as usual.", context: 8192,
			text: func(o endpointConfig) string {
				return fmt.Sprintf(
					"model: openai/%s\nopenai-api-base: %s\nopenai-api-key: "+
						"%s\nshow-model-warnings: false\n", control.Alias, o.base, o.key)
			},
			file: "aider.conf.yml", use: func(path, _ string) string { return "aider --config " + path },
		},
		{
			// developers.openai.com/codex/config-reference. responses is the only remaining
			// wire_api. Codex takes a long prompt for a dead connection unless a timeout is set.
			id: "codex", name: "Codex CLI", where: "These lines go into ~/.codex/config.toml, above its first [table]. Then start codex as usual.", text: codexText, context: 64_000,
			file: "config.toml", use: func(_, dir string) string { return "CODEX_HOME=" + dir + " codex" },
		},
		{
			// code.claude.com/docs/en/llm-gateway and docs/en/env-vars. All of its names for models
			// name the same model here.
			id: "claude", name: "Claude Code", where: "Open a terminal in the folder of your project, and paste all lines. " +
				"Claude Code starts, and asks Tandem in this terminal alone.", text: claudeText, context: 64_000,
			file: "claude.sh", use: func(path, _ string) string { return "sh " + path },
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
			text: func(o endpointConfig) string {
				text := fmt.Sprintf(
					"- model_id: %s\n  model_name: %[1]s\n  api_base: %s\n", control.Alias, o.base)
				if o.key != control.Alias {
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

// tokens returns the context in words.
func (o endpointConfig) tokens() string {
	if o.context == 0 {
		return "the model's"
	}
	return fmt.Sprint(o.context)
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

func continueText(o endpointConfig) string {
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
`, control.Alias, o.base, o.key)
	if o.context > 0 {
		text += fmt.Sprintf("    defaultCompletionOptions:\n      contextLength: %d\n", o.context)
	}
	return text
}

func zedText(o endpointConfig) string {
	const usual = 32_768 // Zed needs a number
	model := object{
		"name": control.Alias, "display_name": "Tandem", "max_tokens": o.contextOr(usual),
		"capabilities": object{"tools": true, "images": false, "parallel_tool_calls": true, "prompt_cache_key": false},
	}
	return jsonText(object{"language_models": object{"openai_compatible": object{"Tandem": object{"api_url": o.base, "available_models": []any{model}}}}})
}

func (o endpointConfig) contextOr(usual int) int {
	if o.context > 0 {
		return o.context
	}
	return usual
}

func openCodeText(o endpointConfig) string {
	model := object{"name": "Tandem"}
	if o.context > 0 {
		model["limit"] = object{"context": o.context, "output": min(o.context/2, 8192)}
	}
	return jsonText(object{
		"$schema": "https://opencode.ai/config.json", "model": "tandem/" + control.Alias,
		"provider": object{"tandem": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Tandem", "options": object{"baseURL": o.base, "apiKey": o.key}, "models": object{control.Alias: model},
		}},
	})
}

func codexText(o endpointConfig) string {
	text := fmt.Sprintf("model = %q\nmodel_provider = \"tandem\"\n", control.Alias)
	if o.context > 0 {
		text += fmt.Sprintf("model_context_window = %d\n", o.context)
	}
	text += fmt.Sprintf("\n[model_providers.tandem]\nname = \"Tandem\"\nbase_url = %q\n"+
		"wire_api = \"responses\"\nstream_idle_timeout_ms = %d\n", o.base, time.Hour.Milliseconds())
	if o.key != control.Alias {
		text += "env_key = \"TANDEM_API_KEY\"\n"
	}
	return text
}

func claudeText(o endpointConfig) string {
	return fmt.Sprintf(`unset ANTHROPIC_API_KEY
export ANTHROPIC_BASE_URL=%s
export ANTHROPIC_AUTH_TOKEN=%s
export ANTHROPIC_MODEL=%s
export ANTHROPIC_DEFAULT_OPUS_MODEL=%[3]s
export ANTHROPIC_DEFAULT_SONNET_MODEL=%[3]s
export ANTHROPIC_DEFAULT_HAIKU_MODEL=%[3]s
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
claude
`, o.root(), o.key, control.Alias)
}

func curlText(o endpointConfig) string {
	key := ""
	if o.key != control.Alias {
		key = fmt.Sprintf(" -H 'Authorization: Bearer %s'", o.key)
	}
	return fmt.Sprintf(`curl %s/chat/completions -H 'Content-Type: application/json'%s \
  -d '{"model": "%s", "max_tokens": 200, "messages": [{"role": "user", "content": "%s"}]}'
`, o.base, key, control.Alias, question)
}

func pythonText(o endpointConfig) string {
	return fmt.Sprintf(`from openai import OpenAI

client = OpenAI(base_url="%s", api_key="%s")
answer = client.chat.completions.create(
    model="%s",
    max_tokens=200,
    messages=[{"role": "user", "content": "%s"}],
)
print(answer.choices[0].message.content)
`, o.base, o.key, control.Alias, question)
}

func javascriptText(o endpointConfig) string {
	return fmt.Sprintf(`import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '%s', apiKey: '%s' })
const answer = await client.chat.completions.create({
  model: '%s',
  max_tokens: 200,
  messages: [{ role: 'user', content: '%s' }],
})
console.log(answer.choices[0].message.content)
`, o.base, o.key, control.Alias, question)
}
