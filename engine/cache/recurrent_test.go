package cache_test

import (
	"testing"

	"tandem/engine/enginetest"
)

func TestRecurrent(t *testing.T) { enginetest.TestRecurrent(t) }
