// Package dialect knows how the models of a family write what is not plain text: their thoughts
// and the calls of tools.
//
// A [Dialect] is found by [Detect], from the source of the model's chat template and from its
// vocabulary, never from its name. A [Parser] reads one answer as it is generated and tells
// thoughts and calls from text; [Dialect.Grammar] writes the rules of an answer that must be a
// call.
//
// # Dialects
//
// By name, and what of a template tells them; the types that read them say more, and from where:
//
//	tool_call      JSON in <tool_call>: Qwen 2.5 and 3, Hermes
//	xml            <tool_call><function=: Qwen3-Coder, Qwen3.5
//	glm            <tool_call> and <arg_key>: GLM-4.5 to 4.7
//	json           {"name": , "parameters": }: Llama 3.1 and later, Gemma 3
//	pythonic       [func_name1(: Llama 3.2 and 4, Gemma 3
//	tool_code      ```tool_code: Gemma 2 and 3
//	mistral        [TOOL_CALLS]; the token [ARGS] says which form is written
//	gemma4         <|tool_call> and <|"|>
//	functiongemma  <start_function_call> and <escape>
//	deepseek       <｜tool▁call▁begin｜>: V3, R1, V3.1
//	dsml           <｜DSML｜function_calls>: DeepSeek V3.2
//	phi            <|tool_call|> or <|tool|>: Phi-4-mini
//	harmony        <|channel|> and <|message|>: gpt-oss
//	plain          text only
//
// glm, dsml, phi and harmony wait for their architectures: package models loads none of these
// families yet.
//
// Thoughts stand between <think> and </think>, [THINK] and [/THINK], <|channel>thought and
// <channel|>, or are messages on harmony's channel analysis.
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
// the text ([Parser.Flush], not [Parser.Cut]). Members of a call's own JSON other than its name and
// its arguments mean nothing, and go with it. Behind the arguments they are held back, to the same
// bound: where that JSON has no end they are text.
//
// Everything else that is not as the dialect has it is text as it stands, the tags included. A tag
// that closes what is complete may be missing at the end, or be cut there. White space between text
// and a call goes, as the templates put their own there. JSON and Python without a tag before them
// are calls if they name one of the tools: models also write of other functions.
//
// Every byte is in the parts or in what a call was read from ([Parser.Source]), but for the tags of
// thoughts and the white space next to tags.
//
// A thought is read at the beginning of an answer, and behind another thought or a call, where only
// white space stands before it: models also write of the tags. One that is closed without having
// been opened is an empty thought if nothing came before, otherwise text. Newlines next to the tags
// go.
//
// # Grammars
//
// A grammar follows a tool's schema where the family writes JSON. Where it writes something else, it
// holds to the names of parameters, which come in the schema's order, to their types and to the
// strings that they list; XML parameters that are no strings follow their schemas.
package dialect
