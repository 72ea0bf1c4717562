// atEnd scrolls an element to its end whenever the text changes.
export const atEnd = (text: string) => (node: HTMLElement): void => {
  void text
  node.scrollTop = node.scrollHeight
}
