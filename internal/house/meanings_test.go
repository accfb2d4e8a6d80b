package house

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// meanings are words that once meant several things in names, with the one meaning that each has (docs/architecture.md, Words), and the packages whose names
// have it (/...: with those below). A package comes onto a list if its names mean just that.
var meanings = []struct {
	word, means, instead string
	where                []string
}{
	{
		"machine", "a computer", "what decides by events is a planner, a recorder or a model; what runs containers is a node",
		[]string{
			"conf/...", "integration/campaign", "integration/vm", "internal/machine", "nm/...", "rm/door", "rm/rest/machines", "yarn/rest/daemon",
		},
	},
	{
		"driver", "runs the scheduler and preemption's rounds (drive.Driver)", "what makes cgroups is a handler, as in YARN; what records events is a recorder",
		[]string{"rm/scheduler/drive", "rm/scheduler/eventlog", "sim/study/...", "sim/whatif/play"},
	},
	{
		"placement", "the choice of a queue", "where containers may go is a placement constraint, and the request that has one is a scheduling request, as in YARN",
		[]string{"rm", "rm/leader", "rm/leader/placement", "rm/leader/settings", "rm/queue/..."},
	},
	{
		"turn", "the right to act, which one has at a time, or some", "a number that grows is a generation, a sequence number or a cursor; one of several passes is a round",
		[]string{
			"am/mapreduce/commit", "integration/hadooplab", "internal/together", "nm/container", "nm/image/store", "nm/localizer/...", "nm/logs/past", "nm/turn",
			"rm/rest/machines", "rm/scheduler/demand", "rm/scheduler/explain", "rm/scheduler/policy/capacity", "rm/scheduler/policy/fair", "rm/scheduler/policy/fifo",
			"rm/scheduler/policy/fresh", "yarn/kerberos/login",
		},
	},
	{
		"stage", "maps or reduces, or the tasks of a job that may run at the same time", "inputs are preloaded; files are uploaded",
		[]string{
			"am", "am/client", "am/mapreduce/...", "am/speculate", "am/stage", "cmd/heddle-lab", "conf", "integration/stages", "nm/jvmarchive", "rm/leader", "rm/queue/...",
			"rm/scheduler/policy/...", "rm/service/stages", "sim", "sim/hybrid", "sim/mapreduce", "sim/trace",
		},
	},
	{
		"order", "what a daemon is told to do, or an ApplicationMaster's worker", "what sorts is a ranking, or an ordering policy; a list that is sorted says of what it is",
		[]string{
			"am/mapreduce/...", "am/stage", "am/xargs", "integration/shorttasks", "nm/container", "nm/service", "nm/suspend", "nm/warming", "rm/leader/level", "rm/leader/session",
			"rm/leader/warming", "rm/service", "yarn/protocol",
		},
	},
	{
		"lent", "the part of a node for short tasks, and of a slot for a copy", "a partition that isn't exclusive shares its nodes",
		[]string{"am/stage", "nm/...", "rm/leader", "rm/leader/lending", "rm/leader/session", "rm/rest/lists", "yarn/wire"},
	},
	{
		"level", "how far a container is suspended; of a log, how much it tells", "nodes of like speed are of a speed class",
		[]string{
			"hdfsadapter/jvm", "integration/demo", "integration/hadooplab", "nm/container", "nm/heartbeat", "nm/rest", "nm/suspend", "rm/leader", "rm/leader/level",
			"rm/leader/opportunity", "rm/ledger", "rm/rest/...", "rm/service", "yarn/rest/daemon",
		},
	},
}

// Each word of a name stands for one thing.
func TestWordsOfNamesHaveOneMeaning(t *testing.T) {
	all := packages(t)
	for _, m := range meanings {
		upper := strings.ToUpper(m.word[:1]) + m.word[1:]
		word := regexp.MustCompile(`^` + m.word + `s?([A-Z0-9]|$)|` + upper + `s?([A-Z0-9]|$)`)
		used := map[string]bool{}
		var other []string
		for name, p := range all {
			at := slices.IndexFunc(m.where, func(dir string) bool {
				below, ok := strings.CutSuffix(dir, "/...")
				return name == dir || ok && strings.HasPrefix(name+"/", below+"/")
			})
			found := func(id string, where any) {
				switch {
				case !word.MatchString(id):
				case at >= 0:
					used[m.where[at]] = true
				default:
					other = append(other, fmt.Sprintf("%v: %s", where, id))
				}
			}
			if len(p.files) > 0 {
				found(path.Base(name), name)
			}
			for _, f := range p.files {
				if ast.IsGenerated(f) {
					continue
				}
				for _, id := range append(namesOf(f), typesOf(f)...) {
					found(id.Name, sources.Position(id.Pos()))
				}
			}
		}
		if slices.Sort(other); len(other) > 0 {
			t.Errorf("%d names have the word %s outside of its packages; it means %s; %s\n%s",
				len(other), m.word, m.means, m.instead, strings.Join(other, "\n"))
		}
		for _, dir := range m.where {
			if !used[dir] {
				t.Errorf("no name of %s has the word %s: take it off the list", dir, m.word)
			}
		}
	}
}

// typesOf returns the names of a file's types.
func typesOf(f *ast.File) (names []*ast.Ident) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, s.Name)
				}
			}
		}
	}
	return names
}
