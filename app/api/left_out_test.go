package api_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"tandem/app/roomtest"
)

// toldIn returns what an answer, whole or as events, says that the model did not get. It fails the test if
// the run says something else.
func toldIn(t *testing.T, fake *roomtest.Backend, path, body string) string {
	t.Helper()
	w := roomtest.Post(serve(fake), path, body)
	if w.Code != 200 {
		t.Errorf("%s %.300s: %d %s", path, body, w.Code, w.Body)
		return ""
	}
	var told string
	for _, m := range regexp.MustCompile(`"left_out":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(w.Body.String(), -1) {
		if err := json.Unmarshal([]byte(m[1]), &told); err != nil {
			t.Fatal(err)
		}
	}
	if run := fake.LastRun().LeftOut; run != told {
		t.Errorf("%s %.300s: the answer tells %q, the run %q", path, body, told, run)
	}
	return told
}

// eachWay calls do for a body that asks for a whole answer, and for one that asks for a stream.
func eachWay(body string, do func(body string)) {
	for _, stream := range []string{"false", "true"} {
		do(strings.Replace(strings.Replace(body, `"stream":false,`, "", 1), `"model"`, `"stream":`+stream+`,"model"`, 1))
	}
}

// TestWhatTheModelCannotReadIsTold: each kind once, with its number and its place, in the answer and in the
// run, on all routes.
func TestWhatTheModelCannotReadIsTold(t *testing.T) {
	const cannot = "what the model cannot read: "
	for part, kind := range unreadableParts {
		for path, body := range resultBodies {
			for parts, want := range map[string]string{
				part:                           "1 %s in tool results",
				part + `,"a",` + part:          "2 %ss in tool results",
				part + `,{"type":"other_one"}`: "1 %s in tool results, 1 part of type other_one in tool results",
			} {
				noun := map[string]string{"audio": "audio part", "thing": "part"}[kind[0]]
				if noun == "" {
					noun = kind[0]
				}
				want = cannot + fmt.Sprintf(want, noun)
				if kind[0] == "thing" {
					want = regexp.MustCompile(`(parts?) in`).ReplaceAllString(want, "$1 of type thing in")
				}
				eachWay(body(parts), func(body string) {
					if told := toldIn(t, roomtest.Speaking("ok"), path, body); told != want {
						t.Errorf("%s: %s is told as %q, want %q", path, parts, told, want)
					}
				})
			}
		}
	}
	const (
		image    = `{"type":"image","source":{}}`
		audio    = `{"type":"input_audio","input_audio":{}}`
		redacted = `{"type":"redacted_thinking","data":"x"}`
		secret   = `{"type":"encrypted_content","encrypted_content":"gAAAAABx"}`
		signed   = `{"type":"thinking","thinking":"","signature":"EqABx"}`
		last     = `,{"role":"user","content":"y"}]}`
		chat     = `{"model":"tandem","max_tokens":9,"messages":[`
		input    = `{"model":"tandem","input":[`
		assist   = `{"role":"user","content":"x"},{"role":"assistant","content":`
		pdf      = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	)
	say := func(role, parts string) string { return `{"role":"` + role + `","content":[` + parts + `]}` }
	for body, want := range map[string]string{
		chat + say("user", image+`,"a"`) + `,` + say("user", audio+`,`+audio) + last:                                                     "1 image in user messages, 2 audio parts in user messages",
		chat + say("user", image) + `,` + assist + `[` + image + `,"a"]}` + last:                                                         "1 image in user messages, 1 image in answers",
		chat + say("system", `"s",`+image) + last:                                                                                        "1 image in system messages",
		chat + assist + `[` + redacted + `,"a"]}` + last:                                                                                 "1 part of type redacted_thinking in answers",
		"chats " + chat + assist + `[` + secret + `,"a"]}` + last:                                                                        "1 part of type encrypted_content in answers",
		"ollama " + chat + assist + `[` + secret + `,"a"]}` + last:                                                                       "1 part of type encrypted_content in answers",
		chat + say("user", secret+`,"b"`) + last:                                                                                         "1 part of type encrypted_content in user messages",
		chat + assist + `[` + signed + `,"a"]}` + last:                                                                                   "1 part of type thinking in answers",
		chat + assist + `[` + strings.Replace(signed, `""`, `"hm"`, 1) + `,"a"]}` + last:                                                 "",
		"responses " + input + assist + `[` + secret + `,"a"]}` + last:                                                                   "1 part of type encrypted_content in answers",
		"responses " + input + `{"type":"function_call_output","call_id":"c","output":[` + secret + `]}` + last:                          "1 part of type encrypted_content in tool results",
		chat + say("user", `{"type":"a\nb"},{"type":"a\nb"}`) + last:                                                                     `2 parts of type "a\nb" in user messages`,
		chat + say("user", image+`,{"type":"file","file":{"file_data":"aGk="}}`) + last:                                                  "1 image in user messages",
		chat + `{"role":"user","content":"x"}` + last:                                                                                    "",
		chat + say("user", `{"type":"document","source":{"type":"text","data":"a"}}`) + last:                                             "",
		"chats " + chat + assist + `null,"audio":{"id":"audio_1"}}` + last:                                                               "1 audio part in answers",
		"chats " + chat + assist + `null,"audio":{"id":"audio_1","transcript":"hi"}}` + last:                                             "",
		"chats " + chat + assist + `"a","audio":null}` + last:                                                                            "",
		"ollama " + chat + `{"role":"user","content":"","images":["AA==","AA=="]}` + last:                                                "2 images in user messages",
		"ollama " + chat + `{"role":"tool","content":"","images":["AA=="]}` + last:                                                       "1 image in tool results",
		"messages " + chat + assist + `[{"type":"mcp_tool_result","content":[` + image + `,{"type":"text","text":"r"}]}]}` + last:        "1 image in answers",
		"messages " + strings.Replace(resultBodies["/v1/messages"](image), "]}]}]}", "]},"+pdf+`,{"type":"text","text":"what?"}]}]}`, 1): "1 image in tool results, 1 file in tool results",
		"responses " + input + say("developer", `"s",`+image) + last:                                                                     "1 image in system messages",
		"responses " + input + say("user", image+`,`+image) + `,` + assist + `[` + audio + `]}` + last:                                   "2 images in user messages, 1 audio part in answers",
		"responses " + input + `{"type":"reasoning","content":[` + image + `]}` + last:                                                   "1 image in answers",
	} {
		which, rest, found := strings.Cut(body, " {")
		paths := []string{"/v1/chat/completions", "/v1/messages", "/api/chat"}
		if found {
			body, paths = "{"+rest, []string{map[string]string{"chats": paths[0], "messages": paths[1], "ollama": paths[2],
				"responses": "/v1/responses"}[which]}
		}
		if want != "" {
			want = cannot + want
		}
		for _, path := range paths {
			eachWay(body, func(body string) {
				if told := toldIn(t, roomtest.Speaking("ok"), path, body); told != want {
					t.Errorf("%s: %s is told as %q, want %q", path, body, told, want)
				}
			})
		}
	}
}

// TestLongListsOfWhatIsLeftOutEnd: a client makes up as many types as a body holds, and as long ones.
func TestLongListsOfWhatIsLeftOutEnd(t *testing.T) {
	var parts, items, blocks []string
	for i := range 8_000 {
		parts = append(parts, fmt.Sprintf(`{"type":"t%d%s"}`, i, strings.Repeat("\u2028", i%200)))
		items = append(items, fmt.Sprintf(`{"type":"t%d"}`, i))
		blocks = append(blocks, fmt.Sprintf(`{"role":"user","content":[{"type":"t%d"}]}`, i))
	}
	start := time.Now()
	for body, path := range map[string]string{
		resultBodies["/v1/messages"](strings.Join(parts, ",")):                                                           "/v1/messages",
		`{"model":"tandem","max_tokens":9,"messages":[` + strings.Join(blocks, ",") + `,{"role":"user","content":"x"}]}`: "/v1/messages",
		resultBodies["/v1/chat/completions"](strings.Join(parts, ",")):                                                   "/v1/chat/completions",
		`{"model":"tandem","input":[{"role":"user","content":"x"},` + strings.Join(items, ",") + `]}`:                    "/v1/responses",
	} {
		fake := roomtest.Speaking("ok")
		fake.Model.Context = 1 << 30
		told := toldIn(t, fake, path, body)
		if !strings.HasSuffix(told, ", 7,984 more") || len(told) > 16*600 {
			t.Errorf("%s: %d bytes are told: ...%s", path, len(told), told[max(0, len(told)-40):])
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
