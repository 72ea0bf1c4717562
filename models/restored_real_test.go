//go:build real

package models_test

import (
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
)

// TestIdentityIsOracleOnTheStarter continues code by the model that newcomers chat with.
func TestIdentityIsOracleOnTheStarter(t *testing.T) {
	path := starterFile(t)
	th := enginetest.NewBLASThread(t)
	b, err := models.Load(t.Context(), th, path, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	identityIsOracle(t, th, b, []string{codeText(0, 8), codeText(1, 12)})
}
