package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// readers are the packages below the daemons' with functions that take a whole configuration, as they read a part of it that is theirs alone, and how many.
// Others get values: whoever reads them sees what they depend on, and tests need no configuration. A number may only fall.
var readers = map[string]int{
	"am/client": 2, "am/mapreduce": 1, "am/mapreduce/job": 3, "am/staging": 2,
	"hdfsadapter/access": 2, "hdfsadapter/javafs": 2, "hdfsadapter/jvm": 1, "hdfsadapter/jvm/ondemand": 1, "hdfsadapter/provider": 2,
	"nm/auxservices": 3, "nm/collector": 1, "nm/image/settings": 5, "nm/javanode": 1, "nm/logs/past": 1,
	"nm/nodeattributes": 2, "nm/nodelabels": 2, "nm/reported": 1, "nm/rest": 1,
	"rm/access": 2, "rm/queue": 8, "rm/queue/leafpolicy": 2, "rm/queue/settings": 5, "rm/queue/suspension": 1,
	"rm/recording": 1, "rm/rest/lists": 3, "rm/scheduler/eventlog": 2, "rm/timelineservice": 4,
	"rm/topology":    4,
	"yarn/rest/auth": 9, "yarn/rest/auth/openid": 1,
}

// Packages below the daemons get values, and not a configuration.
func TestPackagesGetValues(t *testing.T) {
	found := map[string]int{}
	for name, p := range packages(t) {
		if above, _, below := strings.Cut(name, "/"); !below || !slices.Contains([]string{"rm", "nm", "am", "yarn", "hdfsadapter"}, above) {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				fn, ok := n.(*ast.FuncType)
				if !ok {
					return true
				}
				for _, param := range fn.Params.List {
					if star, ok := param.Type.(*ast.StarExpr); ok && selected(star.X) == "conf.Config" {
						if found[name]++; found[name] > readers[name] {
							t.Errorf("%s takes a whole configuration, as %d functions of %s do; %d may: give it values", sources.Position(fn.Pos()), found[name], name, readers[name])
						}
					}
				}
				return true
			})
		}
	}
	for name, most := range readers {
		if found[name] < most {
			t.Errorf("%d functions of %s take a configuration, and %d may: lower the number", found[name], name, most)
		}
	}
}
