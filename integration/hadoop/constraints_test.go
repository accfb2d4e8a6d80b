package hadoop

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

var ranAt = regexp.MustCompile(`(?m)^ran at (\d+)$`)

// constrained is a cluster of three nodes on which somebody meets constraints, and a distributed shell whose containers say where they run.
type constrained struct {
	*hadooplab.Lab
	shell program
}

func constrainedBy(t *testing.T, handler string) *constrained {
	t.Helper()
	o := options
	o.NodeManagers, o.HistoryServer = 3, false
	o.Site = maps.Clone(options.Site)
	maps.Copy(o.Site, map[string]string{
		"yarn.resourcemanager.placement-constraints.handler": handler, "yarn.nodemanager.resource.memory-mb": "2048", "yarn.scheduler.minimum-allocation-mb": "128",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "1", "yarn.scheduler.capacity.root.default.user-limit-factor": "100",
	})
	l := hadooplab.Start(t, o)
	path, err := l.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "where.sh")
	if err := os.WriteFile(script, []byte("echo ran at $NM_PORT\nsleep 8\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &constrained{l, program{
		"class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", path, "-master_memory", "256", "-container_memory", "128", "-shell_script", script,
	}}
}

// nodes says on how many nodes so many containers of a job ran, as sorted numbers of containers by node.
func (c *constrained) nodes(t *testing.T, app string, containers int) string {
	t.Helper()
	on := map[string]int{}
	await.Slowly(t, "all outputs are aggregated", func() bool {
		r, err := c.Try(t.Context(), "", "yarn", "logs", "-applicationId", app, "-log_files", "stdout")
		if err != nil {
			t.Fatal(err)
		}
		clear(on)
		all := ranAt.FindAllStringSubmatch(r.Stdout, -1)
		for _, m := range all {
			on[m[1]]++
		}
		return len(all) == containers
	})
	return fmt.Sprint(slices.Sorted(maps.Values(on)))
}

// Containers of a stock distributed shell are where its constraints say, whoever meets these.
func TestDistributedShellIsPlacedByConstraints(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for _, handler := range []string{"scheduler", "placement-processor"} {
		t.Run(handler, func(t *testing.T) {
			c := constrainedBy(t, handler)
			for _, job := range []struct {
				spec       string
				containers int
				want       string
			}{
				{"zk(3),NOTIN,NODE,zk", 3, "[1 1 1]"},
				{"db(1),NOTIN,NODE,db:web(2),IN,NODE,db", 3, "[3]"},
				{"c(6),CARDINALITY,NODE,c,0,1", 6, "[2 2 2]"},
				{"d(2),AND(NOTIN,NODE,d:CARDINALITY,RACK,d,0,1)", 2, "[1 1]"},
			} {
				j := succeed(t, c.Lab, c.shell, "-placement_spec", job.spec)
				if got := c.nodes(t, j.app, job.containers); got != job.want {
					t.Errorf("%s: containers by nodes are %s; want %s", job.spec, got, job.want)
				}
			}
			c.byAttribute(t, handler)
		})
	}
}

// byAttribute runs a job for nodes with an attribute, which comes while it waits.
func (c *constrained) byAttribute(t *testing.T, handler string) {
	t.Helper()
	job, app := begin(t, c.Lab, c.shell, "-placement_spec", "g(2),rm.yarn.io/gpu=a100")
	if onHeddle && handler == "scheduler" {
		await.Slowly(t, "the attribute is missed", func() bool {
			return strings.Contains(explanation(t, c.Lab, app), "satisfies its placement constraint rm.yarn.io/gpu=a100")
		})
	}
	if r, err := c.Try(t.Context(), "", "yarn", "nodeattributes", "-add", "localhost:gpu=a100"); err != nil || r.Code != 0 {
		t.Fatalf("%v, %d: %s", err, r.Code, r.Stderr)
	}
	if j := end(t, job, app); j.Code != 0 {
		t.Errorf("exit code %d\n%s", j.Code, j.Stderr)
	}
}

// Without somebody who meets constraints a distributed shell that has some fails, and says why.
func TestDistributedShellWithConstraintsIsRefused(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := constrainedBy(t, "disabled")
	j := try(t, c.Lab, c.shell, "-placement_spec", "zk(2),NOTIN,NODE,zk")
	if j.Code == 0 {
		t.Errorf("it succeeds: %s", j.Stderr)
	}
}
