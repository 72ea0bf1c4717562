import type { Run } from '../api/types.ts'

// A Remedy is what a person can do about a run that failed, with the page where it is done.
export interface Remedy {
  text: string
  button?: string
  href?: string
}

const remedies: Record<string, Remedy> = {
  model_not_found: { text: 'The program asks for a model that is not on the list. Get it, or have the program ask for “tandem”: that is the current model.', button: 'Get a model', href: '#/models/more' },
  model_not_loaded: { text: 'Other models have the memory. Unload one, or let requests load models beside each other or in place of each other, in Settings.', button: 'Open Settings', href: '#/settings' },
  memory_short: { text: 'The model needs more memory than this machine has for models. Choose a smaller one, or set a shorter context.', button: 'Choose a model', href: '#/models' },
  model_invalid: { text: 'The files of the model cannot be loaded. Get it again, or choose another one.', button: 'Look at the models', href: '#/models' },
  no_chat_template: { text: 'This model goes on with texts, and has no form for a chat. Choose one for chats.', button: 'Choose a model', href: '#/models' },
  not_ready: { text: 'No model was in memory. Start it, and send the request again.', button: 'Start a model', href: '#/now' },
  model_busy: { text: 'Another model was answering. Send the request again when it is done.' },
  rate_limit_exceeded: { text: 'Too many requests came at once. Have the program send fewer, or wait between them.' },
  disk_full: { text: 'The disk is full. Make room, and send the request again.', button: 'Make room', href: '#/models/disk' },
  unauthorized: { text: 'The program needs a key. Write it a new one.', button: 'Make a key', href: '#/settings' },
  internal: { text: 'This is a defect of Tandem. Its report helps to mend it.', button: 'Look at the report', href: '#/settings' },
}

const longer: Remedy = { text: 'Prompt and answer have to fit into the model’s context. Set a longer one, or have the program send less.', button: 'Set a longer context' }

// settingsOf is where the settings of a model are.
export const settingsOf = (model = ''): string => (model ? `#/models/?${new URLSearchParams({ settings: model })}` : '#/models')

// remedyOf returns what helps against the failure of a run, null if nothing is known.
export function remedyOf(r: Pick<Run, 'error' | 'message'> & { model?: string }): Remedy | null {
  return (r.message ?? '').includes('maximum context length') ? { ...longer, href: settingsOf(r.model) } : (remedies[codeOf(r)] ?? null)
}

// codeOf returns the code of a failure. After it a run names the field of the request that was wrong.
const codeOf = (r: Pick<Run, 'error'>): string => r.error.split(':')[0]!

// told returns what the program was told. The history keeps no text of a request, but it has the
// model's name in a field of its own.
export const told = (r: Pick<Run, 'error' | 'message' | 'model'>): string => (codeOf(r) === 'model_not_found' ? (r.message ?? '').replace('…', `“${r.model}”`) : r.message) || r.error
