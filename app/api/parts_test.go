package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// A seenMessage is what a template sees of a message.
type seenMessage struct {
	Role, Content string
	Thought       string `json:"reasoning_content"`
	CallID        string `json:"tool_call_id"`
	ToolCalls     []struct {
		ID, Type string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	} `json:"tool_calls"`
}

// seenMessages posts a body and returns the messages that the template got.
func seenMessages(t *testing.T, path, body string) []seenMessage {
	t.Helper()
	fake := roomtest.Speaking("ok")
	w := roomtest.Post(serve(fake), path, body)
	if w.Code != 200 {
		t.Errorf("%s %s: %d %s", path, body, w.Code, w.Body)
		return nil
	}
	var vars struct{ Messages []seenMessage }
	if err := json.Unmarshal([]byte(fake.Model.Vars[0]), &vars); err != nil {
		t.Fatal(err)
	}
	return vars.Messages
}

// resultBodies write a tool's result with a list of parts, by route.
var resultBodies = map[string]func(parts string) string{
	"/v1/messages": func(parts string) string {
		return `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[` +
			parts + `]}]}]}`
	},
	"/v1/chat/completions": func(parts string) string {
		return `{"model":"tandem","messages":[{"role":"user","content":"x"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f"}}]},` +
			`{"role":"tool","tool_call_id":"c","content":[` + parts + `]}]}`
	},
	"/v1/responses": func(parts string) string {
		return `{"model":"tandem","input":[{"role":"user","content":"x"},` +
			`{"type":"function_call","call_id":"c","name":"f"},` +
			`{"type":"function_call_output","call_id":"c","output":[` + parts + `]}]}`
	},
	"/api/chat": func(parts string) string {
		return `{"model":"tandem","stream":false,"messages":[{"role":"user","content":"x"},` +
			`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}}]},` +
			`{"role":"tool","tool_name":"f","content":[` + parts + `]}]}`
	},
}

// TestToolResultIsReadWhateverBlocksHoldItsText: a client keeps its history, so that a block which
// is refused once ends the session. What holds text is read, on all routes.
func TestToolResultIsReadWhateverBlocksHoldItsText(t *testing.T) {
	for parts, want := range map[string]string{
		`{"type":"text","text":"a"}`: "a",
		`"a"`:                        "a",
		`{"text":"a"}`:               "a",
		`{"type":"tool_reference","tool_name":"look"}`: "look",
		`{"type":"search_result","source":"https://a.b","title":"T","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"citations":{"enabled":true}}`: "T\nhttps://a.b\nab",
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a"},"title":"T","context":"C"}`:                                                "T\nC\na",
		`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"}]}}`:                                                                     "a",
		`{"type":"document","source":{"type":"content","content":"a"},"title":null}`:                                                                                 "a",
		`{"type":"input_text","text":"a"}`:                                                                     "a",
		`{"type":"output_text","text":"a","annotations":[]}`:                                                   "a",
		`{"type":"resource_text","text":"a"}`:                                                                  "a",
		`{"type":"some_result","content":[{"type":"text","text":"a"}]}`:                                        "a",
		`{"type":"web_search_result","title":"T","url":"https://a.b"}`:                                         "T\nhttps://a.b",
		`{"type":"thinking","thinking":"a"}`:                                                                   "a",
		`{"type":"text","text":"a","cache_control":{"type":"ephemeral"},"extra":[1,2]}`:                        "a",
		`{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"aGk="},"title":"T"}`:   "T\nhi",
		`{"type":"document","source":{"type":"base64","media_type":"application/json","data":"eyJhIjoxfQ=="}}`: `{"a":1}`,
		`{"type":"input_file","filename":"a.md","file_data":"data:text/markdown;charset=utf-8;base64,w6k"}`:    "a.md\né",
		`{"type":"input_file","file_data":"data:text/plain,a%20b"}`:                                            "a b",
		`{"type":"input_file","filename":"a.go","file_data":"cGFja2FnZSBh"}`:                                   "a.go\npackage a",
		`{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGk="}}`:                "a.txt\nhi",
		`{"type":"file","file":{"filename":"a.txt","file_data":"Data:Text/Plain;Base64,aGk="}}`:                "a.txt\nhi",
		`{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,aG\nk=\r\n"}`:             "a.txt\nhi",
		`{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"aG\nk=\n"}}`:           "hi",
	} {
		for path, body := range resultBodies {
			seen := seenMessages(t, path, body(parts))
			if seen == nil {
				continue
			}
			if last := seen[len(seen)-1]; last.Role != "tool" || last.Content != want {
				t.Errorf("%s: %s becomes %+v, want %q", path, parts, last, want)
			}
		}
	}
}

