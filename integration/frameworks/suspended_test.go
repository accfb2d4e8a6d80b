package frameworks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// waitingTasks is how many tasks of Tez wait at the gate, each in a container of its own.
const waitingTasks = 5

// TestSuspendedFlinkAndTez: a Flink application and a DAG of Tez, both unmodified and with their own time-outs, fill a cluster, and all of their containers
// stand still for ten minutes while a job of another queue has it, on whatever groups this machine has. They end as if nothing had been: no TaskManager is
// lost, as Flink's job would fail then, and no attempt of Tez's fails or is killed.
func TestSuspendedFlinkAndTez(t *testing.T) {
	if options.Heddle == "" {
		t.Skip("Hadoop can't suspend")
	}
	swapfile.On(t, 6<<30)
	nmtest.RealGroups(t)
	// The short job takes 5.5 GB. That is all but what the least keep of whom it has suspended: no container of the others can run on beside it.
	l := hadooplab.TwoQueues(t, options, 6400, nil)
	dir := t.TempDir()
	begun := func(of string) int {
		list, err := filepath.Glob(filepath.Join(dir, of, "begun*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, of := range []string{"flink", "tez"} {
		if err := os.Mkdir(filepath.Join(dir, of), 0o777); err != nil {
			t.Fatal(err)
		}
	}

	f := newFlink(t, l)
	flinkID := flinkApp(t, f.run(t, "run", "-t", "yarn-application", "-Dyarn.application.queue=long", "-Drestart-strategy.type=none", "-c", "Words",
		f.words, "gate", filepath.Join(dir, "flink"), l.URI()+"/gate/flink"))
	jars, gate := tezJars(t, l), filepath.Join(t.TempDir(), "gate.jar")
	java := l.JavaCommand(filepath.Join(jars, "*"), "").Args
	compile(t, "testdata/Gate.java", java[slices.Index(java, "-cp")+1], gate)
	if _, err := l.Run(t.Context(), "hdfs", "dfs", "-put", gate, "/gate.jar"); err != nil {
		t.Fatal(err)
	}
	tez := begin(t, l, l.JavaCommand(gate+":"+filepath.Join(jars, "*"), "Gate", append(append([]string{}, tezOptions...), "-Dtez.queue.name=long",
		"-Dtez.aux.uris="+l.URI()+"/gate.jar", fmt.Sprint(waitingTasks), filepath.Join(dir, "tez"))...))
	await.Slowly(t, "both wait at their gates", func() bool { return begun("flink") == 2 && begun("tez") == waitingTasks || tez.Ended() })

	short := l.Intrude(t, 5, 10*time.Minute)
	short.Settles()
	before := l.Suspended(t)
	tezID := tezSubmitted.FindStringSubmatch(tez.Stderr())
	t.Logf("%d containers are suspended: %v", len(before), before)
	if tezID == nil || len(hadooplab.OfApplication(before, flinkID)) != 2 || len(hadooplab.OfApplication(before, tezID[1])) != 1+waitingTasks {
		t.Fatalf("suspended are %v, of Flink's %s and Tez's %v", before, flinkID, tezID)
	}
	short.Leaves()
	if err := os.WriteFile(filepath.Join(dir, "flink", "gate"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tez", "gate"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := tez.Wait(t.Context())
	t.Cleanup(func() {
		if t.Failed() {
			logs, err := l.Try(context.Background(), "", "yarn", "logs", "-applicationId", tezID[1])
			t.Logf("Tez's logs: %v\n%s%s", err, logs.Stdout, logs.Stderr)
		}
	})
	if want := fmt.Sprintf("SUCCEEDED sum=%d succeeded=%d failed=0 killed=0\n", waitingTasks*9999*10000/2, waitingTasks+2); err != nil || !strings.HasSuffix(r.Stdout, want) {
		t.Errorf("Tez: %v, %q, want %q\n%s", err, r.Stdout, want, r.Stderr)
	}
	await.Slowly(t, "Flink's application has ended", func() bool { return strings.Contains(l.Status(t, flinkID), "State : FINISHED\n") })
	contains(t, l.Status(t, flinkID), "Final-State : SUCCEEDED\n")
	var want strings.Builder
	for i := range 10 {
		fmt.Fprintf(&want, "%d\t1000\n", i)
	}
	sameCounts(t, lines(t, l, "/gate/flink/*/*"), want.String())
	if n := begun("flink"); n != 2 {
		t.Errorf("Flink's tasks came to the gate %d times", n)
	}
	if n := begun("tez"); n != waitingTasks {
		t.Errorf("Tez's tasks came to the gate %d times", n)
	}
}
