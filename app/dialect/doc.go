// Package dialect reads the parts of an answer that are not plain text: thoughts and tool calls.
// Each family of models writes these in its own way. The package also writes the grammars that
// force an answer to be a call.
//
// [Detect] finds a [Dialect] from the source of the model's chat template and from its vocabulary,
// never from the model's name. A [Parser] reads one answer while it is generated, and separates
// thoughts and calls from text. [Dialect.Grammar] writes the grammar of an answer that must be a
// call.
//
// # Dialects
//
// The table gives the name of each dialect, the template text that selects it, and its families.
// The type that reads a dialect describes it in full and names its sources.
//
//	tool_call      JSON in <tool_call>: Qwen 2.5 and 3, SmolLM3, Hermes; <TOOLCALL>: Nemotron;
//	               <tool_calls>: Apriel
//	xml            <tool_call><function=: Qwen3-Coder, Qwen3.5; <function=: Functionary 3.1;
//	               <function name=: MiniCPM5
//	glm            <tool_call> and <arg_key>: GLM-4.5 to 4.7
//	json           {"name": , "parameters": }: Llama 3.1 and later, Gemma 3
//	pythonic       [func_name1(: Llama 3.2 and 4, Gemma 3
//	tool_code      ```tool_code: Gemma 2 and 3
//	mistral        [TOOL_CALLS]; the token [ARGS] says which form is written
//	gemma4         <|tool_call> and <|"|>
//	functiongemma  <start_function_call> and <escape>
//	deepseek       <｜tool▁call▁begin｜>: V3, R1, V3.1
//	phi            <|tool_call|> or <|tool|>: Phi-4-mini, Granite 3
//	lfm            List of tools: and <|tool_call_start|>: LFM2 and LFM2.5
//	harmony        <|channel|> and <|message|>: gpt-oss
//	atem           <atem:function_calls> and <|message|>: Muse Glimmer
//	plain          text only
//
// Thoughts are between <think> and </think>, <thinking> and </thinking>, [THINK] and [/THINK], or
// <|channel>thought and <channel|>. In harmony they are messages on the channel analysis, and in
// atem messages to self. What Apriel writes before [BEGIN FINAL RESPONSE] is text, because no mark opens
// it: until that mark comes, it is like any other answer.
//
// # What is a call
//
// A whole call in its own tags is a call, whatever its name. Where a tag, the place or the form is
// wrong, the call must name a tool of the request and be whole. Else it is text, or a thought, as the
// model wrote it:
//   - Its opener is missing, and the text after that opens it where a line begins, but not in a block
//     of code. Closing tags after it are removed.
//   - A tag is missing or comes twice, or a name is in quotes or has white space around it. The tags
//     are no part of a value, unless the value goes on after them. A value without a closing tag ends
//     before another parameter of the tool, or where the call ends. Names without a tag between
//     them, or after a value, must be those of the request's tools. A call without a closing tag ends
//     before another one, or before an opening tag at the end of the answer.
//   - A comma comes after the last call of a list, or between calls of Gemma's, or a call's first or last
//     bracket comes twice. None of these is text.
//   - It is in the form <function=NAME>{} where the family writes XML, or JSON or Python without a tag.
//   - It is JSON in the tag of a family that writes another form, or XML in <tool_call>.
//   - It is JSON with a string for arguments, which is the text of a tool with [TextParameters].
//   - It is in a thought, and the thought has no end before the model ends the answer. The thought
//     ends before it.
//   - It is JSON or Python without a tag before it.
//   - It is nearly JSON: a comma after the last member, Python's quotes, True, False or None, or an
//     escape that JSON does not have, which is text.
//
// A whole call within a value between tags is text of the value, and so are the calls within that one, up
// to maxNested. The value ends at its own closing tag. An opener that nothing follows as in a call is text as
// well. One that such tags follow may still be text, and then the value would have no end. So if the answer
// ends within the value, the first call in it does not count, and the value is read again. That happens at
// most maxAgain times in an answer.
//
// # What a parser promises
//
// The parts do not depend on how the text was split, once adjacent parts of a kind are joined. The
// parser works byte by byte, and looks at no byte more than a fixed number of times.
//
// The parser holds back:
//   - What may become a call, until its name is known and its arguments begin: at most maxHeld
//     bytes.
//   - White space that may belong to a call or a thought: at most maxSpace bytes.
//   - A call within a thought and what follows, until the thought ends: at most maxHeld bytes.
//   - A call, until it is whole. So no client takes a broken call for a whole one.
//
// A call's arguments are one JSON object:
//   - JSON keeps its spelling and the order of its keys. What is nearly JSON becomes JSON.
//   - A control character in a string is escaped, because JSON forbids it there.
//   - If the model breaks the form within the arguments, the call is text.
//   - The parser adds nothing to complete them, with one exception: the closing bracket. It adds that
//     if nothing else is missing and the model itself ended the text ([Parser.Flush], not
//     [Parser.Cut]).
//   - Where the text was cut, the arguments are those that came so far, except under WholeCalls: then
//     the call is text. A value that was cut also has what seemed to be calls within it, and calls after
//     those.
//   - An XML parameter that is not a string and longer than maxHeld bytes is a string.
//   - Members of a call's JSON other than its name and its arguments are discarded. After the
//     arguments they are held back, at most maxHeld bytes. If that JSON has no end, they are text.
//     If one of them is a parameter of the tool, the call is text.
//
// Everything else that breaks the dialect's form is text as it is, including the tags:
//   - A closing tag after a complete call may be missing at the end of the text, or be cut there.
//   - White space between text and a call is removed, because the templates put their own there.
//   - A call that had begun where the text was cut is discarded, and so is its mark.
//
// Every byte is in the parts or belongs to a call. The exceptions are the tags of thoughts, the white
// space next to tags, and a call that was cut before its name was known.
//
// A thought is read at the beginning of an answer, and after another thought or a call. Only white
// space may come before it, because models also write about the tags. A closing tag without an
// opening one is an empty thought if nothing came before it, and text otherwise. Newlines next to
// the tags are removed.
//
// # Grammars
//
// Where the family writes JSON, a grammar follows the tool's schema. Elsewhere it follows:
//   - the names of the parameters, in the order of the schema
//   - their types
//   - the strings and the numbers that they list
//   - the bounds of a string's length
//
// An XML parameter that is not a string follows its schema.
package dialect
