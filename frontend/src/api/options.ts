// Options say how to sample. If an option is missing, the model's own value counts.
export interface Options {
  temperature?: number
  top_p?: number
  max_tokens?: number
  effort?: string // of thinking
  draft?: boolean // false = without drafts
}

// Usual holds the values that count where the options have none.
export interface Usual extends Options {
  stop?: string[] // completed code ends before these texts
  again?: number // temperature of another answer to the same message; absent = the model's own
}
