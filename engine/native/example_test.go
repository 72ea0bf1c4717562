package native_test

import (
	"context"
	"fmt"
	"log"

	"tandem/engine/native"
)

func ExampleTemplate() {
	t, err := native.NewTemplate(
		"{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}<assistant>",
		native.NewLane())
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	prompt, err := t.Render(context.Background(),
		[]byte(`{"messages":[{"role":"user","content":" Hello. "}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)
	// Output:
	// <user>Hello.
	// <assistant>
}
