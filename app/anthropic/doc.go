// Package anthropic has Anthropic's /v1/messages: its bodies, its blocks and their events,
// the count of tokens, and its pages of the list of models.
//
// Agents of that API speak as the system in the middle of a conversation, and several times
// in a row. A [messageTurns] joins such messages as templates expect them, and package api
// tries plainer turns where a template refuses them.
package anthropic