// unreadableParts have no text; each with the line that takes its place and the error that refuses
// it in the user's last message.
var unreadableParts = map[string][2]string{
	`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`:          {"image", "takes text only"},
	`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`:                       {"image", "takes text only"},
	`{"type":"input_image","image_url":"data:"}`:                                                  {"image", "takes text only"},
	`{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}`:                         {"audio", "takes text only"},
	`{"type":"video_url","video_url":{"url":"https://a.b"}}`:                                      {"video", "takes text only"},
	`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUJD"}}`: {"file", "takes text only"},
	`{"type":"document","source":{"type":"base64","data":"JVBERi0xLjcK"}}`:                        {"file", "takes text only"},
	`{"type":"document","source":{"type":"url","url":"https://a.b"}}`:                             {"file", "takes text only"},
	`{"type":"document"}`: {"file", "takes text only"},
	`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{}}]}}`:   {"image", "takes text only"},
	`{"type":"search_result","content":[{"type":"input_image","image_url":"data:"}]}`:            {"image", "takes text only"},
	`{"type":"input_file","filename":"a.bin","file_data":"data:text/plain;base64,AAECAw=="}`:     {"file", "takes text only"},
	`{"type":"input_file","file_id":"f"}`:                                                        {"file", "takes text only"},
	`{"type":"file","file":{"file_data":"data:image/svg+xml;base64,PHN2Zy8+"}}`:                  {"file", "only text and application media types are read"},
	`{"type":"input_file","file_data":"data:text/plain;base64,@@@"}`:                             {"file", "broken base64"},
	`{"type":"input_file","file_data":"aGk=@"}`:                                                  {"file", "broken base64"},
	`{"type":"input_file","file_data":"data:text/plain,%zz"}`:                                    {"file", "broken URL"},
	`{"type":"file","file":{"file_data":"data:text/plain;base64,//5oAGkA"}}`:                     {"file", "must be UTF-8"},
	`{"type":"input_file","file_data":"data:text/plain;base64,aABpAC0gaABpAAoA"}`:                {"file", "must be UTF-8, not UTF-16"},
	`{"type":"document","source":{"type":"base64","data":"AGgAaQAK"}}`:                           {"file", "must be UTF-8, not UTF-16"},
	`{"type":"input_file","file_data":"AAEAAgADAAQA"}`:                                           {"file", "takes text only"},
	`{"type":"input_file","file_data":"data:text/plain;base64,aOkg"}`:                            {"file", "must be UTF-8"},
	`{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"/v8AaABp"}}`: {"file", "must be UTF-8"},
	`{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"@@@"}}`:      {"file", "broken base64"},
	`{"type":"container_upload","file_id":"f"}`:                                                  {"file", "takes text only"},
	`{"type":"thing","thing":"gAAA"}`:                                                            {"thing", "such a part has no text"},
	`{"type":"thing","value":7}`:                                                                 {"thing", "such a part has no text"},
}

