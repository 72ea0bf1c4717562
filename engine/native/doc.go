// Package native binds the engine's small Rust crate, whose sources lie in this folder.
//
// # Chat templates
//
// A chat template is the Jinja program that comes with a model and turns a conversation into a
// prompt. It runs in minijinja, because the Jinja engines written in Go lose the key order of
// tools and lack syntax that published templates use. A [Template] gives the same text as jinja2
// under transformers: trim_blocks, lstrip_blocks, loop controls, the generation block,
// raise_exception, strftime_now, and a tojson that is json.dumps. Where minijinja itself differs
// (operators, slices, string escapes and methods, printed floats), src/template replaces its
// parts; src/template/source.rs says how.
//
// transformers passes two variables always, null if the caller has none: tools and documents.
// Templates that ask `tools is defined` expect that, so callers of [Template.Render] do the same.
//
// What still differs, and TestExpressions holds it to this: a macro's implicit kwargs and varargs,
// %r, wordcount, cycler and joiner are refused with an error; some expressions that jinja2
// refuses have a value here; a range printed as it is looks like a list. Not in that test because
// it varies: a dict with both 1 and true as keys may keep both.
//
// # Grammars
//
// A grammar says which texts there may be: a JSON schema, a regular expression, or rules in
// llguidance's dialect of Lark, which is the library behind it. A [Vocabulary] is made once for a
// model; a [Matcher] follows one text token by token and tells, as a set of bits, which tokens may
// follow. It goes back as well, so that guesses can be judged before they stand. Where the end of
// the text is all that may follow, the set holds the tokens that end one.
//
// A schema's properties come in its own order. Keywords that cannot be honoured are an error when
// the grammar is compiled, and never ignored.
//
// # The boundary
//
// native.h is the whole interface: texts as pointer and length in, one buffer or one object out,
// freed by Go through the library. No Go memory is kept by Rust, and nothing calls back. What
// compiles or renders runs on a thread of the crate's own with a large stack, and all calls catch
// panics, so that a hostile template or schema ends in an error: see [TemplateError] and
// [GrammarError] for the limits. A Template may render on any number of goroutines at once, a
// Matcher belongs to one. None of this touches MLX or its thread.
//
// # Building
//
// `go run ./build setup` builds the crate with cargo from the committed Cargo.lock and links
// .deps/VERSION/libtandem_native.a, where VERSION is the crate's; it stands in the #cgo line, so
// that a new version relinks. The library itself is named by -l, so that a link for another system
// can put a folder before that one. Sources that change without a new version are an error of
// `go run ./build check`.
package native
