// A JSON value.
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

// merge applies a merge patch (RFC 7396). A member of the patch replaces the target's, null removes
// it, and objects are merged.
export function merge(target: Json | undefined, patch: Json): Json {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch
  const whole = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete whole[name]
    else whole[name] = merge(whole[name], value)
  }
  return whole
}
