import { get } from '../api/client.ts'
import type { Memory, ModelNeeds, ModelSettings, ModelSettingsState } from '../api/types.ts'
import { demo } from './format.ts'

// A Roomier says how a text fits that did not: into a context of so many tokens, of its model with these
// settings, or of another model. With neither it fits as things are now.
export interface Roomier {
  context: number
  set?: ModelSettings
  other?: string
}

// roomierOf returns what makes room for a text of so many tokens, null if nothing here does. needs are
// those of all models. A context that is offered is one that the model and the machine can have. The demo
// model is not offered: it knows nothing.
export function roomierOf(s: ModelSettingsState, needs: ModelNeeds[], tokens: number): Roomier | null {
  const now = s.serving || s.needs?.context || 0
  if (now >= tokens) return { context: now }
  if ((s.longest ?? 0) >= tokens) {
    const answer = 4096 * Math.ceil((tokens * 1.25) / 4096) // leaves room for an answer
    const context = Math.max(s.settings.context ?? 0, Math.min(answer, s.longest!))
    return { context, set: { ...s.settings, context } }
  }
  const others = needs.filter((n) => !n.kind && n.id !== demo && n.id !== s.settings.model && n.needs.fits && n.needs.context >= tokens)
  const other = others.sort((a, b) => b.needs.context - a.needs.context)[0]
  return other ? { context: other.needs.context, other: other.id } : null
}

// roomier asks for what roomierOf needs.
export async function roomier(model: string, tokens: number): Promise<Roomier | null> {
  const [settings, memory] = await Promise.all([get<ModelSettingsState>(`/app/model-settings?model=${encodeURIComponent(model)}`), get<Memory>('/app/memory')])
  return roomierOf(settings, memory.models, tokens)
}
