// A Snippet is what a person copies into a client's settings.
export interface Snippet {
  name: string
  where: string // it goes
  text: string
}

// snippets are those for an endpoint, whose context is so many tokens.
export function snippets(base: string, context: number): Snippet[] {
  const zed = {
    language_models: {
      openai_compatible: { Tandem: { api_url: base, available_models: [{ name: 'tandem', display_name: 'Tandem', max_tokens: context }] } },
    },
  }
  return [
    {
      name: 'Continue',
      where: 'Into ~/.continue/config.yaml.',
      text: `name: Tandem
version: 1.0.0
schema: v1
models:
  - name: Tandem
    provider: openai
    model: tandem
    apiBase: ${base}
    apiKey: tandem
    roles: [chat, edit, autocomplete]
`,
    },
    {
      name: 'Zed',
      where: 'Into settings.json (“zed: open settings file”). Zed asks for a key once; any will do.',
      text: JSON.stringify(zed, null, 2) + '\n',
    },
    {
      name: 'Cline',
      where: 'In its settings choose the provider “OpenAI Compatible” and fill in:',
      text: `Base URL: ${base}\nAPI Key: tandem\nModel ID: tandem\nContext Window Size: ${context}\n`,
    },
    {
      name: 'Aider',
      where: 'In a terminal, in your project.',
      text: `aider --openai-api-base ${base} --openai-api-key tandem --model openai/tandem\n`,
    },
    {
      name: 'OpenCode',
      where: 'Into opencode.json of your project.',
      text:
        JSON.stringify(
          { provider: { tandem: { npm: '@ai-sdk/openai-compatible', name: 'Tandem', options: { baseURL: base }, models: { tandem: { name: 'Tandem' } } } } },
          null,
          2,
        ) + '\n',
    },
    {
      name: 'llm',
      where: 'Into extra-openai-models.yaml in the folder that `llm logs path` names.',
      text: `- model_id: tandem
  model_name: tandem
  api_base: ${base}
`,
    },
    {
      name: 'curl',
      where: 'In a terminal.',
      text: `curl ${base}/chat/completions -H 'Content-Type: application/json' \\
  -d '{"model": "tandem", "messages": [{"role": "user", "content": "Write a Go function named Reverse."}]}'
`,
    },
    {
      name: 'OpenAI for Python',
      where: 'With the package openai.',
      text: `from openai import OpenAI

client = OpenAI(base_url="${base}", api_key="tandem")
answer = client.chat.completions.create(
    model="tandem", messages=[{"role": "user", "content": "Write a Go function named Reverse."}]
)
print(answer.choices[0].message.content)
`,
    },
    {
      name: 'OpenAI for JavaScript',
      where: 'With the package openai.',
      text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}', apiKey: 'tandem' })
const answer = await client.chat.completions.create({
  model: 'tandem',
  messages: [{ role: 'user', content: 'Write a Go function named Reverse.' }],
})
console.log(answer.choices[0].message.content)
`,
    },
  ]
}
