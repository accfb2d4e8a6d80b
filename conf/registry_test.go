package conf

import (
	"strings"
	"testing"
)

func TestRegistryIsSound(t *testing.T) {
	c := fromMap(nil)
	c.system["user.home"] = "/home/w"
	for k := range Keys() {
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: its meaning %q should be one line without a full stop", k.Name, k.Doc)
		}
		if k.Default == "" {
			continue
		}
		def, err := c.Expand(k.Default)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if err := k.check(def); err != nil {
			t.Errorf("%s: its own default %q: %v", k.Name, def, err)
		}
	}
}

// Defaults of YARN's keys are written down twice: in the registry and in the table of all keys.
func TestRegistryHasYARNsDefaults(t *testing.T) {
	ours := map[string]string{ // defaults that YARN has in its code only
		"yarn.nodemanager.user-home-dir":        "/home/",
		"yarn.nodemanager.resource.cpu.enabled": "false",
		"yarn.scheduler.fair.allocation.file":   "fair-scheduler.xml",

		"yarn.scheduler.fair.allow-undeclared-pools": "true",
		"yarn.scheduler.fair.user-as-default-queue":  "true",
		"yarn.scheduler.increment-allocation-mb":     "1024",
		"yarn.scheduler.increment-allocation-vcores": "1",

		"yarn.scheduler.reservation-threshold.increment-multiple":      "2",
		"yarn.resourcemanager.system-credentials.valid-time-remaining": "10800000",
	}
	for _, k := range schedulerKeys() {
		ours[k.Name] = k.Default
	}
	seen := 0
	for name, def := range facts(yarnFacts) {
		k, ok := keys().keys[name]
		if !ok {
			continue
		}
		seen++
		if alone, ok := ours[name]; ok {
			def = alone
		}
		if k.Default != def {
			t.Errorf("%s: the registry has default %q, YARN %q", name, k.Default, def)
		}
	}
	if seen < 100 {
		t.Errorf("the table has only %d keys of the registry", seen)
	}
	for k := range Keys() {
		pattern := strings.HasSuffix(k.Name, ".principal.pattern") || k.Name == "yarn.node-labels.am.default-node-label-expression" ||
			k.Name == "yarn.webapp.scheduler-ui.read-only.enable" // YARN makes their names in its code; EMR's; Hadoop 3.5's
		if strings.HasPrefix(k.Name, "yarn.") && !strings.Contains(k.Name, "<") && !keys().known[k.Name] && !pattern {
			t.Errorf("%s: YARN has no such key", k.Name)
		}
	}
}

func TestFindKey(t *testing.T) {
	for name, want := range map[string]Kind{
		"heddle.raft.address.rm1":                            Hostport,
		"hadoop.proxyuser.some.user.hosts":                   Text,
		"yarn.resource-types.yarn.io/gpu.minimum-allocation": Int,
		"dfs.namenode.rpc-address.ns.nn1":                    Hostport,
		"fs.default.name":                                    URI,
		"yarn.nodemanager.health-checker.timeout-ms":         Duration,
	} {
		if k, ok := FindKey(name); !ok || k.Kind != want {
			t.Errorf("%s: got %+v", name, k)
		}
	}
	for _, name := range []string{"heddle.raft.address", "heddle.raft.address.", "hadoop.proxyuser..hosts", "heddle", ""} {
		if k, ok := FindKey(name); ok {
			t.Errorf("%q was taken for %s", name, k.Name)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"heddle.raft.heartbeat-timeout":           "heddle.raft.heartbeat-timeout-ms",
		"heddle.state-dir":                        "heddle.state.dir",
		"yarn.scheduler.minimum-allocation-mbs":   "yarn.scheduler.minimum-allocation-mb",
		"yarn.nodemanager.resource.memory":        "yarn.nodemanager.resource.memory-mb",
		"heddle.entirely.different.from.the.rest": "",
	} {
		if got := keys().nearest(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
