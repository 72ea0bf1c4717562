package connect

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

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

// codexCommand sets each value by a flag, so that the rest is the user's: "One-off overrides from the CLI" in
// developers.openai.com/codex/config-advanced.
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
