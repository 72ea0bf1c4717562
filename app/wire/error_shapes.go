package wire

// OpenAIErrorShape is OpenAIError in OpenAPI.
var OpenAIErrorShape = Object(Need("error", Object(
	Need("message", Text, "One sentence that says what to do."),
	Need("type", Text),
	Need("param", Text.OrNull(), "The field at fault."),
	Need("code", Text, "For programs."),
))).Named("OpenAIError")

// AnthropicErrorShape is AnthropicError in OpenAPI.
var AnthropicErrorShape = Object(
	Need("type", Just("error")),
	Need("error", Object(Need("type", Text), Need("message", Text))),
	Need("request_id", Text),
).Named("AnthropicError")

// OllamaErrorShape is OllamaError in OpenAPI.
var OllamaErrorShape = Object(Need("error", Text)).Named("OllamaError")
