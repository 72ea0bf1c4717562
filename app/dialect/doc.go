// Package dialect knows how the models of a family write what is not plain text: their thoughts
// and the calls of tools.
//
// A [Dialect] is found by [Detect], from the source of the model's chat template and from its
// vocabulary, never from its name. A [Parser] reads one answer as it is generated and tells
// thoughts and calls from text; [Dialect.Grammar] writes the rules of an answer that must be a
// call.
//
// # What a parser promises
//
// The parts, adjacent ones of a kind joined, are the same however the text was split. All work is
// done byte by byte, and no byte is looked at more than a fixed number of times.
//
// What may become a call is held back until its name is known and its arguments begin, but never
// more than maxHeld bytes of it; what may become the white space around a call or a thought never
// more than maxSpace. From there on arguments pass through as they come. An argument whose type
// shows at its end alone (an XML parameter that is no string) is held back as well, to the same
// bound, past which it is a string.
//
// The pieces of a call's arguments are, joined, one JSON object. JSON keeps its spelling and the
// order of its keys; a control character in a string, which no JSON may have, is escaped. If the
// model goes wrong amid its arguments they end there, as the beginning of an object that no client
// takes for a whole, and what follows is text. Nothing is made up to complete them, with one
// exception: the brace that closes them, if nothing but that is missing and the model itself ended
// the text ([Parser.Flush], not [Parser.Cut]).
//
// Everything else that is not as the dialect has it is text as it stands, the tags included. A tag
// that closes what is complete may be missing at the end. White space between text and a call goes,
// as the templates put their own there.
//
// A thought is read at the beginning of an answer, and behind another thought or a call, where only
// white space stands before it: models also write of the tags. One that is closed without having
// been opened is an empty thought if nothing came before, otherwise text. Newlines next to the tags
// go.
package dialect
