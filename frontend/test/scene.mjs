// Tandem in the middle of a day, always the same: the clock stands still, and no request reaches a
// real Tandem. Tests of what a page looks like show it.

import { serve, state } from './fixtures.mjs'

const now = Date.parse('2026-11-27T13:45:00Z')
const ago = (minutes) => new Date(now - 60_000 * minutes).toISOString()

const qwen = 'mlx-community/Qwen3.5-9B-4bit'
const gemma = 'mlx-community/gemma-3-12b-it-4bit'
const GiB = 2 ** 30
const GB = 1e9

const claude = 'claude-cli/2.1.0 (external, cli)'
const zed = 'Zed/0.214.0'
const codex = 'codex_cli_rs/0.63.0'
const next = 'Continue/1.2.11'

// Two requests are answered: one is read, one is written.
const loaded = { id: qwen, architecture: 'qwen3_5', context_length: 32_768, device: 'gpu', dtype: 'BF16', load_ms: 6200, queued: 0, drafter: 'dflash', bytes: 6.1 * GiB, needs: 8.7 * GiB, in_use: true }
const embed = { id: 'nomic-ai/nomic-embed-text-v1.5', architecture: 'nomic_bert', context_length: 8192, device: 'gpu', dtype: 'F16', load_ms: 700, queued: 0, bytes: 1.1 * GiB, needs: 1.1 * GiB }
const whole = {
  version: '0.4.0',
  pid: 4321,
  home: '/Users/ada/Library/Application Support/Tandem',
  address: 'http://127.0.0.1:8263',
  started_at: ago(300),
  phase: 'ready',
  choice: qwen,
  loaded,
  in_memory: [loaded, embed],
  models: [{ id: qwen, load_ms: 6200 }, { id: embed.id, load_ms: 700 }, { id: gemma, load_ms: 6000 }, { id: 'Qwen/Qwen3.6-35B-A3B', load_ms: 0 }],
  downloads: [{ id: 'mistralai/Devstral-Small-2', done: 8.1 * GB, total: 13 * GB, per_second: 21e6 }],
  active_bytes: 9.5 * GiB,
  peak_bytes: 11.2 * GiB,
  memory_room: 24 * GiB,
  active: [
    { run_id: 214, endpoint: '/v1/messages', model: qwen, client: claude, started_at: ago(0.25), prompt_done: 18_210, prompt_tokens: 24_310, prompt_restored: 6144, completion_tokens: 0, per_second: 0, verifies: 0, drafted: 0, accepted: 0 },
    { run_id: 215, endpoint: '/v1/chat/completions', model: qwen, client: zed, started_at: ago(0.1), prompt_done: 1204, prompt_tokens: 1204, prompt_restored: 1180, completion_tokens: 212, per_second: 41, verifies: 73, drafted: 196, accepted: 139 },
  ],
}

