package whatif_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"heddle/sim"
	"heddle/sim/recordtest"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/gate"
	"heddle/yarn/records"
)

// What a queue, a user and the cluster cost is the memory of their containers times how long these have it. On nodes that are twice as fast it is half. Table, JSON and rules have it.
func TestCostIsMemoryTimesTime(t *testing.T) {
	slot := records.NewResource(1024, 1)
	d, file := recordtest.Recorder(t, queues(t), 0)
	jobs := sim.Generate(sim.Workload{
		Tasks: 800, PerJob: 20, Mean: 20e9, Load: 1, Slots: 80, Resource: slot, Queues: []string{"root.prod", "root.dev", "root.adhoc"}, Users: 6,
	}, 7)
	want := map[string]float64{} // MB · s
	for i := range jobs {
		for _, s := range jobs[i].Stages {
			for _, x := range s.Tasks {
				cost := 1024 * float64(x.Duration) / 1e9
				want["cluster"] += cost
				want[jobs[i].Queue] += cost
				want[jobs[i].User] += cost
			}
		}
	}
	recordtest.Play(t, d, sim.Nodes{Count: 20, Capacity: slot.Times(4)}, jobs)
	r := answer(t, open(t, file), change.Request{Speed: "2x"})
	rows := append([]whatif.Row{r.Cluster}, r.Queues...)
	rows[0].Name = "cluster"
	rows = append(rows, r.Users...)
	if len(rows) != 1+3+6 {
		t.Fatalf("%d rows", len(rows))
	}
	for i := range rows {
		x := &rows[i]
		for what, got := range map[string]float64{"recorded": x.Then.Memory, "before": x.Before.Memory, "twice as fast": 2 * x.After.Memory} {
			if w := want[x.Name]; math.Abs(got-w) > w/100 {
				t.Errorf("%s of %s: %.0f MB·s, want %.0f", what, x.Name, got, w)
			}
		}
	}
	var table, text bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if cell := fmt.Sprintf("%.1f\n", r.Cluster.After.Memory/1024/3600); !strings.Contains(table.String(), "memory (GB·h)") || !strings.Contains(strings.ReplaceAll(table.String(), " ", ""), cell) {
		t.Errorf("the table has no %q:\n%s", cell, table.String())
	}
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Cluster struct{ After struct{ Memory float64 } }
	}
	if err := json.Unmarshal(text.Bytes(), &parsed); err != nil || parsed.Cluster.After.Memory != r.Cluster.After.Memory {
		t.Errorf("%v, JSON has %v", err, parsed)
	}
	limit := (r.Cluster.Before.Memory + r.Cluster.After.Memory) / 2
	rules, err := gate.ReadRules(strings.NewReader(fmt.Sprintf("cost of cluster must not exceed %.0f\ncost of root.prod must not shrink by more than 10 %%\n", limit)))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := gate.Check(rules, r)
	if err != nil || !verdicts[0].Passes || verdicts[1].Passes {
		t.Errorf("%v: %v", err, verdicts)
	}
}

// A note of the record, such as why it has a gap, is text in a table.
func TestNotesAreText(t *testing.T) {
	l := open(t, record(t, queues(t), 0.5))
	l.Notes = append(l.Notes, "a gap: \x1b[2J\x07\u202e")
	l.Torn = append(l.Torn, "\x1b]0;x\x07")
	r := answer(t, l, change.Request{})
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\u202e") || !strings.Contains(b.String(), "a gap: ") {
		t.Errorf("%q", b.String())
	}
}
