interface Box {
  left: number
  top: number
  bottom: number
}

interface Size {
  width: number
  height: number
}

const gap = 6 // pixels between the note and its word, and to the window's edge

// within returns the place of a note. It is below the element that it belongs to, or above if there
// is no room. It is never over the window's edge.
export function within(of: Box, note: Size, window: Size): { left: number; top: number } {
  const below = of.bottom + gap
  const fits = below + note.height + gap <= window.height
  return {
    left: Math.max(gap, Math.min(of.left, window.width - note.width - gap)),
    top: fits ? below : Math.max(gap, of.top - gap - note.height),
  }
}
