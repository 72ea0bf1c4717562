package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"tandem/build/setup"
)

// ArchiveTime is the time of every file in what people download, so that the same files give the same
// bytes.
var ArchiveTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A Product has the fields of wails.json, which is the one place for Tandem's name and version. The
// fields have the names that Wails gives to templates of property lists, so that its own tool can
// fill our templates.
type Product struct {
	Name           string      `json:"name"`
	OutputFilename string      `json:"outputfilename"`
	Info           ProductInfo `json:"info"`
}

// ProductInfo is the part for people.
type ProductInfo struct {
	CompanyName    string `json:"companyName"`
	ProductName    string `json:"productName"`
	ProductVersion string `json:"productVersion"`
	Copyright      string `json:"copyright"`
	Comments       string `json:"comments"`
}

// numbers matches a version that macOS accepts.
var numbers = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// ReadProduct reads wails.json.
func ReadProduct(b *setup.Builder) (Product, error) {
	var p Product
	text, err := os.ReadFile(filepath.Join(b.Root, "wails.json"))
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("wails.json: %w", err)
	}
	if p.Info.ProductName == "" || !numbers.MatchString(p.Info.ProductVersion) {
		return p, fmt.Errorf("wails.json: info needs a productName and a productVersion like 1.2.3; it has %q and %q",
			p.Info.ProductName, p.Info.ProductVersion)
	}
	return p, nil
}

// Addresses are what a release knows of the web. Those of a build by hand are empty: then no address
// is asked, and none is shown.
type Addresses struct {
	Feed   string // tells of newer versions
	Issues string // has the form for problems
}

// Flags returns the flags with which the linker writes the version and the addresses into tandem.
func (p Product) Flags(a Addresses) string {
	flags := p.VersionFlag()
	if a.Feed != "" {
		flags += " -X main.updateFeed=" + a.Feed
	}
	if a.Issues != "" {
		flags += " -X main.issuePage=" + a.Issues
	}
	return flags
}

// VersionFlag returns the flag with which the linker writes the version into a program.
func (p Product) VersionFlag() string { return "-X main.release=" + p.Info.ProductVersion }