// TestRefusalOfAPartNamesItsField: as other refusals do. A part that is text has another type in Responses.
func TestRefusalOfAPartNamesItsField(t *testing.T) {
	const png = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`
	for part, want := range map[string][2]string{
		`{"type":"file","file":{"file_data":"@@@"}}`:                           {"file.file_data", "cannot be read: its data is broken base64"},
		`{"type":"file","file":{"file_data":"AAECAw=="}}`:                      {"file.file_data", "is not supported: this endpoint"},
		`{"type":"file","file":{"file_id":"f"}}`:                               {"file.file_id", "is not supported: this endpoint"},
		`{"type":"file","file":{}}`:                                            {"type", `\"file\" is not supported: this endpoint`},
		`{"type":"input_file","filename":"a.txt","file_data":"//5oAGkA"}`:      {"file_data", "cannot be read: its text must be UTF-8, not UTF-16"},
		`{"type":"input_file","file_url":"https://a.b"}`:                       {"file_url", "is not supported: this endpoint"},
		`{"type":"document","source":{"type":"base64","data":"@@@"}}`:          {"source.data", "cannot be read: its data is broken base64"},
		`{"type":"document","source":{"type":"base64","data":"JVBERi0xLjcK"}}`: {"source.data", "is not supported: this endpoint"},
		`{"type":"document","source":{"type":"url","url":"https://a.b"}}`:      {"source.type", "is not supported: this endpoint"},
		`{"type":"document"}`:                                                  {"type", `\"document\" is not supported: this endpoint`},
		png:                                                                    {"type", `\"image_url\" is not supported: this endpoint`},
		`{"type":"thing"}`:                                                     {"type", `cannot be \"thing\" here: such a part has no text; send a part of the type \"TEXT\".`},
	} {
		for path, list := range map[string]string{"/v1/chat/completions": "messages", "/v1/messages": "messages",
			"/api/chat": "messages", "/v1/responses": "input"} {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, `{"model":"tandem","max_tokens":9,"`+list+
				`":[{"role":"user","content":["see",`+part+`]}]}`)
			at, text, got := list+"[0].content[1]."+want[0], "text", w.Body.String()
			if list == "input" {
				text = "input_text"
			}
			says := at + " " + strings.Replace(want[1], "TEXT", text, 1)
			if w.Code != 400 || !strings.Contains(got, says) ||
				strings.Contains(got, `"param"`) && !strings.Contains(got, `"param":"`+at+`"`) {
				t.Errorf("%s: %s is answered with %d %s, want %s", path, part, w.Code, got, says)
			}
		}
	}
}

// TestWhatIsNoTextBecomesALineExceptInTheLastMessageOfTheUser: a client keeps its history, so that a
// picture which is refused there ends the session. A question about a picture is refused.
func TestWhatIsNoTextBecomesALineExceptInTheLastMessageOfTheUser(t *testing.T) {
	for part, want := range unreadableParts {
		line := "[" + want[0] + " omitted: this model reads text only]"
		for path, body := range resultBodies {
			for parts, content := range map[string]string{
				part: line,
				`{"type":"text","text":"a"},` + part + `,{"type":"text","text":"b"}`: "a\n" + line + "\nb",
			} {
				seen := seenMessages(t, path, body(parts))
				got := ""
				if seen != nil {
					got = strings.ReplaceAll(seen[len(seen)-1].Content, "\n\n", "\n")
				}
				if want[0] == "thing" || strings.Contains(part, "search_result") { // these continue the line
					content = strings.ReplaceAll(content, "\n", "")
					got = strings.ReplaceAll(got, "\n", "")
				}
				if got != content {
					t.Errorf("%s: %s in a result becomes %q, want %q", path, parts, got, content)
				}
			}
		}
		for path, list := range map[string]string{"/v1/chat/completions": "messages",
			"/v1/messages": "messages", "/v1/messages/count_tokens": "messages",
			"/api/chat": "messages", "/v1/responses": "input", "/v1/responses/input_tokens": "input"} {
			ask := func(parts, after string) string {
				return `{"model":"tandem","max_tokens":9,"stream":false,"` + list +
					`":[{"role":"user","content":[` + parts + `]}` + after + `]}`
			}
			both := `{"type":"text","text":"see"},` + part
			for _, after := range []string{"", `,{"role":"assistant","content":"ok"}`} {
				w := roomtest.Post(serve(roomtest.Speaking("ok")), path, ask(both, after))
				if w.Code != 400 || !strings.Contains(w.Body.String(), want[1]) ||
					!strings.Contains(w.Body.String(), list+"[0].content[1]") {
					t.Errorf("%s: %s%s is answered with %d %s", path, both, after, w.Code, w.Body)
				}
			}
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), path, ask(both, `,{"role":"user","content":"hi"}`))
			if w.Code != 200 || !strings.Contains(fake.Model.Vars[0], line) {
				t.Errorf("%s: %s in an older turn: %d %s %s", path, part, w.Code, w.Body,
					fake.Model.Vars)
			}
		}
	}
}

