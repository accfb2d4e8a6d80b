package house

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wings reads the wings of rm/leader that docs/architecture.md states, the highest first: the rank of each package, and of the parts in the package itself.
func wings(t *testing.T) (rank map[string]int, parts map[string]int) {
	t.Helper()
	block := regexp.MustCompile("(?s)```wings\n(.*?)```").FindStringSubmatch(text(t, "docs/architecture.md"))
	if block == nil {
		t.Fatal("docs/architecture.md has no block of wings")
	}
	rank, parts = map[string]int{}, map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
		wing, rooms, _ := strings.Cut(line, ":")
		for j, room := range strings.Fields(rooms) {
			if wing == "leader" {
				parts[room] = j
			} else {
				rank["rm/leader/"+room] = i
			}
		}
	}
	return rank, parts
}

// Packages of the leader import others of their wing or of one below. In the package itself parts point at those that come after them.
func TestNoArrowRunsUpAWingOfTheLeader(t *testing.T) {
	all := packages(t)
	rank, parts := wings(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		room, below := strings.CutPrefix(name, "rm/leader/")
		if !below || strings.Contains(room, "/") || len(all[name].files) == 0 {
			continue
		}
		if _, known := rank[name]; !known {
			t.Errorf("%s is in no wing of docs/architecture.md", name)
		}
		for to := range imports(all[name].files) {
			if other, known := rank[to]; known && other < rank[name] {
				t.Errorf("%s imports %s, which docs/architecture.md has in a wing above", name, to)
			}
		}
	}
	for name := range rank {
		if all[name] == nil {
			t.Errorf("the wings of docs/architecture.md have %s, which is no package", name)
		}
	}
	var up []string
	for _, f := range all["rm/leader"].files {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			of, ok := s.Type.(*ast.StructType)
			from, known := parts[s.Name.Name]
			if !ok || !known {
				return true
			}
			for _, field := range of.Fields.List {
				if to, known := parts[receiver(field.Type)]; known && to < from {
					up = append(up, s.Name.Name+" → "+receiver(field.Type))
				}
			}
			return true
		})
	}
	compare(t, "fields that lead to a part of the leader before theirs", up, 0)
}
