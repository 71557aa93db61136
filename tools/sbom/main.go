// Command sbom writes the software bill of materials of a Go binary, as SPDX 2.3 JSON. It
// takes the modules from the binary itself, so the list is of what was linked:
//
//	go run ./tools/sbom dist/nodegate > nodegate.spdx.json
//
// The time is that of SOURCE_DATE_EPOCH, so that the same binary has the same bill.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, epoch string, w io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: sbom BINARY")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	digest, err := digestOf(args[0])
	if err != nil {
		return err
	}
	created, err := createdAt(epoch)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(billOf(info, digest, created))
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func createdAt(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// bill is an SPDX document; the names of the fields are the standard's.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID         string      `json:"SPDXID"`
	Name       string      `json:"name"`
	Version    string      `json:"versionInfo"`
	Download   string      `json:"downloadLocation"`
	Analyzed   bool        `json:"filesAnalyzed"`
	Concluded  string      `json:"licenseConcluded"`
	Declared   string      `json:"licenseDeclared"`
	Copyright  string      `json:"copyrightText"`
	SourceInfo string      `json:"sourceInfo,omitempty"` // the module's sum, as in go.sum
	Checksums  []checksum  `json:"checksums,omitempty"`
	Refs       []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const document, unknown = "SPDXRef-DOCUMENT", "NOASSERTION"

func billOf(info *debug.BuildInfo, digest string, created time.Time) *bill {
	program := packageOf(&info.Main)
	program.Checksums = []checksum{{"SHA256", digest}}
	b := &bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: document, Name: info.Path + " " + info.Main.Version,
		Namespace: "https://spdx.org/spdxdocs/" + info.Path + "-" + digest,
		Creation:  creation{created.Format(time.RFC3339), []string{"Tool: nodegate/tools/sbom"}},
		Packages:  []pkg{program}, Relationships: []relationship{{document, "DESCRIBES", program.ID}},
	}
	library := packageOf(&debug.Module{Path: "stdlib", Version: info.GoVersion})
	for _, p := range append([]pkg{library}, modules(info)...) {
		b.Packages = append(b.Packages, p)
		b.Relationships = append(b.Relationships, relationship{program.ID, "DEPENDS_ON", p.ID})
	}
	return b
}

func modules(info *debug.BuildInfo) (list []pkg) {
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, packageOf(m))
	}
	return list
}

var foreign = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func packageOf(m *debug.Module) pkg {
	p := pkg{
		ID: "SPDXRef-" + foreign.ReplaceAllString(m.Path+"-"+m.Version, "-"), Name: m.Path, Version: m.Version,
		Download: unknown, Concluded: unknown, Declared: unknown, Copyright: unknown,
		Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
	}
	if m.Sum != "" {
		p.SourceInfo = "go.sum " + m.Sum
	}
	return p
}
