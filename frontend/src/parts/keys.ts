// sends returns whether a key sends a message. An Enter that ends a composition sends none. WebKit
// reports that Enter after the composition, with the code 229.
export const sends = (e: KeyboardEvent): boolean => e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229
