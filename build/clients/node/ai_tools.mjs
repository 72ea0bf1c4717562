// Lets the package ai run the tools that OpenAI and Anthropic define and the client runs, against a server on the
// scripted engine (libraries.json):
// node ai_tools.mjs BASE_URL   (BASE_URL without /v1)

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, streamText } from 'ai'
import { check, run } from './checks.mjs'

const at = { baseURL: process.argv[2] + '/v1', apiKey: 'unused' }
globalThis.AI_SDK_LOG_WARNINGS = false
const openai = createOpenAI(at)
const anthropic = createAnthropic(at)

// A row has a tool, its name, what the model writes as arguments, what the library has to give to the program, what the
// program returns, and what the model has to see of it.
const shown = [{ stdout: 'heron', stderr: '', outcome: { type: 'exit', exitCode: 0 } }]
const rows = {
  'custom tools': [
    [openai.responses, 'ap', (more) => openai.tools.customTool({ description: 'of letters', ...more }), { input: 'aaab' }, 'aaab', 'heron', 'heron'],
    [
      openai.responses, 'ap', (more) => openai.tools.customTool({ format: { type: 'grammar', syntax: 'regex', definition: 'a{3}b' }, ...more }),
      { input: 'aaab' }, 'aaab', 'heron', 'heron',
    ],
  ],
  'OpenAI\'s shell and patches': [
    [openai.responses, 'shell', openai.tools.shell, { commands: ['ls', 'pwd'] }, { action: { commands: ['ls', 'pwd'] } }, { output: shown }, 'heron'],
    [
      openai.responses, 'local_shell', openai.tools.localShell, { command: ['ls', '-l'] }, { action: { type: 'exec', command: ['ls', '-l'] } },
      { output: 'heron' }, 'heron',
    ],
    [
      openai.responses, 'apply_patch', openai.tools.applyPatch, { type: 'create_file', path: 'a.txt', diff: '+heron' },
      { operation: { type: 'create_file', path: 'a.txt', diff: '+heron' } }, { status: 'completed', output: 'heron' }, 'heron',
    ],
  ],
  'Anthropic\'s shell, editor and memory': [
    [anthropic, 'bash', anthropic.tools.bash_20250124, { command: 'ls' }, { command: 'ls' }, 'heron', 'heron'],
    [
      anthropic, 'str_replace_based_edit_tool', anthropic.tools.textEditor_20250728, { command: 'view', path: '/a' },
      { command: 'view', path: '/a' }, 'heron', 'heron',
    ],
    [
      anthropic, 'memory', anthropic.tools.memory_20250818, { command: 'create', path: '/memories/a', file_text: 'x' },
      { command: 'create', path: '/memories/a', file_text: 'x' }, 'heron', 'heron',
    ],
  ],
}

// holds reports whether got has all that is in want.
function holds(got, want) {
  if (typeof want !== 'object') return got === want
  return got !== null && typeof got === 'object' && Object.entries(want).every(([k, v]) => holds(got[k], v))
}

async function loop([provider, name, make, written, given, returned, seen], stream) {
  const asked = []
  const ask = {
    model: provider('tandem'), prompt: `use ${name} with ${JSON.stringify(written)}`, maxRetries: 0, stopWhen: isStepCount(3),
    tools: { [name]: make({ execute: (input) => { asked.push(input); return returned } }) },
  }
  const answer = stream ? streamText({ ...ask, onError: () => {} }) : await generateText(ask)
  const text = await answer.text
  check(asked.length === 1 && holds(asked[0], given), { name, stream, asked, text })
  check(text.startsWith('It gave ') && text.includes(seen), { name, stream, text })
}

await run(Object.fromEntries(Object.entries(rows).map(([feature, of]) => [feature, async () => {
  for (const row of of) for (const stream of [false, true]) await loop(row, stream)
}])))
