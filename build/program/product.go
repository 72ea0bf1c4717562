package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"tandem/build/setup"
)

// A Product is what wails.json says of Tandem: the one place where its name and version stand. The names of the fields
// are those that Wails gives to the templates of property lists, so that its own tool fills ours.
type Product struct {
	Name           string      `json:"name"`
	OutputFilename string      `json:"outputfilename"`
	Info           ProductInfo `json:"info"`
}

// ProductInfo is for people.
type ProductInfo struct {
	CompanyName    string `json:"companyName"`
	ProductName    string `json:"productName"`
	ProductVersion string `json:"productVersion"`
	Copyright      string `json:"copyright"`
	Comments       string `json:"comments"`
}

// numbers is what macOS takes for a version.
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
		return p, fmt.Errorf("wails.json: info wants a productName and a productVersion like 1.2.3, it has %q and %q", p.Info.ProductName, p.Info.ProductVersion)
	}
	return p, nil
}

// VersionFlag makes the linker write the version into tandem.
func (p Product) VersionFlag() string { return "-X main.release=" + p.Info.ProductVersion }