// TestFileAfterAToolResultIsPartOfIt: Claude Code sends a PDF that a tool read in a block beside the
// result's. One that follows the user's own words is the user's.
func TestFileAfterAToolResultIsPartOfIt(t *testing.T) {
	const pdf = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	body := func(blocks string) string {
		return strings.Replace(resultBodies["/v1/messages"](`{"type":"image","source":{}}`), "]}]}]}",
			"]},"+blocks+"]}]}", 1)
	}
	for blocks, roles := range map[string]int{
		pdf: 3, pdf + `,` + pdf: 3, pdf + `,{"type":"text","text":"what is it?"}`: 4,
	} {
		seen := seenMessages(t, "/v1/messages", body(blocks))
		if len(seen) != roles || !strings.Contains(seen[2].Content, "[file omitted") {
			t.Errorf("%s becomes %+v", blocks, seen)
		}
	}
	w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/messages",
		body(`{"type":"text","text":"what is it?"},`+pdf))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "takes text only") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestMediaBesideTheContentIsRefusedOrTold: programs send it in fields of other vendors. In the user's last message
// it is refused, elsewhere a line takes its place, and the template does not get the field. An empty one says nothing.
func TestMediaBesideTheContentIsRefusedOrTold(t *testing.T) {
	fields := map[string][2]string{ // with what is told of each
		`"images":["AAAA","AAAA"]`:                   {"image", "2 images"},
		`"images":[{"url":"https://a.b"}]`:           {"image", "1 image"},
		`"image_url":{"url":"https://a.b"}`:          {"image", "1 image"},
		`"image":[137,80,78]`:                        {"image", "1 image"},
		`"audio":{"id":"a"}`:                         {"audio", "1 audio part"},
		`"input_audio":{"data":"AA","format":"wav"}`: {"audio", "1 audio part"},
		`"video":"https://a.b"`:                      {"video", "1 video"},
		`"files":[{"name":"a.pdf","data":"AA"}]`:     {"file", "1 file"},
		`"attachments":[{"file_id":"f"}]`:            {"file", "1 file"},
	}
	say := func(role, more string) string {
		return `{"role":"` + role + `","content":[{"type":"text","text":"see"}],` + more + `}`
	}
	for path, list := range map[string]string{"/v1/chat/completions": "messages", "/v1/messages": "messages",
		"/v1/messages/count_tokens": "messages", "/api/chat": "messages", "/v1/responses": "input",
		"/v1/responses/input_tokens": "input"} {
		post := func(messages string) (int, string, string) {
			fake := roomtest.Speaking("ok")
			w := roomtest.Post(serve(fake), path,
				`{"model":"tandem","max_tokens":9,"stream":false,"`+list+`":[`+messages+`]}`)
			vars := ""
			if list := fake.Model.Vars; list != nil {
				vars = list[0]
			}
			return w.Code, w.Body.String(), vars
		}
		for field, told := range fields {
			name, value, _ := strings.Cut(field[1:], `":`)
			if strings.Contains(path, "/api/chat") && name == "images" && strings.Contains(field, "{") {
				continue // its images are strings
			}
			for _, after := range []string{"", `,{"role":"assistant","content":"ok"}`} {
				code, body, _ := post(say("user", field) + after)
				if says := list + "[0]." + name + " is not supported: this endpoint takes text only"; code != 400 ||
					!strings.Contains(body, says) {
					t.Errorf("%s: %s is answered with %d %s, want %s", path, field, code, body, says)
				}
			}
			for _, role := range []string{"user", "assistant", "system"} {
				code, body, vars := post(say("user", `"x":0`) + `,` + say(role, field) + `,{"role":"user","content":"hi"}`)
				counts := strings.HasSuffix(path, "_tokens")
				line := "[" + told[0] + " omitted: this model reads text only]"
				where := map[string]string{"user": "user messages", "assistant": "answers", "system": "system messages"}
				if code != 200 || strings.Count(vars, line) != 1 || strings.Contains(vars, value) ||
					!counts && !strings.Contains(body, told[1]+" in "+where[role]) {
					t.Errorf("%s: %s of the %s: %d %s %s", path, field, role, code, body, vars)
				}
			}
			if body := resultBodies[path]; body != nil {
				fake := roomtest.Speaking("ok")
				w := roomtest.Post(serve(fake), path,
					strings.Replace(body(`"r"`), `["r"]`, `"r",`+field, 1))
				if w.Code != 200 || !strings.Contains(w.Body.String(), told[1]+" in tool results") ||
					!strings.Contains(fake.Model.Vars[0], `r\n\n[`+told[0]+` omitted`) {
					t.Errorf("%s: %s of a result: %d %s %s", path, field, w.Code, w.Body, fake.Model.Vars)
				}
			}
			for _, empty := range []string{`null`, `[]`, `{}`, `""`} {
				if path == "/api/chat" && name == "images" && empty[0] != '[' && empty != "null" {
					continue
				}
				code, body, vars := post(say("user", `"`+name+`":`+empty))
				if code != 200 || strings.Contains(vars, "omitted") ||
					strings.Contains(body, "left_out") {
					t.Errorf("%s: %s of %s: %d %s %s", path, name, empty, code, body, vars)
				}
			}
		}
	}
	for _, part := range []string{`{"type":"text","text":"see","image_url":{"url":"https://a.b"}}`, `{"text":"see","image":"AA"}`} {
		body := `{"model":"tandem","messages":[{"role":"user","content":[` + part + `]}`
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/chat/completions", body+`]}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "is not supported: this endpoint takes text only") {
			t.Errorf("%s: %d %s", part, w.Code, w.Body)
		}
		seen := seenMessages(t, "/v1/chat/completions", body+`,{"role":"user","content":"x"}]}`)
		if seen[0].Content != "see\n[image omitted: this model reads text only]" {
			t.Errorf("%s becomes %+v", part, seen)
		}
		two := strings.Replace(body, "}]}", `},{"type":"text","text":"on"}]}`, 1)
		seen = seenMessages(t, "/v1/chat/completions", two+`,{"role":"user","content":"x"}]}`)
		if seen[0].Content != "see\n[image omitted: this model reads text only]\non" {
			t.Errorf("%s before a text becomes %+v", part, seen)
		}
	}
	seen := seenMessages(t, "/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"},`+
		`{"role":"assistant","content":null,"audio":{"id":"a","data":"AA","transcript":"said"}},{"role":"user","content":"y"}]}`)
	if len(seen) != 3 || seen[1].Content != "said" {
		t.Errorf("an answer in sound becomes %+v", seen)
	}
}

// TestMediaBesideTheMessagesIsRefused: programs made for other servers send it at the top of a body. An empty field,
// or one that says only how closely images are looked at, has none.
func TestMediaBesideTheMessagesIsRefused(t *testing.T) {
	bodies := maps.Clone(formBodies)
	maps.Copy(bodies, map[string]string{
		"/completion":                `{"prompt":"x",%s}`,
		"/v1/messages/count_tokens":  `{"model":"tandem","messages":[{"role":"user","content":"x"}],%s}`,
		"/v1/responses/input_tokens": `{"model":"tandem","input":"x",%s}`,
		"/v1/responses/compact":      `{"model":"tandem","input":"x",%s}`,
	})
	post := func(path, body, field string) (int, string) {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), path, fmt.Sprintf(body, field))
		return w.Code, w.Body.String()
	}
	refused := func(path, body string) {
		for field, instead := range map[string]string{
			`"images":["AAAA"]`: "describe the image in words", `"image_data":[{"data":"AA","id":1}]`: "describe the image in words",
			`"image":{"url":"https://a.b","detail":"low"}`: "describe the image in words",
			`"input_audio":{"data":"AA","format":"wav"}`:   "send what is said as text",
			`"video_url":"https://a.b"`:                    "describe the video in words",
			`"files":[{"name":"a.pdf","data":"AA"}]`:       "send the file's text", `"file_ids":["f"]`: "send the file's text",
		} {
			name, _, _ := strings.Cut(field[1:], `":`)
			code, answer := post(path, body, field)
			if want := name + " is not supported: this endpoint takes text only; " + instead; code != 400 ||
				!strings.Contains(answer, want) {
				t.Errorf("%s: %s is answered with %d %s, want %s", path, field, code, answer, want)
			}
		}
	}
	for path, body := range bodies {
		refused(path, body)
		for _, field := range []string{`"images":[]`, `"image":{"detail":"low"}`, `"audio":null`, `"files":[]`} {
			if code, answer := post(path, body, field); code != 200 {
				t.Errorf("%s: %s is answered with %d %s", path, field, code, answer)
			}
		}
	}
	if code, answer := post("/v1/responses", bodies["/v1/responses"], `"audio":{"voice":"alloy"}`); code != 400 ||
		!strings.Contains(answer, "audio is not supported: the answer is text") {
		t.Errorf("sound that is asked for is answered with %d %s", code, answer)
	}
	refused("/api/generate", `{"model":"tandem","prompt":"",%s}`) // loads the model
	refused("/v1/embeddings", `{"model":"tandem","input":"x",%s}`)
	refused("/v1/rerank", `{"model":"tandem","query":"q","documents":["x"],%s}`)
}

