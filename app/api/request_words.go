package api

// Limits of continuations.
const (
	MaxN        = 8  // of one prompt
	MaxChoices  = 64 // of one request, over all its prompts
	MaxParallel = 8  // of one request, generated at once
)

// Roles are the roles of a chat's messages.
var Roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// EffortNone is the reasoning_effort that turns thinking off.
const EffortNone = "none"

// Efforts are the values of reasoning_effort.
var Efforts = []string{EffortNone, "minimal", "low", "medium", "high", "xhigh", "max"}

// budgetFields are other servers' names for the token limit of a thought.
var budgetFields = []string{"thinking_budget", "thinking_token_budget", "thinking_budget_tokens"}

// ToolChoices are the words of tool_choice. The last word is other servers' for the one before.
var ToolChoices = []string{"none", "auto", "required", "any"}
