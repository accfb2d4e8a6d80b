package queue

import (
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/conftest"
	"heddle/rm/queue/settings"
	"heddle/yarn/records"
)

func fairQueueOf(body string, top ...string) (*Queue, error) {
	types, err := records.NewResourceTypes(records.ResourceType{Name: "yarn.io/gpu"})
	if err != nil {
		return nil, err
	}
	root, err := parseXML(`<allocations>` + strings.Join(top, "") + `<queue name="q">` + body + `</queue></allocations>`)
	if err != nil {
		return nil, err
	}
	p := fairParser{types: types, undeclared: true}
	t, err := p.tree(root)
	if err != nil {
		return nil, err
	}
	q, _ := t.Find("root.q")
	return q, nil
}

func TestFairSettingsOfAQueue(t *testing.T) {
	q, err := fairQueueOf(`<maxAMShare>-1.0</maxAMShare><minSharePreemptionTimeout>7</minSharePreemptionTimeout>
		<fairSharePreemptionThreshold>3</fairSharePreemptionThreshold><allowPreemptionFrom>false</allowPreemptionFrom>
		<maxContainerAllocation>2048 mb, 1 vcores</maxContainerAllocation><queue name="x"><minSharePreemptionTimeout>9</minSharePreemptionTimeout></queue>
		<queue name="y"><maxRunningApps>4</maxRunningApps><weight>2.5</weight></queue>`,
		`<queueMaxAMShareDefault>0.3</queueMaxAMShareDefault><queueMaxAppsDefault>11</queueMaxAppsDefault><userMaxAppsDefault>5</userMaxAppsDefault>
		<user name="ann"><maxRunningApps>6</maxRunningApps></user><defaultFairSharePreemptionTimeout>60</defaultFairSharePreemptionTimeout>
		<defaultFairSharePreemptionThreshold>0.7</defaultFairSharePreemptionThreshold>`)
	if err != nil {
		t.Fatal(err)
	}
	x, y := q.Children[0], q.Children[1]
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("AM share", [2]float32{q.MaxAMShare, x.MaxAMShare}, [2]float32{-1, 0.3})
	check("minimum timeouts", [3]time.Duration{q.Fair.MinTimeout, x.Fair.MinTimeout, y.Fair.MinTimeout}, [3]time.Duration{7e9, 9e9, 7e9})
	check("fair timeouts", [2]time.Duration{q.Fair.FairTimeout, y.Fair.FairTimeout}, [2]time.Duration{time.Minute, time.Minute})
	check("thresholds", [2]float64{q.Fair.FairThreshold, q.Parent.Fair.FairThreshold}, [2]float64{1, 0.7})
	check("no preemption", [2]bool{q.NoPreemption, x.NoPreemption}, [2]bool{true, true})
	check("applications", [2]int32{x.MaxParallelApps, y.MaxParallelApps}, [2]int32{11, 4})
	check("weights", [2]float64{x.Fair.Weight, y.Fair.Weight}, [2]float64{1, 2.5})
	check("largest container", x.Fair.MaxContainer.Of(records.Resource{}, records.Resource{9, 9, 9}), records.Resource{2048, 1, 9})
}

func TestFairQueuesRefused(t *testing.T) {
	for body, want := range map[string]string{
		"<maxRunningApps>-1</maxRunningApps>":                                              "integer from 0",
		"<weight>-1</weight>":                                                              "at least 0",
		"<minSharePreemptionTimeout>soon</minSharePreemptionTimeout>":                      "seconds",
		"<reservation/><queue name='x'/>":                                                  "can't have a <reservation>",
		"<schedulingPolicy>fifo</schedulingPolicy><queue name='x'/>":                       "hold applications",
		"<queue name='x'><schedulingPolicy>drf</schedulingPolicy></queue>":                 "the policy of root.q above it is fair",
		"<queue name='" + strings.Repeat("n", 10000) + "'/>":                               "(10000 bytes)",
		"</queue><queue name='root'>":                                                      "all other queues must be inside it",
		"</queue><defaultQueueSchedulingPolicy>fifo</defaultQueueSchedulingPolicy><queue>": "can't be fifo",
	} {
		_, err := fairQueueOf(body)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "fair-scheduler.xml:1: ") || len(err.Error()) > 2000 {
			t.Errorf("%.80s: got %.500v", body, err)
		}
	}
	if _, err := ParseFair([]byte(`<!DOCTYPE x [<!ENTITY a "aaaa">]><allocations>&a;</allocations>`)); err == nil || !strings.Contains(err.Error(), "entities") {
		t.Errorf("entities: got %v", err)
	}
}

func parseXML(text string) (*conf.Element, error) {
	return conf.ParseXML("fair-scheduler.xml", []byte(text))
}

func TestFairMasters(t *testing.T) {
	const key = "yarn.scheduler.fair.am.preemption"
	c := conftest.With(t, map[string]string{key: "false", key + ".root.a": "true", key + ".root.b": "false"})
	f := settings.Fair(c, records.ResourceTypes{})
	if got, ok := f.MastersOf["root.a"]; f.PreemptMasters || !got || !ok || f.MastersOf["root.b"] || len(f.MastersOf) != 2 {
		t.Errorf("ApplicationMasters are preempted: %v, and %v", f.PreemptMasters, f.MastersOf)
	}
}
