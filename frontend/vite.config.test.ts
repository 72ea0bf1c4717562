// The libraries are in the script as their authors published them. `npm ci` installs what the lock file
// pins, and the build leaves it alone. So a new version of a library is one line, and its bugs are its
// authors' bugs.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { build, type Plugin, type PluginOption } from 'vite'

import config from './vite.config.ts'

const folder = '/node_modules/'

// pluginsOf returns the plugins of the configuration in one list.
const pluginsOf = async (option: PluginOption): Promise<Plugin[]> => {
  const of = await option
  if (Array.isArray(of)) return (await Promise.all(of.map(pluginsOf))).flat()
  return of ? [of] : []
}

test('every file of a library reaches the bundler as it is on disk', async () => {
  const libraries = new Set<string>()
  const changed: string[] = []
  const last: Plugin = {
    name: 'last',
    enforce: 'post',
    transform(code, id) {
      const [path = ''] = id.split('?')
      const at = path.lastIndexOf(folder)
      if (at < 0) return
      const name = path.slice(at + folder.length)
      libraries.add(name.split('/')[0]!)
      if (path !== id || code !== readFileSync(path, 'utf8')) changed.push(name)
    },
  }
  await build({ ...config, root: import.meta.dirname, configFile: false, logLevel: 'silent', plugins: [config.plugins, last], build: { ...config.build, write: false } })
  for (const name of ['svelte', 'markdown-it', 'dompurify']) assert.ok(libraries.has(name), `the script has no ${name}: ${[...libraries]}`)
  assert.deepEqual(changed, [])
})

test('no plugin changes the script after it is put together', async () => {
  const after = ['renderChunk', 'generateBundle', 'writeBundle', 'closeBundle', 'banner', 'footer', 'intro', 'outro']
  const found = (await pluginsOf(config.plugins)).flatMap((p) => after.filter((hook) => hook in p).map((hook) => `${p.name}: ${hook}`))
  assert.deepEqual(found, ['in-short: generateBundle']) // adds a file of its own
  const { output = [], ...others } = config.build?.rolldownOptions ?? {}
  assert.deepEqual([output].flat().flatMap((o) => Object.keys(o)), ['codeSplitting']) // neither plugins nor texts
  assert.deepEqual(others, {})
})

test('every library is pinned by the hash of its archive', () => {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8')) as { packages: Record<string, { integrity?: string; inBundle?: boolean }> }
  const loose = Object.entries(packages).flatMap(([name, p]) => (name !== '' && !p.integrity && !p.inBundle ? [name] : []))
  assert.deepEqual(loose, [])
})
