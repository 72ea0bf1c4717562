// terms are the words of the field that the pages use. Each is explained here, once:
// where it stands in a page, and together with the others on Help.
export const terms = {
  token: { name: 'token', text: 'A word or a piece of one. A model reads and writes one token after the other; a hundred are about 75 words.' },
  prompt: { name: 'prompt', text: 'What was sent to the model: the conversation so far, or the code to complete.' },
  context: { name: 'context', text: 'How much a model can look at, in tokens: the prompt and the answer together.' },
  endpoint: { name: 'endpoint', text: 'The address at which editors and other programs reach Tandem.' },
  run: { name: 'run', text: 'One request with its answer, and what it took.' },
  remembered: { name: 'memory of texts', text: 'What earlier prompts and answers of a program said, as token numbers. It helps to guess answers that say the same again. A program with a key is never helped by another’s texts.' },
  checkpoint: { name: 'checkpoint', text: 'The model’s saved work on a text, in memory and on disk. A text that begins the same way need not be read again.' },
  restored: { name: 'restored', text: 'Taken from a checkpoint instead of being read again.' },
  pinned: { name: 'pinned', text: 'Never deleted to make room.' },
  drafter: { name: 'drafter', text: 'A small, quick helper that guesses the next few tokens. The model checks them all at once. So the answer is still the model’s own, but comes sooner.' },
  draft: { name: 'drafted', text: 'Guessed by the drafter. A guess is accepted if the model would have written the same; otherwise the model’s own token takes its place.' },
  verify: { name: 'tokens per verify', text: 'How many tokens the model gets out of one check of the guesses. Alone it gets 1 a step; at 3 it needs a third of the steps.' },
  plain: { name: 'plain', text: 'Without guesses: one token a step.' },
  round: { name: 'round', text: 'One step of an answer: some guesses and their check, or a single token.' },
  rule: { name: 'acceptance rule', text: 'How guesses are compared with what the model would say. Either way the answer is the model’s own. With “coupled” the same seed gives the same answer with and without guesses; “rejection” accepts a few more guesses.' },
  sampling: { name: 'sampling', text: 'How each token is chosen among the likely ones.' },
  seed: { name: 'seed', text: 'The number that the random choices begin with: with the same one the same answer comes again.' },
  prefill: { name: 'prefill', text: 'Reading the prompt, before the first token of the answer.' },
  decode: { name: 'decode', text: 'Writing the answer, token by token.' },
  bits: { name: '4-bit and the like', text: 'How finely the model’s numbers are stored. With fewer bits a model is smaller and quicker, and a little less exact.' },
  held: { name: 'held in float32', text: 'A quantized model whose numbers were unpacked when it was loaded. On a processor it answers several times as fast, and takes more memory.' },
  keys: { name: 'keys and values', text: 'What a model keeps of each token that it has read or written, so that it need not read the text again for the next one.' },
  gib: { name: 'GiB and GB', text: 'Memory comes in GiB, files in GB. 1 GiB is 1.07 GB, so 16 GiB of memory hold 17.2 GB.' },
  starter: { name: 'starter model', text: 'The small model that comes with Tandem. It has 135 million parameters, where models for work have billions: it answers at once, and is often wrong.' },
  embedding: { name: 'embedding model', text: 'Turns texts into numbers by which they can be searched. It does not answer.' },
  base: { name: 'base URL', text: 'The address that an editor asks for. Some call it API base or endpoint.' },
  needs: { name: 'needs', text: 'How much memory a model uses while it is loaded.' },
  saved: { name: 'saved', text: 'How much time a text saved: reading it again each time would have taken so much longer than restoring it.' },
  earlier: { name: 'earlier', text: 'The same text, before it went on.' },
  verified: { name: 'verified', text: 'Whether the same answer came when it was computed again, without drafts and checkpoints: “Verify” on a run’s page does that.' },
  tie: { name: 'tie', text: 'The answers part where two tokens are almost equally likely, so that rounding decides.' },
  temperature: { name: 'temperature', text: 'At 0 it always takes the likeliest token; the higher, the more answers vary.' },
  top_p: { name: 'top-p', text: 'It chooses among the likeliest tokens that together have this share of the probability. 1: among all.' },
  top_k: { name: 'top-k', text: 'It chooses among this many of the likeliest tokens. 0: among all.' },
  min_p: { name: 'min-p', text: 'It leaves out tokens that are less likely than this share of the likeliest one. 0: leaves out none.' },
  repetition_penalty: { name: 'repetition penalty', text: 'Above 1, tokens that the text already has become less likely. 1: no change.' },
} as const

export type Term = keyof typeof terms

// facts explains the facts on the page of a run, by their names.
export const facts: Record<string, string> = {
  tokens: terms.token.text,
  prompt: 'Tokens of the prompt. Matched: an earlier text begins with them too. Restored: they came back from a checkpoint. Computed: the model read them now.',
  cache: 'Why fewer tokens came back from checkpoints than an earlier text begins with.',
  thoughts: 'The program sent an earlier answer without the model’s thought before it. The chat template keeps such thoughts. So Tandem put it back, and what the model had read need not be read again.',
  parts: 'Where the prompt stops being the same as an earlier text.',
  loops: 'From there on the answer repeats itself.',
  seed: terms.seed.text,
  'asked for': 'What the request itself said about guesses.',
  drafter: terms.drafter.text,
  drafts: terms.draft.text,
  prediction: 'Tokens that the program expected in the answer and sent as guesses.',
  rounds: `A forward is one computation of the model, over one token or several; a sync waits for what it gives. ${terms.verify.name.replace(/^t/, 'T')}: ${terms.verify.text.charAt(0).toLowerCase()}${terms.verify.text.slice(1)}`,
  verified: terms.verified.text,
  ms: 'Load: until the model was in memory. Queue: until it began. Restore: loading checkpoints. Prefill: reading the prompt. Draft: guessing. Verify: checking the guesses.',
  'block ms': 'A block is the guesses of one round, which are checked together.',
}

const factNames: Record<string, string> = { ms: 'Milliseconds', 'block ms': 'Milliseconds of a round with drafts', cache: 'Not restored', parts: 'Differs from a kept text', thoughts: 'Thoughts put back', reason: 'Why a drafter did not draft', asked: 'Asked for', told: 'What the client was told' }

// factName returns the name of a fact on a page.
export const factName = (fact: string): string => factNames[fact] ?? fact.charAt(0).toUpperCase() + fact.slice(1)
