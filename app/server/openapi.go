package server

import (
	_ "embed"
	"net/http"
	"tandem/app/wire"
)

// openAPIPath is where the description of the routes is.
const openAPIPath = "/openapi.json"

// openAPIFile describes the routes that programs call, by OpenAPI 3.1. It is written
// by hand; tests hold it to the routes, to the fields that are read, and to the
// answers.
//
//go:embed openapi.json
var openAPIFile []byte

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_ = wire.WriteWhole(w, http.StatusOK, openAPIFile) // the client left
	return nil
}
