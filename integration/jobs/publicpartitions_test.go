package jobs

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
)

// Configurations in the shape of public ones run as they are, and a job on each partition: Amazon's EMR, whose ApplicationMasters go to CORE nodes by a key that it
// misspells, and whose nodes say their label themselves; Wikimedia's, with all of the label GPU for one queue; and one with two kinds of GPUs.
func TestPublicConfigurationsWithPartitions(t *testing.T) {
	hosts := []string{"127.0.0.11", "127.0.0.12", "127.0.0.13"}
	type run struct {
		set string // of the job
		on  []string
	}
	for name, x := range map[string]struct {
		labels string   // of the cluster
		nodes  []string // their labels
		jobs   []run
	}{
		"emr": {"CORE(exclusive=false)", []string{"CORE", ""}, []run{
			{"queuename=default", hosts[:2]}, {"node-label-expression=CORE", hosts[:1]},
		}},
		"wikimedia": {"GPU", []string{"GPU", ""}, []run{
			{"queuename=production", hosts[1:2]}, {"queuename=gpus node-label-expression=GPU", hosts[:1]},
		}},
		"two-gpus": {"a100,t4", []string{"a100", "t4", ""}, []run{
			{"queuename=research", hosts[:1]}, {"queuename=serving", hosts[1:2]}, {"queuename=batch", hosts[2:]},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			set := map[string]string{}
			for _, file := range []string{"yarn-site.xml", "capacity-scheduler.xml"} {
				maps.Copy(set, settingsOf(t, filepath.Join("testdata/partitions", name, file)))
			}
			if name == "wikimedia" { // who may submit there
				t.Setenv("HADOOP_USER_NAME", "analytics")
				set["hadoop.user.group.static.mapping.overrides"] = "analytics=analytics-privatedata-users"
			}
			distributed := set["yarn.node-labels.configuration-type"] == "distributed"
			own := map[string]map[string]string{}
			for i, label := range x.nodes {
				if distributed && label != "" {
					own[fmt.Sprintf("nm%d", i+1)] = map[string]string{"yarn.nodemanager.node-labels.provider.configured-node-partition": label}
				}
			}
			c := startNodes(t, 1, 0, set, own, hosts...)
			admin := func(args ...string) {
				t.Helper()
				if out, err := exec.Command(c.binary, append([]string{"rmadmin", "-conf", c.conf}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
			}
			admin("-addToClusterNodeLabels", x.labels)
			for i, label := range x.nodes {
				if label != "" && !distributed {
					admin("-replaceLabelsOnNode", hosts[i]+"="+label)
				}
				c.node(i)
			}
			c.ready(len(x.nodes))
			in, _ := c.input(2, 50, 3)
			for _, r := range x.jobs {
				args := []string{"-input", in, "-output", filepath.Join(t.TempDir(), "out"), "-mapper", "cat", "-numReduceTasks", "0"}
				for set := range strings.FieldsSeq(r.set) {
					args = append([]string{"-D", "mapreduce.job." + set}, args...)
				}
				report := c.mr(args...).end()
				for _, task := range report.Tasks {
					if host, _, _ := strings.Cut(task.Host, ":"); !slices.Contains(r.on, host) {
						t.Errorf("%s: a task was on %s, not %q", r.set, host, r.on)
					}
				}
				at := must(filepath.Glob(filepath.Join(c.dir, "nm*", "log", report.Application, "container_*_000001")))
				if len(at) != 1 {
					t.Fatalf("%s: the logs of the ApplicationMaster are in %q", r.set, at)
				}
				node, _, _ := strings.Cut(strings.TrimPrefix(at[0], filepath.Join(c.dir, "nm")), "/")
				if host := hosts[node[0]-'1']; !slices.Contains(r.on, host) || name == "emr" && host != hosts[0] {
					t.Errorf("%s: the ApplicationMaster was on %s", r.set, host)
				}
			}
		})
	}
}

// settingsOf reads a configuration file.
func settingsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	props, err := conf.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for p := range props.All() {
		all[p.Name] = p.Value
	}
	return all
}
