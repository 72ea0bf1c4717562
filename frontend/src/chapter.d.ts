// The chapter "In short" of app/README.md as HTML, which vite.config.ts renders.
declare module 'virtual:in-short' {
  const html: string
  export default html
}
