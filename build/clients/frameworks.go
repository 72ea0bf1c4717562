package clients

import (
	"context"
	"errors"
)

// frameworks runs libraries that others built upon the interfaces of several vendors. Each of them
// runs all its checks once for each vendor or route that it can ask by.
func (t *clientTier) frameworks(ctx context.Context) error {
	const openai, responses, anthropic, ollama = "openai", "responses", "anthropic", "ollama"
	return t.against(ctx, t.scripted("libraries.json"), func(url string) error {
		python := func(name, python, file string, by ...string) error {
			return t.client(ctx, name, python, append([]string{clientsDir + "/" + file, url},
				by...)...)
		}
		node := func(name, file string, by ...string) error {
			return python(name, "node", "node/"+file, by...)
		}
		return errors.Join(
			python("LiteLLM", t.framed, "litellm_client.py", openai, "ollama_chat", ollama),
			python("openai-agents", t.framed, "agents_client.py", "chat", responses),
			python("pydantic-ai", t.framed, "pydantic_ai_client.py", openai, responses, ollama),
			python("instructor", t.instructor, "instructor_client.py"),
			python("LangChain", t.framed, "langchain_client.py", openai, responses, anthropic,
				ollama),
			node("AI SDK", "ai.mjs", openai, responses, "openai-compatible", anthropic),
			node("AI SDK", "ai_tools.mjs"),
			node("ollama, Node", "ollama.mjs"))
	})
}