// The kinds of runs, which take turns.
const plain = { endpoint: '/v1/chat/completions', model: qwen, drafter: 'dflash', drafted: 0, accepted: 0, rounds: 0, syncs: 0, load_ms: 0, restore_ms: 0, draft_ms: 0, verify_ms: 0, peak_bytes: 9.4 * GiB, finish_reason: 'stop', miss_reason: '', error: '', seed: 1, queue_ms: 0, no_drafter: '', verifies: 0, prediction_accepted: 0, prediction_rejected: 0, repeats: 0, matched_tokens: 0, resumes: 0 }
const parted = { at: 6144, kept: '13:31', given: '13:42', answer: false, run: 195 }
const kinds = [
  { client: zed, prompt_tokens: 1204, cached_tokens: 1180, completion_tokens: 96, restore_ms: 40, prefill_ms: 60, first_token_ms: 320, total_ms: 2600 },
  { client: codex, prompt_tokens: 9870, cached_tokens: 9000, completion_tokens: 64, load_ms: 9200, restore_ms: 300, prefill_ms: 2600, first_token_ms: 12_300, total_ms: 14_000 },
  { client: next, prompt_tokens: 812, cached_tokens: 0, completion_tokens: 0, prefill_ms: 400, first_token_ms: 0, total_ms: 400, finish_reason: 'cancel' },
  { client: codex, endpoint: '/v1/responses', model: 'qwen3-coder', prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, prefill_ms: 0, first_token_ms: 0, total_ms: 2, finish_reason: 'error', error: 'model_not_found', message: 'The model qwen3-coder is not here.' },
  { client: 'Tandem', prompt_tokens: 3412, cached_tokens: 3180, completion_tokens: 312, restore_ms: 80, prefill_ms: 220, first_token_ms: 320, total_ms: 7900 },
  { client: claude, endpoint: '/v1/messages', prompt_tokens: 24_102, cached_tokens: 6144, completion_tokens: 188, restore_ms: 210, prefill_ms: 26_000, first_token_ms: 26_400, total_ms: 31_000, parted },
]
const run = (id, minutes, of) => ({ ...plain, ...of, id, started_at: ago(minutes), ended_at: ago(minutes - of.total_ms / 60_000) })
// Run 203 reads again what run 202 had read, because the date had changed.
const before = run(202, 5, { ...kinds[5], prompt_tokens: 2741, cached_tokens: 2700, completion_tokens: 44, restore_ms: 90, prefill_ms: 110, first_token_ms: 300, total_ms: 5900, parted: null })
const date = { at: 20, kept: '4', given: '5', answer: false, run: 202 }
const slow = run(203, 2, { ...kinds[5], prompt_tokens: 2741, cached_tokens: 20, completion_tokens: 60, restore_ms: 12, prefill_ms: 46_700, first_token_ms: 46_800, total_ms: 53_300, peak_bytes: 1.2 * GiB, finish_reason: 'length', parted: date })
const runs = [slow, before, ...Array.from({ length: 58 }, (_, i) => run(201 - i, 8 + 3 * i, kinds[i % kinds.length]))]
const report = {
  run: slow,
  facts: [{ name: 'finish', text: 'length' }, { name: 'drafter', text: 'dflash' }],
  phases: [{ name: 'restore', ms: 12 }, { name: 'prefill', ms: 46_700 }, { name: 'decode', ms: 6500 }],
  speculation: { rounds: [[4, 3, 15, 1]], drafted_at: [15, 15, 15, 15], accepted_at: [14, 12, 11, 8] },
  parting: { ...date, before: 'You are a careful engineer. Today is 2026-11-2', kept_text: '4. You have', given_text: '5. You have' },
}

const insights = {
  today: { requests: 214, failed: 3, stopped: 11, per_second: 39, prompt_tokens: 2.2e6, restored_tokens: 1.9e6, checkpoints_ms: 72 * 60_000, drafts_ms: 36 * 60_000 },
  slow: [
    { kind: 'changed', cost_ms: 6 * 60_000, runs: 14, latest: 203, client: claude, models: [qwen], parted, tokens: 18_166 },
    { kind: 'swapped', cost_ms: 130_000, runs: 9, latest: 198, models: [gemma, qwen] },
    { kind: 'queued', cost_ms: 9000, runs: 2, latest: 200, client: zed, behind: claude },
  ],
}
const wave = (i, from, high) => Math.max(0, Math.round(high * Math.sin((i + from) / 5) * Math.sin((i + from) / 2)))
const activity = { from: ago(5), seconds: 5, read: Array.from({ length: 60 }, (_, i) => wave(i, 0, 1800)), written: Array.from({ length: 60 }, (_, i) => wave(i, 3, 44)) }

// The shown chat is the first one.
const titles = ['Retry loop of the worker', 'Postgres scan after the upgrade', 'Regular expression for ISO dates', 'Release notes for 0.4', 'Lifetimes, with one picture', 'E-mail into formal German', 'Docker image of 12 MB', 'Running total in SQL', 'Style guide of the team']
const chats = titles.map((title, i) => ({ id: i + 1, kind: 'chat', title, system: i === 0 ? 'You review Go code. Be brief.' : '', options: null, leaf: 0, used: 99 - i, created_at: ago(600 * i), updated_at: ago(300 * i), pinned: i === 8 }))
const code = '```go\nfunc drain(ctx context.Context, q Queue) error {\n\tctx, stop := context.WithTimeout(ctx, time.Minute)\n\tdefer stop()\n\tfor wait := 100 * time.Millisecond; ; wait = min(wait*2, 10*time.Second) {\n\t\terr := q.Receive(ctx) // nil once the queue is empty\n\t\tif err == nil || ctx.Err() != nil {\n\t\t\treturn err\n\t\t}\n\t\tsleep(ctx, wait/2+rand.N(wait/2))\n\t}\n}\n```\n'
const file = 'worker.go:\n```\npackage worker\n```\n\n'
const timings = (n, more) => ({ timings: { cache_n: 3180, prompt_n: 120, prompt_ms: 300, predicted_n: n, predicted_ms: 25 * n, predicted_per_second: 41, draft_n: 200, draft_n_accepted: 142, tokens_per_verify: 2.9, restore_ms: 60, run_id: 199 }, spans: [], limit: 4096, ...more })
const said = [
  ['user', `${file}This retries in a tight loop when the queue is down. Make it back off, but give up after a minute.`, { files: [{ name: 'worker.go', tokens: 1290 }], said: file.length }],
  ['assistant', `The loop in \`drain\` calls \`Receive\` again at once when it fails. This waits **twice as long** each time, with some jitter so that workers do not return together:\n\n${code}`, timings(312)],
  ['user', 'Why half the wait plus a random half?', null],
  ['assistant', 'So that two things hold at once:\n\n- The fixed half keeps a *lower bound*: no worker comes back at once, however unlucky the draw.\n- The random half spreads the workers out, so that a queue that has just come back is not hit by all of them together.\n\n> A full random wait is simpler, and almost as good.', timings(98)],
]
const messages = said.map(([role, content, facts], i) => ({ id: i + 1, chat: 1, parent: i, role, content, model: role === 'user' ? '' : qwen, finish: role === 'user' ? 'said' : 'stop', run: role === 'user' ? 0 : 199, facts, created_at: ago(9 - i) }))

