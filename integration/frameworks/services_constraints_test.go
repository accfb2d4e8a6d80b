package frameworks

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// placedService has ovens on different nodes, and shops beside ovens.
const placedService = `{
  "name": "bakery", "version": "1", "queue": "default",
  "components": [
    {"name": "oven", "number_of_containers": 3, "launch_command": "sleep 600", "resource": {"cpus": 1, "memory": "128"},
     "placement_policy": {"constraints": [{"name": "apart", "type": "ANTI_AFFINITY", "scope": "node", "target_tags": ["oven"]}]}},
    {"name": "shop", "number_of_containers": 2, "launch_command": "sleep 600", "resource": {"cpus": 1, "memory": "128"},
     "placement_policy": {"constraints": [{"name": "beside", "type": "AFFINITY", "scope": "node", "target_tags": ["oven"]}]}}
  ]
}`

// TestServicesArePlacedByPolicies lets YARN's framework of services place three ovens on different nodes, of which there are two, and shops beside them.
func TestServicesArePlacedByPolicies(t *testing.T) {
	if options.Heddle == "" {
		t.Skip("what Hadoop says of requests that wait has no constraints in it")
	}
	o := options
	o.NodeManagers, o.HistoryServer, o.Site = 2, false, maps.Clone(options.Site)
	if o.Site == nil {
		o.Site = map[string]string{}
	}
	o.Site["yarn.resourcemanager.placement-constraints.handler"] = "scheduler"
	l := hadooplab.Start(t, o)
	b := newBakery(t, l)
	spec := filepath.Join(t.TempDir(), "bakery.json")
	if err := os.WriteFile(spec, []byte(placedService), 0o644); err != nil {
		t.Fatal(err)
	}
	b.app(t, "-launch", "bakery", spec)
	s := b.status(t, "two ovens and two shops are ready", func(s serviceStatus) bool { return len(s.ready("oven")) == 2 && len(s.ready("shop")) == 2 })
	t.Cleanup(func() { _, _ = l.Run(t.Context(), "yarn", "app", "-kill", s.ID) })
	await.Slowly(t, "the third oven is explained", func() bool {
		out, err := exec.Command(options.Heddle, "app", "--conf", l.Conf(), "-why", s.ID).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), "satisfies its placement constraint notin,node,oven")
	})
	if s = b.status(t, "the service is asked once more", func(serviceStatus) bool { return true }); len(s.ready("oven")) != 2 {
		t.Errorf("%+v", s)
	}
}
