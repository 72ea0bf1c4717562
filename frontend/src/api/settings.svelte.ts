import { get, inWindow, post, why } from './client.ts'
import type { Settings, SettingsState, SettingState } from './types.ts'

// A SettingName is the name of a setting that has a value to show.
export type SettingName = keyof Settings

// A Form holds the settings, and the outcome of the last change of each. It sends each change by
// itself, at once.
export class Form {
  state = $state.raw<SettingsState | null>(null)
  problem = $state('') // why the settings are not known
  errors = $state<Record<string, string>>({}) // by the name of the setting
  saved = $state('') // name of the setting that was changed last

  #last: Promise<unknown> = Promise.resolve()

  async read(): Promise<void> {
    try {
      this.state = await get<SettingsState>('/app/settings')
      this.problem = ''
    } catch (e) {
      this.problem = why(e)
    }
  }

  // set changes one setting, after earlier changes are done. The value null restores the default.
  // It returns whether that succeeded.
  set(name: string, value: unknown): Promise<boolean> {
    const done = this.#last.then(() => this.#send(name, value))
    this.#last = done
    return done
  }

  async #send(name: string, value: unknown): Promise<boolean> {
    this.saved = ''
    try {
      this.state = await post<SettingsState>('/app/settings', { [name]: value })
    } catch (e) {
      const said = why(e)
      this.errors[name] = said.startsWith(`${name} `) ? `This${said.slice(name.length)}` : said
      return false
    }
    delete this.errors[name]
    this.saved = name
    // This page is at the old port, which is closed now.
    if (this.state.link && !inWindow) location.assign(`${this.state.link}/settings/endpoint`)
    return true
  }

  source(name: string): SettingState | undefined {
    return this.state?.sources.find((s) => s.name === name)
  }

  // fixed returns whether a flag or the environment decides the setting.
  fixed(name: string): boolean {
    const source = this.source(name)?.source
    return source === 'flag' || source === 'environment'
  }
}