// The kept texts: chats and prompts of some clients, each with the answer that goes on from it.
const subjects = [...titles, 'Fix the test of the queue', 'Rename Store to Storage', 'Why does the build take so long?', 'func drain(ctx context.Context', 'A parser for RFC 3339', 'Move the routes', 'Split the page into parts', 'Explain this trace', 'Write the migration']
const texts = subjects.flatMap((title, i) => {
  const client = [claude, zed, 'Tandem', codex][i % 4]
  const one = (id, parent, kind, from, to) => ({ id, parent, model: qwen, kind, from_token: from, to_token: to, bytes: (to - from) * 56_000, run: 100 + i, hits: i % 3, name: '', pinned: i === 2, created_at: ago(20 + 9 * i), used_at: ago(5 + 9 * i), saved_ms: (i % 3) * 4200, client, title })
  const long = 900 + 700 * i
  return [one(`p${i}`, '', 'prompt', 0, long), one(`a${i}`, `p${i}`, 'answer', long, long + 220), one(`b${i}`, `p${i}`, 'answer', long, long + 180)]
})
const ends = (of) => ({ id: of.id, title: of.title, ends: of.kind === 'answer' ? 'and that is all of it.' : 'so what do you think?' })
const text = '<|im_start|>user\nWhy does the scan take so long after the upgrade?<|im_end|>\n<|im_start|>assistant\nThe statistics of the table were not taken over. Run `ANALYZE`, and look at the plan again.<|im_end|>\n'

const model = (id, more) => ({ id, path: `/Users/ada/.cache/huggingface/${id}`, source: 'hub', revision: 'main', architecture: 'qwen3_5', quantization: '4-bit', dtype: 'BF16', parameters: 9e9, bytes: 5.4 * GB, context_length: 32_768, downloaded_by_us: true, added_at: ago(90_000), last_used_at: ago(2), load_ms: 6200, ...more })
const models = [
  model(qwen),
  model(embed.id, { architecture: 'nomic_bert', quantization: '', bytes: 0.55 * GB, context_length: 8192, kind: 'embedding', last_used_at: ago(31) }),
  model(gemma, { architecture: 'gemma3', bytes: 7.3 * GB, last_used_at: ago(4500) }),
  model('Qwen/Qwen3.6-35B-A3B', { architecture: 'qwen3_5_moe', bytes: 20.4 * GB, last_used_at: '', context_length: 131_072 }),
]
const needs = models.map((m) => ({ id: m.id, needs: { bytes: m.bytes * 1.3, context: m.context_length, fits: m.bytes < 18 * GB } }))
const found = { models: [{ id: 'lmstudio-community/gpt-oss-20b-GGUF', path: '/Users/ada/.lmstudio/models/gpt-oss-20b', place: 'lmstudio', bytes: 12.1 * GB, architecture: 'gpt_oss', quantization: '', file_type: 'MXFP4', context_length: 131_072, needs: { bytes: 14 * GB, context: 32_768, fits: true } }] }
const stored = [...models.map(({ id, path, bytes }) => ({ id, path, bytes, ours: true })), { id: 'z-lab/Qwen3.5-9B-DFlash', path: '/Users/ada/.cache/huggingface/dflash', bytes: 1.1 * GB, ours: true, drafter: true }]

