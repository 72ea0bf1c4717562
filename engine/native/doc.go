// Package native binds the engine's small Rust crate. Its sources lie in this folder.
//
// # Chat templates
//
// A chat template is a Jinja program that comes with a model. It turns a conversation into a
// prompt. A [Template] renders the text that jinja2 renders under transformers. It has trim_blocks,
// lstrip_blocks, loop controls, the generation block, raise_exception and strftime_now, and its
// tojson is json.dumps. minijinja runs it. The Jinja engines written in Go lose the key order of tools, and
// lack syntax that published templates use.
//
// The crate adds to minijinja only what a published template needs, and limits. engine/log
// measures this (2026-11-25): all published templates that were found render as in jinja2. Other
// templates may meet a difference. The tables in parity_test.go list the known ones:
//
//   - refused with an error: block and include, a macro's kwargs and varargs, some methods and filters,
//     and rare forms of a field in a text, such as !a and {:n};
//   - lenient: some expressions that jinja2 refuses have a value here;
//   - different text: a printed range, a dict's method without a call, title(), and the line end
//     after a raw tag.
//
// A dict with both 1 and true as keys may keep both.
//
// transformers always passes two variables, null if the caller has none: tools and documents.
// Templates that ask `tools is defined` expect them, so callers of [Template.Render] do the same.
//
// # Grammars
//
// A grammar says which texts are allowed. It is a JSON schema, a regular expression of Rust's regex crate,
// or rules in the Lark dialect of llguidance, the library that compiles them. A [Vocabulary] is made once for
// a model. A [Matcher] follows one text token by token. It returns the tokens that may follow, as a
// set of bits. It also steps back, so that guesses can be checked before they are accepted. Where
// the text may end, the set includes the end tokens.
//
// A schema's properties come in its own order. A keyword that cannot be honoured is an error when
// the grammar is compiled. It is never ignored. An error is told in one line, without the grammar.
//
// # Processes
//
// Templates come with models, and grammars with requests. Both are programs of other people, and
// neither library can be stopped. Some filters of minijinja count against no limit, and neither
// does the analysis of expressions in llguidance. So all of the crate runs in processes of their
// own. A process ends when its call has used up its time or its memory,
// or when its client has gone. The system then takes back all that it had. A stack that overflows
// ends such a process too, and not the program. The call is made again then: once more, since something
// else may have ended the process.
//
// native.h is the whole interface. [Template] and [Vocabulary] each start this program again under
// another name. serve.c answers in it before Go's runtime begins, so that the process has one
// thread that works, and can be copied. A render or a [Matcher] is a copy: it shares the template
// or the vocabulary with its origin, and ends alone. A copy takes about 0.3 ms. origin.go has the
// budgets.
//
// A Template may render on any number of goroutines at once. A Matcher belongs to one. None of this
// touches MLX or its thread.
//
// # Building
//
// `go run ./build setup` builds the crate with cargo from the committed Cargo.lock and links
// .deps/VERSION/libtandem_native.a. VERSION is the crate's. It stands in the #cgo line, so that a
// new version relinks. -l names the library, so that a link for another system can put a folder
// first. `go run ./build check` fails when the sources change without a new version.
package native
