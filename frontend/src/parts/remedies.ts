import type { Run } from '../api/types.ts'

// A Remedy is what a person can do about a run that failed, with the page where it is done. tokens are
// those of a text that did not fit into the context.
export interface Remedy {
  text: string
  button?: string
  href?: string
  tokens?: number
}

// remedies has what the window offers for the codes of errors. Errors themselves name no command of the
// terminal there: see advice.go of app/control.
export const remedies: Record<string, Remedy> = {
  model_not_found: { text: 'The program asks for a model that is not installed. Download it, or have the program ask for “tandem”: that is the current model.', button: 'Get a model', href: '#/models/more' },
  model_not_loaded: { text: 'Other models have the memory. Unload one.', button: 'Look at the models', href: '#/models' },
  memory_short: { text: 'Choose a model that fits.', button: 'Choose a model', href: '#/models' },
  model_invalid: { text: 'The files of the model cannot be loaded. Download it again, or choose another one.', button: 'Look at the models', href: '#/models' },
  no_chat_template: { text: 'This model continues texts, and has no template for a chat. Choose one for chats.', button: 'Choose a model', href: '#/models' },
  not_ready: { text: 'Tandem was starting or stopping. Send the request again.' },
  model_busy: { text: 'Another model was answering. Send the request again when it is done.' },
  queue_full: { text: 'Hundreds of requests were waiting. Have the program send fewer together.' },
  disk_full: { text: 'The disk is full. Make room, and send the request again.', button: 'Make room', href: '#/models/disk' },
  unauthorized: { text: 'The program needs a key. Make one, and set it there.', button: 'Make a key', href: '#/settings' },
  internal: { text: 'This is a defect of Tandem. Its report helps to mend it.', button: 'Look at the report', href: '#/settings' },
}

const forbidden: Remedy = { text: 'Only the current model is loaded for requests. Allow others in the settings, or make this one current.', button: 'Open Settings', href: '#/settings' }

// settingsOf is where the settings of a model are.
export const settingsOf = (model = ''): string => (model ? `#/models/?${new URLSearchParams({ settings: model })}` : '#/models')

// remedyOf returns what helps against the failure of a run, null if nothing is known.
export function remedyOf(r: Pick<Run, 'error' | 'message'>): Remedy | null {
  const says = r.message ?? ''
  if (says.includes('maximum context length')) {
    const tokens = Number(/you requested (?:at least )?(\d+) tokens/.exec(says)?.[1] ?? 0)
    return { text: 'Prompt and answer have to fit into the model’s context. Have the program send less.', tokens }
  }
  return says.includes('load_on_request is never') ? forbidden : (remedies[codeOf(r)] ?? null)
}

// codeOf returns the code of a failure. After it a run names the field of the request that was wrong.
const codeOf = (r: Pick<Run, 'error'>): string => r.error.split(':')[0]!

// told returns what the program was told. The history keeps no text of a request, but it has the
// model's name in a field of its own.
export const told = (r: Pick<Run, 'error' | 'message' | 'model'>): string => (codeOf(r) === 'model_not_found' ? (r.message ?? '').replace('…', `“${r.model}”`) : r.message) || r.error
