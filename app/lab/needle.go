package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tandem/app/evidence"
)

// A haystack is a length of prompt in which a needle is hidden.
type haystack struct {
	name     string
	from, to int // lines
}

// haystacks are the two lengths, as Kakeya's evaluations name them.
var haystacks = []haystack{{"ctx70", 60, 80}, {"ctx280", 238, 322}}

// findHaystack returns the haystack of a name.
func findHaystack(name string) (haystack, error) {
	for _, h := range haystacks {
		if h.name == name {
			return h, nil
		}
	}
	return haystack{}, fmt.Errorf("there is no size %q; there are ctx70 and ctx280", name)
}

// What is drawn for needles.
const (
	needleSeed = 42
	needleEdge = 4 // lines at either end that never hide the needle
)

var (
	needlePrefixes = strings.Fields("AMBER BASIL CEDAR DELTA EMBER FALCON GRANITE HARBOR INDIGO " +
		"JASPER KESTREL LAGOON MAPLE NIMBUS ORCHID")
	fillerAdjectives = strings.Fields("calm quiet cold warm green grey narrow wide plain soft slow " +
		"old small long dry round pale still mild low flat clear dull thin")
	fillerNouns = strings.Fields("river meadow stone harvest window garden ladder basket kettle " +
		"pillow blanket cellar orchard pebble bridge fence barn lantern teapot shelf valley carpet " +
		"mitten ribbon")
)

// needleQuestion asks only for the code, so that a short answer shows whether it was found.
const needleQuestion = "Question: what is the secret code that stands in the notes above? " +
	"Answer with only the code and nothing else."

// A needle is one prompt and the code that it hides.
type needle struct{ text, code string }

// found reports whether an answer names the code.
func (n needle) found(answer string) bool { return evidence.Found(answer, n.code) }

// needles returns n prompts of a length, the same every time. Lines of terse prompts are short, as
// in the retrieval model's training.
func needles(h haystack, n int, terse bool) []needle {
	random := rand.New(rand.NewPCG(needleSeed, uint64(h.from)))
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	made := make([]needle, n)
	for i := range made {
		lines := make([]string, h.from+random.IntN(h.to-h.from+1))
		for j := range lines {
			lines[j] = fmt.Sprintf("Note %04d: %s %s", j, pick(fillerAdjectives), pick(fillerNouns))
			if !terse {
				lines[j] += fmt.Sprintf(", %s %s; padding", pick(fillerAdjectives), pick(fillerNouns))
			}
			lines[j] += "."
		}
		code := fmt.Sprintf("%s-%d", pick(needlePrefixes), 1000+random.IntN(9000))
		at := needleEdge + random.IntN(len(lines)-2*needleEdge+1)
		lines = slices.Insert(lines, at, "IMPORTANT: the secret code is "+code+".")
		made[i] = needle{strings.Join(lines, "\n") + "\n\n" + needleQuestion, code}
	}
	return made
}
