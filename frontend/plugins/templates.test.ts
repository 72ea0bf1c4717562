import assert from 'node:assert/strict'
import { test } from 'node:test'

import { leanTemplates, share, shorten } from './templates.ts'

const shortened: { what: string; html: string; want: string }[] = [
  { what: 'end tags at the end', html: '<div><p> </p> <b>x</b></div>', want: '<div><p> </p> <b>x' },
  { what: 'end tags that the next tag stands for', html: '<tr><td><!></td><td>a</td></tr>', want: '<tr><td><!><td>a' },
  { what: 'a space between elements is text, and stays with its tags', html: '<li> </li> <li> </li><!>', want: '<li> </li> <li> </li><!>' },
  { what: 'an end tag before text', html: '<p>a</p>b<!>', want: '<p>a</p>b<!>' },
  { what: 'an end tag before what would become a part of its element', html: '<div><p>a</p><select></select></div><dl><dd>b</dd><div></div></dl><ul><li>c</li><p>d</p><p-x>e</p-x></ul><!>', want: '<div><p>a</p><select></select></div><dl><dd>b</dd><div></div></dl><ul><li>c</li><p>d</p><p-x>e</p-x></ul><!>' },
  { what: 'a slash and a sign within a value', html: '<a title="a/>b" id="c">d</a><!>', want: '<a title="a/>b" id=c>d</a><!>' },
  { what: 'an end tag before an element within a line', html: '<p>a</p><span>b</span><!>', want: '<p>a</p><span>b</span><!>' },
  { what: 'quotes', html: '<p class="bad" id="x"> </p><!>', want: '<p class=bad id=x> </p><!>' },
  { what: 'quotes around a space, a slash, nothing, or an expression', html: '<a class="a b" href="/x" title="" id="${id}"> </a><!>', want: '<a class="a b" href="/x" title="" id="${id}"> </a><!>' },
  { what: 'the slash of an element without content', html: '<input type="checkbox"/> <br/><!>', want: '<input type=checkbox> <br><!>' },
  { what: 'text that looks like an attribute', html: '<p>a="b"</p><!>', want: '<p>a="b"</p><!>' },
]

for (const { what, html, want } of shortened) test(`a template in fewer bytes: ${what}`, () => assert.equal(shorten(html), want))

test('equal templates are one, and each event is delegated once', () => {
  const code = `
var root$1 = from_html(\`<p> \`);
var root_2 = /* @__PURE__ */ from_html(\`<p> \`, 1);
delegate(["click"]);
var root_3 = from_html(\`<p> \`);
var root_4 = /* @__PURE__ */ from_html(\`<p> \`, 1);
delegate([
	"click",
	"keydown"
]);
delegate(["keydown"]);
`
  assert.equal(
    share(code),
    `
var root$1 = from_html(\`<p> \`);
var root_2 = /* @__PURE__ */ from_html(\`<p> \`, 1);
delegate(['click']);
var root_3 = root$1;
var root_4 = root_2;
delegate(['keydown']);

`,
  )
})

test('only the templates of a part are shortened', () => {
  const transform = leanTemplates.transform as (code: string, id: string) => string | undefined
  const code = 'var a = $.from_html(`<p id="x"></p>`); var b = `<p id="x"></p>`; Part(c, { d, $$slots: { default: true } })'
  assert.equal(transform(code, 'Part.svelte'), 'var a = $.from_html(`<p id=x>`); var b = `<p id="x"></p>`; Part(c, { d })')
  assert.equal(transform(code, 'part.ts'), undefined)
})
