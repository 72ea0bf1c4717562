// terms are the words of the field that the pages use. Each is explained here, once:
// where it stands in a page, and together with the others on Help.
export const terms = {
  token: { name: 'token', text: 'A word or a piece of one. A model reads and writes one token after the other; 100 tokens are about 75 words.' },
  prompt: { name: 'prompt', text: 'What was sent to the model: the conversation so far, or the code to complete.' },
  context: { name: 'context', text: 'How much a model can look at, in tokens: the prompt and the answer together.' },
  endpoint: { name: 'endpoint', text: 'The address at which editors and other programs reach Tandem.' },
  run: { name: 'run', text: 'One request with its answer, and the time it took.' },
  remembered: { name: 'remembered texts', text: 'Earlier prompts and answers of a program, as token numbers. They help to draft answers that repeat them. A program with a key never gets drafts from another’s texts.' },
  checkpoint: { name: 'checkpoint', text: 'The model’s saved work on a text, in memory and on disk. A prompt that starts the same way skips the reading.' },
  restored: { name: 'restored', text: 'Taken from a checkpoint instead of being re-read.' },
  pinned: { name: 'pinned', text: 'Never deleted to make room.' },
  drafter: { name: 'draft model', text: 'A small, fast model that guesses the next few tokens. The model checks them all together, so the answer is the model’s own but arrives sooner.' },
  draft: { name: 'drafted', text: 'Written ahead. A drafted token is accepted if the model would have written the same; otherwise the model’s own token replaces it.' },
  verify: { name: 'tokens per verify', text: 'How many tokens one check of a draft yields. Without drafts it is 1 per step; at 3 the model needs a third of the steps.' },
  plain: { name: 'plain', text: 'Without drafts: one token per step.' },
  round: { name: 'round', text: 'One step of an answer: a draft and its check, or a single token.' },
  rule: { name: 'acceptance rule', text: 'How drafts are compared with what the model would say. Either way the answer is the model’s own. With “coupled” the same seed gives the same answer with and without drafts; “rejection” accepts a few more tokens.' },
  sampling: { name: 'sampling', text: 'How each token is chosen among the likely ones.' },
  seed: { name: 'seed', text: 'The number that random choices start from: the same seed gives the same answer.' },
  prefill: { name: 'prefill', text: 'Reading the prompt, before the first token of the answer.' },
  decode: { name: 'decode', text: 'Writing the answer, token by token.' },
  bits: { name: '4-bit and the like', text: 'How precisely the model’s weights are stored. With fewer bits a model is smaller and faster, and slightly less exact.' },
  keys: { name: 'KV cache', text: 'The keys and values that a model keeps of each token, so that it doesn’t re-read the text for the next one.' },
  gib: { name: 'GiB and GB', text: 'Memory comes in GiB, files in GB. 1 GiB is 1.07 GB, so 16 GiB of memory hold 17.2 GB.' },
  starter: { name: 'starter model', text: 'The small model that comes with Tandem. It has 135 million parameters, where models for real work have billions: it is fast but often wrong.' },
  embedding: { name: 'embedding model', text: 'Turns texts into numbers for searching them. It can’t chat.' },
  base: { name: 'base URL', text: 'The address that an editor asks for. Some call it API base or endpoint.' },
  needs: { name: 'needs', text: 'How much memory a model uses while it is loaded.' },
  saved: { name: 'saved', text: 'How much time a text saved: restoring it instead of re-reading it.' },
  earlier: { name: 'earlier', text: 'Earlier states of the same text.' },
  verified: { name: 'verified', text: 'Whether recomputing the answer without drafts and checkpoints gave the same answer: “Verify” on a run’s page does that.' },
  tie: { name: 'tie', text: 'The answers differ where two tokens are almost equally likely, so rounding decides.' },
  temperature: { name: 'temperature', text: 'At 0 the model always picks the likeliest token; the higher, the more answers vary.' },
  top_p: { name: 'top-p', text: 'Picks among the likeliest tokens that together have this share of the probability. 1: all tokens.' },
  top_k: { name: 'top-k', text: 'Picks among this many of the likeliest tokens. 0: all tokens.' },
  min_p: { name: 'min-p', text: 'Leaves out tokens that are less likely than this share of the likeliest one. 0: keeps all.' },
  repetition_penalty: { name: 'repetition penalty', text: 'Above 1, tokens that are already in the text become less likely. 1: no change.' },
} as const

export type Term = keyof typeof terms

// facts explains the facts on the page of a run, by their names.
export const facts: Record<string, string> = {
  tokens: terms.token.text,
  prompt: 'Tokens of the prompt. Matched: an earlier text starts with them too. Restored: they came from a checkpoint. Computed: the model read them now.',
  cache: 'Why fewer tokens were restored than matched.',
  thoughts: 'The client sent an earlier answer without the model’s thought before it. The chat template keeps such thoughts, so Tandem restored it and the cached text stayed valid.',
  parts: 'Where the prompt differs from an earlier text.',
  loops: 'Where the answer starts to repeat itself.',
  seed: terms.seed.text,
  'asked for': 'What the request said about drafts.',
  drafter: terms.drafter.text,
  drafts: terms.draft.text,
  prediction: 'Tokens that the client expected in the answer and sent as a draft.',
  rounds: `A forward is one computation of the model, over one token or several; a sync waits for its result. ${terms.verify.name.replace(/^t/, 'T')}: ${terms.verify.text.charAt(0).toLowerCase()}${terms.verify.text.slice(1)}`,
  verified: terms.verified.text,
  ms: 'Load: until the model was in memory. Queue: until it began. Restore: loading checkpoints. Prefill: reading the prompt. Draft: drafting. Verify: checking the drafts.',
  'block ms': 'A block is the draft of one round, which is checked as a whole.',
}

const factNames: Record<string, string> = { ms: 'Milliseconds', 'block ms': 'Milliseconds of a round with drafts', cache: 'Not restored', parts: 'Differs from an earlier text', thoughts: 'Thoughts restored', reason: 'Why a drafter did not draft', asked: 'Asked for', told: 'Error sent to the client' }

// factName returns the name of a fact on a page.
export const factName = (fact: string): string => factNames[fact] ?? fact.charAt(0).toUpperCase() + fact.slice(1)
