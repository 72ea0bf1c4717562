// Package anthropic has Anthropic's /v1/messages: its bodies, its blocks and their events, and the
// count of tokens. It also has the pages of Anthropic's list of models.
//
// answer.go has the message, its blocks and its events. format.go makes a whole message, and events.go
// streams it. The events ping and error are in format.go too (AppendSilence, AppendFailure).
// app/wire/anthropic.go writes the body of an error.
//
// Agents of that API speak as the system in the middle of a conversation, and several times in a
// row. [messagesRequest] joins such messages as templates expect them. Where a template refuses
// them, package api makes them plainer.
package anthropic
