package cache_test

import (
	"testing"

	"tandem/engine/enginetest"
)

func TestRecurrentPassesTheSuite(t *testing.T) { enginetest.TestRecurrent(t) }
