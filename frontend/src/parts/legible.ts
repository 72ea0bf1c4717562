// legible returns a text without most of the marks over a character that has more than 50: nobody could read
// them, and a browser draws them in quadratic time.
export const legible = (text: string): string => text.replace(/(?<!\p{M})(\p{M}{50})\p{M}+/gu, '$1…')
