// atEnd shows the end of what scrolls, whenever its text is another.
export const atEnd = (text: string) => (node: HTMLElement): void => {
  void text
  node.scrollTop = node.scrollHeight
}