// TestImagesOfOllama: its messages have them beside their text.
func TestImagesOfOllama(t *testing.T) {
	const line = "[image omitted: this model reads text only]"
	for messages, want := range map[string]string{
		`{"role":"user","content":"see","images":["AA=="]},{"role":"assistant","content":"ok"},{"role":"user","content":"hi"}`:                         "see\n\n" + line,
		`{"role":"tool","content":"","images":["AA==","AA=="]},{"role":"user","content":"hi"}`:                                                         line,
		`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}],"images":["AA=="]},{"role":"tool","content":"done"}`: line,
	} {
		seen := seenMessages(t, "/api/chat", `{"model":"tandem","stream":false,"messages":[`+messages+`]}`)
		if seen == nil || seen[0].Content != want {
			t.Errorf("%s becomes %+v, want %q", messages, seen, want)
		}
	}
	for messages, want := range map[string]string{
		`{"role":"user","content":"a","images":[]},{"role":"user","content":"see","images":["AA=="]}`: "messages[1].images is not supported",
		`{"role":"user","content":"see","images":"AA=="}`:                                             "messages[0].images must be a list",
		`{"role":"user","content":"see","images":["AA=="]},{"role":"tool","content":"x"}`:             "messages[0].images is not supported",
	} {
		w := roomtest.Post(serve(roomtest.Speaking("ok")), "/api/chat", `{"model":"tandem","messages":[`+messages+`]}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is answered with %d %s", messages, w.Code, w.Body)
		}
	}
}

// TestBrokenPartIsRefusedInAResult: a part of a known kind that lacks its text.
func TestBrokenPartIsRefusedInAResult(t *testing.T) {
	for parts, want := range map[string]string{
		`{"type":"text"}`:                              "text is missing",
		`{"type":"text","text":7}`:                     "text must be a string",
		`{"type":"tool_reference"}`:                    "tool_name is missing",
		`{"type":"file","file":7}`:                     "file must be an object",
		`{"type":"input_file","file_data":7}`:          "file_data must be a string",
		`{"type":"document","source":{"type":"text"}}`: "data is missing",
		`{}`: "type is missing",
	} {
		for path, body := range resultBodies {
			w := roomtest.Post(serve(roomtest.Speaking("ok")), path, body(parts))
			if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s is answered with %d %s", path, parts, w.Code, w.Body)
			}
		}
	}
}

// TestThoughtAmongPartsOfAnAnswerIsAThought: some clients send an answer back with its thought
// among the parts of its content.
func TestThoughtAmongPartsOfAnAnswerIsAThought(t *testing.T) {
	const ask, more = `{"role":"user","content":["x"]},`, `,{"role":"user","content":"y"}`
	for _, path := range []string{"/v1/chat/completions", "/api/chat", "/v1/messages"} {
		for _, parts := range []string{
			`{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"}`,
			`{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"output_text","text":"a"}`,
			`{"type":"reasoning","text":"hm"},"a"`,
			`{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}`,
		} {
			seen := seenMessages(t, path, `{"model":"tandem","stream":false,"max_tokens":9,`+
				`"messages":[`+ask+`{"role":"assistant","content":[`+parts+`]}`+more+`]}`)
			if len(seen) != 3 || seen[1].Content != "a" || seen[1].Thought != "hm" {
				t.Errorf("%s: %s becomes %+v", path, parts, seen)
			}
		}
	}
	seen := seenMessages(t, "/v1/chat/completions", `{"model":"tandem","messages":[`+ask+
		`{"role":"assistant","reasoning_content":"hm","content":[{"type":"thinking","thinking":"hm"},"a"]}`+
		more+`]}`)
	if len(seen) != 3 || seen[1].Thought != "hm" {
		t.Errorf("a thought that is said twice: %+v", seen)
	}
}

// ownResults are blocks with text of tools that the vendor's servers ran.
var ownResults = map[string]string{
	`{"type":"compaction","content":"r"}`:                                                                                                        "r",
	`{"type":"mcp_tool_result","tool_use_id":"m","content":"r"}`:                                                                                 "r",
	`{"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":[{"type":"text","text":"r"}]}`:                                       "r",
	`{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"T","url":"u","encrypted_content":"e"}]}`: "T\nu",
	`{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"u","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"r"},"title":"T"}}}`: "T\nr",
	`{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":"o","stderr":"","return_code":0,"content":[{"type":"code_execution_output","file_id":"f"}]}}`:     "o",
	`{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":{"type":"bash_code_execution_result","stdout":"o","stderr":"e","return_code":1,"content":[]}}`:                                        "o\ne",
	`{"type":"text_editor_code_execution_tool_result","tool_use_id":"s","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"r"}}`:                                           "r",
}

// TestResultOfTheVendorsToolReachesTheTemplateAsItsText: an answer tells it as the user does.
func TestResultOfTheVendorsToolReachesTheTemplateAsItsText(t *testing.T) {
	for block, want := range ownResults {
		for i, list := range []string{
			`{"role":"user","content":[` + block + `]}`,
			`{"role":"user","content":"x"},{"role":"assistant","content":[` + block +
				`]},{"role":"user","content":"y"}`,
		} {
			seen := seenMessages(t, "/v1/messages",
				`{"model":"tandem","max_tokens":9,"messages":[`+list+`]}`)
			if len(seen) <= i || seen[i].Content != want {
				t.Errorf("%s becomes %+v, want %q", list, seen, want)
			}
		}
	}
	const mixed = `{"type":"mcp_tool_result","content":[{"type":"image","source":{}},` +
		`{"type":"text","text":"r"}]}`
	seen := seenMessages(t, "/v1/messages", `{"model":"tandem","max_tokens":9,"messages":[`+
		`{"role":"assistant","content":[`+mixed+`]},{"role":"user","content":"y"}]}`)
	if len(seen) != 2 || seen[0].Content != "r" {
		t.Errorf("a text beside a picture becomes %+v", seen)
	}
}

// TestAnswerKeepsItsTextBesideBlocksOfTheVendorsTools: the vendor's servers ran these tools, and
// the blocks have no text.
func TestAnswerKeepsItsTextBesideBlocksOfTheVendorsTools(t *testing.T) {
	skipped := []string{
		`{"type":"compaction","content":null}`,
		`{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_tool_result_error","error_code":"unavailable"}}`,
		`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`,
		`{"type":"tool_search_tool_result","tool_use_id":"s","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"f"}]}}`,
		`{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{}}`,
		`{"type":"container_upload","file_id":"f"}`,
		`{"type":"redacted_thinking","data":"x"}`,
	}
	body := `{"model":"tandem","max_tokens":9,"messages":[{"role":"user","content":"x"},` +
		`{"role":"assistant","content":[` + strings.Join(slices.Concat(
		[]string{`{"type":"text","text":"a"}`}, skipped, []string{`{"type":"note","text":"b"}`}),
		",") + `]},{"role":"user","content":"y"}]}`
	if seen := seenMessages(t, "/v1/messages", body); len(seen) != 3 || seen[1].Content != "a\n\nb" {
		t.Errorf("the answer becomes %+v", seen)
	}
}
