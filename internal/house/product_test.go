package house

import (
	"os/exec"
	"strings"
	"testing"
)

// The binary that a cluster runs once linked goleak and the stand-ins of integration. hashicorp/raft imports testing itself.
func TestTheProductLinksNoTestLibrary(t *testing.T) {
	for _, forbidden := range testLibraries(t, "heddle/cmd/heddle") {
		t.Errorf("cmd/heddle links %s: what only measurements need belongs to cmd/heddle-lab", forbidden)
	}
	if len(testLibraries(t, "heddle/cmd/heddle-lab")) == 0 {
		t.Error("the laboratory's stand-ins of integration weren't found")
	}
}

// testLibraries lists what a program links that is for tests alone.
func testLibraries(t *testing.T, program string) (found []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for _, library := range []string{"heddle/integration", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/google/go-cmp"} {
			if words[0] == library || strings.HasPrefix(words[0], library+"/") {
				found = append(found, words[0])
			}
		}
		for _, imported := range words[1:] {
			if imported == "testing" && strings.HasPrefix(words[0], "heddle/") {
				found = append(found, "testing, by "+words[0])
			}
		}
	}
	return found
}
