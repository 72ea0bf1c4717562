// ends says of an answer's finish how it ended, where that is not by itself.
export const ends: Record<string, string> = { length: 'cut at its limit', stopped: 'stopped', error: 'interrupted', edited: 'as you have put it', '': 'interrupted' }
