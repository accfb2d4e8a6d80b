package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/yarn/records"
)

// properties makes a configuration file of lines of a key and a value each.
func properties(prefix, lines string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for line := range strings.SplitSeq(lines, "\n") {
		key, value, _ := strings.Cut(line, " ")
		b.WriteString("<property><name>" + prefix + key + "</name><value>" + value + "</value></property>\n")
	}
	return b.String() + "</configuration>\n"
}

// confCheck returns what heddle conf check says of a folder.
func confCheck(dir string) (said string, err error) {
	var out bytes.Buffer
	cmd := newConf(&source{})
	cmd.SetArgs([]string{"check", dir})
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), err
}

// Every mistake is told with its file, line, key and value, and what would be right; a folder with mistakes is refused, one
// with oddities isn't.
func TestConfCheck(t *testing.T) {
	capacity := func(lines string) string { return properties("yarn.scheduler.capacity.", lines) }
	for name, c := range map[string]struct {
		file, text string
		fine       bool
		want       []string // parts of what is printed
	}{
		"capacities beyond their bounds": {"capacity-scheduler.xml", capacity("root.queues a,b\nroot.a.capacity -10\nroot.b.capacity 110"), false, []string{
			`capacity-scheduler.xml:3: yarn.scheduler.capacity.root.a.capacity = "-10": a percentage is from 0 to 100`,
			`capacity-scheduler.xml:4: yarn.scheduler.capacity.root.b.capacity = "110": a percentage`,
		}},
		"a sum that isn't 100": {"capacity-scheduler.xml", capacity("root.queues a,b\nroot.a.capacity 60\nroot.b.capacity 60"), false, []string{
			`must add up to 100%`,
		}},
		"percentages and amounts": {"capacity-scheduler.xml", capacity("root.queues a,b\nroot.a.capacity [memory=1,vcores=1]\nroot.b.capacity 50"), false, []string{
			`the children of root mix weights, percentages and amounts of resources`,
		}},
		"root.queues misspelt": {"capacity-scheduler.xml", capacity("root.queue a,b\nroot.a.capacity 50\nroot.b.capacity 50"), false, []string{
			`:3: yarn.scheduler.capacity.root.a.capacity = "50": there is no queue root.a, as yarn.scheduler.capacity.root.queues`,
		}},
		"mistakes without queues": {"capacity-scheduler.xml", capacity("maximum-am-resource-percent lots\nfrobnicate 1"), false, []string{
			`:2: yarn.scheduler.capacity.maximum-am-resource-percent = "lots": it must be a number`,
		}},
		"oddities without queues": {"capacity-scheduler.xml", capacity("maximum-am-resource-percent 0.5\nfrobnicate 1"), true, []string{
			`frobnicate = "1": is unknown to YARN's CapacityScheduler`,
		}},
		"a queue that isn't there": {"capacity-scheduler.xml", capacity("root.queues a\nroot.a.capacity 100\nroot.b.capacity 5\nqueue-mappings u:bob:nosuch"), false, []string{
			`queue-mappings = "u:bob:nosuch": Path root 'nosuch' does not exist`,
		}},
		"numbers that are none": {"capacity-scheduler.xml", capacity("root.queues a\nroot.a.capacity 1e400\nroot.a.user-limit-factor NaN\nroot.a.priority 99999999999"), false, []string{
			`root.a.capacity = "1e400"`, `root.a.user-limit-factor = "NaN"`, `root.a.priority = "99999999999"`,
		}},
		"no XML": {"capacity-scheduler.xml", "<configuration><property>", false, []string{"capacity-scheduler.xml:1: is not well-formed XML"}},
		"fair queues": {"fair-scheduler.xml", `<allocations>
<queue name="a"><weight>-1</weight><minResources>lots</minResources></queue>
<queue name="b"><schedulingPolicy>lottery</schedulingPolicy></queue>
</allocations>`, false, []string{
			`fair-scheduler.xml:2: <weight> = "-1": queue root.a: it must be a number, at least 0`, `<minResources> = "lots"`,
			`fair-scheduler.xml:3: <schedulingPolicy> = "lottery": queue root.b: it must be fair, drf or fifo`,
		}},
		"odd fair queues": {"fair-scheduler.xml", `<allocations><queue name="a"><allowPreemptionFrom>perhaps</allowPreemptionFrom><colour>blue</colour></queue></allocations>`, true, []string{
			`<allowPreemptionFrom> = "perhaps": queue root.a: it must be true or false`, `<colour> = "blue"`,
		}},
		"another file's content": {"fair-scheduler.xml", "<configuration/>", false, []string{"the outermost element of an allocation file is <allocations>"}},
		"values": {"yarn-site.xml", properties("yarn.", "scheduler.maximum-allocation-mb -1\nacl.enable maybe\nnodemanger.resource.memory-mb 1"), false, []string{
			`yarn-site.xml:2: yarn.scheduler.maximum-allocation-mb = "-1": must be an integer from 1`, `yarn.acl.enable = "maybe": must be true or false, and counts as false`,
			`did you mean yarn.nodemanager.resource.memory-mb?`,
		}},
		"types of resources": {"yarn-site.xml", properties("yarn.", "resource-types gpu,memory"), false, []string{`"memory" is called memory-mb`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"yarn-site.xml": "<configuration/>", c.file: c.text}
			if c.file == "fair-scheduler.xml" {
				files["yarn-site.xml"] = properties("yarn.", "resourcemanager.scheduler.class fair")
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			said, err := confCheck(dir)
			if (err == nil) != c.fine {
				t.Errorf("%v", err)
			}
			for _, want := range c.want {
				if strings.Count(said, want) != 1 {
					t.Errorf("not there, or more than once: %s", want)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

// heddle standalone offered 8 vcores on a machine with two, and the logs of its jobs weren't found.
func TestStandaloneHasWhatTheMachineHas(t *testing.T) {
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.log-aggregation-enable=false"}})
	if err != nil {
		t.Fatal(err)
	}
	standaloneDefaults(c)
	r, err := c.NodeResource(records.ResourceTypes{}, conf.Hardware{MemoryMB: 10240, Cores: 1, Processors: 2})
	if err != nil || r != records.NewResource(8192, 2) {
		t.Errorf("%v, %v", r, err)
	}
	if c.Bool("yarn.log-aggregation-enable") {
		t.Error("what is configured doesn't stay")
	}
}

// README's second command is hadoop jar, whose maps failed after heddle standalone for want of a shuffle service.
func TestStandaloneWithoutAFolderHasAShuffle(t *testing.T) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	standaloneDefaults(c)
	if got := c.Strings("yarn.nodemanager.aux-services"); !slices.Equal(got, []string{"mapreduce_shuffle"}) || c.Int("mapreduce.shuffle.port") != 0 {
		t.Errorf("services %q, port %d", got, c.Int("mapreduce.shuffle.port"))
	}
	c, err = conf.Load(conf.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	standaloneDefaults(c)
	if got := c.Strings("yarn.nodemanager.aux-services"); len(got) > 0 {
		t.Errorf("a configuration without services has %q", got)
	}
}