const programs = { continue: 'Continue', zed: 'Zed', cline: 'Cline', opencode: 'OpenCode', aider: 'Aider', codex: 'Codex CLI', claude: 'Claude Code', llm: 'llm', curl: 'curl', python: 'OpenAI for Python', javascript: 'OpenAI for JavaScript' }
const connections = Object.entries(programs).map(([id, name]) => ({ id, name, where: 'These lines go into its settings.', text: '{ "model": "tandem" }', context: 0, written: { aider: 'current', codex: 'stale' }[id] ?? '' }))
const seen = [[claude, 0.2], [zed, 0.1], [codex, 9], [next, 12]].map(([client, minutes]) => ({ client, at: ago(minutes) }))

const settings = { port: 8263, network: false, require_key: false, allowed_hosts: [], allowed_origins: [], hub_cache: '/Users/ada/.cache/huggingface', hub_endpoint: '', hub_proxy: '', model_folders: [], checkpoint_memory: 0, checkpoint_disk: 0, idle_unload_minutes: 30, keep_requests: 'off', put_back_thoughts: true, load_on_request: 'beside', dtype: 'auto', kv_bits: 0, menu_speed: true, start_hidden: false, check_updates: true }
const sources = Object.keys(settings).map((name) => ({ name, source: name === 'idle_unload_minutes' ? 'flag' : 'default', by: name === 'idle_unload_minutes' ? '--idle-unload' : undefined }))

// answers are what the pages ask for, by path. An answer may depend on what stands after the path.
const answers = {
  '/app/chats': { chats, next: 0, keep: true, count: chats.length, bytes: 40_000 },
  '/app/chats/1': { chat: { ...chats[0], leaf: 4 }, messages },
  '/app/presets': { presets: [{ name: 'Go reviewer', system: 'You review Go code. Be brief.' }] },
  '/app/activity': activity,
  '/app/insights': insights,
  '/app/runs': (query) => ({ runs: runs.slice(0, Number(query.get('limit'))) }),
  '/app/runs/values': { models: [qwen, gemma], clients: [claude, zed, 'Tandem', codex, next], endpoints: [], finishes: [], days: ['2026-11-27', '2026-11-26'] },
  '/app/runs/202': before,
  '/app/runs/203/report': report,
  '/app/checkpoints': { checkpoints: texts, next: '', count: texts.length, bytes: texts.reduce((sum, c) => sum + c.bytes, 0), saved_ms: 5.2e6 },
  '/app/checkpoint-titles': (query) => ({ titles: texts.filter((c) => query.get('ids').split(',').includes(c.id)).map(ends) }),
  ...Object.fromEntries(texts.map((c) => [`/app/checkpoints/${c.id}`, { ...c, text }])),
  '/app/models': { models },
  '/app/memory': { total: 32 * GiB, room: 24 * GiB, models: needs },
  '/app/found': found,
  '/app/storage': { home: whole.home, free: 120 * GB, models: stored, checkpoints: texts.length, checkpoint_bytes: 4 * GB, pinned_bytes: 0, written_today: 3.2 * GB, most_a_day: 68.7 * GB, runs: 203, history_bytes: 9e6, texts: [], by_model: [], by_client: [], by_day: [] },
  '/app/connect': { base_url: 'http://127.0.0.1:8263/v1', container_url: 'http://host.docker.internal:8263/v1', model: qwen, context: 32_768, needs_key: false, longer: [], connections, seen },
  '/app/settings': { settings, sources, hub_token: false, automatic: { checkpoint_memory: 4 * GiB, checkpoint_disk: 17 * GB } },
  '/app/command-line': { path: '~/.local/bin/tandem', program: '/Applications/Tandem.app/Contents/MacOS/tandem', link: 'absent', on_path: true, path_line: '' },
  '/app/updates': { offered: true, newer: false, checked_at: ago(90) },
}

// scene serves all of this.
export async function scene() {
  const say = (answer) => (req, res) => {
    const { searchParams } = new URL(req.url, 'http://x')
    res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(typeof answer === 'function' ? answer(searchParams) : answer))
  }
  return serve('http://127.0.0.1:1', state(whole), Object.fromEntries(Object.entries(answers).map(([path, answer]) => [path, say(answer)])))
}

// visit opens a page for the scene at an address of its server, and returns it with its problems and
// a function that goes to a place in it.
export async function visit(browser, at, options = {}) {
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce', viewport: { width: 1280, height: 800 }, ...options })
  await context.clock.setFixedTime(now)
  await context.addInitScript(() => {
    sessionStorage.setItem('tandem-session', 'scene')
    Object.defineProperty(navigator, 'platform', { get: () => 'Linux x86_64' })
  })
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  page.on('requestfailed', (r) => r.failure()?.errorText !== 'net::ERR_ABORTED' && problems.push(`${r.method()} ${r.url()} has no answer`))
  const go = (to) => page.goto(`${at}#/${to}`)
  return { context, page, problems, go }
}
