package connect

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
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

func agents() []client {
	return []client{
		{
			// opencode.ai/v1/docs/providers. The context is from ollama.com/blog/launch, also for
			// Codex and Claude Code.
			id: "opencode", name: "OpenCode", where: "These lines go into opencode.json of your project, or into ~/.config/opencode/opencode.json. " +
				"Where that file has lines already, put all but the outer braces into its own.", text: openCodeText, context: 64_000,
			file: "opencode.json", use: func(path, _ string) string { return "OPENCODE_CONFIG=" + path + " opencode" },
			// opencode.ai/docs/config: this variable goes before the files of a project.
			command: func(e Endpoint, _ string) Command {
				return Command{Env: []string{"OPENCODE_CONFIG_CONTENT=" + openCodeText(e)}, Args: []string{"opencode"}}
			},
			install: "curl -fsSL https://opencode.ai/install | bash",
		},
		{
			// aider.chat/docs/config/aider_conf.html and docs/llms/openai-compat.html. The context
			// is from docs/llms/ollama.html.
			id: "aider", name: "Aider", where: "These lines go into .aider.conf.yml of your project, or of your home folder. " +
				"Then start aider as usual.", context: 8192,
			text: func(e Endpoint) string {
				return fmt.Sprintf(
					"model: openai/%s\nopenai-api-base: %s\nopenai-api-key: "+
						"%s\nshow-model-warnings: false\n", e.Model, e.BaseURL, e.Key)
			},
			file: "aider.conf.yml", use: func(path, _ string) string { return "aider --config " + path },
			command: aiderCommand,
			install: "python -m pip install aider-install && aider-install",
		},
		{
			// developers.openai.com/codex/config-reference. responses is the only remaining
			// wire_api. Codex takes a long prompt for a dead connection unless a timeout is set.
			id: "codex", name: "Codex CLI", where: "These lines go into ~/.codex/config.toml, above its first [table]. Then start codex as usual.", text: codexText, context: 64_000,
			file: "config.toml", use: func(_, dir string) string { return "CODEX_HOME=" + dir + " codex" },
			command: codexCommand,
			install: "npm install -g @openai/codex",
		},
		{
			// code.claude.com/docs/en/llm-gateway and docs/en/env-vars. All of its names for models
			// name the same model here.
			id: "claude", name: "Claude Code", where: "Open a terminal in the folder of your project, and paste all lines. " +
				"Claude Code starts, and asks Tandem in this terminal alone.",
			text: func(e Endpoint) string { return claudeCommand(e, "").Script() }, context: 64_000,
			file: "claude.sh", use: func(path, _ string) string { return "sh " + path },
			command: claudeCommand,
			install: "curl -fsSL https://claude.ai/install.sh | bash",
		},
		{
			// goose-docs.ai/docs/guides/environment-variables and docs/getting-started/providers. The
			// context of this one and of the next two is from docs.ollama.com/context-length.
			id: "goose", name: "Goose", where: "Open a terminal in the folder of your project, and paste all lines. " +
				"Goose starts, and asks Tandem in this terminal alone.",
			text: func(e Endpoint) string { return gooseCommand(e, "").Script() }, context: 64_000,
			file: "goose.sh", use: func(path, _ string) string { return "sh " + path },
			command: gooseCommand,
			install: "curl -fsSL https://github.com/aaif-goose/goose/releases/download/stable/download_cli.sh | bash",
		},
		{
			// github.com/charmbracelet/crush: docs/config, and README.md for the variable
			id: "crush", name: "Crush", where: "These lines go to the end of ~/.config/crush/crushrc. Then start crush as usual.",
			text: crushText, context: 64_000, file: "crushrc",
			command: func(e Endpoint, dir string) Command {
				const own = "if [ -f ~/.config/crush/crushrc ]; then source ~/.config/crush/crushrc; fi\n"
				return Command{File: filepath.Join(dir, "crushrc"), Text: own + crushText(e),
					Env: []string{"CRUSH_GLOBAL_CONFIG=" + dir}, Args: []string{"crush"}}
			},
			install: "npm install -g @charmland/crush",
		},
		{
			// qwenlm.github.io/qwen-code-docs/en/users/configuration: settings, auth and model-providers.
			// The file of the variable goes before all others.
			id: "qwen", name: "Qwen Code", where: "These lines go into ~/.qwen/settings.json. " +
				"Where that file has lines already, put all but the outer braces into its own.",
			text: qwenText, context: 64_000, file: "settings.json",
			command: func(e Endpoint, dir string) Command {
				path := filepath.Join(dir, "settings.json")
				return Command{File: path, Text: qwenText(e),
					Env: []string{"QWEN_CODE_SYSTEM_SETTINGS_PATH=" + path}, Args: []string{"qwen"}}
			},
			install: "npm install -g @qwen-code/qwen-code@latest",
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

func openCodeText(e Endpoint) string {
	model := object{"name": "Tandem"}
	if e.Context > 0 {
		model["limit"] = object{"context": e.Context, "output": min(e.Context/2, 8192)}
	}
	return jsonText(object{
		"$schema": "https://opencode.ai/config.json", "model": "tandem/" + e.Model,
		"provider": object{"tandem": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Tandem", "options": object{"baseURL": e.BaseURL, "apiKey": e.Key}, "models": object{e.Model: model},
		}},
	})
}

// codexSettings returns names and values in TOML: those of the file, and those of its table
// model_providers.tandem.
func codexSettings(e Endpoint) (file, provider [][2]string) {
	file = [][2]string{{"model", strconv.Quote(e.Model)}, {"model_provider", `"tandem"`}}
	if e.Context > 0 {
		file = append(file, [2]string{"model_context_window", fmt.Sprint(e.Context)})
	}
	provider = [][2]string{{"name", `"Tandem"`}, {"base_url", strconv.Quote(e.BaseURL)}, {"wire_api", `"responses"`},
		{"stream_idle_timeout_ms", fmt.Sprint(time.Hour.Milliseconds())}}
	if e.needsKey() {
		provider = append(provider, [2]string{"env_key", strconv.Quote(KeyVariable)})
	}
	return file, provider
}

func codexText(e Endpoint) string {
	file, provider := codexSettings(e)
	text := ""
	for _, x := range file {
		text += x[0] + " = " + x[1] + "\n"
	}
	text += "\n[model_providers.tandem]\n"
	for _, x := range provider {
		text += x[0] + " = " + x[1] + "\n"
	}
	return text
}

// codexCommand sets each value by a flag, so that the rest is the user's: developers.openai.com/codex/config-advanced,
// "One-off overrides from the CLI".
func codexCommand(e Endpoint, _ string) Command {
	c := Command{Args: []string{"codex"}}
	file, provider := codexSettings(e)
	for _, x := range file {
		c.Args = append(c.Args, "-c", x[0]+"="+x[1])
	}
	for _, x := range provider {
		c.Args = append(c.Args, "-c", "model_providers.tandem."+x[0]+"="+x[1])
	}
	if e.needsKey() {
		c.Env = []string{KeyVariable + "=" + e.Key}
	}
	return c
}

// aiderCommand: aider.chat/docs/config/options.html has the variables, which go before the user's own
// file, and docs/config/adv-model-settings.html the file with the context.
func aiderCommand(e Endpoint, dir string) Command {
	c := Command{
		Env: []string{"AIDER_MODEL=openai/" + e.Model, "AIDER_OPENAI_API_BASE=" + e.BaseURL,
			"AIDER_OPENAI_API_KEY=" + e.Key, "AIDER_SHOW_MODEL_WARNINGS=false"},
		Args: []string{"aider"},
	}
	if e.Context > 0 {
		c.File = filepath.Join(dir, "model.metadata.json")
		c.Text = jsonText(object{"openai/" + e.Model: object{"max_input_tokens": e.Context,
			"litellm_provider": "openai", "mode": "chat"}})
		c.Env = append(c.Env, "AIDER_MODEL_METADATA_FILE="+c.File)
	}
	return c
}

// claudeCommand: code.claude.com/docs/en/model-config#correct-the-window-for-a-gateway-or-custom-model-id
// has the variable for the context, and docs/en/env-vars that for the longest answer, for which Claude
// Code keeps room in the context. Its instructions have 28,000 tokens. Where they do not fit, it would
// refuse by itself without numbers if it knew the context; the server names both.
func claudeCommand(e Endpoint, _ string) Command {
	c := Command{
		Unset: []string{"ANTHROPIC_API_KEY"},
		Env: []string{"ANTHROPIC_BASE_URL=" + e.root(), "ANTHROPIC_AUTH_TOKEN=" + e.Key, "ANTHROPIC_MODEL=" + e.Model,
			"ANTHROPIC_DEFAULT_OPUS_MODEL=" + e.Model, "ANTHROPIC_DEFAULT_SONNET_MODEL=" + e.Model,
			"ANTHROPIC_DEFAULT_HAIKU_MODEL=" + e.Model, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		Args: []string{"claude"},
	}
	if e.Context >= 32_000 {
		c.Env = append(c.Env, fmt.Sprintf("CLAUDE_CODE_MAX_CONTEXT_TOKENS=%d", e.Context),
			fmt.Sprintf("CLAUDE_CODE_MAX_OUTPUT_TOKENS=%d", min(e.Context/4, 32_000)))
	}
	return c
}

func gooseCommand(e Endpoint, _ string) Command {
	c := Command{
		Env: []string{"GOOSE_PROVIDER=openai", "GOOSE_MODEL=" + e.Model, "OPENAI_HOST=" + e.root(),
			"OPENAI_BASE_PATH=v1/chat/completions", "OPENAI_API_KEY=" + e.Key},
		Args: []string{"goose"}, Default: []string{"session"},
	}
	if e.Context > 0 {
		c.Env = append(c.Env, fmt.Sprintf("GOOSE_CONTEXT_LIMIT=%d", e.Context))
	}
	return c
}

func crushText(e Endpoint) string {
	limits := ""
	if e.Context > 0 {
		limits = fmt.Sprintf(" --context-window %d --default-max-tokens %d", e.Context, min(e.Context/4, 8192))
	}
	return fmt.Sprintf(`provider add tandem --name Tandem --type openai-compat --base-url %s --api-key %s
model add tandem/%s --name Tandem%s
model large tandem/%[3]s
model small tandem/%[3]s
`, e.BaseURL, word(e.Key), e.Model, limits)
}

func qwenText(e Endpoint) string {
	model := object{"id": e.Model, "name": "Tandem", "baseUrl": e.BaseURL, "envKey": KeyVariable}
	if e.Context > 0 {
		model["generationConfig"] = object{"contextWindowSize": e.Context}
	}
	return jsonText(object{
		"model": object{"name": e.Model}, "modelProviders": object{"openai": []any{model}},
		"env": object{KeyVariable: e.Key}, "security": object{"auth": object{"selectedType": "openai"}},
	})
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
