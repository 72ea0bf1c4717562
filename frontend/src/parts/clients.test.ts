import assert from 'node:assert/strict'
import { test } from 'node:test'

import { clientOf } from './clients.ts'

test('a client has the name that people know', () => {
  const names = {
    'claude-cli/2.0.1 (external, cli)': 'Claude Code',
    'QwenCode/0.15.10 (linux; x64)': 'Qwen Code',
    'codex_cli_rs/0.46.0 (Mac OS 26)': 'Codex',
    'Zed/0.210.4': 'Zed',
    'OpenAI/Python 2.6.0': 'Python',
    'AsyncOpenAI/Python 2.6.0': 'Python',
    'Anthropic/JS 0.66': 'Node',
    'ls/JS 5.20.1': 'Node', // OpenAI's library, minified in Continue
    'Go-http-client/1.1': 'Go',
    'curl/8.7.1': 'curl',
    Tandem: 'Playground',
    tandem: 'Command line',
    'my key': 'my key',
    '': 'Unnamed client',
  }
  for (const [agent, name] of Object.entries(names)) assert.equal(clientOf(agent).name, name, agent)
})
