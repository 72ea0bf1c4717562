// Package anthropic has Anthropic's /v1/messages: its bodies, its blocks and their events, and the
// count of tokens. It also has the pages of Anthropic's list of models.
//
// Agents of that API speak as the system in the middle of a conversation, and several times in a
// row. [messageTurns] joins such messages as templates expect them. Where a template refuses the
// turns, package api tries plainer ones.
package anthropic
